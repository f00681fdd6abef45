"""One thread pool per fit, with BLAS limited to one thread while the fit runs.

A multithreaded BLAS would compete with the threads of the pool for the cores, and its sums depend on its number of
threads. The limits of threadpoolctl are process-wide, so fits that overlap share one reference-counted guard: the
first fit sets the limit, the last one restores it. A process that is forked during fits inherits the limit, but none
of their threads: its guard counts only the fits of the thread that forked.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from threading import Event, RLock, get_ident
from types import TracebackType
from typing import Any, Self, TypeVar

from threadpoolctl import ThreadpoolController

from deepnmf.forks import free_in_children

T = TypeVar("T")
R = TypeVar("R")


class _BlasGuard:
    """Limits BLAS to one thread while at least one fit is running."""

    def __init__(self) -> None:
        self._lock = RLock()
        free_in_children(self._lock)
        self._holders: list[int] = []  # the thread of each running fit
        self._width = 1
        self._blas: Any = None
        self._n_modules = 0
        self._limiter: Any = None

    def acquire(self) -> int:
        """Count one more fit, and return the number of threads that BLAS had before the first one."""
        with self._lock:
            if not self._holders:
                if self._n_modules != len(sys.modules):  # a search for BLAS libraries takes milliseconds
                    self._blas = ThreadpoolController().select(user_api="blas")
                    self._n_modules = len(sys.modules)
                widths = [lib["num_threads"] for lib in self._blas.info()]
                self._width = max(widths) if widths else _cpu_count()
                _clear_controlling_thread(self._blas)
                self._limiter = self._blas.limit(limits=1)
            self._holders.append(get_ident())
            return self._width

    def limit_this_thread(self) -> None:
        """Limit BLAS in this thread of a pool: with OpenMP every thread has its own limit."""
        with self._lock:
            self._blas.limit(limits=1)

    def release(self) -> None:
        """Count one fit less, in the thread that acquired it; the last one restores BLAS, in any thread."""
        with self._lock:
            self._holders.remove(get_ident())
            if not self._holders:
                self._restore()

    def _restore(self) -> None:
        _clear_controlling_thread(self._blas)
        self._limiter.restore_original_limits()
        _clear_controlling_thread(self._blas)

    def after_fork_in_child(self) -> None:
        """Forget the fits of threads that do not exist in the child, and restore BLAS if none is left."""
        inherited, self._holders = self._holders, [thread for thread in self._holders if thread == get_ident()]
        if inherited and not self._holders:
            self._restore()


def _clear_controlling_thread(blas: ThreadpoolController) -> None:
    """Allow any thread to set limits: since 3.8, threadpoolctl allows only the first one that asked."""
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
    """Limit BLAS to one thread in this context, because other threads run at the same time."""
    _guard.acquire()
    try:
        yield
    finally:
        _guard.release()


FEW_ITEMS = 16  # per thread


class Workers:
    """A context that computes in as many threads as BLAS may use when it is entered."""

    def __enter__(self) -> Self:
        self.width = _guard.acquire()
        self._pools: dict[int, ThreadPoolExecutor] = {}  # by the number of threads
        self._process = os.getpid()
        return self

    def _pool(self, n_threads: int) -> ThreadPoolExecutor:
        """A pool; a new one in a process that was forked during the fit, because threads are not inherited."""
        if self._process != os.getpid():
            self._pools, self._process = {}, os.getpid()
        if n_threads not in self._pools:
            self._pools[n_threads] = ThreadPoolExecutor(n_threads, initializer=_guard.limit_this_thread)
        return self._pools[n_threads]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._process == os.getpid():
                for pool in self._pools.values():
                    pool.shutdown(wait=True, cancel_futures=True)
        finally:
            _guard.release()

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results in the order of the items; of many items, only a few are computed ahead."""
        if self.width == 1:
            return map(function, items)
        if isinstance(items, Sequence) and len(items) <= FEW_ITEMS * self.width:
            return self._map_parts(function, items)
        return self._map_one_by_one(function, items)

    def _map_parts(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        """Divide the items among the calling thread and helpers, each of which has a part of them in its cache."""
        edges = [len(items) * part // self.width for part in range(self.width + 1)]
        own, *others = (items[start:stop] for start, stop in pairwise(edges))
        pool, stopped = self._pool(self.width - 1), Event()

        def work(part: Sequence[T]) -> list[R]:
            return [function(item) for item in part if not stopped.is_set()]

        helpers = [pool.submit(work, part) for part in others if part]
        try:
            yield from map(function, own)
            for helper in helpers:
                yield from helper.result()
        finally:
            stopped.set()

    def _map_one_by_one(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        pool = self._pool(self.width)
        pending: deque[Future[R]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > 2 * self.width:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


BLOCKS_AHEAD = 4


def read_ahead(read: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield the results in order; a separate thread reads the next items while the caller works."""
    with ThreadPoolExecutor(1) as reader:
        pending: deque[Future[R]] = deque()
        for item in items:
            pending.append(reader.submit(read, item))
            if len(pending) > BLOCKS_AHEAD:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
