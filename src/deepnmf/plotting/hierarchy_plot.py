"""Figures of the features of every layer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array
from deepnmf.metrics import sparseness
from deepnmf.plotting.image_shapes import ImageShape, check_image_shape, is_positive_integer
from deepnmf.plotting.strengths import strengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]

# Inches. Seven is the width of the text on a page, so that a figure is printed in its own size.
PAGE_WIDTH = 7.0
NARROWEST = 4.4  # leaves room for a title
LARGEST_CELL = 0.7  # side of a square cell
LARGEST_GAP = 0.04
MARGIN = 0.06
TITLE_HEIGHT = 0.24
LAYER_GAP = 0.12
FOOTER_HEIGHT = 0.26

GRID_ASPECT = 2.5  # width over height of the largest layer's grid
CURVE_ASPECT = 2.0

SEQUENTIAL, DIVERGING = "Greys", "RdBu_r"
PLAIN, POSITIVE, NEGATIVE, INK, FRAME = "0.82", "#f4a582", "#92c5de", "0.2", "0.8"


class Hierarchy(Protocol):
    """A fitted model with features in input space, layer by layer."""

    @property
    def features_(self) -> Sequence[Array]:
        """C_1..C_m, one feature per row."""
        ...

    @property
    def codes_(self) -> Sequence[Array]:
        """Codes of the training rows, those of the top layer last; those of lower layers may be missing."""
        ...


def plot_hierarchy(model: Hierarchy, image_shape: ImageShape | None = None, *, max_features: int = 40) -> "Figure":
    """Plot the features of every layer in input space, the top layer on top.

    Each feature has its own scale, from zero to its largest magnitude. If no feature is negative, dark is large and
    white is zero; otherwise red is positive, blue is negative and pale is zero. Features with colors are shown on
    black, or on gray if some feature is negative.

    Parameters
    ----------
    model : fitted estimator
    image_shape : (int, int) or (int, int, 3), optional
        Height and width of a feature as a picture, stored row by row; with 3, each pixel has red, green and blue.
        By default features are curves over the input features.
    max_features : int, default=40
        A larger layer shows only its strongest features, in the order of the model. The strength is the norm of the
        feature, times its mean weight in the codes if the model has them.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per layer. Save it with ``figure.savefig``; it is not registered with pyplot.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DeepNSNMF
    >>> from deepnmf.plotting import plot_hierarchy
    >>> X = load_digits().data / 16
    >>> model = DeepNSNMF((40, 10), random_state=0, max_iter=20, tol=0).fit(X)
    >>> figure = plot_hierarchy(model, image_shape=(8, 8))
    >>> len(figure.axes)
    2
    >>> figure.axes[0].get_title(loc="left")
    'layer 2: 10 features, sparseness 0...'
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - so that importing deepnmf is fast

    check_is_fitted(model)
    _check_max_features(max_features)
    check_image_shape(image_shape, n_inputs=model.features_[0].shape[1])
    chosen = [_strongest(C, H, max_features) for C, H in zip(model.features_, _codes(model), strict=True)]
    layout = _Layout([len(features) for features in chosen], image_shape)
    signed = any(bool(np.any(C < 0)) for C in model.features_)
    figure = Figure(figsize=layout.size)
    for layer in reversed(range(len(chosen))):
        panel = _panel(figure, layout, layer)
        panel.set_title(_title(layer, model.features_[layer], len(chosen[layer])), loc="left", fontsize=9)
        _draw(panel, chosen[layer], layout, signed)
    if image_shape is None:
        panel.set_xlabel(_curve_legend(model.features_[0].shape[1]), loc="left", fontsize=8)
    return figure


# ------------------------------------------------------------------------------- checks


def _check_max_features(max_features: object) -> None:
    if not is_positive_integer(max_features):
        raise ValueError(f"max_features is {max_features!r}: expected a positive integer.")


# ---------------------------------------------------------------------------------- choice of features


def _codes(model: Hierarchy) -> list[Array | None]:
    """Return the codes of every layer, None for layers without codes."""
    missing = len(model.features_) - len(model.codes_)
    return [*[None] * missing, *model.codes_]


def _strongest(features: Array, codes: Array | None, limit: int) -> Array:
    """Return the strongest features, in their order."""
    return features[np.sort(np.argsort(-strengths(features, codes), kind="stable")[:limit])]


def _title(layer: int, features: Array, n_shown: int) -> str:
    size = len(features)
    count = "1 feature" if size == 1 else f"{size} features"
    return f"layer {layer + 1}: {count}{_remark(features, n_shown)}, sparseness {sparseness(features):.2f}"


def _remark(features: Array, n_shown: int) -> str:
    """Return how many features are shown, and how many are zero, which the pictures do not tell."""
    n_zero = int(np.sum(~features.any(axis=1)))
    selection = [f"{n_shown} strongest shown"] if n_shown < len(features) else []
    zeros = [f"{n_zero} zero"] if n_zero else []
    remarks = ", ".join(selection + zeros)
    return f" ({remarks})" if remarks else ""


def _curve_legend(n_inputs: int) -> str:
    return f"each curve: input features 1 to {n_inputs}"


# ------------------------------------------------------------------------------ layout


@dataclass(frozen=True)
class _Layout:
    """Positions and sizes in inches. Cells have the same size in every layer."""

    counts: Sequence[int]
    image_shape: ImageShape | None

    @property
    def aspect(self) -> float:
        """Width over height of a cell."""
        return CURVE_ASPECT if self.image_shape is None else self.image_shape[1] / self.image_shape[0]

    @property
    def largest_cell(self) -> float:
        return LARGEST_CELL * math.sqrt(self.aspect)

    @property
    def columns(self) -> int:
        """As many columns as fit the page in the largest size; more and smaller ones if the grid were too high."""
        most = max(self.counts)
        pleasant = math.ceil(math.sqrt(GRID_ASPECT * most / self.aspect))
        return min(most, max(pleasant, int(PAGE_WIDTH / self.largest_cell)))

    @property
    def cell_width(self) -> float:
        return min(PAGE_WIDTH / self.columns, self.largest_cell)

    @property
    def gap(self) -> float:
        return min(0.1 * self.cell_width, LARGEST_GAP)

    @property
    def cell_height(self) -> float:
        return (self.cell_width - self.gap) / self.aspect + self.gap

    @property
    def grid_width(self) -> float:
        return self.columns * self.cell_width

    def grid_height(self, layer: int) -> float:
        return math.ceil(self.counts[layer] / self.columns) * self.cell_height

    @property
    def size(self) -> tuple[float, float]:
        return max(self.grid_width, NARROWEST) + 2 * MARGIN, self._bottom(len(self.counts)) - LAYER_GAP + MARGIN

    def _bottom(self, layer: int) -> float:
        footer = FOOTER_HEIGHT if self.image_shape is None else MARGIN
        return footer + sum(self.grid_height(below) + TITLE_HEIGHT + LAYER_GAP for below in range(layer))

    def panel(self, layer: int) -> Box:
        """Return left, bottom, width and height of the panel of a layer, as fractions of the figure."""
        width, height = self.size
        return (
            MARGIN / width,
            self._bottom(layer) / height,
            self.grid_width / width,
            self.grid_height(layer) / height,
        )

    def cell(self, index: int) -> Box:
        """Return left, right, bottom and top of a cell, from the upper left corner of its panel."""
        row, column = divmod(index, self.columns)
        left, top = column * self.cell_width, row * self.cell_height
        return left, left + self.cell_width - self.gap, top + self.cell_height - self.gap, top


# ------------------------------------------------------------------------------- drawing


def _panel(figure: "Figure", layout: _Layout, layer: int) -> "Axes":
    """Return axes in inches, from the upper left corner."""
    panel = figure.add_axes(layout.panel(layer), frameon=False, xticks=[], yticks=[], autoscale_on=False)
    panel.set(xlim=(0, layout.grid_width), ylim=(layout.grid_height(layer), 0))
    return panel


def _draw(panel: "Axes", features: Array, layout: _Layout, signed: bool) -> None:
    """Draw one feature per cell."""
    for index, feature in enumerate(map(_peak_at_one, features)):
        if layout.image_shape is None:
            _draw_curve(panel, layout.cell(index), feature, signed)
        else:
            _draw_picture(panel, layout.cell(index), feature.reshape(layout.image_shape), signed)


def _peak_at_one(feature: Array) -> Array:
    peak = np.abs(feature).max()
    return feature / peak if peak > 0 else feature


def _draw_picture(panel: "Axes", cell: Box, picture: Array, signed: bool) -> None:
    left, right, bottom, top = cell
    colors, lowest = (DIVERGING, -1) if signed else (SEQUENTIAL, 0)
    if picture.ndim == 3:
        picture = (1 + picture) / 2 if signed else picture
    panel.imshow(picture, cmap=colors, vmin=lowest, vmax=1, extent=cell, aspect="auto", origin="upper")
    corners = [left, right, right, left], [bottom, bottom, top, top]
    panel.fill(*corners, facecolor="none", edgecolor=FRAME, linewidth=0.5, clip_on=False)


def _draw_curve(panel: "Axes", cell: Box, curve: Array, signed: bool) -> None:
    left, right, bottom, top = cell
    zero = (bottom + top) / 2 if signed else bottom
    x, y = np.linspace(left, right, len(curve)), zero + curve * (top - zero)
    above, below = np.minimum(y, zero), np.maximum(y, zero)  # inches grow downwards
    panel.fill_between(x, zero, above, color=POSITIVE if signed else PLAIN, linewidth=0)
    panel.fill_between(x, zero, below, color=NEGATIVE, linewidth=0)
    panel.plot([left, right], [zero, zero], color=FRAME, linewidth=0.5, clip_on=False)
    panel.plot(x, y, color=INK, linewidth=0.5, solid_joinstyle="round", clip_on=False)
