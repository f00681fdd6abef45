import os

import pytest

import jitter  # noqa: F401 - it changes the data that models read, where DEEPNMF_JITTER asks for it
from deepnmf.datasets import load
from deepnmf.engines import memory
from deepnmf.solvers import descent


@pytest.fixture
def benchmark_data():
    """Read a data set of DEEPNMF_DATA, or skip and say so."""

    def read(name):
        if not os.environ.get("DEEPNMF_DATA"):
            pytest.skip("DEEPNMF_DATA is not set: no benchmark data here")
        return load(name)

    return read


@pytest.fixture
def small_blocks(monkeypatch):
    """Rows and columns are split although there are few of them."""
    monkeypatch.setattr(memory, "SMALLEST_SPLIT", 0)
    monkeypatch.setattr(memory, "BLOCK_BYTES", 2**18)
    monkeypatch.setattr(descent, "WORTH_A_THREAD", 0)
