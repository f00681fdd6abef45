"""What a command prints: sentences and tables for a person, JSON for a program, or warnings and errors only."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import typer

from deepnmf.cli.safe_text import json_text, printable

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

    from deepnmf.cli.results import TimedFit
    from deepnmf.objective.divergences import Divergence
    from deepnmf.report import LayerScore

OnSweep = Callable[[int, float], object]
OnBytes = Callable[[int, int], object]
Question = Callable[[str], bool]
SECONDS_BETWEEN_EVENTS = 1.0
NARROW = 8  # width of a bar that leaves room for the numbers on a line of 80 characters


class Messages(Protocol):
    """How a command reports its progress and its results."""

    def info(self, sentence: str) -> None:
        """Print a sentence for the user."""

    def table(self, table: Any) -> None:
        """Print a table for the user."""

    def event(self, kind: str, **facts: Any) -> None:
        """Report an event to a program."""

    def warning(self, sentence: str) -> None:
        """Report a warning."""

    def error(self, sentence: str, code: int) -> None:
        """Report the error that ends the command."""

    def reading_progress(self) -> AbstractContextManager[OnBytes]:
        """Show how many bytes of a file have been read."""

    def fit_progress(self, name: str, max_iter: int) -> AbstractContextManager[OnSweep]:
        """Show the sweeps (iterations) of a fit."""

    def activity(self, what: str) -> AbstractContextManager[object]:
        """Show what the command does while it has no progress to report."""

    def question(self) -> "Question | None":
        """Return how to ask the user a question; None if nobody would answer."""


def messages_for(json: bool, quiet: bool) -> Messages:
    """Choose the messages by the options --json and --quiet."""
    if json:
        return JsonMessages()
    return QuietMessages() if quiet else TerminalMessages()


class QuietMessages:
    """Print warnings and errors only."""

    def info(self, sentence: str) -> None:
        """Print nothing."""

    def table(self, table: Any) -> None:
        """Print nothing."""

    def event(self, kind: str, **facts: Any) -> None:
        """Print nothing."""

    def warning(self, sentence: str) -> None:
        """Print one line to the standard error."""
        _echo(f"Warning: {sentence}", err=True)

    def error(self, sentence: str, code: int) -> None:
        """Print one line to the standard error."""
        _echo(sentence, err=True)

    def reading_progress(self) -> AbstractContextManager[OnBytes]:
        """Show nothing."""
        return nullcontext(_ignore)

    def fit_progress(self, name: str, max_iter: int) -> AbstractContextManager[OnSweep]:
        """Show nothing."""
        return nullcontext(_ignore)

    def activity(self, what: str) -> AbstractContextManager[object]:
        """Show nothing."""
        return nullcontext()

    def question(self) -> "Question | None":
        """Ask nothing."""
        return None


class TerminalMessages(QuietMessages):
    """Print sentences and tables, and show progress bars where the standard error is a terminal."""

    def info(self, sentence: str) -> None:
        """Print one line."""
        _echo(sentence)

    def table(self, table: Any) -> None:
        """Print a table in the width of the terminal."""
        from rich.console import Console

        Console().print(table)

    @contextmanager
    def reading_progress(self) -> Iterator[OnBytes]:
        """Show a bar of the bytes that have been read."""
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

        with _progress_bar(TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn()) as progress:
            task = progress.add_task("reading", visible=False)  # small files are read before a bar could be seen

            def on_bytes(read: int, total: int) -> None:
                progress.update(task, completed=read, total=total, visible=True)

            yield on_bytes

    @contextmanager
    def fit_progress(self, name: str, max_iter: int) -> Iterator[OnSweep]:
        """Show the sweep, the loss, its relative change, and the remaining time if max_iter is reached."""
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

        status, left = TextColumn("{task.fields[status]}"), TextColumn("at most")
        with _progress_bar(TextColumn(name), BarColumn(NARROW), status, left, TimeRemainingColumn()) as progress:
            task = progress.add_task(name, total=max_iter, status="pre-training")
            tracker = LossTracker()

            def on_sweep(sweep: int, loss: float) -> None:
                decrease = tracker.relative_decrease(loss)
                change = "" if decrease is None else f" ({-decrease:+.1e})"
                progress.update(task, completed=sweep, status=f"sweep {sweep}/{max_iter}, loss {loss:.6g}{change}")

            yield on_sweep

    def question(self) -> "Question | None":
        """Ask in a terminal only."""
        return _confirmed if sys.stdin.isatty() and sys.stdout.isatty() else None

    @contextmanager
    def activity(self, what: str) -> Iterator[None]:
        """Show a line that disappears at the end."""
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        with _progress_bar(SpinnerColumn(), TextColumn(what), TimeElapsedColumn()) as progress:
            progress.add_task(what)
            yield


class JsonMessages(QuietMessages):
    """Print one JSON object per line to the standard output."""

    def event(self, kind: str, **facts: Any) -> None:
        """Print one line and flush it."""
        typer.echo(json_text({"event": kind, **facts}))
        sys.stdout.flush()

    def warning(self, sentence: str) -> None:
        """Print the warning as an event."""
        self.event("warning", message=sentence)

    def error(self, sentence: str, code: int) -> None:
        """Print the error as an event, and for people to the standard error."""
        self.event("error", message=sentence, exit_code=int(code))
        _echo(sentence, err=True)

    @contextmanager
    def fit_progress(self, name: str, max_iter: int) -> Iterator[OnSweep]:
        """Print an event for the first sweep, then about one per second."""
        tracker, began, last = LossTracker(), time.monotonic(), float("-inf")

        def on_sweep(sweep: int, loss: float) -> None:
            nonlocal last
            decrease, now = tracker.relative_decrease(loss), time.monotonic()
            if now - last >= SECONDS_BETWEEN_EVENTS:
                last = now
                self.event(
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
class LossTracker:
    """Remembers the loss of the previous sweep."""

    previous: float | None = None

    def relative_decrease(self, loss: float) -> float | None:
        """Return the decrease since the previous sweep relative to the loss; None for the first sweep."""
        previous, self.previous = self.previous, loss
        return None if previous is None or loss == 0 else (previous - loss) / abs(loss)


def _echo(sentence: str, err: bool = False) -> None:
    """Print a sentence; names in it may contain control characters."""
    typer.echo(printable(sentence), err=err)


def _confirmed(question: str) -> bool:
    return typer.confirm(printable(question), default=True)


def _progress_bar(*columns: Any) -> "Progress":
    """Return a bar on the standard error that disappears at the end; it is disabled where there is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _ignore(*_: float) -> None:
    """Show nothing."""


# ---------------------------------------------------------------------------------- tables of scores


ERROR_CAPTION = "error: Frobenius norm of the residual"
SPARSENESS_CAPTION = "sparseness: Hoyer sparseness of features"
HIERARCHY_CAPTIONS = (
    "explained: share that the features of the layer explain beyond column means",
    "dead: unused features; copies: features like a single one of the layer below",
    "parts: number of features below that a feature is made of, on average",
)
CLUSTERING_CAPTION = "accuracy, NMI: k-means clusters of the codes compared with the labels"


def print_scores(messages: Messages, fits: Sequence["TimedFit"], scores: Mapping[str, Sequence["LayerScore"]]) -> None:
    """Print one row per layer of every model, and explain the columns."""
    labeled = scores[fits[0].name][0].accuracy is not None
    table = _score_table(labeled)
    for fit in fits:
        _add_layers(table, fit.name, scores[fit.name], fit.seconds)
    messages.table(table)
    for line in (*_error_captions(fits), *([CLUSTERING_CAPTION] if labeled else [])):
        messages.info(line)


def _error_captions(fits: Sequence["TimedFit"]) -> list[str]:
    """Explain the errors and the sparseness; one line for each loss, with its models if there are several losses."""
    models: dict[Divergence, list[str]] = {}
    for fit in fits:
        models.setdefault(fit.loss, []).append(fit.name)
    lines = [ERROR_CAPTION if loss.is_squared_error else f"error: √(2d), d is the {loss.title}" for loss in models]
    if len(models) == 1:
        return [f"{lines[0]}; {SPARSENESS_CAPTION}"]
    of_models = [f" of {', '.join(names)}:" for names in models.values()]
    return [*(line.replace(":", who, 1) for line, who in zip(lines, of_models, strict=True)), SPARSENESS_CAPTION]


def _score_table(labeled: bool) -> "Table":
    """Return an empty table with headings; accuracy and NMI are included if there are labels."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True)
    measures = ("accuracy", "NMI") if labeled else ()
    for heading in ("layer", "size", "error", *measures, "sparseness", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _add_layers(table: "Table", name: str, scores: Sequence["LayerScore"], seconds: float) -> None:
    """Add one row per layer; the first row of a model shows its name and seconds."""
    duration = f"{seconds:.2f}"
    for score in scores:
        shares = [share for share in (score.accuracy, score.nmi, score.sparseness) if share is not None]
        cells = [f"{score.layer}", f"{score.size}", _short(score.error), *(f"{share:.3f}" for share in shares)]
        table.add_row(name, *cells, duration)
        name = duration = ""
    table.add_section()


def print_hierarchy(messages: Messages, fits: Sequence["TimedFit"]) -> None:
    """Print one row per layer of every deep model, and explain the columns; nothing if no model is deep."""
    from rich import box
    from rich.table import Table

    from deepnmf.models.hierarchy import HEADINGS, cells

    deep = [fit for fit in fits if fit.hierarchy]
    if not deep:
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for fit in deep:
        for place, summary in enumerate(fit.hierarchy):
            table.add_row(fit.name if place == 0 else "", *cells(summary))
        table.add_section()
    messages.table(table)
    for line in HIERARCHY_CAPTIONS:
        messages.info(line)


def _short(error: float) -> str:
    """Format an error with two decimals, or with two significant digits if it is below 1."""
    return f"{error:.2f}" if error >= 1 else f"{error:.2g}"
