"""What is wrong with an input, in one sentence."""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from itertools import islice
from typing import Any

LONGEST = 300  # letters of what a library says
MOST_COMPARED = 10_000  # names that are compared with one that is not there


class ReadingError(ValueError):
    """An input that cannot be read; its text is a sentence that names the file, what was found and what is expected."""

    def __init__(self, sentence: str) -> None:
        super().__init__(legible(sentence))


def legible(name: str) -> str:
    """Text that can be written anywhere: what stands for bytes of a file's name that are not UTF-8 is escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


def said(error: BaseException) -> str:
    """What a library says of a broken file, as part of a sentence: some say it in several lines, some say nothing."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def needed(module: str, package: str, what: str) -> Any:
    """Import what a format needs, or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ReadingError(f"Reading {what} needs {package}: pip install 'deepnmf[cli]'.") from missing


def closest(name: str, known: Iterable[str]) -> str:
    """The names that may have been meant, or all of them where there are few."""
    known = list(islice(known, MOST_COMPARED))
    near = get_close_matches(name, known, n=3) or known[:8]
    more = ", ..." if len(near) < len(known) and near == known[:8] else ""
    return ", ".join(map(repr, near)) + more
