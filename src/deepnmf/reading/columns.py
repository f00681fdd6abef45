"""Which columns of a table are features, which one holds labels and which one names."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.dataset import Dataset, Names, Request, rows_and_columns, sentence
from deepnmf.reading.errors import ReadingError, closest
from deepnmf.reading.labels import classes, classes_in_words

USUAL_LABELS = ("label", "labels", "class", "target", "y")


@dataclass(frozen=True)
class Columns:
    """Places of the columns that are read."""

    header: Sequence[str]
    features: tuple[int, ...]
    labels: int | None
    names: int | None

    @classmethod
    def of(cls, header: Sequence[str], request: Request) -> "Columns":
        """What is asked for by name; features are the rest, or those that a model was fitted on."""
        labels = _place(header, request, "labels")
        names = _place(header, request, "names")
        if names is None and header[0] == "" and labels != 0:
            names = 0  # the row names of R and pandas
        features = _features(header, request, {labels, names})
        if labels is None and request.like is None:
            _warn_of_labels([header[j] for j in features], request)
        return cls(header, features, labels, names)

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns that may hold text."""
        return tuple(dict.fromkeys(place for place in (self.labels, self.names) if place is not None))

    @property
    def feature_names(self) -> Names:
        """The features' names."""
        return tuple(self.header[j] for j in self.features)

    def dataset(self, X: Array, texts: dict[int, list[Any]], request: Request, named: bool = True) -> Dataset:
        """Put together what was read; `named` is whether the header was in the file."""
        y, class_names, source = None, None, ""
        if self.labels is not None:
            source = f"in column {self.header[self.labels]!r}"
            y, class_names = classes(
                np.array(texts[self.labels], dtype=object), len(X), f"{request.path}, {source.removeprefix('in ')}"
            )
        return Dataset(
            X,
            "table",
            sentence(
                request.path,
                rows_and_columns(X),
                "in single precision" if X.dtype == np.float32 else "",
                classes_in_words(y, source),
                "" if named else "without a header",
            ),
            y=y,
            class_names=class_names,
            feature_names=self.feature_names if named else None,
            sample_names=None if self.names is None else tuple(map(str, texts[self.names])),
            settings=self._settings(),
        )

    def _settings(self) -> dict[str, str]:
        places = {"labels": self.labels, "names": self.names}
        return {kind: self.header[place] for kind, place in places.items() if place is not None}


def _place(header: Sequence[str], request: Request, kind: str) -> int | None:
    """The column that is asked for; one that only the recipe knows may be missing."""
    asked, remembered = getattr(request, kind), request.remembered(kind)
    name = remembered if asked is None else asked
    if name in header:
        return list(header).index(name)
    if asked is not None:
        raise ReadingError(
            f"{request.path} has no column {asked!r} for --{kind}: closest are {closest(asked, header)}."
        )
    return None


def _features(header: Sequence[str], request: Request, others: set[int | None]) -> tuple[int, ...]:
    if request.wanted_features is not None:
        places = {name: j for j, name in enumerate(header)}
        if all(name in places for name in request.wanted_features):
            return tuple(places[name] for name in request.wanted_features)
    features = tuple(j for j in range(len(header)) if j not in others)
    if not features:
        raise ReadingError(f"{request.path} has no column of numbers left: expected at least one feature.")
    _check_names([header[j] for j in features], request)
    return features


def _warn_of_labels(names: Sequence[str], request: Request) -> None:
    """Labels among the features would be learnt like any other number."""
    for name in names:
        if name.lower() in USUAL_LABELS:
            warnings.warn(
                f"{request.path}: column {name!r} is taken for a feature; --labels {name} makes it the labels.",
                UserWarning,
                stacklevel=2,
            )


def _check_names(names: Sequence[str], request: Request) -> None:
    if "" in names:
        raise ReadingError(f"{request.path}, line 1: column {names.index('') + 1} of the features has no name.")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ReadingError(f"{request.path}, line 1: two columns are called {twice!r}, and names must differ.")
