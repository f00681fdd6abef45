"""Functions that draw the pictures of the pages."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepnmf import plot_hierarchy
from reproduction.experiment import Array

__all__ = ["draw_clouds", "draw_curves", "draw_hierarchy", "draw_rows"]

Points = Sequence[tuple[float, float]]


def draw_curves(curves: Mapping[str, Points], path: Path, x: str, y: str) -> None:
    """Draw named curves, and save the picture."""
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
    """Draw the features of every layer, and save the picture."""
    height, width = (int(side) for side in image_shape)
    plot_hierarchy(model, (height, width)).savefig(path, dpi=150)


def draw_rows(rows: Mapping[str, Array], captions: Sequence[str], image_shape: Sequence[int], path: Path) -> None:
    """Draw rows of pictures, with a title for each row and a caption for each picture, and save the result."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded when there is something to draw

    widest = max(len(pictures) for pictures in rows.values())
    figure = Figure(figsize=(0.8 * widest, 1.25 * len(rows)), layout="constrained")
    texts = iter(captions)
    for part, (title, pictures) in zip(figure.subfigures(len(rows), squeeze=False)[:, 0], rows.items(), strict=True):
        part.suptitle(title, fontsize=9, x=0.01, ha="left")
        cells = part.subplots(1, widest, squeeze=False)[0]
        for axes in cells:
            axes.set_axis_off()
        for axes, picture in zip(cells, pictures, strict=False):
            axes.imshow(picture.reshape(image_shape), cmap="gray")
            axes.set_title(next(texts), fontsize=8, pad=2)
    figure.savefig(path, dpi=150)


def draw_clouds(clouds: Mapping[str, Array], colors: Array, markers: Array, path: Path) -> None:
    """Draw points in the plane, one panel per name, with a color and a marker by their labels, and save the picture."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded when there is something to draw

    figure = Figure(figsize=(3.2 * len(clouds), 3.2), layout="constrained")
    kinds = [(color, marker) for color in dict.fromkeys(colors.tolist()) for marker in dict.fromkeys(markers.tolist())]
    for axes, (title, points) in zip(figure.subplots(1, len(clouds), squeeze=False)[0], clouds.items(), strict=True):
        for color, marker in kinds:
            own = points[(colors == color) & (markers == marker)]
            style = {"color": "tab:red" if color > 0 else "tab:blue", "marker": "o" if marker > 0 else "+"}
            axes.scatter(*own.T, s=12, linewidths=0.8, **style)
        axes.set_title(title, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
