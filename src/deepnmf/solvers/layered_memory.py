"""The statistics of a hierarchy for learning in batches: sums that fade gradually."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.layout import Arrays, Expected, Layout
from deepnmf.solvers.batch_learning import FADING
from deepnmf.solvers.layer_steps import FactorSteps


@dataclass(frozen=True)
class LayeredMemory:
    """The faded sums of earlier batches for the steps of the factors, and the number of rows."""

    sums: tuple[tuple[Array, ...], ...]
    n_seen: int

    def joined(self, new: "LayeredMemory") -> "LayeredMemory":
        """Add a new batch; the larger it is relative to all earlier rows, the more these fade."""
        n_seen = self.n_seen + new.n_seen
        kept = max(0.0, 1 - FADING * new.n_seen / n_seen)
        layers = zip(self.sums, new.sums, strict=True)
        sums = tuple(tuple(kept * old + added for old, added in zip(*layer, strict=True)) for layer in layers)
        return LayeredMemory(sums, n_seen)

    def moved(self, fits: Sequence[FactorSteps], factors: Sequence[Array]) -> list[Array]:
        """Return the factors after one step from these sums."""
        return [fit.moved_by_memory(Z, sums) for fit, Z, sums in zip(fits, factors, self.sums, strict=True)]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the content of a model file: a description, and lists of arrays."""
        return {}, {"memory": [array for sums in self.sums for array in sums]}


@dataclass(frozen=True)
class LayeredMemories:
    """Creates the memories of a hierarchy whose layers have given losses."""

    fits: tuple[FactorSteps, ...]

    def of_codes(self, top: Array, factors: Sequence[Array]) -> LayeredMemory:
        """Return the memory of layers that equal their predictions from these codes."""
        codes, sums = top, []
        for fit, Z in zip(self.fits[::-1], factors[::-1], strict=True):
            sums.append(fit.remembered_of_codes(Z, codes))
            codes = codes @ Z
        return LayeredMemory(tuple(sums[::-1]), len(top))

    def layout(self, description: dict[str, Any], arrays: Arrays, shapes: Sequence[tuple[int, ...]]) -> Layout:
        """Return the expected layout of the arrays in a file, for factors of these shapes."""
        of_layers = (fit.remembered_shapes(shape) for fit, shape in zip(self.fits, shapes, strict=True))
        return {"memory": [Expected(shape, low=0) for of_layer in of_layers for shape in of_layer]}

    def restored(self, description: dict[str, Any], arrays: Arrays, n_seen: int) -> LayeredMemory:
        """Restore the memory from the output of `state`."""
        counts = [len(fit.remembered_shapes((1, 1))) for fit in self.fits]
        edges = np.cumsum([0, *counts])
        listed = arrays["memory"]
        return LayeredMemory(tuple(tuple(listed[a:b]) for a, b in pairwise(edges)), n_seen)
