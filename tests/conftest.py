import os

import pytest

import jitter  # noqa: F401 - it changes the data that models read if DEEPNMF_JITTER is set
from deepnmf.datasets import load
from deepnmf.engines import memory
from deepnmf.solvers import descent


@pytest.fixture
def benchmark_data():
    """Return a function that reads a data set of DEEPNMF_DATA, or skips the test."""

    def read(name):
        if not os.environ.get("DEEPNMF_DATA"):
            pytest.skip("DEEPNMF_DATA is not set, so there are no benchmark data")
        return load(name)

    return read


@pytest.fixture
def small_blocks(monkeypatch):
    """Split rows and columns into blocks although there are few of them."""
    monkeypatch.setattr(memory, "SMALLEST_SPLIT", 0)
    monkeypatch.setattr(memory, "BLOCK_BYTES", 2**18)
    monkeypatch.setattr(descent, "WORTH_A_THREAD", 0)
