"""Tables: which columns are features, labels and names; and ``.parquet`` files, read in batches."""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.classes import class_count_text, classes
from deepnmf.reading.dataset import (
    Dataset,
    Names,
    ReadingError,
    Request,
    closest,
    description_of,
    import_optional,
    library_message,
    size_text,
)

USUAL_LABELS = ("label", "labels", "class", "target", "y")


@dataclass(frozen=True)
class Columns:
    """Indices of the columns that are read."""

    header: Sequence[str]
    features: tuple[int, ...]
    labels: int | None
    names: int | None

    @classmethod
    def of(cls, header: Sequence[str], request: Request) -> "Columns":
        """Find labels and names; features are all other columns, or those that the model was fitted on."""
        labels = _place(header, request, "labels")
        names = _place(header, request, "names")
        if names is None and header[0] == "" and labels != 0:
            names = 0  # row names as written by R and pandas
        features = _features(header, request, {labels, names})
        if labels is None and request.like is None:
            _warn_of_labels([header[j] for j in features], request)
        return cls(header, features, labels, names)

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns that may contain text."""
        return tuple(dict.fromkeys(place for place in (self.labels, self.names) if place is not None))

    @property
    def feature_names(self) -> Names:
        """The names of the features."""
        return tuple(self.header[j] for j in self.features)

    def dataset(self, X: Array, texts: dict[int, list[Any]], request: Request, named: bool = True) -> Dataset:
        """Return the data set; `named` says whether the file has a header."""
        y, class_names, source = None, None, ""
        if self.labels is not None:
            source = f"in column {self.header[self.labels]!r}"
            y, class_names = classes(
                np.array(texts[self.labels], dtype=object), len(X), f"{request.path}, {source.removeprefix('in ')}"
            )
        return Dataset(
            X,
            "table",
            description_of(
                request.path,
                size_text(X),
                "in single precision" if X.dtype == np.float32 else "",
                class_count_text(y, source),
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
    """Return the index of the requested column; a column that only the recipe requests may be missing."""
    asked, remembered = getattr(request, kind), request.recipe_setting(kind)
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
        raise ReadingError(f"{request.path} has no columns besides labels and names: expected at least one feature.")
    _check_names([header[j] for j in features], request)
    return features


def _warn_of_labels(names: Sequence[str], request: Request) -> None:
    """Warn if a feature is named like labels, since the model would learn it like any other number."""
    for name in names:
        if name.lower() in USUAL_LABELS:
            warnings.warn(
                f"{request.path}: column {name!r} is used as a feature; pass --labels {name} if it holds the labels.",
                UserWarning,
                stacklevel=2,
            )


def _check_names(names: Sequence[str], request: Request) -> None:
    if "" in names:
        raise ReadingError(f"{request.path}, line 1: column {names.index('') + 1} of the features has no name.")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ReadingError(f"{request.path}, line 1: two columns have the name {twice!r}: expected different names.")


# ------------------------------------------------------------------------------------------ .parquet


BATCH_ROWS, BATCH_COLUMNS = 2**12, 2**12


def read_parquet(request: Request) -> Dataset:
    """Read a table of numbers; null becomes NaN (not observed)."""
    pyarrow, arrow_parquet = (
        import_optional("pyarrow", "pyarrow", "tables"),
        import_optional("pyarrow.parquet", "pyarrow", "tables"),
    )
    try:
        # pyarrow accepts only file names in UTF-8.
        with request.path.open("rb") as opened, arrow_parquet.ParquetFile(opened) as file:
            columns = Columns.of(file.schema_arrow.names, request)
            X, texts = _rows(file, columns, request)
    except pyarrow.ArrowInvalid as error:
        raise ReadingError(f"{request.path} is not a valid .parquet file: {library_message(error)}.") from error
    return columns.dataset(X, texts, request)


def _rows(file: Any, columns: Columns, request: Request) -> tuple[Array, dict[int, list[Any]]]:
    shape = n_samples, n_features = file.metadata.num_rows, len(columns.features)
    X, size = np.empty(shape, _dtype(file.schema_arrow, columns, request)), request.path.stat().st_size
    for first in range(0, n_features, BATCH_COLUMNS):
        names = columns.feature_names[first : first + BATCH_COLUMNS]
        for rows, batch in _batches(file, names, request):
            for j, name in enumerate(names, start=first):
                X[rows, j] = batch.column(name).to_numpy(zero_copy_only=False)
            request.report_progress(size * (first * n_samples + len(names) * rows.stop) // X.size, size)
    texts: dict[int, list[Any]] = {place: [] for place in columns.texts}
    for _, batch in _batches(file, [columns.header[place] for place in texts], request):
        for place, cells in texts.items():
            cells.extend(batch.column(columns.header[place]).to_pylist())
    return X, texts


def _batches(file: Any, names: Sequence[str], request: Request) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows of some columns, with their positions."""
    n_rows = 0
    for batch in file.iter_batches(BATCH_ROWS, columns=list(names)) if names else ():
        yield slice(n_rows, n_rows + batch.num_rows), batch
        n_rows += batch.num_rows
    if names and n_rows != file.metadata.num_rows:
        raise ReadingError(
            f"{request.path} contains {n_rows} rows: expected {file.metadata.num_rows}, the number in its footer."
        )


def _dtype(schema: Any, columns: Columns, request: Request) -> Any:
    """Return float32 if every column has it, otherwise float64; raise an error for a column without numbers."""
    types = import_optional("pyarrow.types", "pyarrow", "tables")
    found = {name: schema.field(name).type for name in columns.feature_names}
    for name, kind in found.items():
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ReadingError(
                f"{request.path}, column {name!r}: {kind} is not a type of numbers; "
                "pass --labels or --names for a column of text."
            )
    return np.float32 if all(types.is_float32(kind) for kind in found.values()) else np.float64
