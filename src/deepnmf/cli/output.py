"""What a command prints: sentences and tables for a person, JSON for a program, or warnings and errors only."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import typer

from deepnmf.cli.safe_text import as_json, printable

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

    from deepnmf.cli.results import Fit
    from deepnmf.report import LayerScore

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


# ---------------------------------------------------------------------------------- tables of scores


CAPTION = "error: Frobenius norm of data minus reconstruction; sparseness: Hoyer's, of the features"
CLUSTERING_CAPTION = "accuracy, NMI: k-means on the codes against the labels"


def show_scores(voice: "Voice", fits: Sequence["Fit"], scores: Mapping[str, Sequence["LayerScore"]]) -> None:
    """One row a layer of every model, and what the columns are."""
    labelled = scores[fits[0].name][0].accuracy is not None
    table = score_table(labelled)
    for fit in fits:
        add_layers(table, fit.name, scores[fit.name], fit.seconds)
    voice.shown(table)
    voice.said(f"{CAPTION}\n{CLUSTERING_CAPTION}" if labelled else CAPTION)


def score_table(labelled: bool, title: str | None = None) -> "Table":
    """Headings; accuracy and NMI where there are labels."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True)
    measures = ("accuracy", "NMI") if labelled else ()
    for heading in ("layer", "size", "error", *measures, "sparseness", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def add_layers(table: "Table", name: str, scores: Sequence["LayerScore"], seconds: float) -> None:
    """One row a layer; name and seconds, which are the whole model's, in its first."""
    duration = f"{seconds:.2f}"
    for score in scores:
        shares = [share for share in (score.accuracy, score.nmi, score.sparseness) if share is not None]
        cells = [f"{score.layer}", f"{score.size}", _short(score.error), *(f"{share:.3f}" for share in shares)]
        table.add_row(name, *cells, duration)
        name = duration = ""
    table.add_section()


def _short(error: float) -> str:
    """Two decimals, or two digits of what is too small for them."""
    return f"{error:.2f}" if error >= 1 else f"{error:.2g}"
