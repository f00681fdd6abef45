"""Standard output and error that may go away in the middle of a fit, which they must not end."""

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO, cast

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
