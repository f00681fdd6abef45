"""What every linear chain answers to, whichever paper it comes from."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Workers
from deepnmf.engines.choice import in_units
from deepnmf.models.batch_learner import BatchLearner
from deepnmf.models.checks import (
    as_matrices,
    check_output_layer,
    check_start,
    check_start_array,
    check_warm_start,
    factor_shapes,
    layer_sizes,
)
from deepnmf.models.entry_weights import EntryWeight
from deepnmf.models.resuming import Keeping
from deepnmf.objective import Activation, Chain, CodePenalty, Objective, Penalty, of_layer
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers import (
    NNDSVD,
    SOLVERS,
    ActivatedState,
    ChainDescent,
    CoupledDescent,
    Descent,
    History,
    LayerwisePlan,
    OnSweep,
    Run,
    Stack,
    State,
    encode_rows,
    kkt_residual,
    linear_descent,
    minimise,
    nonnegative_start,
    pretrain,
    refitted,
)


@dataclass(frozen=True)
class Start:
    """What a fit begins from where that is not left to `init`."""

    factors: Sequence[Array] = ()  # Z_1..Z_k
    codes: Array | None = None
    warm: bool = False  # whether these are the factors of the fit before

    def in_double(self) -> "Start":
        """The same with factors of the precision that they are learnt in."""
        return replace(self, factors=[np.asarray(Z, dtype=np.float64) for Z in self.factors])


@dataclass(frozen=True)
class Task:
    """One fit: the layers, what it begins from, what is known of the samples, and who watches."""

    sizes: tuple[int, ...]
    start: Start
    graphs: tuple[Penalty, ...]
    run: Run
    on_sweep: OnSweep | None


class ChainEstimator(BatchLearner):
    """X ≈ H_m S_m Z_m ··· S_1 Z_1, fitted by layer-wise pre-training and block coordinate descent.

    A model says which sizes, smoothing, penalties and start it has; the rest is here.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BatchLearner._parameter_constraints,
        "init": [StrOptions({*NNDSVD, "random", "custom"}), None],
        "solver": [StrOptions(set(SOLVERS))],
    }

    # ------------------------------------------------------------------ what a model says of itself

    def _smoothing(self, depth: int) -> tuple[float, ...]:
        """Return θ_1..θ_m."""
        return (0.0,) * depth

    def _objective(self, depth: int, engine: Engine) -> Objective:
        """Return what fine-tuning minimises, in the units of the engine."""
        return Objective()

    def _layer_objectives(self, depth: int, engine: Engine) -> Sequence[Objective]:
        """Return what pre-training minimises, layer by layer."""
        return [Objective()] * depth

    def _graphs(self, X: Matrix, known: object, depth: int) -> tuple[Penalty, ...]:
        """Return what is known of the samples, as penalties of layers."""
        return ()

    def _layer_start(self, engine: Engine, rank: int, rng: RandomState) -> tuple[Array, Array]:
        """Return initial codes and factor of one layer."""
        init = self._default_init if self.init in (None, "custom") else self.init
        return nonnegative_start(engine, rank, init, rng)

    _default_init = "nndsvd"

    def _scales(self, chain: Chain) -> list[Array]:
        """Return what codes of each layer are divided by: a code counts in units of what it adds to the data."""
        return [inverse_norms(chain.decoder(layer)) for layer in range(chain.depth)]

    def _balanced(self, chain: Chain) -> Chain:
        """Return the chain with the scale between its layers that is handed out; codes stay as they are."""
        return chain

    def _lower_code_penalties(self, chain: Chain) -> list[CodePenalty]:
        """Return the penalties of the lower layers' codes, in the scale the chain was optimised in."""
        return [CodePenalty(np.zeros((len(Z), len(Z)))) for Z in chain.factors[:-1]]

    @property
    def _between(self) -> Activation | None:
        """The activation between layers; None where the chain is linear."""
        return None

    @property
    def _masks_nan(self) -> bool:  # type: ignore[override]
        """Whether entries may be left out: where the chain is linear and nothing else looks at X."""
        return self._between is None

    @property
    def _distributes(self) -> bool:  # type: ignore[override]
        """Whether rows may be far from each other: where the chain is linear and no graph joins them."""
        return self._between is None and not self._joins_samples

    _joins_samples = False

    @property
    def _has_units(self) -> bool:  # type: ignore[override]
        """Not where an activation bends large numbers otherwise than small ones, or edges weigh as much as the data."""
        return self._between is None and getattr(self, "label_graph", None) != "dot"

    @property
    def _degree(self) -> float:
        """The q of f(s u) = s^q f(u) between layers; 1 too where f lets no scale through, and none is moved there."""
        return 1.0 if self._between is None else self._between.degree or 1.0

    @property
    def _tolerances(self) -> tuple[float, float]:
        """What ends a fit: a decrease by this part of the loss, and this part of the first projected gradient."""
        return float(self.tol), 0.0

    _keeps_lower_codes = False
    _pretrain_max_iter = 0
    _pretrain_tol = 0.0

    # ------------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: Matrix,
        y: object = None,
        *,
        entry_weight: EntryWeight = None,
        factors: Sequence[Array] | None = None,
        codes: Array | None = None,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn the factors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed.
        y : labels, optional
            What is known of the samples, for models that learn from it, see there; ignored by the others.
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            What each entry counts, from 0 to 1, the largest at least 0.001. "stored" leaves out what a sparse X does
            not store, as in ratings, and so do sparse weights with what they do not store; None reads it as zero.
        factors : sequence of arrays, optional
            Z_1..Z_k to start from whatever `init` says, k at most the number of layers; layers above are
            pre-trained. Required by ``init="custom"``.
        codes : array of shape (n_samples, r_m), optional
            Codes of the top layer to start from; by default they are solved for.
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)``, called after each fine-tuning sweep; returning True stops.
        checkpoint : path, optional
            A file that keeps where the fit is, every `checkpoint_seconds` and when it is interrupted. The same call
            goes on from it, to the same bits; it is removed when the fit is over.
        checkpoint_seconds : float, default=30

        Returns
        -------
        self
        """
        keeping = Keeping(checkpoint, checkpoint_seconds, (X, y, entry_weight, factors, codes))
        return self._fit(X, y, keeping, entry_weight=entry_weight, factors=factors, codes=codes, on_sweep=on_sweep)

    def _fit(
        self,
        X: Matrix,
        known: object,
        keeping: Keeping,
        *,
        entry_weight: EntryWeight = None,
        factors: Sequence[Array] | None = None,
        codes: Array | None = None,
        on_sweep: OnSweep | None = None,
    ) -> Self:
        with self._fitting(keeping) as run:
            run.history = self._learn(X, known, entry_weight, self._start(factors, codes), run, on_sweep)
        return self

    def _start(self, factors: Sequence[Array] | None, codes: Array | None) -> Start:
        if self._begins_warm(factors, codes):
            return Start(self._chain_to_go_on_from().factors, warm=True)
        return Start(as_matrices(factors) or (), codes)

    def _start_in_units(self, start: Start, unit: float) -> Start:
        """A start for data divided by `unit`, in the precision that factors are learnt in."""
        start = start.in_double()
        if unit == 1:
            return start
        own = self._factor_unit(unit)
        codes = None if start.codes is None else np.asarray(start.codes) / (unit / own)
        return replace(start, factors=[Z / own for Z in start.factors], codes=codes)

    def _chain_to_go_on_from(self) -> Chain:
        """The factors of the fit before: penalties may hang on the scale, so in that of their optimisation."""
        return self._learnt.optimized_chain(self._degree)

    def _learn(
        self, X: Matrix, known: object, entry_weight: EntryWeight, start: Start, run: Run, on_sweep: OnSweep | None
    ) -> History:
        """Check, optimise, and keep the result."""
        data = self._observed(X, entry_weight, reset=True)
        X = data.X
        sizes = self._sizes(X.shape[1], start.factors)
        check_output_layer(self._output_layer_index, len(sizes))
        self._check_start(X, sizes, start)
        with Workers() as workers:  # scikit-learn's neighbours limit BLAS too: only within our own limit is that undone
            engine = self._rows(data, workers)
            run.unit = engine.unit
            graphs = self._graphs(in_units(X, engine.unit), known, len(sizes))
            task = Task(sizes, self._start_in_units(start, engine.unit), graphs, run, on_sweep)
            state, history = self._optimise(engine, task)
            self._keep(engine, state)
        self._memory = None
        return history

    def _optimise(self, engine: Engine, task: Task) -> tuple[State | ActivatedState, History]:
        """Pre-train, then fine-tune."""
        objective = self._objective(len(task.sizes), engine)
        descent = self._descent(engine, Objective((*objective.penalties, *task.graphs)))
        tol, drop = self._tolerances
        state, history = minimise(
            descent.advance,
            descent.start(*self._begin(engine, task), refined=task.start.warm or len(task.sizes) > 1),
            max_iter=self.max_iter,
            tol=tol,
            drop=drop,
            run=task.run,
            on_sweep=task.on_sweep,
        )
        self.__dict__.pop("kkt_residual_", None)
        if isinstance(descent, ChainDescent):
            self.kkt_residual_ = kkt_residual(descent, state.codes, state.chain)
        return state, history

    def _descent(self, engine: Engine, objective: Objective) -> Descent[Any]:
        """Return what makes the sweeps of the fine-tuning."""
        return linear_descent(engine, objective, SOLVERS[self._solver_name])

    def _begin(self, engine: Engine, task: Task) -> tuple[Array, Chain]:
        """Return the start: given factors first, pre-trained ones above them."""
        start, depth = task.start, len(task.sizes)
        stack = self._pretrained(engine, task) if len(start.factors) < depth else None
        chain = Chain.of(start.factors if stack is None else stack.factors, self._smoothing(depth), self._nonnegative)
        if start.codes is None:
            return self._solved_codes(engine, chain, task) if stack is None else stack.codes, chain
        codes = np.array(start.codes, dtype=engine.dtype, order="C")
        return codes, chain if self._nonnegative else refitted(engine.filled(), codes, chain)

    def _solved_codes(self, engine: Engine, chain: Chain, task: Task) -> Array:
        """Codes that are the best ones for given factors: a start from them is as low as they allow."""
        objective = self._objective(chain.depth, engine)
        codes = encode_rows(engine, chain.decoder(), objective.code_penalty(chain))
        if not task.graphs:
            return codes
        joined = Objective((*objective.penalties, *task.graphs))
        return CoupledDescent(engine, joined, SOLVERS["hals"]).settled(codes, chain)

    def _pretrained(self, engine: Engine, task: Task) -> Stack:
        """Fit the layers above the given ones in turn, each with the graphs that are its own."""
        depth, rng = len(task.sizes), check_random_state(self.random_state)
        plan = self._plan(rng, task.run, self._pretrain_max_iter if depth > 1 else 0, self._pretrain_tol)
        objectives = [
            Objective((*objective.penalties, *of_layer(task.graphs, layer)))
            for layer, objective in enumerate(self._layer_objectives(depth, engine))
        ]
        return pretrain(
            self._whole(engine, task, plan) if depth > 1 else engine,
            task.sizes,
            self._smoothing(depth),
            objectives,
            plan,
            given=task.start.factors,
            activation=self._between,
        )

    def _whole(self, engine: Engine, task: Task, plan: LayerwisePlan) -> Engine:
        """Rows to pre-train on, complete: a wide layer cannot learn from holes what the narrow top says of them."""
        if task.start.factors or engine.is_complete:
            return engine
        codes, Z, _ = plan.fit_layer(engine, task.sizes[-1], 0.0, Objective(), 0)
        return engine.completed(codes, Z)

    def _plan(
        self, rng: RandomState, run: Run, max_iter: int, tol: float, on_sweep: OnSweep | None = None
    ) -> LayerwisePlan:
        return LayerwisePlan(
            start=partial(self._layer_start, rng=rng),
            solver=SOLVERS[self._solver_name],
            max_iter=max_iter,
            tol=tol,
            nonnegative=self._nonnegative,
            run=run,
            on_sweep=on_sweep,
        )

    def _keep(self, engine: Engine, state: State | ActivatedState) -> None:
        """Bring the result into the scale that is handed out and set the fitted attributes."""
        chain = state.chain
        objective = self._objective(chain.depth, engine)
        penalties = [*self._lower_code_penalties(chain), objective.code_penalty(chain)]
        codes, chain = state.codes, self._balanced(chain)
        scales = self._scales(chain)
        codes /= scales[-1].astype(codes.dtype)
        penalties = [_rescaled(penalty, scale) for penalty, scale in zip(penalties, scales, strict=True)]
        if not any(chain.theta):  # scaling commutes with the chain: let the factors have it
            chain, scales = chain.rescaled(scales), [np.ones_like(scale) for scale in scales]
        factors = [np.ascontiguousarray(Z, engine.dtype) for Z in chain.factors]
        handed_out = Chain.of(factors, chain.theta, chain.nonnegative)
        self._set_learnt(self._learnt_chain(handed_out, scales, penalties, state.chain.row_norms()))
        top = self._learnt.top
        self.codes_ = [self._learnt.handed_out(codes, top)]
        self.reconstruction_err_ = self._residual(engine, self.codes_[-1], top)
        if self._keeps_lower_codes:
            self.codes_ = [*self._learnt.lower_codes(engine, codes), *self.codes_]

    def _check_start(self, X: Matrix, sizes: tuple[int, ...], start: Start) -> None:
        if start.warm:
            return check_warm_start(start.factors, factor_shapes(X.shape[1], sizes))
        whom = type(self).__name__
        check_start(self.init, start.factors, X.shape, sizes, whom, self._nonnegative)
        if start.codes is not None:
            check_start_array(start.codes, (X.shape[0], sizes[-1]), whom, "codes", nonnegative=True)
        return None


class ShallowEstimator(ChainEstimator):
    """A chain of one layer, sized by `n_components`."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ChainEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    def _sizes(self, n_features: int, factors: Sequence[Array]) -> tuple[int, ...]:
        return (int(self.n_components),)


class DeepEstimator(ChainEstimator):
    """A chain of several layers, sized by `layer_sizes`."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ChainEstimator._parameter_constraints,
        "layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "pretrain_max_iter": [Interval(Integral, 0, None, closed="left")],
        "pretrain_tol": [Interval(Real, 0, None, closed="left")],
        "output_layer": [Integral],
        "keep_codes": [StrOptions({"top", "all"})],
    }

    def _sizes(self, n_features: int, factors: Sequence[Array]) -> tuple[int, ...]:
        return layer_sizes(self.layer_sizes)

    @property
    def _output_layer_index(self) -> int:  # type: ignore[override]
        return int(self.output_layer)

    @property
    def _keeps_lower_codes(self) -> bool:  # type: ignore[override]
        return bool(self.keep_codes == "all")

    @property
    def _pretrain_max_iter(self) -> int:  # type: ignore[override]
        return int(self.pretrain_max_iter)

    @property
    def _pretrain_tol(self) -> float:  # type: ignore[override]
        return float(self.pretrain_tol)


def _rescaled(penalty: CodePenalty, scale: Array) -> CodePenalty:
    """Codes are divided by `scale`, so their quadratic is multiplied by it on both sides."""
    return CodePenalty(scale[:, None] * penalty.gram * scale, penalty.l1)


def without_solver(constraints: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Constraints of a model that offers no choice: coupled codes make passes of coordinate descent."""
    return {name: rules for name, rules in constraints.items() if name != "solver"}


KeepCodes = Literal["top", "all"]
Init = Literal["nndsvd", "nndsvda", "nndsvdar", "random", "custom"] | None
SolverName = Literal["hals", "apg", "pg", "mu"]
RandomStateLike = int | RandomState | None
