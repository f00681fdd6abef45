"""Output of commands: sentences and tables for people, JSON for programs, or warnings and errors only."""

import shutil
import sys
import textwrap
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
    from deepnmf.report import LayerScore
    from deepnmf.report.evaluation import Evaluation

OnSweep = Callable[[int, float], object]
OnBytes = Callable[[int, int], object]
Question = Callable[[str], bool]
SECONDS_BETWEEN_EVENTS = 1.0
NARROWEST = 20  # characters that a line of text may have at least
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
    """Print a sentence, in a terminal without breaking words; names in it may contain control characters."""
    stream, text = sys.stderr if err else sys.stdout, printable(sentence)
    typer.echo(_wrapped(text, shutil.get_terminal_size().columns) if stream.isatty() else text, err=err)


def _wrapped(text: str, width: int) -> str:
    indent = "  " if text.startswith("- ") else ""
    wrapper = textwrap.TextWrapper(
        max(width, NARROWEST), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return wrapper.fill(text)


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


# ---------------------------------------------------------------------------------- tables of layers


EXPLAINED_CAPTION = "explained: share beyond {}, by the features of the layer alone"
HIERARCHY_CAPTION = "dead: unused features; copies: features similar to a single feature below"
CLUSTERING_CAPTION = "accuracy, NMI: k-means clusters of the codes compared with the labels"
ON_DATA = "k-means on data"


def print_layers(messages: Messages, fits: Sequence["TimedFit"], evaluations: Mapping[str, "Evaluation"]) -> None:
    """Print one row per layer of every model, and explain the columns; at most 80 characters wide."""
    first = evaluations[fits[0].name]
    deep, labeled = any(fit.hierarchy for fit in fits), first.labels is not None
    table = _layer_table(deep, labeled)
    for fit in fits:
        _add_layers(table, fit, evaluations[fit.name].scores, deep, labeled)
    if labeled:
        _add_data(table, first, deep)
    messages.table(table)
    for line in _captions(fits, deep, labeled):
        messages.info(line)


def _layer_table(deep: bool, labeled: bool) -> "Table":
    """Return an empty table with headings; some columns exist only for deep models or with labels."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True)
    hierarchy, measures = ("copies",) if deep else (), ("accuracy", "NMI") if labeled else ()
    for heading in ("layer", "size", "explained", "dead", *hierarchy, *measures, "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _add_layers(table: "Table", fit: "TimedFit", scores: Sequence["LayerScore"], deep: bool, labeled: bool) -> None:
    """Add one row per layer; the first row of a model shows its name and seconds."""
    name, duration = fit.name, f"{fit.seconds:.2f}"
    for layer, (score, dead) in enumerate(zip(scores, fit.model.n_dead_, strict=True)):
        cells = [f"{score.layer}", f"{score.size}", f"{100 * score.explained:.1f} %", f"{dead}"]
        if deep:
            cells.append(f"{fit.hierarchy[layer].copies}" if fit.hierarchy else "")
        if labeled:
            cells += [f"{score.accuracy:.3f}", f"{score.nmi:.3f}"]
        table.add_row(name, *cells, duration)
        name = duration = ""
    table.add_section()


def _add_data(table: "Table", evaluation: "Evaluation", deep: bool) -> None:
    """Add the scores of k-means on the data themselves, if they are small enough."""
    found = evaluation.clustering_of_data()
    if found is not None:
        table.add_row(ON_DATA, *[""] * (5 if deep else 4), f"{found.accuracy:.3f}", f"{found.nmi:.3f}", "")


def _captions(fits: Sequence["TimedFit"], deep: bool, labeled: bool) -> list[str]:
    """Explain the columns; the explained share by the baseline of each loss."""
    baselines = list(dict.fromkeys(fit.loss.baseline_text for fit in fits))
    lines = [EXPLAINED_CAPTION.format(" or ".join(baselines))]
    return lines + [HIERARCHY_CAPTION] * deep + [CLUSTERING_CAPTION] * labeled


def print_findings(messages: Messages, findings: Sequence[str]) -> None:
    """Print the findings of a fit, one per line."""
    for sentence in findings:
        messages.info(f"- {sentence}")
