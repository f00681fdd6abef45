"""What every model has in common: it fits wholly or not at all, encodes, decodes, scores, names and saves."""

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
from deepnmf.models.parameters import Constraints, complete, offered_if
from deepnmf.models.run_control import RunControl, fitting
from deepnmf.models.saving import input_names, save
from deepnmf.objective import Known
from deepnmf.solvers.loop import OnSweep, Run
from deepnmf.solvers.problem import Fit, Problem, Start


def _learns_in_batches(model: "Factorization") -> bool:
    if not model._problem().learns_in_batches:
        raise AttributeError(
            f"{type(model).__name__} as it is set cannot learn in batches, because what it needs to know of earlier "
            "rows does not add up: it has no partial_fit."
        )
    return True


def _has_squared_error(model: "Factorization") -> bool:
    if model._problem().degree != 2:  # the degree of a loss is its β
        raise AttributeError(f"{type(model).__name__} as it is set has another loss than squared error: use score.")
    return True


class Factorization(LayerSummaries, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A factorization of X. A model has a constructor, and says by `_problem` what is fitted."""

    _parameter_constraints: ClassVar[Constraints]
    _learned: Any  # what the fit has learned, a `Learned`
    _memory: Any = None  # what `partial_fit` goes on from

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete(cls)

    @abstractmethod
    def _problem(self) -> Problem:
        """What is fitted, by the parameters alone: it says which data the model takes before there are any."""

    # ------------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: Matrix,
        y: object = None,
        *,
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
            What is known of the samples, for models that learn from it, see there; ignored by the others.
        {entry_weight}
        {fixed_components}
        {guide}
        {factors}
        {codes}
        {run_control}

        {returns_self}
        """
        given = (X, y, entry_weight, fixed_components, guide, guide_weight, factors, codes)
        control = RunControl(on_sweep, checkpoint, checkpoint_seconds, given)
        components = GivenComponents(fixed_components, guide, guide_weight)
        return self._fit(X, self._start(factors, codes), control, entry_weight, components, labels=y)

    def _start(self, factors: Sequence[Array] | None = None, codes: Array | None = None) -> Start:
        """What is given to start from, or the fit before."""
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
            with Workers() as workers:  # scikit-learn's neighbors limit BLAS too: only within our limit is that undone
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
        self.loss_curve_ = np.array([run.shown(loss) for loss in fit.history.losses])
        self.n_iter_, self.stop_reason_ = len(fit.history.losses), fit.history.stop_reason
        for name in ("kkt_residual_", "_explained", "_shares_of_squares", "input_names_"):
            self.__dict__.pop(name, None)
        if fit.certificate is not None:
            self.kkt_residual_ = fit.certificate

    def _set_learned(self, learned: Any) -> None:
        """Show what was learned; a model with more to show adds it."""
        self._learned = learned
        if self._problem().fixes_components:
            self.fixed_components_ = learned.fixed_components
        self.factors_, self.features_ = list(learned.factors), learned.features()
        self.components_ = self.features_[-1]

    @offered_if(_learns_in_batches)
    def partial_fit(self, X: Matrix, y: object = None, *, fixed_components: Array | None = None) -> Self:
        """Learn from a batch of rows, and go on from what was learned before.

        The first batch is fitted as by `fit`, with its start and its pre-training. After that the factors are fitted to
        statistics of all batches, in which older ones fade: about an eighth of the rows so far count. Several epochs
        over batches in random order come near a fit of all rows at once; larger batches come nearer. `codes_` and
        `reconstruction_err_` are those of the last batch; its loss is added to `loss_curve_`. After the second one
        there is no `kkt_residual_`: the factors are then those of statistics, not of an objective of the batch.

        {rows}
        y : ignored
        fixed_components : see `fit`
            For the first batch; later ones have the same, and may leave it out.

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

        Codes as the optimization left them are in `codes_`.

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
        """Codes of the rows of X at `output_layer`, the best ones by the loss of the model with the factors fixed.

        Each row is solved on its own, in double precision: its codes do not depend on the other rows. Under squared
        error no gradient points down by more than 1e-10 of the row's largest, and of equally good codes, as there are
        with more features than columns, it is the smallest. Under other losses the optimality conditions hold to 1e-7.

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
        """Data that codes of `output_layer` stand for: what `transform` left out as unobserved is filled in.

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
        """Codes of the rows of X at any layer.

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
        """Codes of the rows of X at every layer; models that find them together do so once."""
        check_is_fitted(self)
        with self._rows(X, None) as engine:
            codes = self._learned.encode_layers(engine, **known)
        return codes if engine.unit == 1 else [H * engine.unit for H in codes]

    @contextmanager
    def _rows(self, X: Matrix, entry_weight: EntryWeight) -> Iterator[Engine]:
        """Let passes over the rows of X run, in the unit of the fit."""
        problem = self._problem()
        data = observed(self, problem, X, entry_weight, reset=False)
        with Workers() as workers:
            yield rows(problem, data, workers, type(self).__name__, self._learned.unit)

    @offered_if(lambda model: model._problem().projects)
    def project(self, X: Matrix, layer: int = -1) -> Array:
        """Codes of the rows of X by the pseudo-inverse of a layer's features, X C_l⁺; for chains only.

        One product and nothing to solve, but codes may be negative, and penalties do not count: `encode` gives the
        codes the model is about.

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
                raise ValueError("X has NaN, and project multiplies whole rows; encode leaves out what is missing.")
            return engine.project(inverse.T)

    def decode(self, H: Array, layer: int = -1) -> Array:
        """Data that codes of any layer stand for.

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

    def score(self, X: Matrix, y: object = None, entry_weight: EntryWeight = None) -> float:
        """Share that the model explains beyond a baseline, 1 - d(X, X̂) / d(X, baseline), over the observed entries.

        {baseline}

        {rows}
        y : ignored
        entry_weight : see `fit`

        {returns_score}
        """
        check_is_fitted(self)
        return self._compared(X, entry_weight, self._learned.explained)

    @offered_if(_has_squared_error)
    def share_of_squares(self, X: Matrix, entry_weight: EntryWeight = None) -> float:
        """Share of ‖X‖² that the model explains, 1 - ‖X - X̂‖² / ‖X‖², over the observed entries.

        It counts from 0, where `score` counts from the column means: data far from 0 have a share near 1 already by
        their means. For squared error only.

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
        """The share that is made of the error of the codes of `transform`."""
        problem = self._problem()
        data = observed(self, problem, X, entry_weight, sample_weight, reset=False)
        with Workers() as workers:
            engine = rows(problem, data, workers, type(self).__name__)
            layer = layer_index(problem.output_layer, len(self.factors_))
            error = self._learned.residual(engine, self._learned.encode(engine, layer), layer)
            return share(engine, error)

    def _layer_shares(self, X: Matrix) -> LayerShares:
        """What each layer explains of X with its best codes, as `hierarchy_` has it of the training rows."""
        problem = self._problem()
        data = observed(self, problem, X, None, reset=False)
        with Workers() as workers:
            return layer_shares(problem, self._learned, data, rows(problem, data, workers, type(self).__name__))

    def top_features(self, layer: int = -1, n: int = 10) -> list[list[tuple[str, float]]]:
        """The input features that weigh most in each feature of a layer.

        Parameters
        ----------
        {layer}
        n : int
            How many to name.

        Returns
        -------
        list of lists of (name, weight), the heaviest first; names are the columns' where X had them, or those of
        `input_names_`

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
        """Make an HTML page of what was learned: findings, the hierarchy, and a map of the samples.

        Parameters
        ----------
        path : str or path, optional
            The file; without it the page is only returned.
        X, y : the data of the page, and labels of its rows, if there are any
            X may be an AnnData object, whose names are used; y may then be a column of ``obs``, and ``layer="counts"``
            takes a layer instead of ``X``.
        **content : how it is shown, such as ``image_shape=(8, 8)``: see `deepnmf.report.write_report`

        Returns
        -------
        Report
            The page, which shows itself in a notebook.

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
        import deepnmf  # noqa: PLC0415 - models know nobody above them; the package hands its parts out by name
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
