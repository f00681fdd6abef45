"""The base class of fitted models: encoding, decoding, scores, descriptions and saving."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import FLOATS, layer_index
from deepnmf.engines import Engine, Workers
from deepnmf.masks import check_unmasked
from deepnmf.models.hierarchy import (
    LayerShares,
    LayerSummary,
    fit_html,
    layer_shares,
    layer_summaries,
    n_dead,
    share_of_squares,
)
from deepnmf.models.input_data import EntryWeight, Observed, observed, rows, validated
from deepnmf.models.methods import complete, offered_if
from deepnmf.models.saving import input_names, save
from deepnmf.solvers.problem import Problem


def _has_squared_error(model: "FittedModel") -> bool:
    if model._problem().degree != 2:  # the degree of a loss is its β
        raise AttributeError(f"{type(model).__name__} with these parameters does not use squared error: use score.")
    return True


class FittedModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What a model offers after its fit."""

    factors_: list[Array]
    features_: list[Array]
    codes_: list[Array]
    _learned: Any  # a `Learned`, the learned part of the model
    _explained: Sequence[float] | None = None  # per layer, if the fit measured it
    _shares_of_squares: Sequence[float] | None = None
    _seconds: float | None = None  # the duration of the fit; None for loaded models

    @abstractmethod
    def _problem(self) -> Problem:
        """Return the problem. It depends on the parameters only, so that tags can be answered without data."""

    # ------------------------------------------------------------------------------ codes and data

    def transform(self, X: Matrix, entry_weight: EntryWeight = None) -> Array:
        """Return the codes of the rows of X at `output_layer`: those with the smallest loss for the fitted factors.

        Each row is solved independently, in double precision: its codes do not depend on the other rows. With squared
        error, no entry of the projected gradient exceeds 1e-10 times the largest gradient of the row; if several codes
        are optimal, as with more components than columns, the result has the smallest norm. With other losses the
        optimality conditions hold up to 1e-7.

        {rows}
        entry_weight : see `fit`

        {returns_codes}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> model = NMF(2, random_state=0).fit(X)
        >>> model.transform(X[:5]).shape
        (5, 2)
        """
        return self.encode(X, self._problem().output_layer, entry_weight)

    def inverse_transform(self, X: Array) -> Array:
        """Reconstruct data from codes of `output_layer`, including entries that `transform` skipped as unobserved.

        Parameters
        ----------
        X : array of shape (n_samples, n_features_out)

        {returns_data}

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> model = NMF(2, random_state=0).fit(X)
        >>> flower = X[:1].copy()
        >>> flower[0, 3] = np.nan  # 0.2 in the data
        >>> filled = model.inverse_transform(model.transform(flower))
        >>> print(f"{filled[0, 3]:.1f}")
        0.3
        """
        return self.decode(X, self._problem().output_layer)

    def encode(self, X: Matrix, layer: int = -1, entry_weight: EntryWeight = None) -> Array:
        """Return the codes of the rows of X at any layer.

        {rows}
        {layer}
        entry_weight : see `fit`

        {returns_layer_codes}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import DeepNMF
        >>> X = load_iris().data
        >>> model = DeepNMF((4, 2), random_state=0).fit(X)
        >>> model.encode(X, layer=0).shape, model.encode(X).shape
        ((150, 4), (150, 2))
        """
        return self._encoded(X, layer, entry_weight)

    def _encoded(self, X: Matrix, layer: int, entry_weight: EntryWeight, **known: Any) -> Array:
        check_is_fitted(self)
        layer = layer_index(layer, len(self.factors_))
        with self._rows(X, entry_weight) as engine:
            codes = self._learned.encode(engine, layer, **known)
        return codes if engine.unit == 1 else codes * engine.unit

    def _encoded_layers(self, X: Matrix, **known: Any) -> list[Array]:
        """Return the codes of the rows of X at every layer, from one computation where the model allows it."""
        check_is_fitted(self)
        with self._rows(X, None) as engine:
            codes = self._learned.encode_layers(engine, **known)
        return codes if engine.unit == 1 else [H * engine.unit for H in codes]

    @contextmanager
    def _rows(self, X: Matrix, entry_weight: EntryWeight) -> Iterator[Engine]:
        """Provide an engine for passes over the rows of X, in the unit of the fit."""
        problem = self._problem()
        data = observed(self, problem, X, entry_weight, reset=False)
        with Workers() as workers:
            yield rows(problem, data, workers, type(self).__name__, self._learned.unit)

    @offered_if(lambda model: model._problem().projects)
    def project(self, X: Matrix, layer: int = -1) -> Array:
        """Return X C_l⁺, the codes by the pseudo-inverse of the features of a layer; for chains only.

        This takes a single product, but the codes may be negative, and penalties are ignored. `encode` returns the
        codes of the model.

        {rows}
        {layer}

        {returns_layer_codes}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> model = NMF(2, random_state=0).fit(X)
        >>> model.project(X).shape
        (150, 2)
        """
        check_is_fitted(self)
        problem = self._problem()
        inverse = np.linalg.pinv(self._learned.linear_decoder(layer_index(layer, len(self.factors_))))
        X = validated(self, problem, X, reset=False)
        with Workers() as workers:
            engine = rows(problem, Observed(X), workers, type(self).__name__, unit=1.0)
            if not engine.is_complete:
                raise ValueError("X contains NaN, but project needs complete rows: use encode, which skips NaN.")
            return engine.project(inverse.T)

    def decode(self, H: Array, layer: int = -1) -> Array:
        """Reconstruct data from codes of any layer.

        Parameters
        ----------
        H : array of shape (n_samples, size of the layer)
        {layer}

        {returns_data}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import DeepNMF
        >>> X = load_iris().data
        >>> model = DeepNMF((4, 2), random_state=0).fit(X)
        >>> model.decode(model.encode(X, layer=0), layer=0).shape
        (150, 4)
        """
        check_is_fitted(self)
        layer = layer_index(layer, len(self.factors_))
        check_unmasked(H, "codes")
        H = check_array(H, dtype=FLOATS, order="C", input_name="codes")
        size = len(self.factors_[layer])
        if H.shape[1] != size:
            raise ValueError(f"Codes have {H.shape[1]} columns, but layer {layer} of this model has {size} features.")
        return self._learned.decode(H, layer)

    # -------------------------------------------------------------------------------------- scores

    def score(self, X: Matrix, y: object = None, entry_weight: EntryWeight = None, sample_weight: Any = None) -> float:
        """Return the share explained beyond a baseline, 1 - d(X, X̂) / d(X, baseline), over the observed entries.

        {baseline}

        {rows}
        y : ignored
        entry_weight : see `fit`
        sample_weight : see `fit`

        {returns_score}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> model = NMF(2, random_state=0).fit(X)
        >>> print(f"{model.score(X):.2f}")
        0.98
        """
        check_is_fitted(self)
        return self._compared(X, entry_weight, self._learned.explained, sample_weight)

    @offered_if(_has_squared_error)
    def share_of_squares(self, X: Matrix, entry_weight: EntryWeight = None) -> float:
        """Return the share of ‖X‖² that the model explains, 1 - ‖X - X̂‖² / ‖X‖², over the observed entries.

        The baseline is 0 here, and the column means in `score`: if the data are far from 0, their means alone already
        give a share near 1. For squared error only.

        {rows}
        entry_weight : see `fit`

        Returns
        -------
        float
            1 is a perfect reconstruction, 0 is as good as a matrix of zeros.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> model = NMF(1).fit(X)
        >>> print(f"{model.share_of_squares(X):.2f} {model.score(X):.2f}")
        0.97 0.51
        """
        check_is_fitted(self)
        return self._compared(X, entry_weight, share_of_squares)

    def _compared(
        self,
        X: Matrix,
        entry_weight: EntryWeight,
        share: Callable[[Engine, float], float],
        sample_weight: Any = None,
    ) -> float:
        """Return a share computed from the error of the codes of `transform`."""
        problem = self._problem()
        data = observed(self, problem, X, entry_weight, sample_weight, reset=False)
        with Workers() as workers:
            engine = rows(problem, data, workers, type(self).__name__)
            layer = layer_index(problem.output_layer, len(self.factors_))
            error = self._learned.residual(engine, self._learned.encode(engine, layer), layer)
            return share(engine, error)

    def _layer_shares(self, X: Matrix) -> LayerShares:
        """Return the share of X that each layer explains with its best codes, as `hierarchy_` for the training rows."""
        problem = self._problem()
        data = observed(self, problem, X, None, reset=False)
        with Workers() as workers:
            return layer_shares(problem, self._learned, data, rows(problem, data, workers, type(self).__name__))

    # ------------------------------------------------------------------------- what was learned

    @property
    def n_dead_(self) -> list[int]:
        """The number of dead features per layer: those that are zero or, in the top layer, that no sample uses.

        Fixed components are not counted.
        """
        return n_dead(self)

    @property
    def hierarchy_(self) -> list[LayerSummary]:
        """A `LayerSummary` for each layer, the lowest first; for models with two or more layers."""
        return layer_summaries(self)

    def top_features(self, layer: int = -1, n: int = 10) -> list[list[tuple[str, float]]]:
        """Return the input features with the largest weights in each feature of a layer.

        Parameters
        ----------
        {layer}
        n : int
            Number of input features to return.

        Returns
        -------
        list of lists of (name, weight), the largest weight first; the names are the column names of X, if there were
        any, or those of `input_names_`

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris(as_frame=True).data
        >>> model = NMF(2, random_state=0).fit(X)
        >>> [name for name, weight in model.top_features(n=2)[0]]
        ['sepal length (cm)', 'sepal width (cm)']
        """
        check_is_fitted(self)
        C = self.features_[layer_index(layer, len(self.factors_))]
        names = input_names(self)
        names = [f"x{j}" for j in range(C.shape[1])] if names is None else names
        order = np.argsort(-np.abs(C), axis=1, kind="stable")[:, :n]
        return [[(str(names[j]), float(row[j])) for j in best] for row, best in zip(C, order, strict=True)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file; `deepnmf.load` reads it back.

        Parameters
        ----------
        {path}

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import deepnmf
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> model = NMF(2, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "iris.safetensors")
        ...     model.save(path)
        ...     print(deepnmf.load(path))
        NMF(n_components=2, random_state=0)
        """
        save(self, path)

    def report(
        self, path: str | os.PathLike[str] | None = None, X: Matrix | None = None, y: Any = None, **content: Any
    ) -> Any:
        """Create an HTML report of the fitted model: findings, the hierarchy, and a map of the samples.

        Parameters
        ----------
        path : str or path, optional
            The file to write; without it the page is only returned.
        X, y : the data of the page, and labels of its rows, if there are any
            X may be an AnnData object, whose names are used; y may then be the name of a column of ``obs``, and
            ``layer="counts"`` uses a layer instead of ``X``.
        **content : options of the page, such as ``image_shape=(8, 8)``: see `deepnmf.report.write_report`

        Returns
        -------
        Report
            The page, which is displayed in a notebook.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> iris = load_iris()
        >>> model = NMF(2, random_state=0).fit(iris.data)
        >>> page = model.report(X=iris.data, y=iris.target, feature_names=iris.feature_names)
        >>> page.html[:15]
        '<!doctype html>'
        """
        import deepnmf  # noqa: PLC0415 - models import no module above them; the package exports the report by name
        from deepnmf.annotated import is_annotated, page_content  # noqa: PLC0415

        if X is None:
            raise TypeError("X is missing: expected the data of the page.")
        if is_annotated(X):
            X, y, content = page_content(X, y, content)
        return deepnmf.report.write_report(self, path, X, y, **content)

    # ------------------------------------------------------------------ what scikit-learn asks for

    @property
    def _n_features_out(self) -> int:
        return len(self.factors_[self._problem().output_layer])

    def __sklearn_tags__(self) -> Tags:
        tags, problem = super().__sklearn_tags__(), self._problem()
        tags.input_tags.positive_only = problem.nonnegative
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = problem.masks_nan
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + fit_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += fit_html(self)
        return bundle


complete(FittedModel)
