"""The command line: ``deepnmf --help`` lists the commands.

One module a command; what only a command needs is imported inside it, so that ``--help`` waits for none of it.

Examples
--------
>>> from typer.testing import CliRunner
>>> from deepnmf.cli import app
>>> print(CliRunner().invoke(app, ["--version"]).output)
deepnmf ...
"""

from typing import Annotated

from deepnmf.version import __version__

try:
    import typer
except ModuleNotFoundError as missing:
    raise SystemExit("The command line needs typer, rich and matplotlib: pip install 'deepnmf[cli]'.") from missing

from deepnmf.cli import compare, demo, fit, models, report, transform
from deepnmf.cli.failing import EXIT_CODES

app = typer.Typer(no_args_is_help=True, add_completion=False)
COMMANDS = {
    "fit": fit,
    "transform": transform,
    "report": report,
    "compare": compare,
    "models": models,
    "demo": demo,
}


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deepnmf {__version__}")
        raise typer.Exit


@app.callback(epilog=EXIT_CODES)
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Deep matrix factorisation: parts, parts of parts, and the codes of every sample at every level."""


for name, module in COMMANDS.items():
    app.command(name)(module.command)
