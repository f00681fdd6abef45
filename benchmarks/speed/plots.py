"""Plots of losses over time."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np

mpl.use("svg")
import matplotlib.pyplot as plt

OURS = "deepnmf.NMF"
# Paul Tol's muted colors, which color-blind readers can distinguish; markers distinguish them in print.
STYLES = tuple(
    zip(
        ("#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77", "#CC6677", "#882255", "#AA4499", "#777777"),
        "osv^D<>pX*",
        strict=True,
    )
)
LEGEND = 0.8  # height in inches
FLOOR = 1e-6  # smaller values are rounding errors, or the end of the longest run
POINTS = 200  # of a curve with one point per sweep


class Curve(NamedTuple):
    """The losses of one contender, and their times."""

    name: str
    seconds: Sequence[float]
    losses: Sequence[float]


def draw(problems: Mapping[str, Sequence[Curve]], path: Path) -> None:
    """Draw the loss above the lowest loss of all contenders, in one small plot per problem, with a common legend."""
    columns = min(3, len(problems))
    rows = -(-len(problems) // columns)
    height = 2.9 * rows + LEGEND
    figure, grid = plt.subplots(rows, columns, figsize=(3.6 * columns, height), squeeze=False)
    styles = _styles(problems.values())
    for axes, (name, curves) in zip(grid.flat, problems.items(), strict=False):
        _draw_one(axes, name, curves, styles)
    for axes in grid.flat[len(problems) :]:
        axes.set_axis_off()
    handles = {handle.get_label(): handle for axes in grid.flat for handle in axes.get_legend_handles_labels()[0]}
    figure.supylabel("loss above the lowest loss, relative to it", fontsize=9)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=min(4, len(handles)), fontsize=8)
    figure.tight_layout(rect=(0, LEGEND / height, 1, 1))
    with mpl.rc_context({"svg.hashsalt": "deepnmf", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _styles(problems):
    """Return a color and a marker for each contender, which are the same for every problem."""
    names = dict.fromkeys(curve.name for curves in problems for curve in curves if curve.name != OURS)
    return dict(zip(names, STYLES, strict=False))


def _draw_one(axes, name, curves, styles):
    lowest = min(min(curve.losses) for curve in curves)
    for curve in curves:
        above = np.asarray(curve.losses) / lowest - 1
        seen = np.flatnonzero(above > FLOOR)
        seen = seen[np.unique(np.geomspace(1, max(len(seen), 1), POINTS).astype(int)) - 1] if len(seen) else seen
        seconds = np.asarray(curve.seconds)[seen]
        if curve.name == OURS:
            axes.loglog(seconds, above[seen], color="black", linewidth=2.8, label=OURS, zorder=3)
        else:
            color, marker = styles[curve.name]
            axes.loglog(seconds, above[seen], color=color, marker=marker, markersize=4, linewidth=1.1, label=curve.name)
    axes.set_title(name, fontsize=10)
    axes.set_xlabel("seconds", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
