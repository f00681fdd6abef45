"""Rows of a dask array, on whatever scheduler is active: threads, processes, or a cluster.

A pass is one graph, of as many tasks as X has chunks of rows and a few, whatever came before: the rows it makes stay
where they were made. A cluster remembers how each was made, and what a worker took with it when it died is made again.
Rows that come from here go out as tasks that hold them, never scattered, so that this is true of all rows; every few
passes rows are fetched and go out again, so that what the cluster must remember does not grow with the passes.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from operator import getitem
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import block_of
from deepnmf.engines.protocol import Engine, Step, Sums, measure, sizes
from deepnmf.engines.threads import Workers, single_threaded_blas
from deepnmf.masks import with_holes

PASSES_BETWEEN_FETCHES = 5  # after so many, rows are fetched
LOST = (
    "Rows on the cluster are lost: workers that died took with them what dask cannot make again, as data that was "
    "scattered or a block too large for their memory ({error})."
)
CLOSED = "Rows are out of reach, for the dask client is closed: keep it open until the fit is over."
QUIET = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}  # rows in a graph are meant to be there


class RowsOnCluster(Engine):
    """Rows of a dask array in chunks, dense or CSR.

    Parameters
    ----------
    X : dask array of shape (n, p), not split along its columns
    workers : Workers
        The open pool that the caller's own work runs on.
    unit : float
        What X was divided by.
    sizes : Step
        What measures the rows, and may check them.
    """

    def __init__(self, X: da.Array, workers: Workers, *, unit: float = 1.0, sizes: Step = sizes) -> None:
        self.dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        self.n_samples, self.n_features = X.shape
        self.workers, self.unit = workers, unit
        self._lengths = X.chunks[0]
        self._blocks = _blocks(X.astype(self.dtype, copy=False))
        self._passes = 0
        self._clients = _clients_of(X)
        self.measured = measure(self, sizes)

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over X: new row arrays are dask arrays; where nothing is summed up, lazy ones."""
        arrays, total = self._graphs([self._chunked(array) for array in rows], step)
        if total is None:
            return tuple(arrays), ()
        self._check_clients()
        try:
            *arrays, total = _persisted(*arrays, total)
            sums = dask.compute(*_blocks(total))[0]
            return self._cut_off(arrays), tuple(_in_place(part) for part in sums)
        except Exception as error:
            self._check_clients()
            if isinstance(error, _losses()):
                raise RuntimeError(LOST.format(error=error)) from error
            raise

    def as_rows(self, array: Array) -> Array:
        """An array of all rows, in the chunks of X and on the workers."""
        self._check_clients()
        return _persisted(self._chunked(array))[0]

    def for_codes(self, codes: Array) -> Engine:
        """The same for codes of these rows."""
        return RowsOnCluster(self.as_rows(codes), self.workers)

    def _check_clients(self) -> None:
        """Refuse to go on with a closed client: dask would look for its rows elsewhere, or say that they were lost."""
        if any(client.status in ("closing", "closed") for client in self._clients):
            raise RuntimeError(CLOSED)

    def _chunked(self, array: Array) -> da.Array:
        if isinstance(array, da.Array):
            return array
        return da.from_array(np.ascontiguousarray(array), chunks=(self._lengths, *array.shape[1:]), name=False)

    def _graphs(self, rows: Sequence[da.Array], step: Step) -> tuple[list[da.Array], da.Array | None]:
        """What a pass will have made: row arrays, and its sums if there are any.

        The sums are a dask array too: a graph is optimised for all arrays together, and a block is worked on once.
        """
        shared = dask.delayed(step, pure=False)
        blocks = zip(self._blocks, *map(_blocks, rows), strict=True)
        tasks = [_delayed_step(shared, X_b, *rows_b) for X_b, *rows_b in blocks]
        *new_rows, sums = _on_block(step, *self._example(rows))
        arrays = [self._joined(tasks, place, new) for place, new in enumerate(new_rows)]
        total = _delayed_sum([task[len(new_rows)] for task in tasks])
        return arrays, da.from_delayed(total, (), meta=np.empty((), object)) if sums else None

    def _example(self, rows: Sequence[da.Array]) -> list[Array]:
        """One row of zeros: what a step makes of it tells the shapes of what it makes."""
        arrays = [np.zeros((1, *array.shape[1:]), array.dtype) for array in rows]
        return [np.zeros((1, self.n_features), self.dtype), *arrays]

    def _joined(self, tasks: Sequence[Any], place: int, like: Array) -> da.Array:
        """What is in one place of the tasks' results, with the columns and the precision of another array."""
        name = f"rows-{uuid4()}"
        across = (0,) * (like.ndim - 1)
        parts = {(name, number, *across): (getitem, task.key, place) for number, task in enumerate(tasks)}
        chunks = (self._lengths, *((width,) for width in like.shape[1:]))
        graph = HighLevelGraph.from_collections(name, parts, dependencies=tasks)
        return da.Array(graph, name, chunks, dtype=like.dtype)

    def _cut_off(self, arrays: Sequence[da.Array]) -> tuple[Array, ...]:
        """The arrays, every few passes without what they were made of."""
        self._passes += 1
        if self._passes % PASSES_BETWEEN_FETCHES:
            return tuple(arrays)
        return tuple(self.as_rows(array) for array in dask.compute(*arrays))


def check_dask_array(X: da.Array) -> da.Array:
    """X with whole rows in its chunks, whose lengths must be known."""
    if not isinstance(X, da.Array):
        raise TypeError(f"X is a dask {type(X).__name__}, and a dask array is expected: X.to_dask_array(lengths=True).")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a dask array of shape {X.shape}.")
    if any(np.isnan(length) for lengths in X.chunks for length in lengths):
        raise ValueError("X is a dask array with chunks of unknown size: call X.compute_chunk_sizes() first.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _on_block(step: Step, X_b: Matrix, *rows_b: Array) -> tuple[Any, ...]:
    """New rows and, last, the sums: what a step makes of a block, wherever that is."""
    X_b = sparse.csr_array(X_b) if sparse.issparse(X_b) else _in_place(with_holes(X_b))
    with single_threaded_blas():
        new_rows, sums = step(block_of(X_b), tuple(_in_place(rows) for rows in rows_b))
    return *new_rows, sums


def _in_place(array: Array) -> Array:
    """C order, at an address that is a multiple of a number's size: NumPy multiplies others in another order.

    What has come from another process lies anywhere.
    """
    return np.require(array, requirements=["C", "A"])


_delayed_step = dask.delayed(_on_block, pure=False)


def _added_up(parts: Sequence[Sums]) -> Sums:
    """In the order of the rows, in double precision, as in memory."""
    totals = [np.array(part, dtype=np.float64) for part in parts[0]]
    for sums in parts[1:]:
        for total, part in zip(totals, sums, strict=True):
            total += part
    return tuple(totals)


_delayed_sum = dask.delayed(_added_up, pure=False)


def _blocks(array: da.Array) -> list[Any]:
    """The chunks; in an optimised graph dask would let go of those that are on workers."""
    return list(array.to_delayed(optimize_graph=False).ravel())


def _persisted(*collections: Any) -> tuple[Any, ...]:
    if "distributed" not in sys.modules:
        return dask.persist(*collections)
    with dask.config.set(QUIET):
        return dask.persist(*collections)


def _clients_of(X: da.Array) -> set[Any]:
    """The client that passes go to, and those that hold what X is made of."""
    if "distributed" not in sys.modules:
        return set()
    distributed = sys.modules["distributed"]
    clients = {future.client for future in distributed.futures_of(X)}
    with suppress(ValueError):  # there is none
        clients.add(distributed.default_client())
    return clients


def _losses() -> tuple[type[BaseException], ...]:
    """What dask raises when workers took with them what it cannot make again."""
    if "distributed" not in sys.modules:
        return (CancelledError,)
    return CancelledError, sys.modules["distributed"].KilledWorker
