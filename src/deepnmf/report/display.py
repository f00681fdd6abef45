"""Displays of features and samples: pictures, words or curves.

A display packs vectors for the page. A pack is a dictionary whose `kind` tells the page how to draw it.
"""

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from deepnmf.arrays import Array

Pack = dict[str, Any]
MOST_POINTS = 400  # of a curve; a screen does not show more
MOST_WORDS = 20
INT16 = 32767


class Display(Protocol):
    """A way to show vectors."""

    @property
    def kind(self) -> str:
        """The name of the display in the page."""
        ...

    def n_values(self, n_vectors: int) -> int:
        """Return how many numbers the page contains for so many vectors."""
        ...

    def pack(self, vectors: Array, scales: Array, signed: bool) -> Pack:
        """Pack vectors, each relative to its scale; negative values are shown if `signed`."""
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
        """Return coarser pictures, so that so many of them stay within the budget."""
        stride = max(1, math.ceil(math.sqrt(n_vectors * math.prod(self.shape) / budget)))
        return Pictures(self.shape, stride)

    @property
    def _drawn_shape(self) -> tuple[int, ...]:
        height, width, *colors = self.shape
        return math.ceil(height / self.stride), math.ceil(width / self.stride), *colors

    def pack(self, vectors: Array, scales: Array, signed: bool) -> Pack:
        """Pack one sheet of pictures, row by row."""
        pictures = self._coarse(vectors.reshape(len(vectors), *self.shape))
        levels = _levels(pictures, scales, signed)
        columns = math.ceil(math.sqrt(len(levels)))
        sheet = _sheet(levels, columns)
        palette = diverging_palette() if signed else gray_palette()
        png = color_png(sheet) if sheet.ndim == 3 else indexed_png(sheet, palette)
        height, width = self._drawn_shape[:2]
        return {"kind": self.kind, "png": png, "columns": columns, "height": height, "width": width, "signed": signed}

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


def _levels(values: Array, scales: Array, signed: bool) -> Array:
    """Return levels from 0 to 254 relative to each scale, zero in the middle if signed; 255 is unobserved."""
    relative = values / scales.reshape(-1, *[1] * (values.ndim - 1))
    middle = (LEVELS - 1) // 2
    levels = middle + middle * relative.clip(-1, 1) if signed else (LEVELS - 1) * relative.clip(0, 1)
    return np.where(np.isnan(levels), BLANK, np.round(levels)).astype(np.uint8)


def _sheet(pictures: Array, columns: int) -> Array:
    """Return the pictures side by side; the end of the last row is blank."""
    n, height, width, *colors = pictures.shape
    rows = math.ceil(n / columns)
    places = np.full((rows * columns, height, width, *colors), BLANK, np.uint8)
    places[:n] = pictures
    return (
        places.reshape(rows, columns, height, width, *colors)
        .swapaxes(1, 2)
        .reshape(rows * height, columns * width, *colors)
    )


# ------------------------------------------------------------------------------------------- words


@dataclass(frozen=True)
class Words:
    """Vectors as lists of the inputs with the largest weights."""

    names: Sequence[str]
    kind = "words"

    def n_values(self, n_vectors: int) -> int:
        """Return the number of characters, about ten for a name and its weight."""
        return 10 * n_vectors * min(MOST_WORDS, len(self.names))

    def pack(self, vectors: Array, scales: Array, signed: bool) -> Pack:
        """Pack the names with the largest weights of each vector."""
        vectors = np.nan_to_num(vectors)
        order = np.argsort(-np.abs(vectors), axis=1, kind="stable")[:, :MOST_WORDS]
        words = [
            [[self.names[j], rounded(row[j])] for j in best if row[j]] for row, best in zip(vectors, order, strict=True)
        ]
        return {"kind": self.kind, "words": words, "signed": signed}


# ------------------------------------------------------------------------------------------ curves


@dataclass(frozen=True)
class Curves:
    """Vectors as curves over an axis; long vectors are reduced to the largest magnitudes in bins."""

    axis: Array
    kind = "curve"

    @property
    def _width(self) -> int:
        return math.ceil(len(self.axis) / MOST_POINTS)

    def n_values(self, n_vectors: int) -> int:
        """Return the number of bytes."""
        return 2 * n_vectors * math.ceil(len(self.axis) / self._width)

    def pack(self, vectors: Array, scales: Array, signed: bool) -> Pack:
        """Pack 16 bits per point, relative to the scale of each vector; the lowest number is unobserved."""
        curves = _binned_peaks(vectors, self._width) / scales[:, None]
        numbers = np.where(np.isnan(curves), -INT16 - 1, np.round(INT16 * curves.clip(-1, 1))).astype("<i2")
        return {
            "kind": self.kind,
            "points": base64.b64encode(numbers.tobytes()).decode("ascii"),
            "scales": [rounded(scale) for scale in scales],
            "axis": [rounded(x, 6) for x in self.axis[:: self._width]],
            "signed": signed,
        }


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


# ------------------------------------------------------------------------------------------- numbers


def rounded(number: float, digits: int = 4) -> float | None:
    """Round to significant digits; NaN and infinity, which JSON does not have, become None."""
    value = float(number)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def all_rounded(numbers: Array, digits: int = 4) -> list[float | None]:
    """Round the entries of a vector."""
    return [rounded(number, digits) for number in np.asarray(numbers).tolist()]


def largest_magnitudes(vectors: Array) -> Array:
    """Return the scale of each vector: its largest observed magnitude, or 1 if it is zero."""
    largest = np.abs(np.nan_to_num(np.asarray(vectors, dtype=np.float64))).max(axis=1)
    return np.where(largest > 0, largest, 1.0)


# ----------------------------------------------------------------------------------------- PNG files


LEVELS = 255  # levels 0 to 254; 255 is an unobserved pixel
BLANK = 255
INDEXED, COLOR = 3, 6
# ColorBrewer's RdBu from blue to red, which color-blind readers can distinguish.
DIVERGING = ("2166ac", "67a9cf", "d1e5f0", "f7f7f7", "fddbc7", "ef8a62", "b2182b")


def gray_palette() -> Array:
    """Return the palette from black to white."""
    return np.repeat(np.arange(LEVELS, dtype=np.float64)[:, None] * 255 / (LEVELS - 1), 3, axis=1)


def diverging_palette() -> Array:
    """Return the palette of signed values: blue is negative, pale is zero, red is positive."""
    anchors = np.array([list(bytes.fromhex(color)) for color in DIVERGING], dtype=np.float64)
    places = np.linspace(0, LEVELS - 1, len(anchors))
    return np.stack([np.interp(np.arange(LEVELS), places, channel) for channel in anchors.T], axis=1)


def indexed_png(levels: Array, palette: Array) -> str:
    """Return a picture with one level per pixel as a data URL."""
    colors = np.vstack([np.round(palette), np.full((1, 3), 128)]).astype(np.uint8)
    opacity = bytes(LEVELS * [255]) + b"\0"
    return _data_url(levels.astype(np.uint8), INDEXED, (b"PLTE", colors.tobytes()), (b"tRNS", opacity))


def color_png(levels: Array) -> str:
    """Return a picture with three levels per pixel as a data URL."""
    opaque = np.where((levels == BLANK).any(axis=-1, keepdims=True), 0, 255)
    colors = np.round(levels * (255 / (LEVELS - 1))).clip(0, 255)
    return _data_url(np.concatenate([colors, opaque], axis=-1).astype(np.uint8), COLOR)


def _data_url(pixels: Array, kind: int, *chunks: tuple[bytes, bytes]) -> str:
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    lines = np.hstack([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)])  # filter 0 before each line
    content = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, payload) for name, payload in content)
    return "data:image/png;base64," + base64.b64encode(file).decode("ascii")


def _chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))
