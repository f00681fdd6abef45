"""The command line: ``deepnmf --help`` lists the commands.

Modules that only one command needs are imported inside its functions, so that ``--help`` is fast.

Examples
--------
>>> from typer.testing import CliRunner
>>> from deepnmf.cli import app
>>> print(CliRunner().invoke(app, ["--version"]).output)
deepnmf ...
"""

from collections.abc import Callable
from typing import Annotated

from deepnmf.version import __version__

try:
    import typer
except ModuleNotFoundError as missing:
    raise SystemExit("The command line needs typer, rich and matplotlib: pip install 'deepnmf[cli]'.") from missing

from deepnmf.cli import choose_command, compare_command, demo_command, fit_command, models_command, saved_model_commands
from deepnmf.cli.exits import EXIT_CODE_HELP

app = typer.Typer(no_args_is_help=True, add_completion=False)
COMMANDS: dict[str, Callable[..., None]] = {
    "fit": fit_command.fit,
    "choose": choose_command.choose,
    "transform": saved_model_commands.transform,
    "report": saved_model_commands.report,
    "compare": compare_command.compare,
    "models": models_command.models,
    "demo": demo_command.demo,
}


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deepnmf {__version__}")
        raise typer.Exit


@app.callback(epilog=EXIT_CODE_HELP)
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Deep matrix factorization: parts, parts of parts, and the codes of every sample at every level."""


for name, command in COMMANDS.items():
    app.command(name)(command)
