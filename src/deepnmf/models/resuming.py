"""Which fit a checkpoint belongs to: a digest of the data and of the settings."""

import hashlib
import os
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from deepnmf.engines import RowSource, is_on_cluster, row_source
from deepnmf.masks import with_holes
from deepnmf.solvers.checkpoints import Checkpoints

SAMPLED = 100  # rows of a file that speak for the rest: reading all of it again would take as long as a sweep


class Keeping(NamedTuple):
    """Where a fit is kept, how often, and what it is of: all that was given to `fit`."""

    path: str | os.PathLike[str] | None
    seconds: float
    given: Sequence[Any]

    def checkpoints(self, model: Any) -> Checkpoints | None:
        """The file, with what is there if it is of this fit; None if none is kept."""
        if self.path is None:
            return None
        self._check(model)
        return Checkpoints(Path(self.path), float(self.seconds), _owner(model, self.given))

    def _check(self, model: Any) -> None:
        path = Path(os.path.realpath(self.path or ""))  # a link may lead to a file that is not there yet
        if not path.parent.is_dir() or path.is_dir():
            raise ValueError(f"checkpoint is {str(self.path)!r}: expected a file in a folder that is there.")
        if not isinstance(self.seconds, Real) or not self.seconds >= 0:
            raise ValueError(f"checkpoint_seconds is {self.seconds!r}: expected a number of seconds, at least 0.")
        if isinstance(model.random_state, np.random.RandomState):
            raise ValueError("checkpoint needs random_state to be an integer or None: a RandomState cannot be kept.")
        if is_on_cluster(self.given[0]):
            raise ValueError("checkpoint needs rows in memory or in a file; codes of a dask array are elsewhere.")


def _owner(model: Any, given: Sequence[Any]) -> str:
    settings = {name: value for name, value in model.get_params(deep=False).items() if name != "verbose"}
    digest = hashlib.sha256(f"{type(model).__name__} {sorted(settings.items())}".encode())
    before = list(model.factors_) if model.warm_start and hasattr(model, "factors_") else []
    for value in (*given, *before):
        _add(digest, value)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    """Let a digest have what was given: data, labels, weights, a start."""
    source = None if value is None or isinstance(value, list | tuple) else _source(value)
    if source is not None:
        rows = np.unique(np.linspace(0, source.shape[0] - 1, SAMPLED).astype(int))
        parts = [np.asarray(source.read(slice(row, row + 1), None)) for row in rows]
        digest.update(f"rows {source.shape} {source.dtype}".encode())
    elif sparse.issparse(value):
        entries = value.tocsr()
        parts = [entries.data, entries.indices, entries.indptr, np.array(entries.shape)]
    elif isinstance(value, list | tuple):
        digest.update(f"{len(value)} items".encode())
        for item in value:
            _add(digest, item)
        return
    else:
        parts = [np.asarray(with_holes(value))]
    for part in parts:
        content = repr(part.tolist()).encode() if part.dtype.hasobject else np.ascontiguousarray(part).tobytes()
        digest.update(f"{part.shape} {part.dtype}".encode() + content)


def _source(value: Any) -> RowSource | None:
    if isinstance(value, str) and not value.endswith(".npy"):
        return None  # a word, such as "stored"
    return row_source(value)
