"""Rows of a dask array, on the active scheduler: threads, processes, or a cluster.

A pass is one task graph with about one task per chunk of rows, independent of the number of previous passes: new rows
stay on the workers that computed them. The scheduler stores how each chunk was computed, so that it can recompute data
that are lost with a worker. This includes arrays of the caller, which are sent inside tasks and are not scattered.
Every few passes the rows are fetched and sent again, so that the stored graphs do not grow with the number of passes.
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
from deepnmf.engines.blocks import Sizes, block_of
from deepnmf.engines.protocol import Engine, Step, Sums, sizes
from deepnmf.engines.threads import Workers, single_threaded_blas
from deepnmf.masks import with_holes

PASSES_BETWEEN_FETCHES = 5  # passes after which rows are fetched and sent again
LOST_ROWS = (
    "Rows on the cluster are lost: workers died, and dask cannot compute their data again, for instance because it was "
    "scattered or because a block is too large for the memory of a worker ({error})."
)
CLOSED_CLIENT = "The rows cannot be reached because the dask client is closed: keep it open until the fit ends."
LARGE_GRAPHS_ALLOWED = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}  # graphs contain rows on purpose


class RowsOnCluster(Engine):
    """Rows of a dask array in chunks, dense or CSR.

    Parameters
    ----------
    X : dask array of shape (n, p) whose chunks contain whole rows
    workers : Workers
        The open pool for computations in this process.
    unit : float
        The unit by which X was divided.
    row_weights : array of shape (n,), optional
        The weight of each row.
    sizes : Step
        The step that computes the sizes of the rows, and may validate them.
    """

    def __init__(
        self,
        X: da.Array,
        workers: Workers,
        *,
        unit: float = 1.0,
        row_weights: Array | None = None,
        sizes: Step = sizes,
    ) -> None:
        self.dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        self.n_samples, self.n_features = X.shape
        self.workers, self.unit, self.row_weights = workers, unit, row_weights
        self._lengths = X.chunks[0]
        self._blocks = _blocks(X.astype(self.dtype, copy=False))
        self._passes = 0
        self._clients = _clients_of(X)
        self.measured = Sizes(*map(float, self.sweep((), sizes)[1]))

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Run one pass over X; the new row arrays are dask arrays, lazy ones if the step has no sums."""
        rows, step = self.weighing(rows, step)
        arrays, total = self._graphs([self._chunked(array) for array in rows], step)
        if total is None:
            return tuple(arrays), ()
        self._check_clients()
        try:
            *arrays, total = _persisted(*arrays, total)
            sums = dask.compute(*_blocks(total))[0]
            return self._without_lineage(arrays), tuple(_contiguous(part) for part in sums)
        except Exception as error:
            self._check_clients()
            if isinstance(error, _errors_of_lost_rows()):
                raise RuntimeError(LOST_ROWS.format(error=error)) from error
            raise

    def as_rows(self, array: Array) -> Array:
        """Send an array of all rows to the workers, in the chunks of X."""
        self._check_clients()
        return _persisted(self._chunked(array))[0]

    def for_codes(self, codes: Array) -> Engine:
        """Return an engine for codes of these rows."""
        return RowsOnCluster(self.as_rows(codes), self.workers, row_weights=self.row_weights)

    def _check_clients(self) -> None:
        """Raise an error if a client is closed: dask would use another scheduler, or report that rows were lost."""
        if any(client.status in ("closing", "closed") for client in self._clients):
            raise RuntimeError(CLOSED_CLIENT)

    def _chunked(self, array: Array) -> da.Array:
        if isinstance(array, da.Array):
            return array
        return da.from_array(np.ascontiguousarray(array), chunks=(self._lengths, *array.shape[1:]), name=False)

    def _graphs(self, rows: Sequence[da.Array], step: Step) -> tuple[list[da.Array], da.Array | None]:
        """The lazy results of a pass: row arrays, and the sums if there are any.

        The sums are a dask array too, so that one graph is optimized for all results and each block is used once.
        """
        shared = dask.delayed(step, pure=False)
        blocks = zip(self._blocks, *map(_blocks, rows), strict=True)
        tasks = [_delayed_block_step(shared, X_b, *rows_b) for X_b, *rows_b in blocks]
        *new_rows, sums = _step_on_block(step, *self._example(rows))
        arrays = [self._as_dask_array(tasks, place, new) for place, new in enumerate(new_rows)]
        total = _delayed_sum([task[len(new_rows)] for task in tasks])
        return arrays, da.from_delayed(total, (), meta=np.empty((), object)) if sums else None

    def _example(self, rows: Sequence[da.Array]) -> list[Array]:
        """One row of zeros, from which a step shows the shapes of its results."""
        arrays = [np.zeros((1, *array.shape[1:]), array.dtype) for array in rows]
        return [np.zeros((1, self.n_features), self.dtype), *arrays]

    def _as_dask_array(self, tasks: Sequence[Any], place: int, like: Array) -> da.Array:
        """Concatenate one entry of the tasks' results, with the columns and the dtype of `like`."""
        name = f"rows-{uuid4()}"
        across = (0,) * (like.ndim - 1)
        parts = {(name, number, *across): (getitem, task.key, place) for number, task in enumerate(tasks)}
        chunks = (self._lengths, *((width,) for width in like.shape[1:]))
        graph = HighLevelGraph.from_collections(name, parts, dependencies=tasks)
        return da.Array(graph, name, chunks, dtype=like.dtype)

    def _without_lineage(self, arrays: Sequence[da.Array]) -> tuple[Array, ...]:
        """The arrays; every few passes, they are fetched and sent again, without the tasks that computed them."""
        self._passes += 1
        if self._passes % PASSES_BETWEEN_FETCHES:
            return tuple(arrays)
        return tuple(self.as_rows(array) for array in dask.compute(*arrays))


def check_dask_array(X: da.Array) -> da.Array:
    """Return X with whole rows in its chunks; raise an error if it is not a matrix with chunks of known sizes."""
    if not isinstance(X, da.Array):
        raise TypeError(f"X is a dask {type(X).__name__}: expected a dask array, as of X.to_dask_array(lengths=True).")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a dask array of shape {X.shape}.")
    if any(np.isnan(length) for lengths in X.chunks for length in lengths):
        raise ValueError("X is a dask array with chunks of unknown size: call X.compute_chunk_sizes() first.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _step_on_block(step: Step, X_b: Matrix, *rows_b: Array) -> tuple[Any, ...]:
    """Run a step on a block, on any worker; return the new rows and, last, the sums."""
    X_b = sparse.csr_array(X_b) if sparse.issparse(X_b) else _contiguous(with_holes(X_b))
    with single_threaded_blas():
        new_rows, sums = step(block_of(X_b), tuple(_contiguous(rows) for rows in rows_b))
    return *new_rows, sums


def _contiguous(array: Array) -> Array:
    """The array in C order at an aligned address, as arrays from other processes may not be.

    NumPy adds products of other arrays in another order, which would change the last bits.
    """
    return np.require(array, requirements=["C", "A"])


_delayed_block_step = dask.delayed(_step_on_block, pure=False)


def _sum_of_blocks(parts: Sequence[Sums]) -> Sums:
    """Add the sums in the order of the rows, in double precision, as the engine in memory does."""
    totals = [np.array(part, dtype=np.float64) for part in parts[0]]
    for sums in parts[1:]:
        for total, part in zip(totals, sums, strict=True):
            total += part
    return tuple(totals)


_delayed_sum = dask.delayed(_sum_of_blocks, pure=False)


def _blocks(array: da.Array) -> list[Any]:
    """The chunks; with an optimized graph, dask would release those that are on workers."""
    return list(array.to_delayed(optimize_graph=False).ravel())


def _persisted(*collections: Any) -> tuple[Any, ...]:
    if "distributed" not in sys.modules:
        return dask.persist(*collections)
    with dask.config.set(LARGE_GRAPHS_ALLOWED):
        return dask.persist(*collections)


def _clients_of(X: da.Array) -> set[Any]:
    """The client that runs the passes, and the clients of the chunks of X."""
    if "distributed" not in sys.modules:
        return set()
    distributed = sys.modules["distributed"]
    clients = {future.client for future in distributed.futures_of(X)}
    with suppress(ValueError):  # there is no default client
        clients.add(distributed.default_client())
    return clients


def _errors_of_lost_rows() -> tuple[type[BaseException], ...]:
    """The errors that dask raises if it cannot compute again what was lost with a worker."""
    if "distributed" not in sys.modules:
        return (CancelledError,)
    return CancelledError, sys.modules["distributed"].KilledWorker
