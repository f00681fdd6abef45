"""``deepnmf choose``: choose the sizes of the layers, and print the command that fits a model of these sizes."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepnmf.cli import model_choice
from deepnmf.cli.destinations import check_file
from deepnmf.cli.exits import CommandError, ExitCode, error_handling
from deepnmf.cli.options import (
    DataSource,
    Debug,
    Json,
    Loss,
    Overwrite,
    Quiet,
    Seed,
    Settings,
    reads_data,
)
from deepnmf.cli.output import Messages, messages_for
from deepnmf.cli.result_writer import atomic_file
from deepnmf.cli.results import choose_layers

if TYPE_CHECKING:
    from deepnmf.selection import Selection

DEFAULTS = (None, 0)  # of --seed and others, which the printed command omits
SUFFIXES = (".png", ".svg", ".pdf")
CAPTIONS = (
    "excess/±: by how many standard errors the error at hidden entries exceeds the smallest one",
    "stability: similarity of the features of two fits, on different halves of the rows",
    "best: the smallest size with at most 1 there; min: the smallest error; 1se: the usual rule",
)
COLUMNS = ("layer", "size", "excess/±", "stability", "explained", "dead", "copies", "")


@reads_data
def choose(
    model: Annotated[
        str | None, typer.Option(help="A model listed by: deepnmf models. By default that of deepnmf fit.")
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Sizes of the first layer to try: 10,20,40. By default a grid."),
    ] = None,
    loss: Loss = None,
    settings: Settings = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the plot; by default deepnmf-NAME-sizes.png for an input NAME."),
    ] = None,
    *,
    source: DataSource,
    seed: Seed = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Checkpoint file; the same command resumes an interrupted search from it.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Choose the sizes of the layers by predictions of hidden entries, and print the command that fits the choice."""
    messages = messages_for(json, quiet)
    plot = output or Path(f"deepnmf-{source.stem}-sizes.png")
    with error_handling(messages, debug):
        _check_suffix(plot)
        check_file(plot, overwrite)
        sizes = model_choice.parse_layers(candidates, "--candidates")
        chosen = model_choice.add_loss(model_choice.parse_settings(settings or []), loss)
        data, _ = source.read(messages)
        name = model or model_choice.default_model(data, chosen)
        unfitted = model_choice.build_model(model_choice.model_class(name), (1,), chosen, seed)
        with messages.activity(f"choosing the layers of {name}"):
            selection = choose_layers(unfitted, data, seed, sizes=sizes, checkpoint=checkpoint)
        with atomic_file(plot) as temporary:
            selection.plot().savefig(temporary, format=plot.suffix[1:].lower())
        best = ",".join(map(str, selection.best_sizes_))
        command = _fit_command(source, name, best, {"--loss": loss, "--seed": seed}, settings or [])
        _print(selection, messages)
        messages.info(f"{name} with layers {best}. The plot is in {plot}. To fit it:")
        messages.info(command)
        interrupted = selection.ended_by_ == "interrupt"
        code = ExitCode.INTERRUPTED if interrupted else ExitCode.DONE
        rows = [asdict(candidate) for candidate in selection.table_]
        facts = {"model": name, "layers": selection.best_sizes_, "command": command, "table": rows}
        messages.event("result", output=str(plot), exit_code=int(code), **facts)
    if interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)


def _check_suffix(plot: Path) -> None:
    if plot.suffix.lower() not in SUFFIXES:
        raise CommandError(f"--output is {plot}: expected a file ending in {', '.join(SUFFIXES)}.", ExitCode.USAGE)


def _fit_command(source: DataSource, name: str, layers: str, options: dict[str, Any], settings: list[str]) -> str:
    words = ["deepnmf", "fit", str(source.path), "--model", name, "--layers", layers]
    given = {f"--{option.replace('_', '-')}": value for option, value in asdict(source).items() if option != "path"}
    for option, value in (given | options).items():
        words += [] if value in DEFAULTS else [option, str(value)]
    for setting in settings:
        words += ["--set", setting]
    return shlex.join(words)


def _print(selection: "Selection", messages: Messages) -> None:
    from rich import box
    from rich.table import Table

    from deepnmf.selection.result import cells

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for candidate in selection.table_:
        table.add_row(*cells(candidate, COLUMNS))
    messages.table(table)
    for line in CAPTIONS:
        messages.info(line)
