"""PNG files as data URLs, in shades of one palette or in colors."""

import base64
import struct
import zlib

import numpy as np

from deepnmf.arrays import Array

LEVELS = 255  # levels 0 to 254; 255 is an unobserved pixel
BLANK = 255
INDEXED, COLOR = 3, 6
# ColorBrewer's RdBu from blue to red, which color-blind readers can distinguish.
DIVERGING = ("2166ac", "67a9cf", "d1e5f0", "f7f7f7", "fddbc7", "ef8a62", "b2182b")


def levels_of(values: Array, scales: Array, signed: bool) -> Array:
    """Return levels from 0 to 254 relative to each scale, zero in the middle if signed; 255 is unobserved."""
    relative = values / scales.reshape(-1, *[1] * (values.ndim - 1))
    middle = (LEVELS - 1) // 2
    levels = middle + middle * relative.clip(-1, 1) if signed else (LEVELS - 1) * relative.clip(0, 1)
    return np.where(np.isnan(levels), BLANK, np.round(levels)).astype(np.uint8)


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
