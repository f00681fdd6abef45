"""The compiled loops, each with a plain NumPy version for comparison in tests. They take arrays, not models."""

from collections.abc import Callable
from typing import Any

from deepnmf.kernels.active_sets import polish_rows, polish_rows_plainly
from deepnmf.kernels.beta_steps import descend_beta, descend_beta_plainly
from deepnmf.kernels.layered_codes import (
    descend_layers,
    descend_layers_of_counts,
    descend_layers_of_counts_plainly,
    descend_layers_plainly,
)
from deepnmf.kernels.poisson import (
    descend_counts,
    descend_counts_plainly,
    descend_dense_counts,
    descend_dense_counts_plainly,
)
from deepnmf.kernels.quadratic_descent import descend_rows, descend_rows_plainly
from deepnmf.kernels.sliding_maxima import first_maxima, first_maxima_plainly
from deepnmf.kernels.stopping import StoppingRule
from deepnmf.kernels.stored_entries import (
    descend_observed,
    descend_observed_plainly,
    sampled_products,
    sampled_products_plainly,
)
from deepnmf.kernels.whole_sweeps import Position, SmallProblem, sweeps_at_once, sweeps_at_once_plainly

TWINS: dict[Callable[..., Any], Callable[..., Any]] = {
    descend_beta: descend_beta_plainly,
    descend_counts: descend_counts_plainly,
    descend_dense_counts: descend_dense_counts_plainly,
    descend_layers: descend_layers_plainly,
    descend_layers_of_counts: descend_layers_of_counts_plainly,
    descend_observed: descend_observed_plainly,
    descend_rows: descend_rows_plainly,
    polish_rows: polish_rows_plainly,
    first_maxima: first_maxima_plainly,
    sampled_products: sampled_products_plainly,
    sweeps_at_once: sweeps_at_once_plainly,
}
"""For each kernel, the plain NumPy function that computes the same."""

__all__ = [
    "TWINS",
    "Position",
    "SmallProblem",
    "StoppingRule",
    "descend_beta",
    "descend_counts",
    "descend_dense_counts",
    "descend_layers",
    "descend_layers_of_counts",
    "descend_observed",
    "descend_rows",
    "first_maxima",
    "polish_rows",
    "sampled_products",
    "sweeps_at_once",
]
