"""Displays of features and samples: pictures, curves, words, or columns of a table.

A display packs vectors for the page. A pack is a dictionary whose `kind` tells the page how to draw it.
"""

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from deepnmf.arrays import Array
from deepnmf.report.numbers import Pack, deflated, in_bytes, largest_magnitudes, rounded
from deepnmf.report.png import BLANK, color_png, diverging_palette, gray_palette, indexed_png, levels_of

MOST_POINTS = 400  # of a curve; a screen does not show more
INT16 = 32767
PREVIEW_BUDGET = 1_400_000  # values of the previews of all samples together
MOST_PREVIEW_POINTS = 48  # of a curve


class Display(Protocol):
    """A way to show vectors."""

    @property
    def kind(self) -> str:
        """The name of the display in the page."""
        ...

    def n_values(self, n_vectors: int) -> int:
        """Return the number of values in the page for this number of vectors."""
        ...

    def within_budget(self, n_vectors: int, budget: int) -> "Display":
        """Return a coarser display for this number of vectors, if there is one."""
        ...

    def pack_features(self, features: Array, signed: bool) -> Pack:
        """Pack features, each relative to its own peak; negative values are shown if `signed`."""
        ...

    def pack_samples(self, samples: Array, scales: Array, signed: bool) -> Pack:
        """Pack samples or reconstructions, each relative to its scale."""
        ...

    def pack_previews(self, blocks: Iterable[Array], n_samples: int, signed: bool) -> Pack:
        """Pack small previews of many samples, which come in blocks of rows."""
        ...

    def titles(self, features: Array) -> list[str]:
        """Return a short title for each feature; empty if there is none."""
        ...


# ---------------------------------------------------------------------------------------- pictures


@dataclass(frozen=True)
class Pictures:
    """Vectors as pictures of `shape`; each pixel is the mean of `stride` x `stride` pixels of the data."""

    shape: tuple[int, ...]
    stride: int = 1
    kind = "picture"

    def n_values(self, n_vectors: int) -> int:
        """Return the number of pixels times colors."""
        return n_vectors * math.prod(self._drawn_shape)

    def within_budget(self, n_vectors: int, budget: int) -> "Pictures":
        """Return coarser pictures, so that this number of pictures stays within the budget."""
        stride = max(1, math.ceil(math.sqrt(n_vectors * math.prod(self.shape) / budget)))
        return replace(self, stride=stride)

    def pack_features(self, features: Array, signed: bool) -> Pack:
        """Pack one sheet of pictures."""
        return self.pack_samples(features, largest_magnitudes(features), signed)

    def pack_samples(self, samples: Array, scales: Array, signed: bool) -> Pack:
        """Pack one sheet of pictures, row by row."""
        return self._sheet(self._levels(samples, scales, signed), signed)

    def pack_previews(self, blocks: Iterable[Array], n_samples: int, signed: bool) -> Pack:
        """Pack one sheet of small pictures."""
        small = self.within_budget(n_samples, PREVIEW_BUDGET)
        levels = [small._levels(block, largest_magnitudes(block), signed) for block in blocks]
        return small._sheet(np.concatenate(levels), signed)

    def titles(self, features: Array) -> list[str]:
        """Return no titles, because pictures need none."""
        return [""] * len(features)

    @property
    def _drawn_shape(self) -> tuple[int, ...]:
        height, width, *colors = self.shape
        return math.ceil(height / self.stride), math.ceil(width / self.stride), *colors

    def _levels(self, vectors: Array, scales: Array, signed: bool) -> Array:
        return levels_of(self._coarse(vectors.reshape(len(vectors), *self.shape)), scales, signed)

    def _coarse(self, pictures: Array) -> Array:
        """Return means over squares of observed pixels."""
        if self.stride == 1:
            return pictures
        n, height, width, *colors = pictures.shape
        rows, columns = self._drawn_shape[:2]
        padded = np.full((n, rows * self.stride, columns * self.stride, *colors), np.nan)
        padded[:, :height, :width] = pictures
        squares = padded.reshape(n, rows, self.stride, columns, self.stride, *colors)
        counts = (~np.isnan(squares)).sum(axis=(2, 4))
        return np.where(counts, np.nansum(squares, axis=(2, 4)) / np.maximum(counts, 1), np.nan)

    def _sheet(self, levels: Array, signed: bool) -> Pack:
        """Pack the pictures side by side; the end of the last row is blank."""
        n, height, width, *colors = levels.shape
        columns = math.ceil(math.sqrt(n))
        rows = math.ceil(n / columns)
        places = np.full((rows * columns, height, width, *colors), BLANK, np.uint8)
        places[:n] = levels
        sheet = places.reshape(rows, columns, height, width, *colors).swapaxes(1, 2)
        sheet = sheet.reshape(rows * height, columns * width, *colors)
        palette = diverging_palette() if signed else gray_palette()
        png = color_png(sheet) if sheet.ndim == 3 else indexed_png(sheet, palette)
        return {"kind": self.kind, "png": png, "columns": columns, "height": height, "width": width, "signed": signed}


# ------------------------------------------------------------------------------------------ curves


@dataclass(frozen=True)
class Curves:
    """Vectors as curves over an axis; long vectors are reduced to the largest magnitudes in bins.

    Parameters
    ----------
    axis : array
        The position of each input feature.
    label : str
        The quantity on the axis and its unit, such as ``wavelength (nm)``.
    """

    axis: Array
    label: str = "input feature"
    kind = "curve"

    def n_values(self, n_vectors: int) -> int:
        """Return the number of bytes."""
        return 2 * n_vectors * math.ceil(len(self.axis) / self._width(MOST_POINTS))

    def within_budget(self, n_vectors: int, budget: int) -> "Curves":
        """Return the same curves, which are short already."""
        return self

    def pack_features(self, features: Array, signed: bool) -> Pack:
        """Pack the features relative to their peaks."""
        return self.pack_samples(features, largest_magnitudes(features), signed)

    def pack_samples(self, samples: Array, scales: Array, signed: bool) -> Pack:
        """Pack 16 bits per point, relative to the scale of each vector; the lowest number is unobserved."""
        width = self._width(MOST_POINTS)
        curves = _binned_peaks(samples, width) / scales[:, None]
        numbers = np.where(np.isnan(curves), -INT16 - 1, np.round(INT16 * curves.clip(-1, 1))).astype("<i2")
        return self._pack(width, signed) | {
            "points": base64.b64encode(numbers.tobytes()).decode("ascii"),
            "scales": [rounded(scale) for scale in scales],
        }

    def pack_previews(self, blocks: Iterable[Array], n_samples: int, signed: bool) -> Pack:
        """Pack 8 bits per point of short curves."""
        width = self._width(max(4, min(MOST_PREVIEW_POINTS, PREVIEW_BUDGET // n_samples)))
        curves = np.concatenate([_binned_peaks(block, width) for block in blocks])
        return self._pack(width, signed) | {"small": in_bytes(curves, largest_magnitudes(curves))}

    def titles(self, features: Array) -> list[str]:
        """Return the position of the peak of each feature."""
        unit = self.label.partition("(")[2].rstrip(")")
        peaks = self.axis[np.abs(features).argmax(axis=1)]
        texts = [f"{peak:.0f}" if abs(peak) >= 100 else f"{peak:.3g}" for peak in peaks]
        return [f"peak at {text}{f' {unit}' if unit else ''}" for text in texts]

    def _width(self, most: int) -> int:
        return math.ceil(len(self.axis) / most)

    def _pack(self, width: int, signed: bool) -> Pack:
        axis = [rounded(x, 6) for x in self.axis[::width]]
        return {"kind": self.kind, "axis": axis, "label": self.label, "signed": signed}


def _binned_peaks(vectors: Array, width: int) -> Array:
    """Return the entry of largest magnitude in each bin of `width` entries; NaN if none was observed."""
    if width == 1:
        return vectors
    n, p = vectors.shape
    padded = np.full((n, math.ceil(p / width) * width), np.nan)
    padded[:, :p] = vectors
    bins = padded.reshape(n, -1, width)
    best = np.abs(np.nan_to_num(bins)).argmax(axis=2)
    peaks: Array = np.take_along_axis(np.nan_to_num(bins), best[..., None], axis=2)[..., 0]
    return np.where(np.isnan(bins).all(axis=2), np.nan, peaks)


# --------------------------------------------------------------------------------------- used names


def with_vocabulary(names: Sequence[str], indices: Array) -> tuple[list[str], Array]:
    """Return the names that are used, and the indices of the others in them."""
    used, places = np.unique(indices, return_inverse=True)
    return [names[index] for index in used.tolist()], places.reshape(indices.shape)


def packed_preview(kind: str, names: Sequence[str], best: Array, weights: Array) -> Pack:
    """Pack a few names per sample with their weights in 8 bits, relative to the largest weight of the sample."""
    vocabulary, places = with_vocabulary(names, best)
    width = np.dtype("<u2") if len(vocabulary) < 2**16 else np.dtype("<u4")
    return {
        "kind": kind,
        "vocabulary": vocabulary,
        "top": best.shape[1],
        "ids": deflated(places.astype(width)),
        "weights": in_bytes(weights, largest_magnitudes(weights)),
    }
