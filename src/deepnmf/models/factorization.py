"""The base class of all models: the fit of all rows at once or of one batch after the other."""

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import as_matrices
from deepnmf.engines import Workers
from deepnmf.engines.choice import check_batch, in_units
from deepnmf.models.fitted_model import FittedModel
from deepnmf.models.hierarchy import layer_shares
from deepnmf.models.input_data import EntryWeight, observed, rows
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
from deepnmf.objective import Known
from deepnmf.solvers.loop import OnSweep, Run
from deepnmf.solvers.problem import Fit, Start


def _learns_in_batches(model: "Factorization") -> bool:
    if not model._problem().learns_in_batches:
        raise AttributeError(
            f"{type(model).__name__} with these parameters has no partial_fit: it cannot learn in batches, because its "
            "statistics of earlier rows cannot be summed."
        )
    return True


class Factorization(FittedModel):
    """A factorization of X. A model adds its constructor and `_problem`, which returns the problem to be solved.

    A class without sample weights is declared as ``class WSF(Factorization, weighs_samples=False)``.
    """

    _parameter_constraints: ClassVar[Constraints]
    _memory: Any = None  # the statistics from which `partial_fit` continues

    def __init_subclass__(cls, *, weighs_samples: bool = True, **kwargs: Any) -> None:
        if not weighs_samples:  # before scikit-learn reads the signatures
            cls.fit, cls.score = map(without_sample_weight, (cls.fit, cls.score))  # type: ignore[method-assign]
        super().__init_subclass__(**kwargs)
        complete(cls)

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


complete(Factorization)
