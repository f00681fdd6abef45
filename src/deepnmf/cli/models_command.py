"""``deepnmf models``: list the models, or the parameters of one."""

import re
from inspect import cleandoc, signature
from typing import Annotated, Any

import typer

from deepnmf.cli.exits import error_handling
from deepnmf.cli.model_choice import model_class, models_by_name
from deepnmf.cli.output import TerminalMessages

SIZES = ("layer_sizes", "n_components")
SET_BY_COMMANDS = ("random_state", "verbose", "warm_start")  # set by options of the command line
PARAMETER = re.compile(r"^(\w+(?:, \w+)*) : (.*)$")


def models(
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help="A model whose parameters are listed.")] = None,
) -> None:
    """List the models, or the parameters of one."""
    with error_handling(TerminalMessages(), debug=False):
        if model is None:
            width = max(map(len, models_by_name()))
            for name, cls in models_by_name().items():
                typer.echo(f"{name:{width}}  {_first_line(cls)}")
        else:
            _describe(model_class(model))


def _first_line(cls: type[Any]) -> str:
    return cleandoc(cls.__doc__ or "").partition("\n")[0]


def _describe(cls: type[Any]) -> None:
    typer.echo(f"{_first_line(cls)}\n")
    described, defaults = _parameter_docs(cls), signature(cls).parameters
    for name in cls().get_params():
        if name not in SET_BY_COMMANDS:
            option = "--layers " if name in SIZES else f"--set {name}="
            typer.echo(f"{option}{_default_text(defaults[name].default)}\n    {described[name]}")


def _default_text(value: Any) -> str:
    """Return a default value as --set takes it."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _parameter_docs(cls: type[Any]) -> dict[str, str]:
    """Return the type and the description of each parameter, from the docstring."""
    section = cleandoc(cls.__doc__ or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        heading = PARAMETER.match(line)
        if heading:
            names = heading[1].split(", ")
            found |= dict.fromkeys(names, re.sub(r", default=.*", "", heading[2]) + ".")
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found
