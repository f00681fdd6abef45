"""Signals that end a command as Ctrl-C does: with the best so far written, and nothing left half done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
