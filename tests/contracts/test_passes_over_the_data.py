"""The cost of a fit: products with X per sweep, and memory."""

import subprocess
import sys

import numpy as np
import pytest

from catalogue import data
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.objective import Chain, Objective
from deepnmf.solvers.descent import ChainDescent
from deepnmf.solvers.steps import SOLVERS


class CountedBlock:
    """A block of rows that records the width of each of its products."""

    __array_ufunc__ = None

    def __init__(self, X_b, products):
        self.X_b, self.products = X_b, products

    def __matmul__(self, right):
        self.products.append(("X Cᵀ", right.shape[1]))
        return self.X_b @ right

    def __rmatmul__(self, left):
        self.products.append(("HᵀX", left.shape[0]))
        return left @ self.X_b


class CountingEngine(RowsInMemory):
    """Counts products with X, block by block."""

    products = None

    def sweep(self, rows, step, out=None):
        if self.products is None:
            return super().sweep(rows, step, out)
        return super().sweep(rows, lambda X_b, rows_b: step(CountedBlock(X_b, self.products), rows_b), out)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("sizes", [(625, 300, 40), (40,), (60, 40)])
def test_a_sweep_makes_exactly_two_products_with_x_of_the_top_layers_width(sizes, nonnegative):
    rng = np.random.default_rng(0)
    X = data(n=200, p=100)
    factors = [rng.random((r, below)) for below, r in zip((100, *sizes), sizes, strict=False)]
    with Workers() as workers:
        engine = CountingEngine(X, workers)
        descent = ChainDescent(engine, Objective(), SOLVERS["hals"])
        state = descent.start(rng.random((200, 40)), Chain.of(factors, nonnegative=nonnegative))
        for _ in range(3):
            engine.products = []
            state = descent.advance(state)
            assert engine.products == [("X Cᵀ", 40), ("HᵀX", 40)]


PEAK = """
import resource, sys
import numpy as np
import deepnmf
from deepnmf import {model}

n, p, order = 60_000, 500, sys.argv[1]
X = np.empty((n, p), order=order)
for start in range(0, n, 1000):
    X[start : start + 1000] = np.random.default_rng(start).random((1000, p))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
{model}({arguments}, max_iter=2, tol=0, random_state=0).fit(X[:2000])  # compile first
before = peak()
fitted = {model}({arguments}, max_iter=6, tol=0, random_state=0).fit(X)
codes = fitted.codes_[-1].nbytes
print(peak() - before, X.nbytes, codes)
"""


@pytest.mark.parametrize(
    ("model", "arguments", "order"),
    [
        ("NMF", "20", "C"),
        ("NMF", "20", "F"),
        ("SemiNMF", "20", "C"),
        ("SSNMF", "20", "C"),
        ("DeepNSNMF", "(40, 20), pretrain_max_iter=2", "C"),
    ],
)
def test_peak_memory_is_x_in_c_order_plus_a_few_copies_of_the_codes(model, arguments, order):
    code = PEAK.format(model=model, arguments=arguments)
    run = subprocess.run([sys.executable, "-c", code, order], capture_output=True, text=True, check=True)
    added, size_of_x, codes = map(int, run.stdout.split())
    copies = {"C": 0, "F": 1}[order]
    assert added < (copies + 0.3) * size_of_x + 4 * codes + 100 * 2**20
