"""Small instances of all models, for the tests of properties that hold for all of them."""

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from deepnmf import (
    CNMF,
    GDNMF,
    GNMF,
    NMF,
    NSNMF,
    SSNMF,
    WSF,
    WSFMA,
    DeepNMF,
    DeepNMFNetwork,
    DeepNSNMF,
    DeepSemiNMF,
    DeepWSF,
    DiscriminantNMF,
    MultilayerNMF,
    SemiNMF,
    SparseDeepNMF,
)
from deepnmf.objective.divergences import Divergence

DEEP = {"layer_sizes": (8, 4), "random_state": 0, "max_iter": 40, "pretrain_max_iter": 20}

SMALL = [
    NMF(4, random_state=0),
    NSNMF(4, theta=0.3, random_state=0),
    SemiNMF(4, random_state=0),
    CNMF(4, random_state=0),
    DeepNMF(**DEEP),
    MultilayerNMF((8, 4), random_state=0, max_iter=40),
    DeepNSNMF(**DEEP),
    SparseDeepNMF(**DEEP),
    DeepSemiNMF(**DEEP),
    SSNMF(4, random_state=0),
    DeepNMFNetwork(**DEEP),
    GDNMF(**DEEP),
    GNMF(4, random_state=0),
    WSF(4, random_state=0),
    WSFMA(4, random_state=0),
    DeepWSF(**DEEP),
    DiscriminantNMF(4, random_state=0),
]

LABELED = [
    model
    for model in SMALL
    if isinstance(model, CNMF | DeepNMFNetwork | DeepWSF | DiscriminantNMF | GDNMF | SSNMF | WSF | WSFMA)
]

VARIANTS = [
    *SMALL,
    NMF(4, solver="apg", random_state=0),
    NMF(4, solver="pg", random_state=0),
    NMF(4, solver="mu", random_state=0),
    NMF(4, alpha_W=0.01, alpha_H=0.02, l1_ratio=0.5, random_state=0),
    NMF(4, beta_loss="kullback-leibler", random_state=0),
    NMF(4, beta_loss="kullback-leibler", alpha_W=0.01, l1_ratio=0.5, random_state=0),
    NMF(4, beta_loss=1.5, random_state=0),
    NMF(4, beta_loss=0.5, solver="mu", random_state=0),
    NSNMF(4, beta_loss="kullback-leibler", theta=0.3, random_state=0),
    MultilayerNMF((8, 4), beta_loss="kullback-leibler", random_state=0, max_iter=40),
    DeepNSNMF(**DEEP, beta_loss="kullback-leibler"),
    DeepNSNMF((12, 8, 4), theta=0, beta_loss=3, random_state=0),
    SparseDeepNMF(**DEEP, beta_loss="kullback-leibler"),
    DeepNMF((12, 8, 4), beta_loss="kullback-leibler", layer_weights=(2, 1, 1), random_state=0),
    DeepNMF((12, 8, 4), explains="data", random_state=0),
    SemiNMF(4, solver="mu", init="random", random_state=0),
    SemiNMF(4, solver="apg", init="random", random_state=0),
    DeepSemiNMF((4, 8), random_state=0, init="random"),
    SemiNMF(4, code_scale="rms", random_state=0),
    DeepSemiNMF((8, 4), code_scale="rms", activation="relu", random_state=0),
    MultilayerNMF((8, 4), activation="square", theta=0.1, random_state=0),
    DeepNSNMF((20, 8, 4), theta=(0.1, 0.3, 0.5), random_state=0),
    DeepNSNMF((4, 8), theta=0.5, solver="apg", random_state=0),
    DeepNSNMF((8, 4), theta=0.2, solver="mu", random_state=0),
    *(
        SparseDeepNMF((12, 8, 4), penalty=penalty, feature_penalty=0.1, code_penalty=0.1, random_state=0)
        for penalty in ("L", "R", "RL1", "RL2")
    ),
    SemiNMF(4, init="kmeans", random_state=0),
    *(DeepSemiNMF((8, 4), activation=activation, random_state=0) for activation in ("stanh", "softplus", "relu")),
    DeepSemiNMF((12, 8, 4), activation="square", init="kmeans", random_state=0),
    SparseDeepNMF((8, 4), activation="square", random_state=0),
    SparseDeepNMF((8, 4), activation="tanh", penalty="RL1", random_state=0),
    SparseDeepNMF((12, 8, 4), activation="square", root_codes=True, solver="mu", random_state=0),
    *(SparseDeepNMF((8, 4), activation="square", penalty=penalty, random_state=0) for penalty in ("L", "R")),
    # Only one pooling: rows with equal maxima have equal codes, and rounding would decide about maxima of a second one.
    DeepNMFNetwork((8, 6, 4), pool_size=(0, 5), random_state=0),
    DeepNMFNetwork((8, 4), pool_size=3, backprop=False, init="random", random_state=0),
    GDNMF((8, 6, 4), basis_sizes=(10, 5), activation="tanh", random_state=0),
    GDNMF((8, 4), basis_sizes=8, paths="deep", activation="softplus", random_state=0),
    GDNMF((4,), basis_sizes=(8, 4), activation="sigmoid", random_state=0),
    GDNMF(paths="shallow", random_state=0),
]


def is_linear(model) -> bool:
    """Whether there is no activation between the layers."""
    return getattr(model, "activation", "identity") == "identity"


def explains_codes(model) -> bool:
    """Whether the codes of all layers are variables of one problem, each layer explaining those below it."""
    return isinstance(model, DeepNMF) and model.explains == "codes"


def beta_of(model) -> float:
    """The loss of a model as a number; 2 is squared error."""
    return Divergence.of(getattr(model, "beta_loss", 2)).beta


def name_of(model) -> str:
    """A short name of a model for the id of a test."""
    text = repr(model).replace("random_state=0", "").replace("\n", "")
    return "".join(text.split()).replace(",)", ")").replace(",,", ",")


def data(n: int = 60, p: int = 24, rank: int = 6, noise: float = 0.05, seed: int = 0) -> np.ndarray:
    """Nonnegative data of low rank plus noise, with some zeros."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(n, rank)) @ rng.gamma(0.5, size=(rank, p)) + noise * rng.random((n, p))
    X[np.quantile(X, 0.2) > X] = 0
    return X


def explained(model, X: np.ndarray) -> float:
    """The share of ‖X‖² that `transform` and `inverse_transform` explain."""
    return 1 - np.sum((X - model.inverse_transform(model.transform(X))) ** 2) / np.sum(X**2)


def layouts(X: np.ndarray) -> dict:
    """The same dense matrix in every memory layout, and as a data frame."""
    names = [f"x{j}" for j in range(X.shape[1])]
    return {
        "F-ordered": np.asfortranarray(X),
        "every other column": np.repeat(X, 2, axis=1)[:, ::2],
        "every other row": np.repeat(X, 2, axis=0)[::2],
        "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
        "unaligned": np.frombuffer(b"x" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape),
        "big-endian": X.astype(X.dtype.newbyteorder(">")),
        "pandas": pd.DataFrame(X, columns=names),
        "pandas, one block per column": pd.DataFrame({name: X[:, j].copy() for j, name in enumerate(names)}),
        "polars": pl.DataFrame(X, schema=names),
    }


def sparse_forms(X: np.ndarray) -> dict:
    """The same matrix in sparse formats other than `csr_array`, to which models convert them."""
    unsorted = sparse.csr_array(X[:, ::-1])
    unsorted = sparse.csr_array((unsorted.data, X.shape[1] - 1 - unsorted.indices, unsorted.indptr), shape=X.shape)
    return {
        "csr_matrix": sparse.csr_matrix(X),
        "csc_array": sparse.csc_array(X),
        "coo_array": sparse.coo_array(X),
        "unsorted": unsorted,
    }
