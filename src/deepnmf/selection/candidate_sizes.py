"""The candidate sizes that users give: integers, tuples, or None."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

from deepnmf.checks import layer_sizes
from deepnmf.selection.comparison import LayerSizes


@dataclass(frozen=True)
class CandidateSizes:
    """The candidates for the first layer, and for the layers above it.

    Parameters
    ----------
    first : tuple of int or None
        Candidates for the first layer; None for a grid.
    all_layers : tuple of tuples or None
        Candidates for all layers together; None if layers above the first are chosen from the data.
    """

    first: tuple[int, ...] | None = None
    all_layers: tuple[LayerSizes, ...] | None = None

    @classmethod
    def of(cls, sizes: Any, shape: tuple[int, int], *, deep: bool) -> "CandidateSizes":
        """Check the candidates for data of a shape."""
        if sizes is None:
            return cls()
        given = [sizes] if isinstance(sizes, Integral) else list(sizes)
        if not given:
            raise ValueError("sizes is empty: expected at least one candidate, or None for a default grid.")
        are_numbers = {isinstance(candidate, Integral) for candidate in given}
        if len(are_numbers) > 1 or (not deep and are_numbers != {True}):
            expected = "integers or a list of tuples" if deep else "integers, because the model has one layer"
            raise ValueError(f"sizes is {sizes!r}: expected a list of {expected}.")
        checked = tuple(layer_sizes(candidate, "sizes") for candidate in given)
        _check(checked, shape)
        first = tuple(sorted({candidate[0] for candidate in checked}))
        return cls(first) if are_numbers == {True} else cls(first, checked)

    def above(self, first: int) -> list[LayerSizes] | None:
        """Return candidates for the layers above a first layer, () for no layer; None for a grid."""
        if self.all_layers is None:
            return None
        return sorted({sizes[1:] for sizes in self.all_layers if sizes[0] == first})


def _check(candidates: Sequence[LayerSizes], shape: tuple[int, int]) -> None:
    for sizes in candidates:
        if sizes[0] > min(shape):
            raise ValueError(
                f"sizes has {sizes[0]} for the first layer, but X has shape {shape}: expected at most {min(shape)}."
            )
        if any(size > below for below, size in pairwise(sizes)):
            raise ValueError(f"sizes has {sizes}: expected layers that are not larger than the layer below.")
