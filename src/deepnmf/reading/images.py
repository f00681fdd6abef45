"""Folders of images: grey levels from 0 to 1, one image a row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.dataset import Dataset, Request, counted, sentence
from deepnmf.reading.errors import ReadingError, needed, said
from deepnmf.reading.files import Files
from deepnmf.reading.labels import classes_in_words

SUFFIXES = (".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".gif", ".tif", ".tiff", ".webp")
COMMON_SIZE = (32, 32)  # where sizes differ and none was asked for
DEEP_MODES = {"I": 65535.0, "I;16": 65535.0, "I;16B": 65535.0, "I;16L": 65535.0}  # white of 16 bits

T = TypeVar("T")


def read_images(files: Files, request: Request) -> Dataset:
    """All images in one size: that of the model, that asked for, their own, or a common one."""
    sizes = [_size(path) for path in files.paths]
    height, width = shape = _shape(sizes, request)
    X = np.empty((len(files.paths), height * width))
    for row, path in zip(X, files.paths, strict=True):
        row[:] = _pixels(path, shape).ravel()
    y, class_names, source = files.classes()
    resized = f"resized from {_spread(sizes)}" if set(sizes) != {shape} else ""
    what = f"{counted(len(X), 'grey image')} of {height} x {width} pixels"
    return Dataset(
        X,
        "images",
        sentence(files.folder, what, resized, classes_in_words(y, source)),
        y=y,
        class_names=class_names,
        sample_names=files.names,
        image_shape=shape,
    )


def _shape(sizes: list[tuple[int, int]], request: Request) -> tuple[int, int]:
    if request.like is not None and request.like.image_shape is not None:
        return request.like.image_shape
    return request.size or (sizes[0] if len(set(sizes)) == 1 else COMMON_SIZE)


def _spread(sizes: list[tuple[int, int]]) -> str:
    (least, most) = min(sizes), max(sizes)
    return "{} x {}".format(*least) if least == most else "{} x {} to {} x {}".format(*least, *most)


def _size(path: Path) -> tuple[int, int]:
    """Height and width."""
    width, height = _seen(path, lambda image: image.size)
    return height, width


def _pixels(path: Path, shape: tuple[int, int]) -> Array:
    return _seen(path, lambda image: _grey(image, shape))


def _grey(image: Any, shape: tuple[int, int]) -> Array:
    white = DEEP_MODES.get(image.mode, 255.0)
    grey = image.convert("F" if image.mode in DEEP_MODES else "L")
    if grey.size != shape[::-1]:
        grey = grey.resize(shape[::-1])
    return np.clip(np.asarray(grey, dtype=np.float64) / white, 0, 1)


def _seen(path: Path, look: Callable[[Any], T]) -> T:
    """What a look at the image gives, or a sentence."""
    Image = needed("PIL.Image", "pillow", "images")
    try:
        with Image.open(path) as image:
            return look(image)
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise ReadingError(f"{path} is not a whole image: {said(error)}.") from error
