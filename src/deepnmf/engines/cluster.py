"""Rows of a dask array, on whatever scheduler is active: threads, processes, or a cluster.

A pass is one graph, of as many tasks as X has chunks of rows and a few, whatever came before: the rows it makes stay
where they were made. A cluster remembers how each was made from the first pass on, so every few passes they are fetched
and handed out again. What a worker took with it when it died is made again from those.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.protocol import Engine, Step, Sums, sizes
from deepnmf.engines.threads import Workers, blas_held

PASSES_TOGETHER = 5  # after so many, rows are fetched
LOSSES_BORNE = 5  # in one pass


class Made(NamedTuple):
    """How an array of all rows came to be: the place among what a pass made of others."""

    number: int  # of the pass
    step: Step
    rows: tuple[str, ...]
    place: int


class RowsOnCluster(Engine):
    """Rows of a dask array in chunks, dense or CSR.

    Parameters
    ----------
    X : dask array of shape (n, p), not split along its columns
    workers : Workers
        The open pool that the caller's own work runs on.
    sizes : Step
        What measures the rows, and may check them.
    """

    def __init__(self, X: da.Array, workers: Workers, sizes: Step = sizes) -> None:
        self.dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        self.n_samples, self.n_features = X.shape
        self.workers = workers
        self._lengths = X.chunks[0]
        self._blocks = _blocks(X.astype(self.dtype))
        self._memory = _Memory(self._lengths)
        self._measure(sizes)

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over X: new row arrays are dask arrays; where nothing is summed up, lazy ones."""
        given: list[da.Array] = [self.as_rows(array) for array in rows]
        for _ in range(LOSSES_BORNE):
            try:
                return self._pass([self._memory.alive(array) for array in given], step)
            except CancelledError:
                self._memory.make_again([array.name for array in given], self._pass)
        return self._pass([self._memory.alive(array) for array in given], step)

    def _pass(self, rows: Sequence[da.Array], step: Step) -> tuple[tuple[da.Array, ...], Sums]:
        shared = dask.delayed(step, pure=False)
        blocks = zip(self._blocks, *(_blocks(array) for array in rows), strict=True)
        tasks = [_delayed_step(shared, X_b, *rows_b) for X_b, *rows_b in blocks]
        new_rows, sums = _on_block(step, *self._example(rows))
        arrays = [self._joined([task[0][place] for task in tasks], new) for place, new in enumerate(new_rows)]
        if not sums:
            return tuple(arrays), ()
        *arrays, total = dask.persist(*arrays, _delayed_sum([task[1] for task in tasks]))
        (totals,) = dask.compute(total)
        return self._memory.noted(arrays, step, [array.name for array in rows]), totals

    def as_rows(self, array: Array) -> Array:
        """An array of all rows, in the chunks of X."""
        return array if isinstance(array, da.Array) else self._memory.handed_out(np.ascontiguousarray(array))

    def upon(self, codes: Array) -> Engine:
        """The same for codes of these rows."""
        return RowsOnCluster(codes, self.workers)

    def _example(self, rows: Sequence[da.Array]) -> list[Array]:
        """One row of zeros: what a step makes of it tells the shapes of what it makes."""
        arrays = [np.zeros((1, *array.shape[1:]), array.dtype) for array in rows]
        return [np.zeros((1, self.n_features), self.dtype), *arrays]

    def _joined(self, parts: Sequence[Any], like: Array) -> da.Array:
        return _array_of(parts, self._lengths, like)


class _Memory:
    """What the last passes made, and how: enough to make it again."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self._lengths = lengths
        self._passes = 0
        self._made: dict[str, Made] = {}
        self._fetched: dict[str, tuple[int, Array]] = {}
        self._again: dict[str, da.Array] = {}

    def alive(self, array: da.Array) -> da.Array:
        """The array, or what was made in its place."""
        return self._again.get(array.name, array)

    def noted(self, arrays: Sequence[da.Array], step: Step, rows: Sequence[str]) -> tuple[da.Array, ...]:
        """The arrays of a pass, remembered; every few passes fetched and handed out, and what is older is forgotten."""
        self._passes += 1
        if self._passes % PASSES_TOGETHER == 0:
            arrays = [self.handed_out(array) for array in dask.compute(*arrays)]
            self._forget(self._passes - 2 * PASSES_TOGETHER)
        else:
            made = (Made(self._passes, step, tuple(rows), place) for place in range(len(arrays)))
            self._made.update(zip((array.name for array in arrays), made, strict=True))
        return tuple(arrays)

    def handed_out(self, array: Array) -> da.Array:
        """Parts on the workers, where there is a cluster, and the whole kept here."""
        ends = np.cumsum(self._lengths)
        parts: Sequence[Any] = [array[end - length : end] for length, end in zip(self._lengths, ends, strict=True)]
        client = _client()
        parts = parts if client is None else client.scatter(parts, hash=False)
        spread = _array_of([dask.delayed(part) for part in parts], self._lengths, array)
        self._fetched[spread.name] = self._passes, array
        return spread

    def make_again(self, names: Sequence[str], a_pass: Any) -> None:
        """Hand out and make again what some arrays come from."""
        self._again = {}
        for name in names:
            self._revived(name, a_pass)

    def _revived(self, name: str, a_pass: Any) -> da.Array:
        if name not in self._again:
            if name in self._fetched:
                self._again[name] = self.handed_out(self._fetched[name][1])
            else:
                made = self._made[name]
                arrays, _ = a_pass([self._revived(row, a_pass) for row in made.rows], made.step)
                self._again[name] = arrays[made.place]
        return self._again[name]

    def _forget(self, before: int) -> None:
        self._made = {name: made for name, made in self._made.items() if made.number >= before}
        self._fetched = {name: kept for name, kept in self._fetched.items() if kept[0] >= before}
        self._again = {name: array for name, array in self._again.items() if name in {*self._made, *self._fetched}}


def checked(X: da.Array) -> da.Array:
    """X with whole rows in its chunks, whose lengths must be known."""
    if not isinstance(X, da.Array):
        raise TypeError(f"X is a dask {type(X).__name__}, and a dask array is expected: X.to_dask_array(lengths=True).")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a dask array of shape {X.shape}.")
    if any(np.isnan(length) for lengths in X.chunks for length in lengths):
        raise ValueError("X is a dask array with chunks of unknown size: call X.compute_chunk_sizes() first.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _on_block(step: Step, X_b: Matrix, *rows_b: Array) -> tuple[tuple[Array, ...], Sums]:
    X_b = sparse.csr_array(X_b) if sparse.issparse(X_b) else np.asarray(X_b)
    with blas_held():
        return step(X_b, rows_b)


_delayed_step = dask.delayed(_on_block, pure=False)


def _added_up(parts: Sequence[Sums]) -> Sums:
    """In the order of the rows, in double precision, as in memory."""
    totals = [np.array(part, dtype=np.float64) for part in parts[0]]
    for sums in parts[1:]:
        for total, part in zip(totals, sums, strict=True):
            total += part
    return tuple(totals)


_delayed_sum = dask.delayed(_added_up, pure=False)


def _array_of(parts: Sequence[Any], lengths: Sequence[int], like: Array) -> da.Array:
    """A dask array of delayed parts, with the columns and the precision of another."""
    shapes = ((length, *like.shape[1:]) for length in lengths)
    return da.concatenate([da.from_delayed(*pair, dtype=like.dtype) for pair in zip(parts, shapes, strict=True)])


def _blocks(array: da.Array) -> list[Any]:
    return list(array.to_delayed().ravel())


def _client() -> Any:
    """The cluster that is active, if there is one."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].get_client()
    except ValueError:
        return None
