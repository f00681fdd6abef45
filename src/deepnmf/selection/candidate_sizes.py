"""The sizes among which a layer is chosen, as users give them: numbers, tuples, or none."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

from deepnmf.checks import layer_sizes


@dataclass(frozen=True)
class CandidateSizes:
    """The candidates for each layer, given the sizes of the layers below.

    Parameters
    ----------
    first : tuple of int or None
        Candidates for the first layer, where those above it are chosen from the data; None for a grid.
    all_layers : tuple of tuples or None
        Candidates for all layers together.
    """

    first: tuple[int, ...] | None = None
    all_layers: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def of(cls, sizes: Any, shape: tuple[int, int], *, deep: bool) -> "CandidateSizes":
        """Check the candidates for data of a shape."""
        if sizes is None:
            return cls()
        given = [sizes] if isinstance(sizes, Integral) else list(sizes)
        if not given:
            raise ValueError("sizes is empty: expected at least one candidate, or None for a grid made from the data.")
        are_numbers = {isinstance(candidate, Integral) for candidate in given}
        if len(are_numbers) > 1 or (not deep and are_numbers != {True}):
            expected = "integers, or of tuples of integers" if deep else "integers, as the model has one layer"
            raise ValueError(f"sizes is {sizes!r}: expected a list of {expected}.")
        checked = tuple(layer_sizes(candidate, "sizes") for candidate in given)
        for candidate in checked:
            _check_against(candidate, shape)
        if are_numbers == {True}:
            return cls(first=tuple(size for (size,) in checked))
        return cls(all_layers=checked)

    def above(self, below: tuple[int, ...]) -> list[int] | None:
        """The candidates for the layer above given ones; None for a grid, an empty list if there is no layer."""
        if self.all_layers is None:
            return list(self.first) if self.first is not None and not below else None
        depth = len(below)
        return sorted({sizes[depth] for sizes in self.all_layers if sizes[:depth] == below and len(sizes) > depth})

    def may_end(self, below: tuple[int, ...]) -> bool:
        """Whether there need not be a layer above given ones."""
        return self.all_layers is None or below in self.all_layers


def _check_against(sizes: tuple[int, ...], shape: tuple[int, int]) -> None:
    if sizes[0] > min(shape):
        raise ValueError(
            f"sizes has {sizes[0]} for the first layer, but X has shape {shape}: expected at most {min(shape)}."
        )
    for below, size in pairwise(sizes):
        if size > below:
            raise ValueError(f"sizes has {sizes}: expected layers that are not larger than the layer below.")
