"""What is wrong with an input, in one sentence."""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class ReadingError(ValueError):
    """An input that cannot be read; its text is a sentence that names the file, what was found and what is expected."""


def needed(module: str, package: str, what: str) -> Any:
    """Import what a format needs, or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ReadingError(f"Reading {what} needs {package}: pip install 'deepnmf[cli]'.") from missing


def closest(name: str, known: Iterable[str]) -> str:
    """The names that may have been meant, or all of them where there are few."""
    known = list(known)
    near = get_close_matches(name, known, n=3) or known[:8]
    more = ", ..." if len(near) < len(known) and near == known[:8] else ""
    return ", ".join(map(repr, near)) + more
