"""Learning in batches, for linear chains whose samples do not hang together."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Workers
from deepnmf.engines.choice import has_safe_magnitude, mean_magnitude
from deepnmf.models.fitted import FittedChain
from deepnmf.models.layout import Arrays, Expected, Layout, listed_numbers
from deepnmf.objective import Chain, Objective, Statistics
from deepnmf.solvers import SOLVERS
from deepnmf.solvers.batch_learning import Memory, learn_batch
from deepnmf.untrusted import of_type


class BatchLearner(FittedChain):
    """What a linear chain needs to learn from one batch after the other."""

    _memory: Memory | None = None

    @property
    def _learns_in_batches(self) -> bool:
        """Whether the factors can be learnt from statistics of codes alone."""
        return self._distributes

    @property
    def _solver_name(self) -> str:
        return str(getattr(self, "solver", "hals"))

    @abstractmethod
    def _chain_to_go_on_from(self) -> Chain:
        """The factors of the fit before, in the scale that they were optimised in."""

    @abstractmethod
    def _objective(self, depth: int, engine: Engine) -> Objective:
        """What is minimised, in the units of the engine."""

    @abstractmethod
    def _keep(self, engine: Engine, state: Any) -> None:
        """Set the fitted attributes."""

    def _offers_batches(self) -> bool:
        if not self._learns_in_batches:
            raise AttributeError(
                f"{type(self).__name__} as it is set cannot learn in batches, for its rows depend on each other: "
                "it has no partial_fit."
            )
        return True

    @available_if(_offers_batches)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Matrix, y: object = None) -> Self:
        """Learn from a batch of rows, and go on from what was learnt before.

        The first batch is fitted as by `fit`, with its start and its pre-training. After that the factors are fitted to
        statistics of all batches, in which older ones fade: about an eighth of the rows so far count. Several epochs
        over batches in random order come near a fit of all rows at once; larger batches come nearer. `codes_` and
        `reconstruction_err_` are those of the last batch; its loss is added to `loss_curve_`. After the second one
        there is no `kkt_residual_`: the factors are then those of statistics, not of an objective of the batch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self

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
            self.fit(X)
            self.n_samples_seen_ = self.codes_[-1].shape[0]
            return self
        self._validate_params()
        data = self._observed(X, None, reset=False)
        unit, chain = self._unit, self._chain_to_go_on_from()
        chain = replace(chain, factors=tuple(Z / self._factor_unit(unit) for Z in chain.factors))
        memory = self._memory or Memory.of_codes(self._codes_of(chain), chain)
        with Workers() as workers:
            engine = self._rows(data, workers, unit)
            _check_units(engine)
            objective = self._objective(chain.depth, engine)
            state, memory = learn_batch(engine, objective, SOLVERS[self._solver_name], chain, memory)
            self._keep(engine, state)
        self._give_back(unit)
        self.__dict__.pop("kkt_residual_", None)  # factors fit faded statistics, no objective of this batch
        self._memory, self.n_samples_seen_ = memory, memory.n_seen
        self.loss_curve_ = np.append(self.loss_curve_, state.loss * unit * unit)
        self.n_iter_, self.stop_reason_ = self.n_iter_ + 1, "batch"
        return self

    def _codes_of(self, chain: Chain) -> Array:
        """Codes of the last fit in the scale and the units of its optimisation."""
        handed_out, own = (np.linalg.norm(D, axis=1) for D in (self._learnt.decoder(chain.depth - 1), chain.decoder()))
        return np.asarray(self.codes_[-1]) / self._unit * np.where(own > 0, handed_out / np.where(own > 0, own, 1), 1)

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._state()
        if hasattr(self, "n_samples_seen_"):
            description["n_samples_seen"] = self.n_samples_seen_
        if self._unit != 1:
            description["unit"] = [self._unit]
        if self._memory is not None:
            stats = self._memory.stats
            description["sqnorm_seen"] = [stats.sqnorm]
            arrays["memory"] = [stats.M, stats.K, stats.code_sums]
        return description, arrays

    def _layout(self, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        layout = super()._layout(description, arrays, n_samples)
        if "unit" in description:
            listed_numbers(description, "unit", 1, np.finfo(np.float64).tiny, np.finfo(np.float64).max)
        if "memory" not in arrays:
            return layout
        listed_numbers(description, "sqnorm_seen", 1, 0, np.inf)
        of_type(description.get("n_samples_seen"), int, "n_samples_seen")
        top, _ = layout["factor"][-1].shape
        return layout | {"memory": [Expected((top, self.n_features_in_)), Expected((top, top)), Expected((top,))]}

    def _restore(self, description: dict[str, Any], arrays: Arrays) -> None:
        super()._restore(description, arrays)
        (self._unit,) = description.get("unit", [1.0])
        if "n_samples_seen" in description:
            self.n_samples_seen_ = of_type(description["n_samples_seen"], int, "n_samples_seen")
        if "memory" in arrays:
            M, K, code_sums = arrays["memory"]
            (sqnorm,) = description["sqnorm_seen"]
            self._memory = Memory(Statistics(M, K, code_sums, sqnorm), self.n_samples_seen_)


def _check_units(engine: Engine) -> None:
    """Refuse a batch whose squares are nothing, or everything, beside those of the batches before."""
    if not has_safe_magnitude(engine):
        size = mean_magnitude(engine) * engine.unit
        raise ValueError(
            f"X has entries of about {size:.1e}, and partial_fit has learnt from some of about {engine.unit:.1e}: "
            "batches of a like size are expected."
        )
