"""What batches of rows leave of a hierarchy for later ones: sums that fade."""

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
    """What earlier batches leave: the faded sums from which every factor moves, and the number of rows."""

    sums: tuple[tuple[Array, ...], ...]
    n_seen: int

    def joined(self, new: "LayeredMemory") -> "LayeredMemory":
        """With a new batch: the larger it is against all rows so far, the more of these fades."""
        n_seen = self.n_seen + new.n_seen
        kept = max(0.0, 1 - FADING * new.n_seen / n_seen)
        layers = zip(self.sums, new.sums, strict=True)
        sums = tuple(tuple(kept * old + added for old, added in zip(*layer, strict=True)) for layer in layers)
        return LayeredMemory(sums, n_seen)

    def moved(self, fits: Sequence[FactorSteps], factors: Sequence[Array]) -> list[Array]:
        """The factors after one step by these sums."""
        return [fit.moved_by_memory(Z, sums) for fit, Z, sums in zip(fits, factors, self.sums, strict=True)]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a file must hold: a description, and lists of arrays."""
        return {}, {"memory": [array for sums in self.sums for array in sums]}


@dataclass(frozen=True)
class LayeredMemories:
    """How the memories of one hierarchy are made, whose layers have these losses."""

    fits: tuple[FactorSteps, ...]

    def of_codes(self, top: Array, factors: Sequence[Array]) -> LayeredMemory:
        """As if every layer had been what the layer above makes of these codes."""
        codes, sums = top, []
        for fit, Z in zip(self.fits[::-1], factors[::-1], strict=True):
            sums.append(fit.remembered_of_codes(Z, codes))
            codes = codes @ Z
        return LayeredMemory(tuple(sums[::-1]), len(top))

    def layout(self, description: dict[str, Any], arrays: Arrays, shapes: Sequence[tuple[int, ...]]) -> Layout:
        """What the arrays of a file must be like, for factors of these shapes."""
        of_layers = (fit.remembered_shapes(shape) for fit, shape in zip(self.fits, shapes, strict=True))
        return {"memory": [Expected(shape, low=0) for of_layer in of_layers for shape in of_layer]}

    def restored(self, description: dict[str, Any], arrays: Arrays, n_seen: int) -> LayeredMemory:
        """The memory again, from what its `state` gave."""
        counts = [len(fit.remembered_shapes((1, 1))) for fit in self.fits]
        edges = np.cumsum([0, *counts])
        listed = arrays["memory"]
        return LayeredMemory(tuple(tuple(listed[a:b]) for a, b in pairwise(edges)), n_seen)
