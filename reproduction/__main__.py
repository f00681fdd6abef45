"""``python -m reproduction``: run the papers' experiments and write their pages."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum, StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from reproduction import EXPERIMENTS
from reproduction.confirmation import confirm
from reproduction.experiment import Data, Experiment, Plan, Results, results_path
from reproduction.page_index import page_table
from reproduction.pages import counted, write_page
from reproduction.trials import OtherResultsError, TrialLog, run
from reproduction.verdicts import write_verdicts

FOLDER = Path("docs/reproduction")


class ExitCode(IntEnum):
    """Exit codes; those above 1 are the same as those of the deepnmf command line."""

    OTHER_RESULTS = 1
    USAGE = 2
    UNREADABLE = 3
    UNWRITABLE = 5
    INTERRUPTED = 130


class ProtocolOption(StrEnum):
    """Protocols that can be chosen on the command line."""

    PAPER = "paper"
    BLIND = "blind"


app = typer.Typer(add_completion=False)


@app.command()
def command(
    names: Annotated[list[str] | None, typer.Argument(help="Names of experiments; --list shows them.")] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the experiments and their data, and exit.")] = False,
    run_all: Annotated[bool, typer.Option("--all", help="Run every experiment whose data are available.")] = False,
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="Compare all published numbers with the results in --output, and exit.")
    ] = False,
    pages: Annotated[
        bool, typer.Option("--pages", help="List all pages with their commands and commits, and exit.")
    ] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for pages, pictures and results.")] = FOLDER,
    data_home: Annotated[
        Path | None, typer.Option(help="Folder of the data sets; defaults to the environment variable DEEPNMF_DATA.")
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="Number of repetitions, instead of the paper's number.")
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="Run a few trials of the smallest size, to check that everything works.")
    ] = False,
    protocol: Annotated[
        ProtocolOption | None,
        typer.Option(
            help="Choose settings and restarts by the labels, as in the papers (paper), or without labels (blind). "
            "By default, both protocols are run."
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of parallel trials; by default one per core.")] = None,
    confirm_trials: Annotated[
        int | None,
        typer.Option(
            "--confirm",
            min=1,
            help="Run this number of trials of each page in --output again, compare them with the stored results, and exit.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option(help="Discard existing results instead of resuming them.")] = False,
) -> None:
    """Run the experiments of the papers and write pages with the published numbers beside ours.

    The results of each trial are stored as soon as it ends, so the same command resumes an interrupted run.
    """
    data = Data(str(data_home) if data_home else None)
    if list_only:
        _print_list(EXPERIMENTS.values(), data)
        return
    if pages:
        typer.echo(page_table((output, output.parent / "benchmarks")))
        return
    if verdicts:
        typer.echo(write_verdicts(EXPERIMENTS.values(), output))
        return
    plan = Plan(repetitions, quick, protocol.value if protocol else None)
    chosen = _chosen(names or [], run_all, data)
    if confirm_trials:
        _confirm(chosen, output, data, confirm_trials, jobs)
        return
    typer.echo(_estimate(chosen, output), err=True)
    for experiment in chosen:
        _reproduce(experiment, plan, data, output, jobs, again)


def _fail(message: str, code: ExitCode) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def _chosen(names: Sequence[str], run_all: bool, data: Data) -> list[Experiment]:
    if run_all == bool(names):
        _fail("Expected either names of experiments or --all; --list shows the names.", ExitCode.USAGE)
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        _fail(f"Unknown experiment {unknown[0]!r}; expected one of {', '.join(EXPERIMENTS)}.", ExitCode.USAGE)
    if run_all:
        return [experiment for experiment in EXPERIMENTS.values() if not _missing(experiment, data)]
    chosen = [EXPERIMENTS[name] for name in names]
    for experiment in chosen:
        if reason := _missing(experiment, data):
            _fail(f"{experiment.name}: {reason}", ExitCode.UNREADABLE)
    return chosen


def _missing(experiment: Experiment, data: Data) -> str:
    """Return the reason why the experiment cannot be run, or an empty string if it can."""
    try:
        for name in experiment.data:
            data[name]
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""


def _estimate(experiments: Sequence[Experiment], output: Path) -> str:
    """Return a message on the time that the existing results in the folder took."""
    paths = [results_path(output, experiment.name) for experiment in experiments]
    known = [sum(Results.read_csv(path).column("trial_seconds")) for path in paths if path.exists()]
    if not known:
        return f"{counted(experiments, 'experiment')}; there are no earlier results in {output} from which to estimate the time."
    minutes = f"{sum(known) / 60:.0f} minutes of one core"
    return f"{counted(experiments, 'experiment')}; for {len(known)} of them, computing the results in {output} took {minutes}."


def _print_list(experiments: Iterable[Experiment], data: Data) -> None:
    table = Table("name", "title", "data", box=None, pad_edge=False)
    table.columns[0].no_wrap = True
    for experiment in experiments:
        absent = " (not available)" if _missing(experiment, data) else ""
        table.add_row(experiment.name, experiment.title, ", ".join(experiment.data) + absent)
    Console().print(table)


def _reproduce(experiment: Experiment, plan: Plan, data: Data, output: Path, jobs: int | None, again: bool) -> None:
    log = TrialLog(output / f".{experiment.name}.jsonl")
    try:
        if again:
            log.discard()
        log.begin(experiment, plan)
        with _progress_bar(experiment.name) as on_trial:
            results = run(experiment, plan, data, log, jobs, on_trial)
        path = write_page(experiment, results, data, plan, output, _command_line(experiment, plan))
    except OtherResultsError as error:
        _fail(str(error), ExitCode.UNWRITABLE)
    except KeyboardInterrupt:
        _fail(
            f"{experiment.name}: interrupted. The finished trials are stored; the same command resumes the run.",
            ExitCode.INTERRUPTED,
        )
    except OSError as error:
        _fail(
            f"--output is {output}, but results cannot be written there: {error.strerror or error}.",
            ExitCode.UNWRITABLE,
        )
    typer.echo(path)


def _confirm(experiments: Iterable[Experiment], output: Path, data: Data, n_trials: int, jobs: int | None) -> None:
    holds = True
    for experiment in (one for one in experiments if (output / f"{one.name}.md").exists()):
        is_same, message = confirm(experiment, output, data, n_trials, jobs)
        holds = holds and is_same
        typer.echo(message)
    if not holds:
        raise typer.Exit(ExitCode.OTHER_RESULTS)


def _command_line(experiment: Experiment, plan: Plan) -> str:
    """Return the command that writes the page."""
    repetitions = [] if plan.repetitions is None else ["--repetitions", str(plan.repetitions)]
    protocol = [] if plan.protocol is None else ["--protocol", plan.protocol]
    quick = ["--quick"] if plan.quick else []
    return shlex.join(["python", "-m", "reproduction", experiment.name, *repetitions, *protocol, *quick])


@contextmanager
def _progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar with an estimate of the remaining time if stderr is a terminal."""
    left = TimeRemainingColumn(elapsed_when_finished=True)
    columns = TextColumn(name), BarColumn(), MofNCompleteColumn(), TextColumn("trials"), TimeElapsedColumn(), left
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield partial(_show_trials, progress, progress.add_task(name, total=None))


def _show_trials(progress: Progress, task: TaskID, done: int, total: int) -> None:
    progress.update(task, completed=done, total=total)


if __name__ == "__main__":
    app(prog_name="python -m reproduction")
