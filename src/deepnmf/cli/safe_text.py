"""Text that can be printed and written anywhere: escaped names, JSON, and streams that never fail."""

import errno
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO, cast

UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what moves a cursor, and what is half a pair

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what a spreadsheet may take for the beginning of a formula
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


def printable(text: str) -> str:
    r"""Escape what a terminal would obey or could not show; line breaks stay.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\udcff"))
    a\x1b[2Jb\udcff
    """
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def encodable(text: str) -> str:
    """Escape what UTF-8 does not have: the bytes of file names in other encodings, and halves of pairs."""
    return text.encode("utf-8", "backslashreplace").decode()


def spreadsheet_text(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula; a number stays one.

    Examples
    --------
    >>> [spreadsheet_text(text) for text in ("=1+1", "-1.5", "plum")]
    ["'=1+1", '-1.5', 'plum']
    """
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text


# ---------------------------------------------------------------------------------------------- JSON


def as_json(content: Any, indent: int | None = None) -> str:
    """NumPy's numbers as numbers, tuples as lists, what is no number at all as null, and all else as text."""
    return json.dumps(_plain(content), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


# ------------------------------------------------------------------------------------------- streams


READER_LEFT = (errno.EPIPE, errno.EIO)  # a pipe that is closed, a terminal that is gone


class LastingStream:
    """A text stream whose writes never fail.

    What the encoding does not have is escaped. After the first error nothing more is written.
    """

    buffer = None  # click would write past this stream into the one of a terminal in ASCII

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._error: OSError | None = None

    @property
    def error(self) -> OSError | None:
        """Why text was lost; a reader that left has lost nothing."""
        return None if self._error is None or self._error.errno in READER_LEFT else self._error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write what can be written."""
        encoding = self._stream.encoding or "utf-8"
        self._try(self._stream.write, text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Hand on what is in the buffer, if anyone takes it."""
        self._try(self._stream.flush)

    def _try(self, action: Callable[..., object], *arguments: str) -> None:
        if self._error is None:
            try:
                action(*arguments)
            except OSError as error:
                self._error = error
                _discard_buffer(self._stream)


@contextmanager
def lasting_streams() -> Iterator[LastingStream]:
    """Let nothing that is printed end a command; give back the standard output."""
    output, errors = (LastingStream(stream or io.StringIO()) for stream in (sys.stdout, sys.stderr))  # None if closed
    with redirect_stdout(cast(TextIO, output)), redirect_stderr(cast(TextIO, errors)):
        yield output


def _discard_buffer(stream: TextIO) -> None:
    """Lead the stream to nowhere, since Python would fail to write its buffer at exit."""
    with suppress(OSError):  # not every stream is a file of the system
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
