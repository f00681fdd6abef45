"""The stopping tests of the loop over sweeps, which also run inside compiled sweeps."""

from functools import partial
from typing import NamedTuple

from deepnmf.kernels.compilation import inlined_loop

SETTLED = 14  # sweeps before gradients are compared with the first one, because inner steps grow for twelve sweeps
WINDOW = 5  # sweeps over which the decrease is averaged, because a single sweep may be a restart

CONTINUE, OPTIMALITY, DECREASE = range(3)


class StoppingRule(NamedTuple):
    """The limits of the tests, see `deepnmf.solvers.loop.minimize`."""

    tol: float
    drop: float = 0.0
    negligible: float = 0.0


@partial(inlined_loop, fastmath={"contract"})  # a loss may be infinite
def mean_decrease(losses, n_sweeps, negligible):
    """The relative decrease of the loss per sweep, averaged over the last sweeps."""
    if n_sweeps < 2:
        return float("inf")
    first = max(n_sweeps - WINDOW - 1, 0)
    last = losses[n_sweeps - 1]
    size = max(abs(last), negligible)  # the objective may be negative with a penalty that can be negative
    return (losses[first] - last) / (n_sweeps - 1 - first) / size if size > 0 else 0.0


@partial(inlined_loop, fastmath={"contract"})  # a loss may be infinite
def stopping_test(decrease, n_sweeps, optimality, first_optimality, is_exhausted, rule):
    """Return the test that ends the sweeps, or CONTINUE; `decrease` is their `mean_decrease`."""
    limit = rule.tol / 100
    if n_sweeps >= SETTLED:
        limit = max(limit, rule.drop * first_optimality)
    if limit > 0 and optimality <= limit:
        return OPTIMALITY
    if rule.tol > 0 and is_exhausted:
        return DECREASE
    if rule.tol > 0 and n_sweeps > WINDOW and decrease <= rule.tol:
        return DECREASE
    return CONTINUE
