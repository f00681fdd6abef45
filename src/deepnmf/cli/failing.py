"""How a command ends that cannot go on."""

from typing import NoReturn

import typer


def fail(sentence: str, code: int = 1) -> NoReturn:
    """Say in one sentence what is wrong, and end with an exit code."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)
