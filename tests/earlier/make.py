"""Writes the model files of this folder; run once for each file format, with the version that writes it.

`python tests/earlier/make.py FORMAT` writes FORMAT-*.safetensors and, beside each, what its model's transform gave.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from deepnmf import CNMF, GDNMF, NMF, DeepNMFNetwork, DeepNSNMF, SparseDeepNMF

HERE = Path(__file__).parent


def data() -> np.ndarray:
    """Rows that are the same in every version: without a random generator, whose numbers may change."""
    rows, columns = np.meshgrid(np.arange(20), np.arange(8), indexing="ij")
    return np.abs(np.sin(1 + rows * (columns + 2))) + (rows % 4 == columns % 4)


def labels() -> np.ndarray:
    """Text labels, a quarter of them unknown."""
    return np.array([["one", "two", "three", None][row % 4] for row in range(20)], dtype=object)


def models() -> dict:
    """A fitted model for each way in which models are saved."""
    X, y = data(), labels()
    settings = {"max_iter": 20, "random_state": 0}
    return {
        "NMF": NMF(3, alpha_W=0.01, l1_ratio=0.5, **settings).fit(X),
        "DeepNSNMF": DeepNSNMF((6, 3), theta=0.3, keep_codes="all", **settings).fit(X.astype(np.float32)),
        "SparseDeepNMF": SparseDeepNMF((6, 3), activation="square", penalty="RL1", **settings).fit(X),
        "CNMF": CNMF(3, **settings).fit(X, y),
        "DeepNMFNetwork": DeepNMFNetwork((6, 3), pool_size=3, **settings).fit(X, y),
        "GDNMF": GDNMF((6, 3), **settings).fit(X, np.where(y == "one", 1, 0)),
    }


def main(name_of_format: str) -> None:
    """Write each model and the result of its `transform`."""
    warnings.simplefilter("ignore")
    for name, model in models().items():
        model.save(HERE / f"{name_of_format}-{name}.safetensors")
        np.save(HERE / f"{name_of_format}-{name}.npy", model.transform(data().astype(model.components_.dtype)))


if __name__ == "__main__":
    main(sys.argv[1])
