"""PNG files out of arrays; 8 bits a pixel need no library."""

import base64
import struct
import zlib

import numpy as np

from deepnmf.arrays import Array

LEVELS = 255  # indices 0 to 254; 255 is a pixel that was not observed
BLANK = 255
INDEXED, COLOURED = 3, 6
# ColorBrewer's RdBu from blue over pale to red: it can be told apart without red or green cones.
DIVERGING = ("2166ac", "67a9cf", "d1e5f0", "f7f7f7", "fddbc7", "ef8a62", "b2182b")


def grey_palette() -> Array:
    """Black to white."""
    return np.repeat(np.arange(LEVELS, dtype=np.float64)[:, None] * 255 / (LEVELS - 1), 3, axis=1)


def diverging_palette() -> Array:
    """Blue is negative, pale is zero, red is positive."""
    anchors = np.array([list(bytes.fromhex(color)) for color in DIVERGING], dtype=np.float64)
    places = np.linspace(0, LEVELS - 1, len(anchors))
    return np.stack([np.interp(np.arange(LEVELS), places, channel) for channel in anchors.T], axis=1)


def indexed_png(levels: Array, palette: Array) -> str:
    """A picture of one level a pixel as a data URL."""
    colors = np.vstack([np.round(palette), np.full((1, 3), 128)]).astype(np.uint8)
    opacity = bytes(LEVELS * [255]) + b"\0"
    return _data_url(levels.astype(np.uint8), INDEXED, (b"PLTE", colors.tobytes()), (b"tRNS", opacity))


def coloured_png(levels: Array) -> str:
    """A picture of three levels a pixel as a data URL."""
    opaque = np.where((levels == BLANK).any(axis=-1, keepdims=True), 0, 255)
    colors = np.round(levels * (255 / (LEVELS - 1))).clip(0, 255)
    return _data_url(np.concatenate([colors, opaque], axis=-1).astype(np.uint8), COLOURED)


def _data_url(pixels: Array, kind: int, *chunks: tuple[bytes, bytes]) -> str:
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    lines = np.hstack([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)])  # filter 0 before each line
    content = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, payload) for name, payload in content)
    return "data:image/png;base64," + base64.b64encode(file).decode("ascii")


def _chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))
