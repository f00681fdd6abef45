"""How a command ends: exit codes, errors in one sentence, and signals that end it as Ctrl-C does."""

import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

import typer

from deepnmf.cli.safe_text import lasting_streams

if TYPE_CHECKING:
    from deepnmf.cli.output import Voice


class Exit(IntEnum):
    """What the exit codes mean."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREADABLE = 3
    UNSUITABLE = 4
    UNWRITABLE = 5
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 done; 2 wrong usage; 3 the input cannot be read; 4 the data do not suit the model; "
    "5 the output cannot be written; 130 interrupted, with the best so far written; 1 anything else."
)


class Failure(Exception):
    """The end of a command: a sentence for the user, and the exit code."""

    def __init__(self, sentence: str, code: Exit) -> None:
        super().__init__(sentence)
        self.code = code


def fail(sentence: str, code: int = Exit.FAILED) -> NoReturn:
    """Say in one sentence what is wrong, and end with an exit code."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


@contextmanager
def failing_as(code: Exit, *kinds: type[Exception]) -> Iterator[None]:
    """Give errors of these kinds an exit code; their text is the sentence."""
    try:
        yield
    except kinds as error:
        raise Failure(in_one_line(error), code) from error


@contextmanager
def answering(voice: "Voice", debug: bool) -> Iterator[None]:
    """Turn whatever goes wrong into a sentence, and the library's warnings into a line each."""
    with ending_as_interrupts(), lasting_streams() as output, warnings.catch_warnings():
        _show_warnings(voice)
        try:
            yield
            _check_output(output.error)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            _end(voice, "Interrupted before a result was complete: nothing was written.", Exit.INTERRUPTED)
        except Failure as failure:
            _end(voice, str(failure), failure.code, debug)
        except Exception as error:
            sentence = (
                f"Unexpected {type(error).__name__}: {in_one_line(error)} Please report it with --debug's output."
            )
            _end(voice, sentence, Exit.FAILED, debug)


def _check_output(error: OSError | None) -> None:
    if error is not None:
        reason = f"The standard output cannot be written: {error.strerror or error}; all else is done."
        raise Failure(reason, Exit.UNWRITABLE) from error


def in_one_line(error: BaseException) -> str:
    """An error's text without line breaks; what the system says of a file where it is about one."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'The file'}: {error.strerror}."
    return " ".join(str(error).split())


def _end(voice: "Voice", sentence: str, code: Exit, debug: bool = False) -> NoReturn:
    if debug:
        traceback.print_exc(file=sys.stderr)
    voice.failed(sentence, code)
    raise typer.Exit(code)


def _show_warnings(voice: "Voice") -> None:
    """What concerns the fit is shown; what concerns developers is not."""
    warnings.simplefilter("ignore")
    for kind in (UserWarning, RuntimeWarning):
        warnings.simplefilter("always", kind)
    warnings.showwarning = lambda message, *_, **__: voice.warned(" ".join(str(message).split()))


# ------------------------------------------------------------------------------------------- signals


ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def ending_as_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and, when the terminal is closed, on SIGHUP; ``nohup`` keeps its effect."""
    handled = [number for number in ENDING if _is_ours(number)]
    for number in handled:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _is_ours(number: signal.Signals) -> bool:
    """Whether nobody else handles or ignores the signal, and this thread may handle it."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(number) == signal.SIG_DFL
