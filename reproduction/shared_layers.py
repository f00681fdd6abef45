"""Layers of pre-trainings that the models of a table have in common, each computed once in a process.

The variants of a model, and the sizes of its upper layers, start from the same lower layers: the pre-training has no
penalties, and its random numbers come from the seed alone. A shared layer has the same bits as one that is computed
again. The random generator of the fit continues as if it had drawn the numbers itself.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from deepnmf.engines import Engine, RowsInMemory
from deepnmf.engines.blocks import Dense
from deepnmf.objective import FixedEntries, Objective
from deepnmf.solvers.loop import History
from deepnmf.solvers.losses import FROBENIUS
from deepnmf.solvers.pretraining import LayerwisePlan
from reproduction.experiment import Array

__all__ = ["shared_layers"]

MOST = 16  # layers that a process keeps; those of 2856 samples and 625 features take 12 MB each


class Layer(NamedTuple):
    """A fitted layer, and the state of the random generator after its fit."""

    codes: Array
    factor: Array
    history: History
    random_state: dict[str, Any]


_layers: OrderedDict[Hashable, Layer] = OrderedDict()
_fit_layer = LayerwisePlan.fit_layer


@contextmanager
def shared_layers() -> Iterator[None]:
    """Compute each layer of a pre-training once, in all fits inside of the context."""
    LayerwisePlan.fit_layer = _fit_or_repeat  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        LayerwisePlan.fit_layer = _fit_layer  # type: ignore[method-assign]


def _fit_or_repeat(
    plan: LayerwisePlan,
    engine: Engine,
    rank: int,
    theta: float,
    objective: Objective,
    number: int,
    begun: Array | None = None,
    fixed: FixedEntries | None = None,
) -> tuple[Array, Array, History]:
    """Return a layer that an earlier fit has computed, or fit it."""
    rng = _generator(plan)
    is_plain = begun is None and fixed is None and objective == Objective() and plan.loss is FROBENIUS
    if not is_plain or rng is None or not isinstance(engine, RowsInMemory) or not isinstance(engine._X, Dense):
        return _fit_layer(plan, engine, rank, theta, objective, number, begun, fixed)
    key = (_identity(plan, rng), _digest(engine._X.X), engine.unit, rank, theta)
    if key not in _layers:
        codes, Z, history = _fit_layer(plan, engine, rank, theta, objective, number)
        _layers[key] = Layer(codes.copy(order="K"), Z.copy(order="K"), history, rng.get_state(legacy=False))
        while len(_layers) > MOST:
            _layers.popitem(last=False)
    _layers.move_to_end(key)
    layer = _layers[key]
    rng.set_state(layer.random_state)
    return layer.codes.copy(order="K"), layer.factor.copy(order="K"), layer.history


def _generator(plan: LayerwisePlan) -> RandomState | None:
    """Return the random generator of the start, if it is one of the library's own."""
    keywords = plan.start.keywords if isinstance(plan.start, partial) else {}
    return keywords.get("rng") if set(keywords) == {"init", "rng"} else None


def _identity(plan: LayerwisePlan, rng: RandomState) -> Hashable:
    """Return all that a layer depends on except for the data."""
    start: Any = plan.start
    settings = (plan.solver, plan.max_iter, plan.tol, plan.nonnegative, plan.negligible)
    _, numbers, *place = rng.get_state(legacy=True)
    return start.func, start.keywords["init"], _digest(np.asarray(numbers)), tuple(place), settings


def _digest(array: Array) -> Hashable:
    return array.shape, array.strides, array.dtype.str, blake2b(array.tobytes()).digest()
