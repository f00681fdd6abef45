"""The base class of all models: fitting, encoding, decoding, scores, the names of features, and saving."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import FLOATS, as_matrices, layer_index
from deepnmf.engines import Engine, Workers
from deepnmf.engines.choice import check_batch, in_units
from deepnmf.masks import check_unmasked
from deepnmf.models.hierarchy import LayerShares, LayerSummaries, layer_shares, share_of_squares
from deepnmf.models.input_data import EntryWeight, Observed, observed, rows, validated
from deepnmf.models.known_components import (
    GUIDE_WEIGHT,
    NOTHING_GIVEN,
    GivenComponents,
    Guides,
    components_of_batches,
)
from deepnmf.models.methods import complete, offered_if, without_sample_weight
from deepnmf.models.parameters import Constraints
from deepnmf.models.run_control import RunControl, fitting
from deepnmf.models.saving import input_names, save
from deepnmf.objective import Known
from deepnmf.solvers.loop import OnSweep, Run
from deepnmf.solvers.problem import Fit, Problem, Start


def _learns_in_batches(model: "Factorization") -> bool:
    if not model._problem().learns_in_batches:
        raise AttributeError(
            f"{type(model).__name__} with these parameters has no partial_fit: it cannot learn in batches, because its "
            "statistics of earlier rows cannot be summed."
        )
    return True


def _has_squared_error(model: "Factorization") -> bool:
    if model._problem().degree != 2:  # the degree of a loss is its β
        raise AttributeError(f"{type(model).__name__} with these parameters does not use squared error: use score.")
    return True


class Factorization(LayerSummaries, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A factorization of X. A model adds its constructor and `_problem`, which returns the problem to be solved.

    A class without sample weights is declared as ``class WSF(Factorization, weighs_samples=False)``.
    """

    _parameter_constraints: ClassVar[Constraints]
    _learned: Any  # a `Learned`, the learned part of the model
    _memory: Any = None  # the statistics from which `partial_fit` continues

    def __init_subclass__(cls, *, weighs_samples: bool = True, **kwargs: Any) -> None:
        if not weighs_samples:  # before scikit-learn reads the signatures
            cls.fit, cls.score = map(without_sample_weight, (cls.fit, cls.score))  # type: ignore[method-assign]
        super().__init_subclass__(**kwargs)
        complete(cls)

    @abstractmethod
    def _problem(self) -> Problem:
        """Return the problem. It depends on the parameters only, so that tags can be answered without data."""

    # ------------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: Matrix,
        y: object = None,
        *,
        sample_weight: Any = None,
        entry_weight: EntryWeight = None,
        fixed_components: Array | None = None,
        guide: Guides = None,
        guide_weight: float = GUIDE_WEIGHT,
        factors: Sequence[Array] | None = None,
        codes: Array | None = None,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn the factors.

        Parameters
        ----------
        {X}
        y : labels, optional
            Labels of the samples for models that learn from them, see their documentation; ignored by all others.
        {sample_weight}
        {entry_weight}
        {fixed_components}
        {guide}
        {factors}
        {codes}
        {run_control}

        {returns_self}

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> NMF(2, random_state=0).fit(X).components_.shape
        (2, 4)
        >>> holed = np.where(X > 7, np.nan, X)  # NaN marks an entry that was not observed
        >>> NMF(2, random_state=0).fit(holed).components_.shape
        (2, 4)
        """
        given = (X, y, sample_weight, entry_weight, fixed_components, guide, guide_weight, factors, codes)
        control, start = RunControl(on_sweep, checkpoint, checkpoint_seconds, given), self._start(factors, codes)
        components = GivenComponents(fixed_components, guide, guide_weight)
        return self._fit(X, start, control, entry_weight, components, sample_weight, labels=y)

    def _start(self, factors: Sequence[Array] | None = None, codes: Array | None = None) -> Start:
        """Return the given starting values or, with `warm_start`, those of the previous fit."""
        if factors is None and codes is None and self.warm_start and hasattr(self, "factors_"):
            return Start(before=self._learned)
        return Start(as_matrices(factors) or (), codes)

    def _fit(
        self,
        X: Matrix,
        start: Start,
        control: RunControl,
        entry_weight: EntryWeight = None,
        components: GivenComponents = NOTHING_GIVEN,
        sample_weight: Any = None,
        **known: Any,
    ) -> Self:
        with fitting(self, control) as run:
            problem, whom = self._problem(), type(self).__name__
            data = observed(self, problem, X, entry_weight, sample_weight, reset=True)
            problem.check(data.X, start, whom)
            known |= components.checked(self, problem, data.X.shape[1])
            with Workers() as workers:  # scikit-learn's neighbors limit BLAS too; only inside our limit this is undone
                engine = rows(problem, data, workers, whom)
                run.unit, run.degree = engine.unit, problem.degree
                known_data = Known(in_units(data.X, engine.unit), engine.total_weight, **known)
                bound = problem.bind(engine, known_data, start)
                fit = bound.fit(engine, start, run)
                self._keep(fit, run)
                if len(self.factors_) > 1:
                    self._explained, self._shares_of_squares = layer_shares(problem, fit.learned, data, engine)
        return self

    def _keep(self, fit: Fit, run: Run) -> None:
        """Set the fitted attributes."""
        self._set_learned(fit.learned)
        self.codes_, self.reconstruction_err_, self._memory = fit.codes, fit.error, fit.memory
        self.loss_curve_ = np.array([run.in_data_units(loss) for loss in fit.history.losses])
        self.n_iter_, self.stop_reason_ = len(fit.history.losses), fit.history.stop_reason
        for name in ("kkt_residual_", "_explained", "_shares_of_squares", "input_names_"):
            self.__dict__.pop(name, None)
        if fit.certificate is not None:
            self.kkt_residual_ = fit.certificate

    def _set_learned(self, learned: Any) -> None:
        """Set the attributes of the learned factors; subclasses add their own."""
        self._learned = learned
        if self._problem().fixes_components:
            self.fixed_components_ = learned.fixed_components
        self.factors_, self.features_ = list(learned.factors), learned.features()
        self.components_ = self.features_[-1]

    @offered_if(_learns_in_batches)
    def partial_fit(self, X: Matrix, y: object = None, *, fixed_components: Array | None = None) -> Self:
        """Update the model with a batch of rows.

        The first batch is fitted as by `fit`, with initialization and pre-training. Afterwards the factors are fitted
        to statistics of all batches, in which older batches are forgotten gradually: about an eighth of the rows seen
        so far counts. Several epochs over batches in random order approach a fit of all rows at once; larger batches
        come closer. `codes_` and `reconstruction_err_` refer to the last batch, whose loss is appended to
        `loss_curve_`. `kkt_residual_` is removed after the second batch, because the factors then do not minimize an
        objective of that batch.

        {rows}
        y : ignored
        fixed_components : see `fit`
            Given with the first batch. Later batches use the same components and may omit the argument.

        {returns_self}

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import NMF
        >>> X = load_digits().data
        >>> model = NMF(16, random_state=0)
        >>> for batch in np.array_split(X, 4):
        ...     model = model.partial_fit(batch)
        >>> model.transform(X).shape
        (1797, 16)
        """
        if not hasattr(self, "factors_"):
            self._fit(X, self._start(), RunControl.of_batch(X), components=GivenComponents(fixed_components))
            self.n_samples_seen_ = self.codes_[-1].shape[0]
            return self
        self._validate_params()
        problem, unit = self._problem(), self._learned.unit
        data = observed(self, problem, X, None, reset=False)
        fixed = components_of_batches(self, problem, fixed_components)
        with Workers() as workers:
            engine = rows(problem, data, workers, type(self).__name__, unit)
            check_batch(engine)
            bound = problem.bind(engine, Known(data.X, engine.total_weight, fixed=fixed), Start(before=self._learned))
            fit = bound.learn_batch(engine, self._learned, self.codes_[-1], self._memory)
        losses, n_iter = self.loss_curve_, self.n_iter_
        self._keep(fit, Run(unit=unit, degree=problem.degree))
        self.n_samples_seen_ = self._memory.n_seen
        self.loss_curve_, self.n_iter_ = np.append(losses, self.loss_curve_), n_iter + 1
        return self

    def fit_transform(
        self, X: Matrix, y: object = None, *, entry_weight: EntryWeight = None, **fit_params: Any
    ) -> Array:
        """Fit, then return what `transform` gives for the same rows.

        The codes at the end of the optimization are in `codes_`.

        {rows}
        y, entry_weight, **fit_params : see `fit`

        {returns_codes}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> NMF(2, random_state=0).fit_transform(load_iris().data).shape
        (150, 2)
        """
        weights = {} if entry_weight is None else {"entry_weight": entry_weight}
        return self.fit(X, y, **weights, **fit_params).transform(X, **weights)

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


complete(Factorization)
