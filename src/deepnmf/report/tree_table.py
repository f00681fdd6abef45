"""The hierarchy as a table, for screen readers and for browsers without JavaScript."""

from collections.abc import Sequence
from typing import NamedTuple

from deepnmf.report.evaluation import Evaluation
from deepnmf.report.findings import class_areas, layer_noun
from deepnmf.report.numbers import Pack

LEAST_SHARE = 0.05  # of a whole, for a part to be drawn
MOST_PARTS = 6  # that are drawn below a whole
MOST_ROWS = 60


class TreeRow(NamedTuple):
    """One feature of a layer: its number, its title, its share, the class it marks best, and its parts."""

    number: int
    title: str
    share: float
    marks: str
    area: float
    parts: list[tuple[int, float]]


class TreeTable(NamedTuple):
    """The features of one layer, the strongest first."""

    layer: int
    noun: str
    part: str
    rows: list[TreeRow]
    n_others: int


def tree_tables(evaluation: Evaluation, layers: Sequence[Pack]) -> list[TreeTable]:
    """Return a table for each layer that has parts, the top layer first; for a single layer, one of its features."""
    depth = len(layers)
    return [_table(evaluation, layers[layer], layer, depth) for layer in reversed(range(min(1, depth - 1), depth))]


def _table(evaluation: Evaluation, packed: Pack, layer: int, depth: int) -> TreeTable:
    marks = _marks(evaluation, layer)
    rows = [
        TreeRow(
            number=feature + 1,
            title=packed["titles"][place],
            share=packed["share"][place],
            marks=marks[feature][0],
            area=marks[feature][1],
            parts=_parts(packed, place),
        )
        for place, feature in enumerate(packed["shown"][:MOST_ROWS])
    ]
    below = layer_noun(layer - 1, depth) if layer else ""
    return TreeTable(layer + 1, layer_noun(layer, depth), below, rows, packed["size"] - len(rows))


def _marks(evaluation: Evaluation, layer: int) -> list[tuple[str, float]]:
    """Return the class that each feature marks best, and the area under its ROC curve."""
    labels = evaluation.labels
    if labels is None or len(labels.names) < 2:
        return [("", 0.5)] * evaluation.codes[layer].shape[1]
    areas = class_areas(evaluation.codes[layer], labels)
    return [(labels.names[int(row.argmax())], float(row.max())) for row in areas]


def _parts(packed: Pack, place: int) -> list[tuple[int, float]]:
    """Return the parts that are drawn: those with the largest shares."""
    links = sorted(packed["below"][place] if "below" in packed else [], key=lambda link: -link[2])
    return [(part + 1, share) for part, _, share in links[:MOST_PARTS] if share >= LEAST_SHARE]
