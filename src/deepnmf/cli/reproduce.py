"""``deepnmf reproduce``: the papers' tables, ours beside theirs."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepnmf.cli.failing import Exit, fail

if TYPE_CHECKING:
    from deepnmf.reproduction import Data, Experiment, Plan

FOLDER = Path("docs/reproduction")


class _Protocol(StrEnum):
    """The protocols of `deepnmf.reproduction.results`, which is loaded when it is used."""

    PAPER = "paper"
    BLIND = "blind"


def command(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments, by the names that --list shows.")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the experiments and their data, and exit.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Run every experiment whose data are there.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for pages, pictures and results.")] = FOLDER,
    data_home: Annotated[
        Path | None, typer.Option(help="Folder of the data; by default the environment variable DEEPNMF_DATA.")
    ] = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Repetitions, instead of the paper's number.")] = None,
    quick: Annotated[bool, typer.Option(help="Two trials of the smallest size: a look, no reproduction.")] = False,
    protocol: Annotated[
        _Protocol | None,
        typer.Option(
            help="Choose settings and restarts by the labels, as papers do, or without; by default both, side by side."
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once; by default one a core.")] = None,
    again: Annotated[bool, typer.Option(help="Discard the results that are there instead of going on.")] = False,
) -> None:
    """Run the experiments of the papers and write pages with the published numbers beside ours.

    Results are kept trial by trial: a run that was broken off goes on where it was.
    """
    from deepnmf.reproduction import EXPERIMENTS, Data, Plan

    data = Data(str(data_home) if data_home else None)
    if list_them:
        _list(EXPERIMENTS.values(), data)
        return
    plan = Plan(repetitions, quick, protocol.value if protocol else None)
    for experiment in _chosen(names or [], everything, data):
        _reproduce(experiment, plan, data, output, jobs, again)


def _chosen(names: Sequence[str], everything: bool, data: "Data") -> list["Experiment"]:
    from deepnmf.reproduction import EXPERIMENTS

    if everything == bool(names):
        fail("Expected either names of experiments or --all; --list shows them.", Exit.USAGE)
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        fail(f"There is no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}.", Exit.USAGE)
    if everything:
        return [experiment for experiment in EXPERIMENTS.values() if not _missing(experiment, data)]
    chosen = [EXPERIMENTS[name] for name in names]
    for experiment in chosen:
        if reason := _missing(experiment, data):
            fail(f"{experiment.name}: {reason}", Exit.UNREADABLE)
    return chosen


def _missing(experiment: "Experiment", data: "Data") -> str:
    """Why the experiment cannot be run; empty if it can."""
    try:
        for name in experiment.data:
            data[name]
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""


def _list(experiments: Iterable["Experiment"], data: "Data") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("name", "what", "data"):
        table.add_column(heading, no_wrap=heading == "name")
    for experiment in experiments:
        absent = " (not there)" if _missing(experiment, data) else ""
        table.add_row(experiment.name, experiment.title, ", ".join(experiment.data) + absent)
    Console().print(table)


def _reproduce(
    experiment: "Experiment", plan: "Plan", data: "Data", output: Path, jobs: int | None, again: bool
) -> None:
    from deepnmf.reproduction import Kept, OtherResultsError, run, write_page

    kept = Kept(output / f".{experiment.name}.jsonl")
    try:
        if again:
            kept.discard()
        kept.begin(experiment, plan)
        with _progress(experiment.name) as on_trial:
            results = run(experiment, plan, data, kept, jobs, on_trial)
        path = write_page(experiment, results, data, plan, output, _said(experiment, plan))
    except OtherResultsError as error:
        fail(str(error), Exit.UNWRITABLE)
    except KeyboardInterrupt:
        fail(
            f"{experiment.name}: interrupted; the trials that were done are kept, the same command goes on.",
            Exit.INTERRUPTED,
        )
    except OSError as error:
        fail(f"--output is {output}, but results cannot be written there: {error.strerror or error}.", Exit.UNWRITABLE)
    typer.echo(path)


def _said(experiment: "Experiment", plan: "Plan") -> str:
    """The command that makes the page."""
    repetitions = [] if plan.repetitions is None else ["--repetitions", str(plan.repetitions)]
    protocol = [] if plan.protocol is None else ["--protocol", plan.protocol]
    quick = ["--quick"] if plan.quick else []
    return shlex.join(["deepnmf", "reproduce", experiment.name, *repetitions, *protocol, *quick])


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A bar with an estimate of the time left, on a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    left = TimeRemainingColumn(elapsed_when_finished=True)
    columns = TextColumn(name), BarColumn(), MofNCompleteColumn(), TextColumn("trials"), TimeElapsedColumn(), left
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
