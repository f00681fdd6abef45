"""Labels that may be unknown: -1, None, NaN, the NA of pandas, or masked."""

import re
import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from deepnmf.arrays import Array
from deepnmf.checks import NNDSVD
from deepnmf.masks import mask_of
from deepnmf.untrusted import of_type

UNKNOWN = -1
SAVED_TYPE = re.compile(r"[<>|]([biu][1248]|U\d{1,8})")  # types of classes: Booleans, integers, text
MOST_LETTERS = 2**24  # of all classes in a file together


def split_labels(y: Any, n_samples: int) -> tuple[Array, Array]:
    """Return the classes, sorted, and each sample's index among them, -1 where the label is unknown; y may be None."""
    if y is None:
        return np.empty(0, dtype=int), np.full(n_samples, UNKNOWN)
    masked = mask_of(y)
    y = column_or_1d(y, warn=True)
    if len(y) != n_samples:
        raise ValueError(f"y has {len(y)} labels, but X has {n_samples} samples: expected one per sample.")
    known = _is_known(y) if masked is None else _is_known(y) & ~masked.ravel()
    index = np.full(n_samples, UNKNOWN)
    if not known.any():
        return np.empty(0, dtype=int), index
    check_classification_targets(np.array(y[known].tolist()))
    try:
        classes, index[known] = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        raise ValueError(f"y must contain labels of one type: {error}.") from error
    return _of_their_own_type(classes), index


def check_two_classes(classes: Array, name: str) -> None:
    """Refuse labels of a single class; no labels at all are allowed."""
    if len(classes) == 1:
        raise ValueError(
            f"{name} contains one class only, {classes.tolist()[0]!r}: expected labels of two or more classes, or none."
        )


@dataclass(frozen=True)
class KnownLabels:
    """The sorted classes, and the index of the class of each sample, -1 if its label is unknown."""

    classes: Array
    places: Array

    @classmethod
    def of(cls, y: Any, n_samples: int) -> "KnownLabels":
        """Return the labels that were given to a fit; y may be None."""
        return cls(*split_labels(y, n_samples))

    @property
    def rows(self) -> Array:
        """The samples whose label is known."""
        return np.flatnonzero(self.places != UNKNOWN)

    def completed(self, predicted: Array) -> Array:
        """Return the class indices of all samples, with predictions for unknown labels."""
        return np.where(self.places == UNKNOWN, predicted, self.places)


@dataclass(frozen=True)
class Groups:
    """A of X ≈ A V Z: the samples of a class form one group, and each unlabeled sample is a group by itself."""

    classes: Array
    places: Array  # the group of each sample
    counts: Array  # the number of samples of each group

    @classmethod
    def of(cls, y: Any, n_samples: int) -> "Groups":
        """Return the groups: first the classes, then the unlabeled samples in their order."""
        classes, places = split_labels(y, n_samples)
        check_two_classes(classes, "y")
        unknown = places == UNKNOWN
        places[unknown] = len(classes) + np.arange(np.count_nonzero(unknown))
        return cls(classes, places, np.bincount(places))

    def expanded(self, weighted_codes: Array) -> Array:
        """Return A V, one row per sample, from D^½ V."""
        V = weighted_codes / np.sqrt(self.counts)[:, None]
        return V.astype(weighted_codes.dtype, copy=False)[self.places]

    def check_rank(self, init: str | None, size: int, n_features: int) -> None:
        """Refuse an explicit NNDSVD beyond the rank of the group means."""
        shape = len(self.counts), n_features
        if len(self.classes) and init in NNDSVD and size > min(shape):
            raise ValueError(
                f"init = '{init}' can only be used when n_components <= min(n_groups, n_features), where each class "
                f"and each unlabeled sample is a group; got {size} for {shape}."
            )


def n_attributes(Y: Any) -> int:
    """Return the number of columns of labels; a single column may be a vector."""
    return len(_columns(Y))


def split_attributes(Y: Any, n_samples: int, count: int) -> list[Array]:
    """Return the class indices of each attribute, -1 if unknown; a single column belongs to the last attribute."""
    unknown = np.full(n_samples, UNKNOWN)
    if Y is None:
        return [unknown] * count
    columns = _columns(Y)
    if len(columns) not in (1, count):
        raise ValueError(
            f"y has {len(columns)} columns, but the model has {count} layers: expected one per layer, or one column."
        )
    names = [f"y[:, {j}]" for j in range(len(columns))] if len(columns) > 1 else ["y"]
    found = [_attribute(column, n_samples, name) for column, name in zip(columns, names, strict=True)]
    return [unknown] * (count - len(found)) + found


def _columns(Y: Any) -> list[Any]:
    Y = Y if hasattr(Y, "shape") else np.array(Y, dtype=object)
    return [Y] if len(Y.shape) < 2 or Y.shape[1] == 1 else [_column(Y, j) for j in range(Y.shape[1])]


def _column(Y: Any, j: int) -> Any:
    return Y.iloc[:, j] if hasattr(Y, "iloc") else Y[:, j]


def _attribute(column: Any, n_samples: int, name: str) -> Array:
    classes, places = split_labels(column, n_samples)
    check_two_classes(classes, name)
    return places


def _is_known(y: Array) -> Array:
    if y.dtype == object:
        return np.array([not _is_unknown(label) for label in y], dtype=bool)
    return (y != UNKNOWN) & ~np.isnan(y) if y.dtype.kind in "iuf" else np.ones(len(y), dtype=bool)


def _is_unknown(label: Any) -> bool:
    return label is None or is_scalar_nan(label) or is_pandas_na(label) or bool(label == UNKNOWN)


def _of_their_own_type(classes: Array) -> Array:
    """Convert object arrays to text or integers: unknown labels, None or NaN, have been removed."""
    classes = np.array(classes.tolist()) if classes.dtype == object else classes
    return classes.astype(np.int64) if classes.dtype.kind == "f" and (classes == np.round(classes)).all() else classes


def described_classes(classes: Array) -> dict[str, Any]:
    """Return classes for the description in a model file."""
    return {"classes": classes.tolist(), "type_of_classes": classes.dtype.str}


def restored_classes(description: dict[str, Any]) -> Array:
    """Return the sorted, distinct classes from the description in a model file, in their original type."""
    listed = of_type(description.get("classes"), list, "classes")
    _check_room(listed)
    classes = np.array(listed)
    if "type_of_classes" in description:  # absent in GDNMF files of the first format
        classes = classes.astype(_type_of_classes(description["type_of_classes"], len(listed)))
    is_saved_type = SAVED_TYPE.fullmatch(classes.dtype.str)
    if not is_saved_type or classes.tolist() != listed or not np.array_equal(np.unique(classes), classes):
        raise ValueError(f"its classes {reprlib.repr(listed)} are not sorted labels of one type")
    return classes


def _check_room(listed: list[Any]) -> None:
    """Bound the memory of the classes: an array of text reserves the longest length for every item."""
    longest = max((len(label) for label in listed if isinstance(label, str)), default=1)
    if longest * len(listed) > MOST_LETTERS or any(isinstance(label, list | dict) for label in listed):
        raise ValueError(f"its {len(listed)} classes of up to {longest} letters are too long for labels")


def _type_of_classes(name: Any, count: int) -> Any:
    if not SAVED_TYPE.fullmatch(of_type(name, str, "type_of_classes")):
        raise ValueError(f"its type_of_classes is {reprlib.repr(name)}: expected numbers or text")
    dtype = np.dtype(name)
    if dtype.itemsize * count > 4 * MOST_LETTERS:
        raise ValueError(f"its type_of_classes {name} is too wide for {count} classes")
    return dtype


def one_hot(index: Array, n_classes: int, dtype: Any) -> Array:
    """Return Y, one row per sample with a 1 at its class; a row of zeros if the label is unknown."""
    Y = np.zeros((len(index), n_classes), dtype)
    known = np.flatnonzero(index != UNKNOWN)
    Y[known, index[known]] = 1
    return Y
