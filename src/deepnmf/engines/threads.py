"""One thread pool a fit, with BLAS held to one thread while it works.

A threaded BLAS inside a pool of threads fights it for the cores, and its sums depend on how many
threads it was given. The limits of threadpoolctl are process-wide, so fits that overlap share one
guard, counted: the first to enter sets the limit, the last to leave restores it. A process that is forked while fits
are under way inherits the limit but none of their threads: it keeps only what the thread that forked holds itself.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import RLock, get_ident
from types import TracebackType
from typing import Any, Self, TypeVar

from threadpoolctl import ThreadpoolController

from deepnmf.forks import free_in_children

T = TypeVar("T")
R = TypeVar("R")


class _BlasGuard:
    """Holds BLAS at one thread while at least one fit is under way."""

    def __init__(self) -> None:
        self._lock = RLock()
        free_in_children(self._lock)
        self._holders: list[int] = []  # the thread of each fit
        self._width = 1
        self._blas: Any = None
        self._n_modules = 0
        self._limiter: Any = None

    def acquire(self) -> int:
        """Enter, and return how many threads BLAS was allowed before anyone entered."""
        with self._lock:
            if not self._holders:
                self._find_blas()
                self._width = max((lib["num_threads"] for lib in self._blas.info()), default=_cpu_count())
                _let_this_thread_set(self._blas)
                self._limiter = self._blas.limit(limits=1)
            self._holders.append(get_ident())
            return self._width

    def _find_blas(self) -> None:
        """Look through the libraries of the process, milliseconds, only where a module may have brought a new one."""
        if self._n_modules != len(sys.modules):
            self._blas = ThreadpoolController().select(user_api="blas")
            self._n_modules = len(sys.modules)

    def hold_this_thread(self) -> None:
        """Where every thread has a limit of its own (OpenMP), a pool's threads need theirs too."""
        with self._lock:
            self._blas.limit(limits=1)

    def release(self) -> None:
        """Leave, in the thread that entered; the last one restores BLAS, whichever thread it is."""
        with self._lock:
            self._holders.remove(get_ident())
            if not self._holders:
                self._restore()

    def _restore(self) -> None:
        _let_this_thread_set(self._blas)
        self._limiter.restore_original_limits()
        _let_this_thread_set(self._blas)

    def after_fork_in_child(self) -> None:
        """Forget the fits of threads that do not exist here, and lift the limit with the last of them."""
        inherited, self._holders = self._holders, [thread for thread in self._holders if thread == get_ident()]
        if inherited and not self._holders:
            self._restore()


def _let_this_thread_set(blas: ThreadpoolController) -> None:
    """Since 3.8 threadpoolctl lets only the first thread that asked set OpenBLAS; our guard is shared by all."""
    for lib in blas.lib_controllers:
        if hasattr(lib, "clear_controlling_thread"):
            lib.clear_controlling_thread(force=True)


def _cpu_count() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_guard = _BlasGuard()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_guard.after_fork_in_child)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """BLAS has one thread in here: others are at work beside this one."""
    _guard.acquire()
    try:
        yield
    finally:
        _guard.release()


class Workers:
    """A pool as wide as BLAS may be at the call; used as a context."""

    def __enter__(self) -> Self:
        self.width = _guard.acquire()
        self._open_pool()
        return self

    def _open_pool(self) -> None:
        self._process = os.getpid()
        self._pool = ThreadPoolExecutor(self.width, initializer=_guard.hold_this_thread) if self.width > 1 else None

    def _own_pool(self) -> ThreadPoolExecutor | None:
        """The pool; in a process that was forked during the fit a new one, for threads are not inherited."""
        if self._process != os.getpid():
            self._open_pool()
        return self._pool

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if (pool := self._own_pool()) is not None:
                pool.shutdown(wait=True, cancel_futures=True)
        finally:
            _guard.release()

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Results in the order of the items, with only a few of them in flight."""
        if (pool := self._own_pool()) is None:
            yield from map(function, items)
            return
        under_way: deque[Future[R]] = deque()
        try:
            for item in items:
                under_way.append(pool.submit(function, item))
                if len(under_way) > 2 * self.width:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()


AHEAD = 4


def read_ahead(read: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """What is read, in order; a thread of its own reads on while the caller works."""
    with ThreadPoolExecutor(1) as reader:
        under_way: deque[Future[R]] = deque()
        for item in items:
            under_way.append(reader.submit(read, item))
            if len(under_way) > AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
