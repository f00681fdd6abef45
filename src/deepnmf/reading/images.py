"""Folders of images, one image per row: gray levels from 0 to 1, or the stored values of 32-bit images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.classes import class_count_text
from deepnmf.reading.dataset import (
    Dataset,
    ReadingError,
    Request,
    count_text,
    description_of,
    import_optional,
    library_message,
)
from deepnmf.reading.folder_files import Files

SUFFIXES = (".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".gif", ".tif", ".tiff", ".webp")
COMMON_SIZE = (32, 32)  # if sizes differ and none was requested
FORMATS = ("PNG", "JPEG", "PPM", "BMP", "GIF", "TIFF", "WEBP")  # Pillow would start Ghostscript for a PostScript file
WHITE_OF_8_BITS, WHITE_OF_16_BITS = 255.0, 65535.0
SAMPLE_FORMAT, UNSIGNED = 339, (1,)  # a tag of TIFF, and its value for unsigned integers
ORIENTATION, QUARTER_TURNS = 0x0112, (5, 6, 7, 8)  # a tag of EXIF, and its values that swap height and width

T = TypeVar("T")


@dataclass(frozen=True)
class Header:
    """The properties of an image that are known before its pixels are decoded."""

    path: Path
    shape: tuple[int, int]
    has_white: bool


def read_images(files: Files, request: Request) -> Dataset:
    """Read all images in one size: that of the model, the requested one, their own, or a common one."""
    headers = [_with_image(path, partial(_header, path)) for path in files.paths]
    _check_one_scale(headers, files)
    shapes = [header.shape for header in headers]
    height, width = shape = _shape(shapes, request)
    X = np.empty((len(files.paths), height * width))
    for row, path in zip(X, files.paths, strict=True):
        row[:] = _with_image(path, partial(_gray_levels, shape)).ravel()
    y, class_names, source = files.classes()
    return Dataset(
        X,
        "images",
        description_of(
            files.folder,
            f"{count_text(len(X), 'gray image')} of {height} x {width} pixels",
            f"resized from {_spread(shapes)}" if set(shapes) != {shape} else "",
            "" if headers[0].has_white else "values as stored",
            class_count_text(y, source),
        ),
        y=y,
        class_names=class_names,
        sample_names=files.names,
        image_shape=shape,
    )


def _check_one_scale(headers: Sequence[Header], files: Files) -> None:
    """Raise an error for a mixture of gray levels from 0 to 1 and stored values, which have no common unit."""
    scaled = [header.path for header in headers if header.has_white]
    stored = [header.path for header in headers if not header.has_white]
    if scaled and stored:
        raise ReadingError(
            f"{files.folder} contains {scaled[0].name}, which is scaled to gray levels from 0 to 1, and "
            f"{stored[0].name}, whose 32-bit values are read as stored: expected one kind."
        )


def _shape(shapes: Sequence[tuple[int, int]], request: Request) -> tuple[int, int]:
    if request.like is not None and request.like.image_shape is not None:
        return request.like.image_shape
    return request.size or (shapes[0] if len(set(shapes)) == 1 else COMMON_SIZE)


def _spread(shapes: Sequence[tuple[int, int]]) -> str:
    (least, most) = min(shapes), max(shapes)
    return "{} x {}".format(*least) if least == most else "{} x {} to {} x {}".format(*least, *most)


# ---------------------------------------------------------------------------------------- one image


def _header(path: Path, image: Any) -> Header:
    # An MPO file, which phones name .jpg, is a photograph with previews.
    if getattr(image, "is_animated", False) and image.format != "MPO":
        raise ReadingError(f"{path} contains several images, as frames or pages: expected one image per file.")
    rotated = image.getexif().get(ORIENTATION) in QUARTER_TURNS
    width, height = (_upright(image) if rotated else image).size
    return Header(path, (height, width), _white(image) is not None)


def _gray_levels(shape: tuple[int, int], image: Any) -> Array:
    white, values = _white(image), _values(image)
    if values.shape != shape:
        lowest, highest = (np.fmin.reduce(values, None), np.fmax.reduce(values, None)) if white is None else (0, white)
        values = np.clip(_resized(values, shape), lowest, highest)  # interpolation overshoots at edges
    return values.astype(np.float64) / (white or 1.0)


def _white(image: Any) -> float | None:
    """Return the value of white, or None for 32-bit integers and floats, which have none."""
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        return WHITE_OF_16_BITS
    return None if image.mode in ("I", "F") else WHITE_OF_8_BITS


def _upright(image: Any) -> Any:
    return import_optional("PIL.ImageOps", "pillow", "images").exif_transpose(image)


def _values(image: Any) -> Array:
    unsigned = image.mode == "I" and image.format == "TIFF" and image.tag_v2.get(SAMPLE_FORMAT, UNSIGNED) == UNSIGNED
    upright = _upright(image)
    values = np.asarray(upright.convert("L") if _white(image) == WHITE_OF_8_BITS else upright)
    return values.view(np.uint32) if unsigned else values  # Pillow has no unsigned integers of 32 bits


def _resized(values: Array, shape: tuple[int, int]) -> Array:
    Image = import_optional("PIL.Image", "pillow", "images")
    stored = Image.fromarray(values if values.dtype == np.uint8 else values.astype(np.float32))
    return np.asarray(stored.resize(shape[::-1]))


def _with_image(path: Path, function: Callable[[Any], T]) -> T:
    """Open an image and return the result of a function; every error names the file."""
    Image = import_optional("PIL.Image", "pillow", "images")
    try:
        # Pillow maps a file that it opens by name into memory, and then scrambles the pixels of a rotated TIFF.
        with path.open("rb") as file, Image.open(file, formats=FORMATS) as image:
            return function(image)
    except ReadingError:
        raise
    except Exception as error:  # a damaged file can raise any error in its parser
        raise ReadingError(f"{path} is not a valid image: {library_message(error)}.") from error
