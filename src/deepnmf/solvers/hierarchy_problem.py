"""The problem of a hierarchy in which every layer explains the codes of the layer below."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import check_output_layer, factor_shapes, layer_sizes, per_layer
from deepnmf.engines import Engine
from deepnmf.layout import Arrays, Expected, Layout, listed_numbers
from deepnmf.objective import Known, Objective
from deepnmf.solvers.hierarchy_fit import BoundHierarchy
from deepnmf.solvers.known_components import fixed_layout, restored_mask
from deepnmf.solvers.layered_chain import CODES_FITS, LayeredChain, layer_fits, learned_chain
from deepnmf.solvers.layered_memory import LayeredMemories
from deepnmf.solvers.losses import FROBENIUS, Loss
from deepnmf.solvers.problem import Problem, Start

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, kw_only=True)
class HierarchyProblem(Problem):
    """d(X | H_1 Z_1) + Σ_{l>1} λ_l d_l(H_{l-1} | H_l Z_l + ε), all nonnegative.

    Codes are in units of their root mean square after the pre-training, so that a part that is small in the data has
    the same weight in the loss of its wholes as a large one.

    Parameters
    ----------
    sizes : sequence of int
        r_1..r_m, m > 1.
    loss : Loss
        d, squared error or the Kullback-Leibler divergence.
    layer_weights : sequence of float
        λ_1..λ_m, of which those above the first are in units of λ_1 d/d_l after the pre-training.
    layer_loss : str or sequence of str
        d_l, "kullback-leibler" or "frobenius", one for all layers above the first or one per layer.
    **others
        See `Problem`.
    """

    sizes: Any
    loss: Loss = FROBENIUS
    layer_weights: Sequence[float]
    layer_loss: str | Sequence[str]

    @property
    def masks_nan(self) -> bool:
        """Entries of X may be missing or weighted."""
        return True

    @property
    def weighs_rows(self) -> bool:
        """Rows of X may have weights."""
        return True

    @property
    def distributes(self) -> bool:
        """X may be a dask array."""
        return True

    @property
    def learns_in_batches(self) -> bool:
        """The factors can be learned in batches of rows."""
        return True

    @property
    def memory(self) -> LayeredMemories:
        """The class of the statistics for learning in batches."""
        data, codes = layer_fits(self.loss, self.layer_losses())
        return LayeredMemories((data, *codes))

    @property
    def fixes_components(self) -> bool:
        """Entries of Z_1 may be fixed."""
        return True

    def n_components(self, n_features: int) -> tuple[int, ...]:
        """The numbers of components of the layers."""
        return layer_sizes(self.sizes)

    @property
    def projects(self) -> bool:
        """Layers are linear maps of the data."""
        return True

    @property
    def degree(self) -> float:
        """The degree of the loss of the data."""
        return self.loss.degree

    def check(self, X: Matrix, start: Start, whom: str) -> None:
        """Refuse an output layer or a start that does not match the data."""
        sizes = layer_sizes(self.sizes)
        if self.loss.degree not in (1, 2):
            raise ValueError(
                f"beta_loss={self.loss.name!r} needs explains='data': with explains='codes', beta_loss must be "
                "'frobenius' or 'kullback-leibler'."
            )
        self.relative_weights(len(sizes))
        self.layer_losses()
        check_output_layer(self.output_layer, len(sizes))
        start.check(X, sizes, self, whom)

    def relative_weights(self, depth: int) -> tuple[float, ...]:
        """λ_l/λ_1 for l > 1."""
        first, *others = per_layer(self.layer_weights, depth, "layer_weights", 0, np.inf)
        if first == 0 or not all(others):
            raise ValueError(f"layer_weights must be above 0, got {(first, *others)}.")
        return tuple(weight / first for weight in others)

    def layer_losses(self) -> tuple[str, ...]:
        """The names of d_2..d_m."""
        n_upper = len(layer_sizes(self.sizes)) - 1
        names = (self.layer_loss,) * n_upper if isinstance(self.layer_loss, str) else tuple(self.layer_loss)
        if len(names) != n_upper or not set(names) <= set(CODES_FITS):
            raise ValueError(
                f"layer_loss must be one of {sorted(CODES_FITS)}, or {n_upper} of them, one for each layer above the "
                f"first; got {self.layer_loss!r}."
            )
        return names

    def bind(self, engine: Engine, known: Known, start: Start) -> "BoundHierarchy":
        """Return the problem for given data; weights are determined after the pre-training."""
        self.loss.check(engine, Objective())
        return BoundHierarchy(self, layer_sizes(self.sizes), known.fixed)

    def layout(self, n_features: int, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        """Return the expected layout of the arrays in a file, which is not trusted."""
        sizes = layer_sizes(self.sizes)
        listed_numbers(description, "theta", len(sizes), 0, 0)
        listed_numbers(description, "l1", len(sizes), 0, 0)
        listed_numbers(description, "layer_weights", len(sizes) - 1, 0, LARGEST)
        if "unit" in description:
            listed_numbers(description, "unit", 1, float(np.finfo(np.float64).tiny), LARGEST)
        return {
            "factor": [Expected(shape, 0) for shape in factor_shapes(n_features, sizes)],
            "scale": [Expected((size,), 1, 1) for size in sizes],
            "penalty": [Expected((size, size), 0, 0) for size in sizes],
            "norm": [Expected((size,), low=0) for size in sizes],
            "fixed": fixed_layout(arrays, n_features, sizes[0]),
        }

    def restored(self, description: dict[str, Any], arrays: Arrays, codes: Array) -> LayeredChain:
        """Restore the learned part from the output of its `state`."""
        (unit,) = description.get("unit", [1.0])
        weights = tuple(description["layer_weights"])
        learned = learned_chain(arrays["factor"], arrays["norm"], weights, self.loss, self.layer_losses(), unit)
        return replace(learned, fixed=restored_mask(arrays))
