"""Mutated model files are refused in one sentence, or load as what they must be; see `fuzz.child` for the rules.

The long run is ``pytest -m slow tests/fuzz``: 20 000 files in ten pieces.
"""

import shutil
import sys

import numpy as np
import pytest

from catalogue import data
from deepnmf import CNMF, GDNMF, NMF, NSNMF, DeepNMFNetwork, DeepNSNMF, DeepSemiNMF, SparseDeepNMF
from fuzz.files import Parts
from fuzz.reports import TESTS, report_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux"),
]
A_PIECE = 2000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file for each way in which models are saved, and files of the earlier format."""
    import pandas as pd

    folder, X = tmp_path_factory.mktemp("models"), data(20, 8)
    y = np.array([["one", "two", "three", None][row % 4] for row in range(20)], dtype=object)
    settings = {"max_iter": 10, "random_state": 0}
    named = pd.DataFrame(X, columns=[f"gene:{j}" for j in range(8)])
    models = {
        "NMF": NMF(3, alpha_W=0.01, **settings).fit(named),
        "NSNMF": NSNMF(3, **settings).partial_fit(X).partial_fit(X),
        "DeepNSNMF": DeepNSNMF((6, 3), keep_codes="all", **settings).fit(X.astype(np.float32)),
        "DeepSemiNMF": DeepSemiNMF((6, 3), activation="stanh", **settings).fit(X),
        "SparseDeepNMF": SparseDeepNMF((6, 3), activation="square", penalty="RL1", **settings).fit(X),
        "CNMF": CNMF(3, **settings).fit(X, y),
        "DeepNMFNetwork": DeepNMFNetwork((6, 3), pool_size=3, **settings).fit(X, y),
        "GDNMF": GDNMF((6, 3), **settings).fit(X, y),
    }
    for name, model in models.items():
        path = folder / f"{name}.safetensors"
        model.save(path)
        parts = Parts.of(
            path.read_bytes()
        )  # safetensors orders metadata randomly, but a seed must give the same file again
        path.write_bytes(parts.with_entries(dict(sorted(parts.entries.items()))).sealed())
    for file in (TESTS / "earlier").glob("*.safetensors"):
        shutil.copy(file, folder)
    return folder


def test_a_few_hundred_mutated_files_are_refused_or_valid(files):
    report = report_of("child", files, "short", "300")
    assert report["failures"] == []
    assert report["outcomes"]["refused"] > 200
    assert report["outcomes"]["sound"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(10))
def test_twenty_thousand_mutated_files_are_refused_or_valid(files, piece):
    report = report_of("child", files, f"piece {piece}", str(A_PIECE))
    assert report["failures"] == []
    assert sum(report["outcomes"].values()) == A_PIECE


@pytest.mark.slow
def test_files_that_grow_when_read_stay_within_the_limits(files, tmp_path):
    shutil.copy(files / "DeepNMFNetwork.safetensors", tmp_path)
    report = report_of("child", tmp_path)
    assert report["failures"] == []
    assert report["outcomes"]["refused"] > 10
