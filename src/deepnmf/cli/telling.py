"""What a command says while it works: to a person, to a machine, or to nobody."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import typer

from deepnmf.cli.plain import as_json
from deepnmf.cli.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress

OnSweep = Callable[[int, float], object]
OnBytes = Callable[[int, int], object]
SECONDS_BETWEEN_EVENTS = 1.0
NARROW = 8  # a bar that leaves a line of 80 characters to the numbers


class Voice(Protocol):
    """One way of telling how a command goes."""

    def said(self, sentence: str) -> None:
        """Tell something that is good to know."""

    def shown(self, table: Any) -> None:
        """Show a table."""

    def told(self, event: str, **facts: Any) -> None:
        """Tell a machine."""

    def warned(self, sentence: str) -> None:
        """Tell of a warning."""

    def failed(self, sentence: str, code: int) -> None:
        """Tell why it ends here."""

    def reading(self) -> AbstractContextManager[OnBytes]:
        """Follow the reading of a file."""

    def fitting(self, name: str, max_iter: int) -> AbstractContextManager[OnSweep]:
        """Follow the sweeps of a fit."""

    def working(self, what: str) -> AbstractContextManager[object]:
        """Name what is done where there is nothing to follow."""


def voice_for(as_json: bool, quiet: bool) -> Voice:
    """A machine's, a quiet one, or a terminal's."""
    if as_json:
        return JsonLines()
    return Quiet() if quiet else Terminal()


class Quiet:
    """Warnings and errors only."""

    def said(self, sentence: str) -> None:
        """Nothing."""

    def shown(self, table: Any) -> None:
        """Nothing."""

    def told(self, event: str, **facts: Any) -> None:
        """Nothing."""

    def warned(self, sentence: str) -> None:
        """One line on the standard error."""
        _echo(f"Warning: {sentence}", err=True)

    def failed(self, sentence: str, code: int) -> None:
        """One line on the standard error."""
        _echo(sentence, err=True)

    def reading(self) -> AbstractContextManager[OnBytes]:
        """Nothing."""
        return nullcontext(_nothing)

    def fitting(self, name: str, max_iter: int) -> AbstractContextManager[OnSweep]:
        """Nothing."""
        return nullcontext(_nothing)

    def working(self, what: str) -> AbstractContextManager[object]:
        """Nothing."""
        return nullcontext()


class Terminal(Quiet):
    """Sentences and tables; bars only where someone sees them."""

    def said(self, sentence: str) -> None:
        """One line."""
        _echo(sentence)

    def shown(self, table: Any) -> None:
        """As wide as the terminal."""
        from rich.console import Console

        Console().print(table)

    @contextmanager
    def reading(self) -> Iterator[OnBytes]:
        """A bar of bytes."""
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

        with _bar(TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn()) as progress:
            task = progress.add_task("reading", visible=False)  # small files are read before it could be seen
            yield lambda read, total: progress.update(task, completed=read, total=total, visible=True)

    @contextmanager
    def fitting(self, name: str, max_iter: int) -> Iterator[OnSweep]:
        """Sweep, loss, its decrease, and the time that is left at most: a fit may converge before."""
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

        status, left = TextColumn("{task.fields[status]}"), TextColumn("at most")
        with _bar(TextColumn(name), BarColumn(NARROW), status, left, TimeRemainingColumn()) as progress:
            task = progress.add_task(name, total=max_iter, status="pre-training")
            falling = Falling()

            def on_sweep(sweep: int, loss: float) -> None:
                decrease = falling.by(loss)
                change = "" if decrease is None else f" ({-decrease:+.1e})"
                progress.update(task, completed=sweep, status=f"sweep {sweep}/{max_iter}, loss {loss:.6g}{change}")

            yield on_sweep

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """A line that goes again."""
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        with _bar(SpinnerColumn(), TextColumn(what), TimeElapsedColumn()) as progress:
            progress.add_task(what)
            yield


class JsonLines(Quiet):
    """One JSON object a line on the standard output."""

    def told(self, event: str, **facts: Any) -> None:
        """One line, at once."""
        typer.echo(as_json({"event": event, **facts}))
        sys.stdout.flush()

    def warned(self, sentence: str) -> None:
        """For the machine; a person reads the same in the standard error of the other voices."""
        self.told("warning", message=sentence)

    def failed(self, sentence: str, code: int) -> None:
        """For both."""
        self.told("error", message=sentence, exit_code=int(code))
        _echo(sentence, err=True)

    @contextmanager
    def fitting(self, name: str, max_iter: int) -> Iterator[OnSweep]:
        """The first sweep, then about one a second."""
        falling, began, last = Falling(), time.monotonic(), float("-inf")

        def on_sweep(sweep: int, loss: float) -> None:
            nonlocal last
            decrease, now = falling.by(loss), time.monotonic()
            if now - last >= SECONDS_BETWEEN_EVENTS:
                last = now
                self.told(
                    "sweep",
                    model=name,
                    sweep=sweep,
                    max_iter=max_iter,
                    loss=loss,
                    decrease=decrease,
                    seconds=now - began,
                )

        yield on_sweep


@dataclass
class Falling:
    """By which part of itself the loss falls."""

    before: float | None = None

    def by(self, loss: float) -> float | None:
        """Since the sweep before; None at the first."""
        before, self.before = self.before, loss
        return None if before is None or loss == 0 else (before - loss) / abs(loss)


def _echo(sentence: str, err: bool = False) -> None:
    """Print a sentence, which may hold names of anybody's."""
    typer.echo(printable(sentence), err=err)


def _bar(*columns: Any) -> "Progress":
    """On the standard error, gone when done, and not at all where nobody sees it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _nothing(*_: float) -> None:
    """Follow nothing."""
