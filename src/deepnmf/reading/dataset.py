"""What reading gives, and what must be kept of it to read more of the same."""

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


LONGEST = 300  # letters of what a library says
MOST_COMPARED = 10_000  # names that are compared with one that is not there


class ReadingError(ValueError):
    """An input that cannot be read; its text is a sentence that names the file, what was found and what is expected."""

    def __init__(self, sentence: str) -> None:
        super().__init__(utf8_text(sentence))


def utf8_text(name: str) -> str:
    """Text that can be written anywhere: what stands for bytes of a file's name that are not UTF-8 is escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


def library_message(error: BaseException) -> str:
    """What a library says of a broken file, as part of a sentence: some say it in several lines, some say nothing."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def import_optional(module: str, package: str, what: str) -> Any:
    """Import what a format needs, or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ReadingError(f"Reading {what} needs {package}: pip install 'deepnmf[cli]'.") from missing


def closest(name: str, known: Iterable[str]) -> str:
    """The names that may have been meant, or all of them where there are few."""
    known = list(islice(known, MOST_COMPARED))
    near = get_close_matches(name, known, n=3) or known[:8]
    more = ", ..." if len(near) < len(known) and near == known[:8] else ""
    return ", ".join(map(repr, near)) + more


# ---------------------------------------------------------------------------------------------- data


Kind = Literal["images", "texts", "sounds", "table"]
OnBytes = Callable[[int, int], object]
Names = tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """How rows were made from a file, so that rows of another file can be made alike.

    Parameters
    ----------
    kind : {"images", "texts", "sounds", "table"}
    feature_names : tuple of str or None
        Columns, words or frequencies, in their order.
    image_shape : (int, int) or None
        Height and width of the images.
    settings : mapping
        What else the format needs again: weights of words, the sample rate, names of columns.

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
        """Numbers, text and lists only."""
        return json.loads(json.dumps(self.__dict__))

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Recipe":
        """Take up what `to_json` gave."""
        names, shape = content["feature_names"], content["image_shape"]
        return cls(content["kind"], _tupled(names), _tupled(shape), dict(content["settings"]))


@dataclass(frozen=True)
class Dataset:
    """Rows that were read, and everything the file says of them.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    kind : {"images", "texts", "sounds", "table"}
    description : str
        One sentence: what was read.
    y : array of int of shape (n_samples,) or None
        Classes, -1 where unknown.
    class_names : tuple of str or None
        ``class_names[y]`` where classes have names.
    feature_names, sample_names : tuple of str or None
    image_shape : (int, int) or None
        Height and width of a row as a picture.
    groups : array of int of shape (n_samples,) or None
        The recording each frame belongs to.
    group_names : tuple of str or None
        ``group_names[groups]`` where recordings have names.
    axis : array of shape (n_features,) or None
        Frequencies in Hz, for sounds.
    settings : mapping
        See `Recipe`.

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
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def recipe(self) -> Recipe:
        """What must be kept to read other files alike."""
        return Recipe(self.kind, self.feature_names, self.image_shape, self.settings)


@dataclass(frozen=True)
class Request:
    """What is asked of a reader; None is left to the reader."""

    path: Path
    labels: str | None = None
    names: str | None = None
    key: str | None = None
    size: tuple[int, int] | None = None
    like: Recipe | None = None
    on_bytes: OnBytes | None = None

    @property
    def wanted_features(self) -> Names | None:
        """The columns that a model was fitted on."""
        return None if self.like is None else self.like.feature_names

    def recipe_setting(self, setting: str) -> Any:
        """A setting of the file that a model was fitted on, or None."""
        return None if self.like is None else self.like.settings.get(setting)

    def report_progress(self, read: int, total: int) -> None:
        """Say how far the reading is."""
        if self.on_bytes is not None:
            self.on_bytes(read, total)


def description_of(path: Path, *parts: str) -> str:
    """Join the parts that there are to the description of what was read."""
    return utf8_text(f"{path.name}: {', '.join(part for part in parts if part)}.")


def size_text(X: Matrix, sample: str = "sample", feature: str = "feature") -> str:
    """How much was read, in words."""
    return f"{count_text(X.shape[0], sample)} of {count_text(X.shape[1], feature)}"


def count_text(number: int, noun: str) -> str:
    """A number and what it counts."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def _tupled(value: Any) -> Any:
    return None if value is None else tuple(value)
