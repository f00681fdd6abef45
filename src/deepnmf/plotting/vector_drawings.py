"""Drawings of one vector in a cell of a figure: a picture, a curve, or the words with the largest weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deepnmf.arrays import Array
from deepnmf.plotting.image_shapes import ImageShape, check_image_shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Box = tuple[float, float, float, float]  # left, right, bottom and top, in inches from the upper left corner

SEQUENTIAL, DIVERGING = "Greys", "RdBu_r"
PLAIN, POSITIVE, NEGATIVE, INK, FRAME = "0.82", "#f4a582", "#92c5de", "0.2", "0.8"
N_WORDS = 5
WORD_SIZE = 6.5  # points


@dataclass(frozen=True)
class VectorDrawing:
    """How features are drawn: pictures if there is a shape, words if there are names, otherwise curves.

    Parameters
    ----------
    image_shape : tuple of int or None
    names : sequence of str or None
    signed : bool
        Whether some feature is negative.
    """

    image_shape: ImageShape | None
    names: Sequence[str] | None
    signed: bool

    @classmethod
    def of(
        cls, features: Sequence[Array], image_shape: ImageShape | None, names: Sequence[str] | None
    ) -> "VectorDrawing":
        """Check the arguments against the features of all layers."""
        n_inputs = features[0].shape[1]
        check_image_shape(image_shape, n_inputs)
        if names is not None and len(names) != n_inputs:
            raise ValueError(f"feature_names has {len(names)} names: expected {n_inputs}, one per input feature.")
        return cls(image_shape, names, any(bool(np.any(C < 0)) for C in features))

    @property
    def aspect(self) -> float:
        """Width over height of a cell."""
        if self.image_shape is not None:
            return self.image_shape[1] / self.image_shape[0]
        return 2.0 if self.names is None else 1.5

    def draw(self, panel: "Axes", cell: Box, feature: Array) -> None:
        """Draw one feature, from zero to its largest magnitude."""
        peak = np.abs(feature).max()
        relative = feature / peak if peak > 0 else feature
        if self.image_shape is not None:
            self._picture(panel, cell, relative.reshape(self.image_shape))
        elif self.names is not None:
            self._words(panel, cell, relative, self.names)
        else:
            self._curve(panel, cell, relative)

    def _picture(self, panel: "Axes", cell: Box, picture: Array) -> None:
        left, right, bottom, top = cell
        colors, lowest = (DIVERGING, -1) if self.signed else (SEQUENTIAL, 0)
        if picture.ndim == 3:
            picture = (1 + picture) / 2 if self.signed else picture
        panel.imshow(picture, cmap=colors, vmin=lowest, vmax=1, extent=cell, aspect="auto", origin="upper", zorder=3)
        corners = [left, right, right, left], [bottom, bottom, top, top]
        panel.fill(*corners, facecolor="none", edgecolor=FRAME, linewidth=0.5, clip_on=False, zorder=4)

    def _curve(self, panel: "Axes", cell: Box, curve: Array) -> None:
        left, right, bottom, top = cell
        zero = (bottom + top) / 2 if self.signed else bottom
        x, y = np.linspace(left, right, len(curve)), zero + curve * (top - zero)
        above, below = np.minimum(y, zero), np.maximum(y, zero)  # inches grow downwards
        panel.fill_between(x, zero, above, color=POSITIVE if self.signed else PLAIN, linewidth=0, zorder=3)
        panel.fill_between(x, zero, below, color=NEGATIVE, linewidth=0, zorder=3)
        panel.plot([left, right], [zero, zero], color=FRAME, linewidth=0.5, clip_on=False, zorder=3)
        panel.plot(x, y, color=INK, linewidth=0.5, solid_joinstyle="round", clip_on=False, zorder=3)

    def _words(self, panel: "Axes", cell: Box, weights: Array, names: Sequence[str]) -> None:
        left, right, bottom, top = cell
        best = [j for j in np.argsort(-np.abs(weights), kind="stable")[:N_WORDS] if weights[j]]
        height = (bottom - top) / N_WORDS
        for place, j in enumerate(best):
            y = top + (place + 0.5) * height
            color = NEGATIVE if weights[j] < 0 else POSITIVE if self.signed else PLAIN
            panel.barh(y, abs(weights[j]) * (right - left), height=0.86 * height, left=left, color=color, zorder=3)
            panel.text(left + 0.03, y, str(names[j]), fontsize=WORD_SIZE, va="center", zorder=4, parse_math=False)
