"""How loops are compiled. Imported when one is first needed: numba takes a quarter of a second to load."""

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.compiler_lock import global_compiler_lock

from deepnmf.forks import free_in_children

free_in_children(global_compiler_lock)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, and keep the result on disk where a place for it can be found."""
    options: dict[str, Any] = {"nogil": True, "fastmath": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)
