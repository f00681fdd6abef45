"""The one loop: stopping, history, progress, interruption. No solver counts or prints."""

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from deepnmf.arrays import Array
from deepnmf.objective import Chain
from deepnmf.solvers.checkpoints import Checkpoints, Progress

SETTLED = 14  # sweeps before the first gradient is compared with: inner steps grow for twelve
ROUGH = 2e-5  # of the loss: a sweep that gains less is made in the precision of the data
WINDOW = 5  # sweeps over which the decrease is averaged: one sweep alone may be a restart

INTERRUPTED = "Interrupted: the fit ends with the best factors found so far."

OnSweep = Callable[[int, float], object]


class SweepState(Protocol):
    """What the loop reads of a state."""

    @property
    def loss(self) -> float:
        """The objective after the sweep."""
        ...

    @property
    def optimality(self) -> float:
        """The projected gradient, relative."""
        ...

    @property
    def exhausted(self) -> bool:
        """Whether no sweep can lower the objective any more."""
        ...


State = TypeVar("State", bound=SweepState)


class Descent(Protocol[State]):
    """Sweeps of one objective on one engine."""

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> State:
        """Begin at codes and factors, `refined` where these have been learned and not only guessed."""
        ...

    def advance(self, state: State) -> State:
        """Make one sweep; the loss never rises."""
        ...

    def finer(self, state: State) -> State:
        """The state in the precision of the data: early sweeps may be rougher."""
        ...


@dataclass(frozen=True)
class History:
    """The losses of a run and why it ended."""

    losses: tuple[float, ...]
    stop_reason: str

    def ending_with(self, loss: float) -> "History":
        """The same with another last loss."""
        return History((*self.losses[:-1], loss), self.stop_reason)


@dataclass
class Run:
    """One fit: who watches it, and whether it has been interrupted."""

    verbose: int = 0
    checkpoints: Checkpoints | None = None
    on_sweep: OnSweep | None = None  # called after each sweep of the fine-tuning
    unit: float = 1.0  # what X was divided by: losses are shown in units of X itself
    degree: float = 2.0  # of the loss
    ended: str | None = None  # why nothing iterates any more, in whatever stage: "interrupted" or "on_sweep"
    began: float = field(default_factory=time.perf_counter)
    _sweeping: bool = False
    _asked_to_end: bool = False

    def in_data_units(self, loss: float) -> float:
        """A loss in the units of the data as they were given; in two steps, for the power itself may overflow."""
        half = self.unit ** (self.degree / 2)
        return loss * half * half

    def show(self, stage: str, sweep: int, loss: float, decrease: float) -> None:
        """Print a line of progress: every tenth sweep, or each one at verbose=2."""
        if self.verbose > 1 or (self.verbose and (sweep <= 1 or sweep % 10 == 0)):
            elapsed = time.perf_counter() - self.began
            print(
                f"{stage}: sweep {sweep}, loss {self.in_data_units(loss):.6g}, decrease {decrease:.1e}, {elapsed:.1f} s",
                flush=True,
            )

    def interrupt(self) -> None:
        """Note a KeyboardInterrupt: nothing iterates after it, and what is there is kept."""
        self.ended = "interrupted"
        warnings.warn(INTERRUPTED, UserWarning, stacklevel=2)

    @contextmanager
    def heeding_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C end the sweeps, and only them: a start or a last pass that is under way is needed for the result.

        Who presses it again means the fit. A handler of the user's own is left alone.
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
        """In here an interrupt is a KeyboardInterrupt: the state before is at hand."""
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
) -> tuple[State, History]:
    """Sweep until the objective or the optimality conditions stop moving.

    Two tests look at the current state alone, so where a fit began does not end it:
    the mean decrease of the last sweeps is at most `tol` of the loss, or of `negligible` if the loss is less
    ("decrease"), or the relative projected gradient is at most `tol`/100 ("optimality"). tol=0 switches both
    off. A third one is scikit-learn's: after some sweeps, the projected gradient is at most `drop` of the first one
    ("optimality"). Sweeps that are rough at first become `finer` when they gain little, or when one of the tests
    would end them.
    """
    if run.ended:
        return state, History((), run.ended)
    checkpoints = run.checkpoints
    number, begun = (0, Progress(state)) if checkpoints is None else checkpoints.enter(state)
    state, losses, first = begun.state, list(begun.losses), begun.first
    reason = begun.reason
    if reason is not None:
        return state, History(begun.losses, reason)
    while reason is None and not run.ended and len(losses) < max_iter:
        try:
            with run.sweeping():
                state = advance(state)
                first = first if losses else state.optimality
                losses.append(state.loss)
                if run.verbose:
                    run.show(stage, len(losses), state.loss, _mean_decrease(losses, negligible))
                if on_sweep is not None and on_sweep(len(losses), run.in_data_units(state.loss)):
                    run.ended = "on_sweep"
                else:
                    reason = _reason_to_stop(state, losses, tol, drop * first, negligible)
                    gains_little = reason or _mean_decrease(losses, negligible) <= ROUGH
                    if gains_little and (exact := finer(state)) is not state:
                        state, reason = exact, None
                if checkpoints is not None and reason is None and not run.ended:
                    checkpoints.keep(number, Progress(state, tuple(losses), first))
        except KeyboardInterrupt:
            run.interrupt()
    state, reason = finer(state), reason or "max_iter"
    if checkpoints is not None:
        over = None if run.ended else reason  # what was stopped can go on
        checkpoints.keep(number, Progress(state, tuple(losses), first, over), now=True)
    return state, History(tuple(losses), run.ended or reason)


def _reason_to_stop(
    state: SweepState, losses: list[float], tol: float, least_gradient: float, negligible: float
) -> str | None:
    """Why there are no more sweeps; None if there are."""
    limit = max(tol / 100, least_gradient if len(losses) >= SETTLED else 0.0)
    if limit > 0 and state.optimality <= limit:
        return "optimality"
    if tol > 0 and (state.exhausted or (len(losses) > WINDOW and _mean_decrease(losses, negligible) <= tol)):
        return "decrease"
    return None


def _mean_decrease(losses: list[float], negligible: float) -> float:
    recent = losses[-WINDOW - 1 :]
    if len(recent) < 2:
        return float("inf")
    size = max(abs(recent[-1]), negligible)  # a penalty that rewards may leave it negative
    return (recent[0] - recent[-1]) / (len(recent) - 1) / size if size > 0 else 0.0
