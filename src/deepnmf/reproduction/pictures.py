"""Pictures of the pages."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepnmf.plotting import plot_hierarchy

__all__ = ["draw_curves", "draw_hierarchy"]

Points = Sequence[tuple[float, float]]


def draw_curves(curves: Mapping[str, Points], path: Path, x: str, y: str) -> None:
    """Curves by name, into a file."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded when there is something to draw

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for marker, (name, points) in zip("o^sDvP*X" * len(curves), curves.items(), strict=False):
        axes.plot(*zip(*points, strict=True), marker=marker, markersize=4, label=name)
    axes.set(xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, metadata={"Date": None})


def draw_hierarchy(model: Any, image_shape: Sequence[int], path: Path) -> None:
    """Features of every layer, into a file."""
    height, width = (int(side) for side in image_shape)
    plot_hierarchy(model, (height, width)).savefig(path, dpi=150)
