"""Shapes of pictures: their type and their check."""

import math
from collections.abc import Sequence
from numbers import Integral

ImageShape = tuple[int, int] | tuple[int, int, int]

EXPECTED = "expected (height, width) or (height, width, 3)"


def check_image_shape(image_shape: ImageShape | None, n_inputs: int) -> None:
    """Raise an error for an invalid shape or a shape of the wrong size; None is allowed."""
    if image_shape is None:
        return
    if not _is_shape(image_shape):
        raise ValueError(f"image_shape is {image_shape!r}: {EXPECTED}, positive integers.")
    n_values = math.prod(image_shape)
    if n_values != n_inputs:
        raise ValueError(
            f"image_shape is {image_shape!r}, {n_values} values, but the model has {n_inputs} input features: "
            f"{EXPECTED} with a product of {n_inputs}."
        )


def is_positive_integer(number: object) -> bool:
    """Whether an object is a positive integer."""
    return isinstance(number, Integral) and int(number) > 0


def _is_shape(shape: object) -> bool:
    if not isinstance(shape, Sequence) or not all(map(is_positive_integer, shape)):
        return False
    return len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)
