"""The loop of all solvers: stopping, history, progress, interruption."""

import signal
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from deepnmf.arrays import Array
from deepnmf.kernels.stopping import CONTINUE, DECREASE, OPTIMALITY, StoppingRule, mean_decrease, stopping_test
from deepnmf.objective import Chain
from deepnmf.solvers.checkpoints import Checkpoints, Progress

ROUGH = 1e-6  # of the loss: sweeps with a smaller decrease are made in the precision of the data
REASONS = {CONTINUE: None, OPTIMALITY: "optimality", DECREASE: "decrease"}

INTERRUPTED = "Interrupted: the fit ends with the best factors found so far."

OnSweep = Callable[[int, float], object]


class SweepState(Protocol):
    """The part of a state that the loop uses."""

    @property
    def loss(self) -> float:
        """The objective after the sweep."""
        ...

    @property
    def optimality(self) -> float:
        """The relative projected gradient."""
        ...

    @property
    def exhausted(self) -> bool:
        """Whether no sweep can lower the objective further."""
        ...


State = TypeVar("State", bound=SweepState)


class AdvanceFar(Protocol[State]):
    """Many sweeps in one call."""

    def __call__(
        self, state: State, rule: StoppingRule, losses: list[float], first: float, max_iter: int
    ) -> tuple[State, float]:
        """Make sweeps until the rule stops them, or for a limited time, and append their losses.

        `first` is the optimality after the very first sweep, which is returned with the new state.
        """
        ...


class Descent(ABC, Generic[State]):
    """Sweeps of one objective on one engine."""

    @abstractmethod
    def start(self, codes: Array, chain: Chain, refined: bool = False) -> State:
        """Begin at codes and factors, which are `refined` if they were learned before."""

    @abstractmethod
    def advance(self, state: State) -> State:
        """Make one sweep; the loss never rises."""

    @property
    def advance_far(self) -> AdvanceFar[State] | None:
        """Many sweeps in one call; None if every sweep is several calls anyway."""
        return None

    def finer(self, state: State) -> State:
        """Return the state in the precision of the data; early sweeps may use a lower precision."""
        return state


@dataclass(frozen=True)
class History:
    """The losses of a run and its stop reason."""

    losses: tuple[float, ...]
    stop_reason: str

    def ending_with(self, loss: float) -> "History":
        """Return the history with another last loss."""
        return History((*self.losses[:-1], loss), self.stop_reason)


@dataclass
class Run:
    """The control of one fit: callbacks, checkpoints and interruption."""

    verbose: int = 0
    checkpoints: Checkpoints | None = None
    on_sweep: OnSweep | None = None  # called after each sweep of the fine-tuning
    unit: float = 1.0  # the divisor of X; losses are reported in the units of X itself
    degree: float = 2.0  # of the loss
    ended: str | None = None  # why all stages have ended: "interrupted" or "on_sweep"
    began: float = field(default_factory=time.perf_counter)
    _sweeping: bool = False
    _asked_to_end: bool = False

    def in_data_units(self, loss: float) -> float:
        """Return a loss in the units of the given data, in two steps because the power itself may overflow."""
        half = self.unit ** (self.degree / 2)
        return loss * half * half

    def show(self, stage: str, sweep: int, loss: float, decrease: float) -> None:
        """Print a line of progress for every tenth sweep, or for every sweep with verbose=2."""
        if self.verbose > 1 or (self.verbose and (sweep <= 1 or sweep % 10 == 0)):
            elapsed = time.perf_counter() - self.began
            loss = self.in_data_units(loss)
            print(
                f"{stage}: sweep {sweep}, loss {loss:.6g}, decrease {decrease:.1e}, {elapsed:.1f} s",
                flush=True,
            )

    def interrupt(self) -> None:
        """Record an interruption: no stage continues, and the current results are kept."""
        self.ended = "interrupted"
        warnings.warn(INTERRUPTED, UserWarning, stacklevel=2)

    @contextmanager
    def handling_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C end the sweeps only, because a running initialization or last pass is needed for the result.

        A second Ctrl-C ends the fit. A signal handler of the user is not replaced.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._asked_to_end:
            warnings.warn(INTERRUPTED, UserWarning, stacklevel=2)

    def _on_interrupt(self, *_: object) -> None:
        if self._sweeping or self._asked_to_end or self.ended == "interrupted":
            raise KeyboardInterrupt
        self._asked_to_end, self.ended = True, "interrupted"

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """Raise a KeyboardInterrupt on Ctrl-C in this context, because the previous state is available."""
        self._sweeping = True
        try:
            yield
        finally:
            self._sweeping = False


def minimize(
    advance: Callable[[State], State],
    state: State,
    *,
    max_iter: int,
    tol: float,
    run: Run,
    drop: float = 0.0,
    negligible: float = 0.0,
    stage: str = "fit",
    on_sweep: OnSweep | None = None,
    finer: Callable[[State], State] = lambda state: state,
    advance_far: AdvanceFar[State] | None = None,
) -> tuple[State, History]:
    """Make sweeps until the objective or the optimality conditions converge.

    Two stopping tests use the current state only, so that they do not depend on the initialization: the mean decrease
    of the last sweeps is at most `tol` times the loss, or times `negligible` if the loss is smaller ("decrease"), or
    the relative projected gradient is at most `tol`/100 ("optimality"). tol=0 disables both. The third test is that of
    scikit-learn: after some sweeps, the projected gradient is at most `drop` times the first one ("optimality"). Early
    sweeps in lower precision become `finer` when they gain little, or when one of the tests would stop them. If nobody
    observes single sweeps, `advance_far` may make many of them at once.
    """
    if run.ended:
        return state, History((), run.ended)
    checkpoints, rule = run.checkpoints, StoppingRule(tol, drop, negligible)
    is_observed = run.verbose > 0 or checkpoints is not None or on_sweep is not None
    number, begun = (0, Progress(state)) if checkpoints is None else checkpoints.enter(state)
    state, losses, first = begun.state, list(begun.losses), begun.first
    reason = begun.reason
    if reason is not None:
        return state, History(begun.losses, reason)
    while reason is None and not run.ended and len(losses) < max_iter:
        try:
            with run.sweeping():
                if advance_far is None or is_observed:
                    state = advance(state)
                    first = first if losses else state.optimality
                    losses.append(state.loss)
                else:
                    state, first = advance_far(state, rule, losses, first, max_iter)
                if run.verbose:
                    run.show(stage, len(losses), state.loss, _mean_decrease(losses, rule))
                if on_sweep is not None and on_sweep(len(losses), run.in_data_units(state.loss)):
                    run.ended = "on_sweep"
                else:
                    reason = _reason_to_stop(state, losses, first, rule)
                    is_rough_done = _reason_to_stop(state, losses, first, rough_rule(rule))
                    if is_rough_done and (exact := finer(state)) is not state:
                        state, reason = exact, None
                if checkpoints is not None and reason is None and not run.ended:
                    checkpoints.keep(number, Progress(state, tuple(losses), first))
        except KeyboardInterrupt:
            run.interrupt()
    state, reason = finer(state), reason or "max_iter"
    if checkpoints is not None:
        over = None if run.ended else reason  # an interrupted stage can continue
        checkpoints.keep(number, Progress(state, tuple(losses), first, over), now=True)
    return state, History(tuple(losses), run.ended or reason)


def rough_rule(rule: StoppingRule) -> StoppingRule:
    """The rule that ends early sweeps in lower precision."""
    return rule._replace(tol=max(rule.tol, ROUGH))


def _reason_to_stop(state: SweepState, losses: list[float], first: float, rule: StoppingRule) -> str | None:
    """Return the stop reason; None if the sweeps continue."""
    decrease = _mean_decrease(losses, rule)
    return REASONS[stopping_test.function(decrease, len(losses), state.optimality, first, state.exhausted, rule)]


def _mean_decrease(losses: list[float], rule: StoppingRule) -> float:
    return float(mean_decrease.function(losses, len(losses), rule.negligible))
