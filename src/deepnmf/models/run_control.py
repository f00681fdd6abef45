"""Callbacks and checkpoints of a fit. A digest of data and parameters tells which fit a checkpoint belongs to."""

import hashlib
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from deepnmf.engines import RowSource, is_on_cluster, row_source
from deepnmf.masks import with_holes
from deepnmf.models.hierarchy import HierarchyWarning, warning_text
from deepnmf.solvers.checkpoints import Checkpoints
from deepnmf.solvers.loop import OnSweep, Run

SAMPLED = 100  # rows of a file that enter the digest, because reading all of them would take as long as a sweep


class RunControl(NamedTuple):
    """The arguments of `fit` that do not change its result, and all other arguments for the digest."""

    on_sweep: OnSweep | None
    checkpoint: str | os.PathLike[str] | None
    checkpoint_seconds: float
    given: Sequence[Any]
    is_batch: bool = False  # the first batch of several is no final result, and causes no warning

    @classmethod
    def of_batch(cls, X: Any) -> "RunControl":
        """Return the control of the first batch of `partial_fit`."""
        return cls(None, None, 0, (X,), is_batch=True)

    def run(self, model: Any) -> Run:
        """Return a new run, or one that continues from its checkpoint."""
        checkpoints = None
        if self.checkpoint is not None:
            self._check(model)
            owner = _owner(model, self.given)
            checkpoints = Checkpoints(Path(self.checkpoint), float(self.checkpoint_seconds), owner)
        return Run(int(model.verbose), checkpoints, self.on_sweep)

    def _check(self, model: Any) -> None:
        path = Path(os.path.realpath(self.checkpoint or ""))  # a link may point to a file that does not exist yet
        if not path.parent.is_dir() or path.is_dir():
            raise ValueError(f"checkpoint is {str(self.checkpoint)!r}: expected a file in an existing folder.")
        if not isinstance(self.checkpoint_seconds, Real) or not self.checkpoint_seconds >= 0:
            raise ValueError(
                f"checkpoint_seconds is {self.checkpoint_seconds!r}: expected a number of seconds, at least 0."
            )
        if isinstance(model.random_state, np.random.RandomState):
            raise ValueError("checkpoint needs random_state to be an integer or None: a RandomState cannot be saved.")
        if is_on_cluster(self.given[0]):
            raise ValueError("checkpoint needs X in memory or in a file, but X is a dask array.")


@contextmanager
def fitting(model: Any, control: RunControl) -> Iterator[Run]:
    """Check the parameters and run a fit; if the fit fails, the model stays unchanged.

    The first Ctrl-C stops the sweeps, and the fit ends with the current factors, or with the initial ones if it is
    pressed during the initialization. The second Ctrl-C raises a KeyboardInterrupt, which counts as a failed fit.
    """
    before, began = dict(model.__dict__), time.perf_counter()
    try:
        model._validate_params()
        run = control.run(model)
        with run.handling_interrupts():
            yield run
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise
    model._seconds = time.perf_counter() - began
    if run.checkpoints is not None and not run.ended:
        run.checkpoints.finish()
    # As in scikit-learn, a fit that converges in its last sweep warns too, because rounding may decide which it is.
    if model.tol > 0 and (model.stop_reason_ == "max_iter" or model.n_iter_ == model.max_iter):
        message = f"Maximum number of iterations {model.max_iter} reached. Increase it to improve convergence."
        warnings.warn(message, ConvergenceWarning, stacklevel=5)
    poor = None if control.is_batch else warning_text(model)
    if poor is not None:
        warnings.warn(poor, HierarchyWarning, stacklevel=5)


def _owner(model: Any, given: Sequence[Any]) -> str:
    settings = {name: value for name, value in model.get_params(deep=False).items() if name != "verbose"}
    digest = hashlib.sha256(f"{type(model).__name__} {sorted(settings.items())}".encode())
    before = list(model.factors_) if model.warm_start and hasattr(model, "factors_") else []
    for value in (*given, *before):
        _add(digest, value)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    """Add an argument to the digest: data, labels, weights or starting values."""
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
