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

UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters and surrogates

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet may run text that begins with these
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


def printable(text: str) -> str:
    r"""Escape control characters and surrogates, but not line breaks.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\udcff"))
    a\x1b[2Jb\udcff
    """
    return UNPRINTABLE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def spreadsheet_text(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula; numbers stay as they are.

    Examples
    --------
    >>> [spreadsheet_text(text) for text in ("=1+1", "-1.5", "plum")]
    ["'=1+1", '-1.5', 'plum']
    """
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text


# ---------------------------------------------------------------------------------------------- JSON


def json_text(content: Any, indent: int | None = None) -> str:
    """Return JSON: NumPy numbers become numbers, tuples lists, NaN and infinity null, and other objects text."""
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


READER_CLOSED = (errno.EPIPE, errno.EIO)  # a closed pipe, a closed terminal


class RobustStream:
    """A text stream whose writes never fail.

    Characters that the encoding does not have are escaped. After the first error nothing more is written.
    """

    buffer = None  # with a buffer, click would bypass this stream on a terminal in ASCII

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._error: OSError | None = None

    @property
    def error(self) -> OSError | None:
        """The error of the first failed write, unless the reader closed the stream."""
        return None if self._error is None or self._error.errno in READER_CLOSED else self._error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text unless an earlier write failed."""
        encoding = self._stream.encoding or "utf-8"
        self._try(self._stream.write, text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Flush the buffer unless an earlier write failed."""
        self._try(self._stream.flush)

    def _try(self, action: Callable[..., object], *arguments: str) -> None:
        if self._error is None:
            try:
                action(*arguments)
            except OSError as error:
                self._error = error
                _discard_buffer(self._stream)


@contextmanager
def robust_streams() -> Iterator[RobustStream]:
    """Make both standard streams robust; yield the standard output."""
    output, errors = (RobustStream(stream or io.StringIO()) for stream in (sys.stdout, sys.stderr))  # None if closed
    with redirect_stdout(cast(TextIO, output)), redirect_stderr(cast(TextIO, errors)):
        yield output


def _discard_buffer(stream: TextIO) -> None:
    """Redirect the stream to the null device, because Python would fail to flush its buffer at exit."""
    with suppress(OSError):  # not every stream has a file descriptor
        descriptor = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)
