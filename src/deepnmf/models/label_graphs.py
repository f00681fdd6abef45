"""Penalties on codes by graphs that join samples of the same class (Trigeorgis et al., 2017)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deepnmf.arrays import Matrix
from deepnmf.checks import per_layer
from deepnmf.engines import has_holes, is_streamed
from deepnmf.labels import n_attributes, split_attributes
from deepnmf.objective import GraphPenalty, Known, Penalty, UnresolvedPenalty
from deepnmf.objective.graphs import LabelGraphKind, label_graph


@dataclass(frozen=True)
class LabelGraphs(UnresolvedPenalty):
    """½ Σ_a λ_a Tr(HᵀL_aH), one graph per attribute: each graph on its own layer, or all on the first layer."""

    kind: LabelGraphKind
    weights: float | Sequence[float]
    on: Literal["each layer", "first layer"] = "each layer"
    joins_samples = True

    @property
    def has_units(self) -> bool:
        """Whether the weights of edges are independent of the scale of X; those of "dot" are not."""
        return self.kind != "dot"

    def resolved(self, known: Known, depth: int) -> Sequence[Penalty]:
        """Return a penalty for each attribute with known labels and a positive weight."""
        X, labels = known.X, known.labels
        if self.on == "each layer":
            count, what = depth, "layer"
        else:
            count, what = np.size(self.weights) if labels is None else n_attributes(labels), "attribute"
        weights = per_layer(self.weights, count, "graph_weights", 0, np.inf, what)
        attributes = split_attributes(labels, X.shape[0], count)
        _check_edges(self.kind, X)
        return [
            GraphPenalty(label_graph(self.kind, X, places), weight, layer if self.on == "each layer" else 0)
            for layer, (places, weight) in enumerate(zip(attributes, weights, strict=True))
            if weight > 0 and (places >= 0).any()
        ]


def _check_edges(kind: LabelGraphKind, X: Matrix) -> None:
    """Refuse edge weights that cannot be computed from this X."""
    if kind != "binary" and is_streamed(X):
        raise ValueError(f'label_graph="{kind}" needs X in memory, but X is read in blocks: use "binary".')
    if kind != "binary" and has_holes(X):
        raise ValueError(f'label_graph="{kind}" needs complete rows, but X contains NaN: use "binary".')
    if kind == "dot" and X.min() < 0:
        raise ValueError('label_graph="dot" needs X >= 0, but X has negative entries: use "binary" or "rbf".')
