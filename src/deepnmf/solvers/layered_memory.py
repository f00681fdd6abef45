"""What batches of rows leave of a hierarchy for later ones: sums that fade."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.layout import Arrays, Expected, Layout
from deepnmf.solvers.batch_learning import FADING
from deepnmf.solvers.divergence_state import LIFT_OF_LEARNED
from deepnmf.solvers.layered_fits import DataFit, expected_rows, with_sums


@dataclass(frozen=True)
class LayeredMemory:
    """What earlier batches leave: two sums for Z_1, the expected counts of Z_2..Z_m, faded, and the number of rows.

    The sums for Z_1 are HᵀX and HᵀH under squared error, and expected counts and HᵀW in `CountedMemory`.
    """

    first: tuple[Array, ...]
    counts: tuple[Array, ...]
    n_seen: int

    @classmethod
    def of_codes(cls, top: Array, factors: Sequence[Array], fit: DataFit) -> "LayeredMemory":
        """As if every layer had been what the layer above makes of these codes."""
        codes, counts = top, []
        for Z in factors[:0:-1]:
            counts.append(Z * codes.sum(axis=0)[:, None])
            codes = codes @ Z
        return cls(tuple(fit.remembered_of_codes(factors[0], codes)), tuple(counts[::-1]), len(top))

    def joined(self, new: "LayeredMemory") -> "LayeredMemory":
        """With a new batch: the larger it is against all rows so far, the more of these fades."""
        n_seen = self.n_seen + new.n_seen
        kept = max(0.0, 1 - FADING * new.n_seen / n_seen)
        pairs = zip((*self.first, *self.counts), (*new.first, *new.counts), strict=True)
        sums = tuple(kept * old + added for old, added in pairs)
        return replace(self, first=sums[:2], counts=sums[2:], n_seen=n_seen)

    def moved(self, fit: DataFit, factors: Sequence[Array]) -> list[Array]:
        """The factors after one step by these sums."""
        first, *upper = factors
        return [fit.moved_by_memory(first, self.first), *map(_carried, upper, self.counts)]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a file must hold: a description, and lists of arrays."""
        return {}, {"memory": [*self.first, *self.counts]}

    @classmethod
    def layout(cls, description: dict[str, Any], arrays: Arrays, shapes: Sequence[tuple[int, ...]]) -> Layout:  # noqa: ARG003
        """What the arrays of a file must be like, for factors of these shapes."""
        first, *upper = shapes
        return {"memory": [Expected(tuple(shape), low=0) for shape in (first, cls.second_shape(first), *upper)]}

    @staticmethod
    def second_shape(first: tuple[int, ...]) -> tuple[int, ...]:
        """That of the second sum for a Z_1 of this shape."""
        return first[0], first[0]

    @classmethod
    def restored(cls, description: dict[str, Any], arrays: Arrays, n_seen: int) -> "LayeredMemory":  # noqa: ARG003
        """The memory again, from what `state` gave."""
        first, second, *counts = arrays["memory"]
        return cls((first, second), tuple(counts), n_seen)


@dataclass(frozen=True)
class CountedMemory(LayeredMemory):
    """The same where the data are counts."""

    @staticmethod
    def second_shape(first: tuple[int, ...]) -> tuple[int, ...]:
        """That of the second sum for a Z_1 of this shape."""
        return first


def _carried(Z: Array, N: Array) -> Array:
    """The factor that has carried expected counts; what had none stays a little above 0, which no step would leave."""
    new = expected_rows(N, Z.sum(axis=1))
    return with_sums(np.maximum(new, LIFT_OF_LEARNED * new.mean()), Z.sum(axis=1))
