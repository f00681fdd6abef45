import os

import pytest

from deepnmf.datasets import load


@pytest.fixture
def benchmark_data():
    """Read a data set of DEEPNMF_DATA, or skip and say so."""

    def read(name):
        if not os.environ.get("DEEPNMF_DATA"):
            pytest.skip("DEEPNMF_DATA is not set: no benchmark data here")
        return load(name)

    return read
