"""``deepnmf models``: which models there are, and what their parameters are."""

import re
from inspect import cleandoc, signature
from typing import Annotated, Any

import typer

from deepnmf.cli.exits import answering
from deepnmf.cli.model_choice import catalogue, model_class
from deepnmf.cli.output import Terminal

SIZES = ("layer_sizes", "n_components")
OURS = ("random_state", "verbose", "warm_start")  # the command line's own business
PARAMETER = re.compile(r"^(\w+(?:, \w+)*) : (.*)$")


def models(
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help="A model, for its parameters.")] = None,
) -> None:
    """List the models, or the parameters of one."""
    with answering(Terminal(), debug=False):
        if model is None:
            width = max(map(len, catalogue()))
            for name, cls in catalogue().items():
                typer.echo(f"{name:{width}}  {_first_line(cls)}")
        else:
            _describe(model_class(model))


def _first_line(cls: type[Any]) -> str:
    return cleandoc(cls.__doc__ or "").partition("\n")[0]


def _describe(cls: type[Any]) -> None:
    typer.echo(f"{_first_line(cls)}\n")
    described, defaults = _described(cls), signature(cls).parameters
    for name in cls().get_params():
        if name not in OURS:
            option = "--layers " if name in SIZES else f"--set {name}="
            typer.echo(f"{option}{_typed(defaults[name].default)}\n    {described[name]}")


def _typed(value: Any) -> str:
    """A default as --set takes it."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _described(cls: type[Any]) -> dict[str, str]:
    """What the docstring says of each parameter: its kind, and the sentences below."""
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
