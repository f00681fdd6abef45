"""Other packages with multiplicative updates for beta divergences, for `python -m benchmarks.divergences`."""

import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.decomposition._nmf import _beta_divergence

from deepnmf.arrays import Array

Peer = Callable[[Any, Array, Array, float, int], tuple[Array, Array]]


def torchnmf(X: Any, W: Array, H: Array, beta: float, n_iter: int) -> tuple[Array, Array]:
    """Run torchnmf, whose W has the features as columns, and whose H are the codes."""
    torch, nmf = import_module("torch"), import_module("torchnmf.nmf")
    start = {"W": torch.from_numpy(np.ascontiguousarray(H.T)), "H": torch.from_numpy(W)}
    model = nmf.NMF(**{name: tensor.shape for name, tensor in start.items()}).to(torch.float64)
    model.load_state_dict(start)
    model.fit(torch.from_numpy(X), beta=beta, tol=-np.inf, max_iter=n_iter)
    return model.H.detach().numpy(), model.W.detach().numpy().T


def nn_fac(X: Any, W: Array, H: Array, beta: float, n_iter: int) -> tuple[Array, Array]:
    """Run nn-fac, whose U are the codes, and whose V are the features."""
    nmf = import_module("nn_fac.nmf").nmf
    settings = {"update_rule": "mu", "beta": beta, "n_iter_max": n_iter, "tol": 0}
    codes, features = nmf(X, len(H), init="custom", U_0=W.copy(), V_0=H.copy(), **settings)
    return codes, features


PEERS: dict[str, Peer] = {"torchnmf": torchnmf, "nn_fac": nn_fac}


def run_peers(X: Any, W: Array, H: Array, beta: float, n_iter: int) -> dict[str, tuple[float, float]]:
    """Return the seconds and the loss of every installed peer, on dense data."""
    found = {}
    for name in filter(find_spec, PEERS):
        PEERS[name](X, W, H, beta, 1)  # warm up
        began = time.perf_counter()
        codes, features = PEERS[name](X, W, H, beta, n_iter)
        seconds = time.perf_counter() - began
        found[name] = seconds, _beta_divergence(X, codes, features, beta)
    return found
