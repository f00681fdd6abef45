"""How the loops of this folder are compiled: by numba, at their first call, and kept on disk.

numba takes a third of a second to load. It is imported here only, by the first kernel that runs.
"""

from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Any

from deepnmf.forks import free_in_children

numba_lock = RLock()
free_in_children(numba_lock)


class CompiledLoop:
    """A function that numba compiles when it is first called, also from another loop, for the types it then meets.

    It releases Python's lock. `fastmath` is numba's: what the compiler may assume of floating-point numbers.
    """

    def __init__(self, function: Callable[..., Any], fastmath: bool | set[str] = True) -> None:
        self.function = function
        self.fastmath = fastmath
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code."""
        return self.dispatcher(*arguments)

    @property
    def dispatcher(self) -> Any:
        """The function as numba knows it."""
        if self._dispatcher is None:
            with numba_lock:  # a fork waits for it, so that no child finds numba half imported
                self._dispatcher = self._dispatcher or self._handed_to_numba()
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba asks a global for that a loop calls."""
        return self.dispatcher._numba_type_

    def _handed_to_numba(self) -> Any:
        options = {"nogil": True, "fastmath": self.fastmath, "error_model": "numpy"}
        try:
            return _njit()(cache=True, **options)(self.function)
        except RuntimeError:  # no folder for the cache can be written
            return _njit()(**options)(self.function)


@cache
def _njit() -> Callable[..., Any]:
    from numba import njit  # noqa: PLC0415 - see above
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415

    free_in_children(global_compiler_lock)
    return njit
