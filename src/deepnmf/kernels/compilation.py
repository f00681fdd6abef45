"""Compilation of the loops of this folder: by numba, at the first call, with a cache on disk.

Importing numba takes a third of a second, so it is imported only here, when the first kernel runs.
"""

from collections.abc import Callable
from functools import cache, cached_property, partial
from threading import RLock
from typing import Any

from deepnmf.forks import free_in_children

numba_lock = RLock()
free_in_children(numba_lock)


class CompiledLoop:
    """A function that numba compiles at its first call, which may be from another loop, for the types of the arguments.

    It releases the global interpreter lock. `fastmath` is passed on to numba. A loop that others call is `inline`:
    numba compiles such a function with each of its callers, each time with another order of additions, and which of
    these versions a process calls would depend on whether it was compiled there or read from the cache.
    """

    def __init__(self, function: Callable[..., Any], fastmath: bool | set[str] = True, *, inline: bool = False) -> None:
        self.function = function
        self.fastmath = fastmath
        self.inline = inline
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function."""
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """The numba dispatcher of the function, one for all threads."""
        with numba_lock:  # a fork waits for the lock, so that no child has a partly imported numba
            self._made = self._made or self._make_dispatcher()
        return self._made

    @property
    def _numba_type_(self) -> Any:
        """The attribute by which numba finds the type of a global that a compiled function calls."""
        return self.dispatcher._numba_type_

    def _make_dispatcher(self) -> Any:
        options = {"nogil": True, "fastmath": self.fastmath, "error_model": "numpy", "forceinline": self.inline}
        try:
            return _njit()(cache=True, **options)(self.function)
        except RuntimeError:  # no folder for the cache is writable
            return _njit()(**options)(self.function)


inlined_loop = partial(CompiledLoop, inline=True)
"""For loops that other loops call."""


@cache
def _njit() -> Callable[..., Any]:
    from numba import njit  # noqa: PLC0415 - see above
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415

    free_in_children(global_compiler_lock)
    return njit
