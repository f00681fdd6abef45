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

from deepnmf.cli.safe_text import robust_streams

if TYPE_CHECKING:
    from deepnmf.cli.output import Messages


class ExitCode(IntEnum):
    """Exit codes of the commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREADABLE = 3
    UNSUITABLE = 4
    UNWRITABLE = 5
    INTERRUPTED = 130


EXIT_CODE_HELP = (
    "Exit codes: 0 success; 2 wrong usage; 3 the input cannot be read; 4 the data do not fit the model; "
    "5 the output cannot be written; 130 interrupted, and the best result so far is written; 1 any other error."
)


class CommandError(Exception):
    """An error that ends a command: a sentence for the user and an exit code."""

    def __init__(self, sentence: str, code: ExitCode) -> None:
        super().__init__(sentence)
        self.code = code


def fail(sentence: str, code: int = ExitCode.FAILED) -> NoReturn:
    """Print what is wrong in one sentence, and exit."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


@contextmanager
def errors_as(code: ExitCode, *kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds into a `CommandError` with the same text."""
    try:
        yield
    except kinds as error:
        raise CommandError(one_line(error), code) from error


@contextmanager
def error_handling(messages: "Messages", debug: bool) -> Iterator[None]:
    """Print every error as one sentence and every warning as one line, and exit with the code of the error."""
    with signals_as_interrupts(), robust_streams() as output, warnings.catch_warnings():
        _show_warnings(messages)
        try:
            yield
            _check_output(output.error)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            _exit(messages, "Interrupted before there was a result: nothing was written.", ExitCode.INTERRUPTED)
        except CommandError as failure:
            _exit(messages, str(failure), failure.code, debug)
        except Exception as error:
            sentence = (
                f"Unexpected {type(error).__name__}: {one_line(error)} Please report it with the output of --debug."
            )
            _exit(messages, sentence, ExitCode.FAILED, debug)


def _check_output(error: OSError | None) -> None:
    if error is not None:
        reason = f"The standard output cannot be written: {error.strerror or error}; everything else is complete."
        raise CommandError(reason, ExitCode.UNWRITABLE) from error


def one_line(error: BaseException) -> str:
    """Return the text of an error without line breaks; for an error of the file system, the file and the reason."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'The file'}: {error.strerror}."
    return " ".join(str(error).split())


def _exit(messages: "Messages", sentence: str, code: ExitCode, debug: bool = False) -> NoReturn:
    if debug:
        traceback.print_exc(file=sys.stderr)
    messages.error(sentence, code)
    raise typer.Exit(code)


def _show_warnings(messages: "Messages") -> None:
    """Print warnings about the fit; hide those for developers, such as deprecations."""
    warnings.simplefilter("ignore")
    for kind in (UserWarning, RuntimeWarning):
        warnings.simplefilter("always", kind)

    def print_warning(message: Warning | str, *_: object, **__: object) -> None:
        messages.warning(" ".join(str(message).split()))

    warnings.showwarning = print_warning


# ------------------------------------------------------------------------------------------- signals


ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and on SIGHUP (a closed terminal); signals that are ignored stay ignored."""
    handled = [number for number in ENDING_SIGNALS if _can_handle(number)]
    for number in handled:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _can_handle(number: signal.Signals) -> bool:
    """Whether the signal has its default handler and this thread may replace it."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(number) == signal.SIG_DFL
