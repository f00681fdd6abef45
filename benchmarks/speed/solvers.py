"""The contenders, with one adapter for each.

All of them start from the same factors, and make a given number of iterations without tolerances.
"""

import contextlib
import ctypes
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import sklearn.decomposition
from benchmarks.speed.problems import Array, Matrix, Problem
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

THREADS = os.cpu_count() or 1
ROOT = Path(__file__).parents[2]

Run = Callable[[Any, Array, Array, int], tuple[Array, Array]]


@dataclass(frozen=True)
class Solver:
    """A contender.

    `run(X, W, H, n_iter)` returns W and H after this number of iterations from the given W and H, which it may overwrite.
    `take(X)` converts the data to a form that the contender supports; this is done once and is not timed.
    """

    name: str
    package: str  # the name for pip; empty for code of this repository
    run: Run
    take: Callable[[Matrix], Any] = lambda X: X
    dtypes: tuple[str, ...] = ("float64", "float32")
    takes_sparse: bool = True
    risky: bool = False  # may take very long or crash, and is therefore first tried in another process

    @property
    def installed(self) -> bool:
        """Whether the package is installed."""
        try:
            return not self.package or bool(metadata.version(self.package))
        except metadata.PackageNotFoundError:
            return False

    def refusal(self, problem: Problem) -> str:
        """Return the reason why the contender cannot solve this problem, or an empty text."""
        X = problem.X
        if not self.installed:
            return "not installed"
        if X.dtype.name not in self.dtypes:
            return f"does not support {X.dtype.name}"
        if sparse.issparse(X) and not self.takes_sparse and not _fits_dense(X):
            return "does not support sparse data, and X does not fit into memory as a dense array"
        return ""

    def given(self, problem: Problem) -> Any:
        """Return the data in the form that this contender supports."""
        return self.take(problem.X if self.takes_sparse else problem.dense)


def _fits_dense(X: Matrix) -> bool:
    """Return whether a dense X and three more arrays of its size, which contenders may create, fit into memory."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 4 * X.shape[0] * X.shape[1] * X.dtype.itemsize < free


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Discard the output of this process, including that of C and C++ code."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    with open(os.devnull, "w") as nowhere:
        for stream in kept:
            os.dup2(nowhere.fileno(), stream)
    try:
        yield
    finally:
        for stream, original in kept.items():
            os.dup2(original, stream)
            os.close(original)


# ---------------------------------------------------------------------------------------------- scikit-learn


def _scikit_learn(solver: str) -> Run:
    def run(X: Matrix, W: Array, H: Array, n_iter: int) -> tuple[Array, Array]:
        model = sklearn.decomposition.NMF(len(H), init="custom", solver=solver, tol=0, max_iter=n_iter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit_transform(X, W=W, H=H), model.components_

    return run


# ------------------------------------------------------------------------------------------ torchnmf, nmf-torch


def _as_tensor(X: Matrix) -> Any:
    torch = import_module("torch")
    if not sparse.issparse(X):
        return torch.from_numpy(X)
    entries = X.tocoo()
    return torch.sparse_coo_tensor(np.stack(entries.coords), entries.data, X.shape).coalesce()


def _torchnmf(X: Any, W: Array, H: Array, n_iter: int) -> tuple[Array, Array]:
    """Run torchnmf, whose W has the features as columns, and whose H are the codes.

    It creates its parameters in single precision for all data, so that they must be converted.
    """
    torch, nmf = import_module("torch"), import_module("torchnmf.nmf")
    torch.set_num_threads(THREADS)
    start = {"W": torch.from_numpy(np.ascontiguousarray(H.T)), "H": torch.from_numpy(W)}
    model = nmf.NMF(**{name: tensor.shape for name, tensor in start.items()}).to(X.dtype)
    model.load_state_dict(start)
    model.fit(X, beta=2, tol=-np.inf, max_iter=n_iter)
    return model.H.detach().numpy(), model.W.detach().numpy().T


def _nmf_torch(model_name: str, threads: int = THREADS, **settings: Any) -> Run:
    """Return a function that runs nmf-torch, whose H are the codes, and whose W are the features.

    It has no parameter for a start, so its initialization method is replaced. Its test of convergence is also replaced,
    because no tolerance disables it.
    """

    def run(X: Any, W: Array, H: Array, n_iter: int) -> tuple[Array, Array]:
        torch, models = import_module("torch"), import_module("nmf.nmf_models")
        torch.set_num_threads(threads)

        class FromGivenFactors(getattr(models, model_name)):
            def _initialize_H_W(self):
                self.H, self.W = torch.from_numpy(W), torch.from_numpy(H)

            def _is_converged(self, *_):
                return False

        model = FromGivenFactors(
            n_components=len(H),
            init="custom",
            beta_loss=2,
            tol=0,
            random_state=0,
            alpha_W=0,
            l1_ratio_W=0,
            alpha_H=0,
            l1_ratio_H=0,
            fp_precision=X.dtype,
            device_type="cpu",
            max_iter=n_iter,
            **settings,
        )
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            codes = model.fit_transform(X)
        return codes.numpy(), model.W.numpy()

    return run


# ------------------------------------------------------------------------------------------- tensorly, pyplanc


def _tensorly(X: Array, W: Array, H: Array, n_iter: int) -> tuple[Array, Array]:
    """Run the nonnegative CP decomposition of a tensor with two axes, which is NMF.

    Its H has the features as columns.
    """
    decomposition = import_module("tensorly.decomposition")
    start = (np.ones(len(H), dtype=X.dtype), [W, np.ascontiguousarray(H.T)])
    _, (codes, features) = decomposition.non_negative_parafac_hals(X, len(H), n_iter_max=n_iter, init=start, tol=0)
    return codes, features.T


def _in_columns(X: Matrix) -> Any:
    return sparse.csc_matrix(X) if sparse.issparse(X) else np.asfortranarray(X)


@cache
def _planc() -> Any:
    """Return the module, with its built-in BLAS limited to one thread.

    Each of its own threads calls this BLAS, which would start as many threads again without a limit, and which warns
    that it may hang.
    """
    module = import_module("pyplanc")  # first, because it finds the libraries that the one below needs
    for file in metadata.files("pyplanc") or ():
        if file.name.startswith("libnmflib"):
            ctypes.CDLL(str(file.locate())).openblas_set_num_threads(1)
    return module


def _pyplanc(algorithm: str) -> Run:
    """Return a function that runs pyplanc, whose H has the features as columns."""

    def run(X: Any, W: Array, H: Array, n_iter: int) -> tuple[Array, Array]:
        start = {"Winit": np.asfortranarray(W), "Hinit": np.asfortranarray(H.T)}
        with _silenced():
            found = _planc().nmf(X, len(H), niter=n_iter, algo=algorithm, ncores=THREADS, **start)
        return found.W, found.H.T

    return run


# ------------------------------------------------------------------------------------------------- as published


def reference(name: str) -> Any:
    """Return a published algorithm, from the transcriptions that the tests compare the library with."""
    if str(ROOT / "tests") not in sys.path:
        sys.path.insert(0, str(ROOT / "tests"))
    return import_module(f"reference.{name}")


def _lee_seung(X: Matrix, W: Array, H: Array, n_iter: int) -> tuple[Array, Array]:
    """Run the transcription without the loss that it computes after each iteration.

    The loss costs as much as the updates.
    """
    transcription = reference("lee_seung")
    with patch.object(transcription, "loss", return_value=np.nan):
        codes, features, _ = transcription.lee_seung(X, W, H, n_iter)
    return codes, features


SOLVERS = (
    Solver("scikit-learn cd", "scikit-learn", _scikit_learn("cd")),
    Solver("scikit-learn mu", "scikit-learn", _scikit_learn("mu")),
    Solver("torchnmf", "torchnmf", _torchnmf, _as_tensor),
    Solver("nmf-torch hals", "nmf-torch", _nmf_torch("NMFBatchHALS", hals_max_iter=1), _as_tensor, takes_sparse=False),
    Solver(
        "nmf-torch bpp",
        "nmf-torch",
        _nmf_torch("NMFBatchNnlsBpp", threads=1),
        _as_tensor,
        takes_sparse=False,
        risky=True,
    ),
    Solver("nmf-torch mu", "nmf-torch", _nmf_torch("NMFBatchMU"), _as_tensor, takes_sparse=False),
    Solver("tensorly hals", "tensorly", _tensorly, takes_sparse=False),
    Solver("pyplanc hals", "pyplanc", _pyplanc("hals"), _in_columns, dtypes=("float64",)),
    Solver("pyplanc bpp", "pyplanc", _pyplanc("anlsbpp"), _in_columns, dtypes=("float64",), risky=True),
    Solver("Lee & Seung", "", _lee_seung, dtypes=("float64",)),
)
