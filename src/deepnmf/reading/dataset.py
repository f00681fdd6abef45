"""Data sets, the recipes to read other files in the same way, and errors of readers."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from deepnmf.arrays import Array, Matrix

# -------------------------------------------------------------------------------------------- errors


LONGEST_MESSAGE = 300  # characters
MOST_COMPARED = 10_000  # names that are compared with an unknown one


class ReadingError(ValueError):
    """An input cannot be read; the message names the file, what was found and what is expected."""

    def __init__(self, message: str) -> None:
        super().__init__(utf8_text(message))


def utf8_text(text: str) -> str:
    """Escape surrogates, which UTF-8 cannot encode; Python uses them for bytes of file names that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def library_message(error: BaseException) -> str:
    """Return the message of another library in one line, or the name of the error if it has no message."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} ..."


def import_optional(module: str, package: str, purpose: str) -> Any:
    """Import a module that a format needs; the error says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ReadingError(f"Reading {purpose} needs {package}: pip install 'deepnmf[cli]'.") from missing


def closest(name: str, known: Iterable[str]) -> str:
    """Return the names that are most similar to an unknown one, or the first ones."""
    known = list(islice(known, MOST_COMPARED))
    near = get_close_matches(name, known, n=3) or known[:8]
    more = ", ..." if len(near) < len(known) and near == known[:8] else ""
    return ", ".join(map(repr, near)) + more


# ---------------------------------------------------------------------------------------------- data


Kind = Literal["images", "texts", "sounds", "cells", "table"]
OnBytes = Callable[[int, int], object]
Names = tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """How a file was read, so that another file can be read in the same way.

    Parameters
    ----------
    kind : {"images", "texts", "sounds", "cells", "table"}
    feature_names : tuple of str or None
        Columns, words or frequencies, in their order.
    image_shape : (int, int) or None
        Height and width of the images.
    settings : mapping
        Other data that the format needs: weights of words, the sample rate, names of columns.

    Examples
    --------
    >>> from deepnmf.reading import Recipe
    >>> recipe = Recipe("images", image_shape=(32, 32))
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    """

    kind: Kind
    feature_names: Names | None = None
    image_shape: tuple[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as numbers, text and lists."""
        return json.loads(json.dumps(self.__dict__))

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Recipe":
        """Return the recipe that `to_json` described."""
        names, shape = content["feature_names"], content["image_shape"]
        return cls(content["kind"], _as_tuple(names), _as_tuple(shape), dict(content["settings"]))


@dataclass(frozen=True)
class Dataset:
    """Data read from a file, with labels and names where the file has them.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    kind : {"images", "texts", "sounds", "cells", "table"}
    description : str
        One sentence about the data.
    y : array of int of shape (n_samples,) or (n_samples, n_attributes), or None
        Classes, -1 where unknown; a column for each of several attributes.
    class_names : tuple of str or None
        ``class_names[y]`` where classes have names; of several attributes those of the last.
    feature_names, sample_names : tuple of str or None
    image_shape : (int, int) or None
        Height and width of a row as an image.
    groups : array of int of shape (n_samples,) or None
        The recording of each frame.
    group_names : tuple of str or None
        ``group_names[groups]`` where recordings have names.
    axis : array of shape (n_features,) or None
        Frequencies in Hz, for sounds.
    texts : tuple of str or None
        The texts themselves, for texts.
    settings : mapping
        See `Recipe`.
    notes : tuple of str
        Sentences for the user: which columns were ignored, and what they could be used for.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnmf.reading import Dataset
    >>> data = Dataset(np.eye(4), "images", "4 images of 2 x 2 pixels.", image_shape=(2, 2))
    >>> data.recipe.image_shape
    (2, 2)
    """

    X: Matrix
    kind: Kind
    description: str
    y: Array | None = None
    class_names: Names | None = None
    feature_names: Names | None = None
    sample_names: Names | None = None
    image_shape: tuple[int, int] | None = None
    groups: Array | None = None
    group_names: Names | None = None
    axis: Array | None = None
    texts: Names | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Names = ()

    @property
    def recipe(self) -> Recipe:
        """The recipe to read other files in the same way."""
        return Recipe(self.kind, self.feature_names, self.image_shape, self.settings)


@dataclass(frozen=True)
class Request:
    """The arguments of `read`; a reader chooses a default for each None."""

    path: Path
    labels: str | None = None
    names: str | None = None
    key: str | None = None
    size: tuple[int, int] | None = None
    like: Recipe | None = None
    on_bytes: OnBytes | None = None
    columns: Names | None = None
    drop: Names = ()
    ask: Callable[[str], bool] | None = None
    stop_words: str | None = None
    ngrams: int | None = None

    @property
    def wanted_features(self) -> Names | None:
        """The columns that the model was fitted on."""
        return None if self.like is None else self.like.feature_names

    def recipe_setting(self, setting: str) -> Any:
        """Return a setting of the file that the model was fitted on, or None."""
        return None if self.like is None else self.like.settings.get(setting)

    def report_progress(self, read: int, total: int) -> None:
        """Report how many bytes have been read."""
        if self.on_bytes is not None:
            self.on_bytes(read, total)


def description_of(path: Path, *parts: str) -> str:
    """Return the description of a data set: the name of the file and all parts that are not empty."""
    return utf8_text(f"{path.name}: {', '.join(part for part in parts if part)}.")


def size_text(X: Matrix, sample: str = "sample", feature: str = "feature") -> str:
    """Return the numbers of samples and features in words."""
    return f"{count_text(X.shape[0], sample)} of {count_text(X.shape[1], feature)}"


def count_text(number: int, noun: str) -> str:
    """Return a number and a noun, in the plural where needed."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def _as_tuple(value: Any) -> Any:
    return None if value is None else tuple(value)
