"""The methods of a model as users see them: their availability, their signatures and their documentation."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.utils.metaestimators import available_if

from deepnmf.models.parameters import CONSTRAINTS, TEXTS

_PLACE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)

Method = TypeVar("Method", bound=Callable[..., Any])


def offered_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Make a method available only if `check(model)` is true; `check` may raise an AttributeError with the reason."""
    return cast(Callable[[Method], Method], available_if(check))


def without_sample_weight(method: Any) -> Any:
    """Return a copy of a method without `sample_weight` in its signature, which scikit-learn inspects, and docstring.

    If a value is passed anyway, the model raises its error about sample weights.
    """

    @functools.wraps(method)
    def copy(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    copy.__doc__ = re.sub(r"^( *)sample_weight : .*\n(\1 +.*\n)*", "", method.__doc__, flags=re.MULTILINE)
    signature = inspect.signature(method)
    kept = [one for one in signature.parameters.values() if one.name != "sample_weight"]
    copy.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return copy


def complete(cls: type[Any]) -> None:
    """Insert shared texts into the docstrings of a model and its methods, and add the shared constraints."""
    cls.__doc__ = _completed(cls.__doc__)
    for member in vars(cls).values():
        function = getattr(member, "fn", member)  # where `available_if` stores it
        if inspect.isfunction(function):
            function.__doc__ = _completed(function.__doc__)
    rules = CONSTRAINTS | getattr(cls, "_parameter_constraints", {})
    cls._parameter_constraints = {name: rules[name] for name in inspect.signature(cls).parameters if name in rules}


def _completed(text: str | None) -> str | None:
    return None if text is None else _PLACE.sub(_shared, text)


def _shared(place: re.Match[str]) -> str:
    return textwrap.indent(textwrap.dedent(TEXTS[place[2]]).strip("\n"), place[1])
