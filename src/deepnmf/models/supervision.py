"""What labels of samples add to an objective."""

from collections.abc import Sequence

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import has_holes, is_streamed
from deepnmf.objective import GraphPenalty, Penalty
from deepnmf.objective.graphs import LabelGraphKind, label_graph


def label_graphs(
    kind: LabelGraphKind, X: Matrix, attributes: Sequence[Array], weights: Sequence[float], layers: Sequence[int]
) -> tuple[Penalty, ...]:
    """One penalty an attribute; what weighs nothing or joins nobody is left out."""
    if kind != "binary" and is_streamed(X):
        raise ValueError(f'label_graph="{kind}" weighs edges by rows, and X is read block by block; use "binary".')
    if kind != "binary" and has_holes(X):
        raise ValueError(f'label_graph="{kind}" weighs edges by whole rows, and X has NaN; use "binary".')
    if kind == "dot" and X.min() < 0:
        raise ValueError('label_graph="dot" weighs edges by x_i·x_j and needs X >= 0; use "binary" or "rbf".')
    joined = [
        (places, weight, layer)
        for places, weight, layer in zip(attributes, weights, layers, strict=True)
        if weight > 0 and (places >= 0).any()
    ]
    return tuple(GraphPenalty(label_graph(kind, X, places), weight, layer) for places, weight, layer in joined)
