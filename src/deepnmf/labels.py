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
SAVED_TYPE = re.compile(r"[<>|]([biu][1248]|U\d{1,8})")  # what classes can be: truth values, integers, text
MOST_LETTERS = 2**24  # of all classes in a file


def split_labels(y: Any, n_samples: int) -> tuple[Array, Array]:
    """Return the classes, sorted, and each sample's index among them, -1 where the label is unknown; y may be None."""
    if y is None:
        return np.empty(0, dtype=int), np.full(n_samples, UNKNOWN)
    masked = mask_of(y)
    y = column_or_1d(y, warn=True)
    if len(y) != n_samples:
        raise ValueError(f"y has {len(y)} labels, but X has {n_samples} samples: one a sample is expected.")
    known = _is_known(y) if masked is None else _is_known(y) & ~masked.ravel()
    index = np.full(n_samples, UNKNOWN)
    if not known.any():
        return np.empty(0, dtype=int), index
    check_classification_targets(np.array(y[known].tolist()))
    try:
        classes, index[known] = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        raise ValueError(f"y must hold labels of one kind: {error}.") from error
    return _of_their_own_type(classes), index


def check_two_classes(classes: Array, name: str) -> None:
    """Refuse labels that tell nothing apart; none at all are no labels."""
    if len(classes) == 1:
        raise ValueError(
            f"{name} knows one class only, {classes.tolist()[0]!r}: labels of two or more are expected, or none."
        )


@dataclass(frozen=True)
class KnownLabels:
    """The classes, sorted, and each sample's place among them, -1 where its label is unknown."""

    classes: Array
    places: Array

    @classmethod
    def of(cls, y: Any, n_samples: int) -> "KnownLabels":
        """The labels that were given to a fit; y may be None."""
        return cls(*split_labels(y, n_samples))

    @property
    def rows(self) -> Array:
        """The samples whose label is known."""
        return np.flatnonzero(self.places != UNKNOWN)

    def completed(self, predicted: Array) -> Array:
        """The places of all samples: predicted ones where the label is unknown."""
        return np.where(self.places == UNKNOWN, predicted, self.places)


@dataclass(frozen=True)
class Groups:
    """A of X ≈ A V Z: the samples of a class are one group, each unlabeled sample is one of its own."""

    classes: Array
    places: Array  # each sample's group
    counts: Array  # each group's samples

    @classmethod
    def of(cls, y: Any, n_samples: int) -> "Groups":
        """Classes first, then unlabeled samples in their order."""
        classes, places = split_labels(y, n_samples)
        check_two_classes(classes, "y")
        unknown = places == UNKNOWN
        places[unknown] = len(classes) + np.arange(np.count_nonzero(unknown))
        return cls(classes, places, np.bincount(places))

    def expanded(self, weighted_codes: Array) -> Array:
        """A V, one row a sample, from D^½ V."""
        V = weighted_codes / np.sqrt(self.counts)[:, None]
        return V.astype(weighted_codes.dtype, copy=False)[self.places]

    def check_rank(self, init: str | None, size: int, n_features: int) -> None:
        """Refuse an explicit NNDSVD above the rank of the groups' means."""
        shape = len(self.counts), n_features
        if len(self.classes) and init in NNDSVD and size > min(shape):
            raise ValueError(
                f"init = '{init}' can only be used when n_components <= min(n_groups, n_features), where a class "
                f"and an unlabeled sample are one group each; got {size} for {shape}."
            )


def n_attributes(Y: Any) -> int:
    """The number of columns of labels; a single one may be flat."""
    return len(_columns(Y))


def split_attributes(Y: Any, n_samples: int, count: int) -> list[Array]:
    """Each attribute's classes as numbers, -1 where unknown; a single column belongs to the last attribute."""
    unknown = np.full(n_samples, UNKNOWN)
    if Y is None:
        return [unknown] * count
    columns = _columns(Y)
    if len(columns) not in (1, count):
        raise ValueError(
            f"y has {len(columns)} columns, but the model has {count} layers: expected one a layer, or one for the top."
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
    """Text among None is text, integers among NaN are integers."""
    classes = np.array(classes.tolist()) if classes.dtype == object else classes
    return classes.astype(np.int64) if classes.dtype.kind == "f" and (classes == np.round(classes)).all() else classes


def described_classes(classes: Array) -> dict[str, Any]:
    """Classes as a file's description holds them."""
    return {"classes": classes.tolist(), "type_of_classes": classes.dtype.str}


def restored_classes(description: dict[str, Any]) -> Array:
    """Classes out of a file's description, of their own type again, sorted and each once."""
    listed = of_type(description.get("classes"), list, "classes")
    _check_room(listed)
    classes = np.array(listed)
    if "type_of_classes" in description:  # GDNMF's files of the first format have none
        classes = classes.astype(_type_of_classes(description["type_of_classes"], len(listed)))
    is_saved_type = SAVED_TYPE.fullmatch(classes.dtype.str)
    if not is_saved_type or classes.tolist() != listed or not np.array_equal(np.unique(classes), classes):
        raise ValueError(f"its classes {reprlib.repr(listed)} are not sorted labels of one type")
    return classes


def _check_room(listed: list[Any]) -> None:
    """An array of text has room for the longest one everywhere."""
    longest = max((len(label) for label in listed if isinstance(label, str)), default=1)
    if longest * len(listed) > MOST_LETTERS or any(isinstance(label, list | dict) for label in listed):
        raise ValueError(f"its {len(listed)} classes of up to {longest} letters are no labels")


def _type_of_classes(name: Any, count: int) -> Any:
    if not SAVED_TYPE.fullmatch(of_type(name, str, "type_of_classes")):
        raise ValueError(f"its type_of_classes is {reprlib.repr(name)}, and numbers or text are expected")
    dtype = np.dtype(name)
    if dtype.itemsize * count > 4 * MOST_LETTERS:
        raise ValueError(f"its type_of_classes {name} is too wide for {count} classes")
    return dtype


def one_hot(index: Array, n_classes: int, dtype: Any) -> Array:
    """Y, one row a sample: 1 at its class; a row of zeros where the label is unknown."""
    Y = np.zeros((len(index), n_classes), dtype)
    known = np.flatnonzero(index != UNKNOWN)
    Y[known, index[known]] = 1
    return Y
