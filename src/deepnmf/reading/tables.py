"""Tables: which columns are features, labels and names; and ``.parquet`` files, read in batches."""

import shlex
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.classes import class_count_text, classes, joined_labels
from deepnmf.reading.column_kinds import SAMPLE_ROWS, ColumnSample, label_like
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

NUMBERS = ("number", "boolean")  # kinds of columns that are features
MOST_NAMED = 6  # largest number of columns named in a sentence


@dataclass(frozen=True)
class Columns:
    """Indices of the columns that are read."""

    header: Sequence[str]
    features: tuple[int, ...]
    labels: tuple[int, ...] = ()
    names: int | None = None
    booleans: frozenset[int] = frozenset()  # features that are Booleans
    notes: Names = ()

    @classmethod
    def of(cls, header: Sequence[str], request: Request, samples: Sequence[Sequence[str]]) -> "Columns":
        """Find labels and names; features are other columns of numbers, or those that the model was fitted on.

        `samples` are the first cells of each column.
        """
        columns = [ColumnSample.of(name, cells) for name, cells in zip(header, samples, strict=True)]
        labels, names = _label_places(header, request), _place(header, request, "names", request.names)
        if names is None and header[0] == "" and 0 not in labels:
            names = 0  # row names as written by R and pandas
        features = _features(columns, request, {*labels, names})
        notes = []
        if request.like is None and request.columns is None:
            if names is None:
                names, found = _identifier(columns, features)
                notes += found
            features, found = _numbers(columns, features, {names})
            notes += found
            if not labels:
                labels = _labels_by_question(columns, features, request)
                features = tuple(j for j in features if j not in labels)
        _check_features(columns, features, request)
        booleans = frozenset(j for j in features if columns[j].kind == "boolean")
        return cls(header, features, labels, names, booleans, tuple(notes))

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns that may contain text."""
        return tuple(dict.fromkeys((*self.labels, *(() if self.names is None else (self.names,)))))

    @property
    def feature_names(self) -> Names:
        """The names of the features."""
        return tuple(self.header[j] for j in self.features)

    def dataset(self, X: Array, texts: dict[int, list[Any]], request: Request, named: bool = True) -> Dataset:
        """Return the data set; `named` says whether the file has a header."""
        found = [
            classes(np.array(texts[place], dtype=object), len(X), f"{request.path}, column {self.header[place]!r}")
            for place in self.labels
        ]
        sources = (f"in column {self.header[place]!r}" for place in self.labels)
        return Dataset(
            X,
            "table",
            description_of(
                request.path,
                size_text(X),
                "in single precision" if X.dtype == np.float32 else "",
                *(class_count_text(y, source) for (y, _), source in zip(found, sources, strict=True)),
                "" if named else "without a header",
            ),
            y=joined_labels([y for y, _ in found]),
            class_names=found[-1][1] if found else None,
            feature_names=self.feature_names if named else None,
            sample_names=None if self.names is None else tuple(map(str, texts[self.names])),
            settings=self._settings(),
            notes=self.notes,
        )

    def _settings(self) -> dict[str, str]:
        labels = {"labels": ",".join(self.header[place] for place in self.labels)} if self.labels else {}
        return labels if self.names is None else labels | {"names": self.header[self.names]}


def _label_places(header: Sequence[str], request: Request) -> tuple[int, ...]:
    """Return the indices of the columns of labels: one, or several that are separated by commas."""
    asked, remembered = request.labels, request.recipe_setting("labels")
    text = remembered if asked is None else asked
    if text is None:
        return ()
    names = [text] if text in header else [name.strip() for name in text.split(",")]
    places = [_place(header, request, "labels", None if asked is None else name, name) for name in names]
    return tuple(place for place in places if place is not None)


def _place(
    header: Sequence[str], request: Request, kind: str, asked: str | None, remembered: str | None = None
) -> int | None:
    """Return the index of the requested column; a column that only the recipe requests may be missing."""
    name = remembered or request.recipe_setting(kind) if asked is None else asked
    if name in header:
        return list(header).index(name)
    if asked is not None:
        raise _no_column(asked, header, request, kind)
    return None


# ------------------------------------------------------------------------------------- which are features


def _features(columns: Sequence[ColumnSample], request: Request, others: set[int | None]) -> tuple[int, ...]:
    """Return the columns that may be features: those of the model, the requested ones, or all others."""
    places = {column.name: j for j, column in enumerate(columns)}
    if request.wanted_features is not None and all(name in places for name in request.wanted_features):
        return tuple(places[name] for name in request.wanted_features)
    if request.columns is not None:
        return tuple(_known(name, places, request, "columns") for name in request.columns)
    dropped = {_known(name, places, request, "drop") for name in request.drop}
    return tuple(j for j in range(len(columns)) if j not in others and j not in dropped)


def _known(name: str, places: Mapping[str, int], request: Request, option: str) -> int:
    if name not in places:
        raise _no_column(name, places, request, option)
    return places[name]


def _no_column(name: str, known: Iterable[str], request: Request, option: str) -> ReadingError:
    return ReadingError(f"{request.path} has no column {name!r} for --{option}: closest are {closest(name, known)}.")


def _identifier(columns: Sequence[ColumnSample], features: Sequence[int]) -> tuple[int | None, list[str]]:
    """Return the first column of identifiers, which are names of samples and not measurements."""
    for j in features:
        if columns[j].is_identifier:
            return j, [f"Column {columns[j].name!r} identifies the samples and is used for their names."]
    return None, []


def _numbers(
    columns: Sequence[ColumnSample], features: Sequence[int], others: set[int | None]
) -> tuple[tuple[int, ...], list[str]]:
    """Return the features that are numbers or Booleans, and a sentence about the others."""
    candidates = [j for j in features if j not in others]
    kept = tuple(j for j in candidates if columns[j].kind in NUMBERS)
    left = [columns[j] for j in candidates if columns[j].kind not in NUMBERS]
    if not left:
        return kept, []
    shown = ", ".join(f"{column.name!r} ({_offer(column)})" for column in left[:MOST_NAMED])
    more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    return kept, [f"These columns are ignored because they are not numbers: {shown}{more}."]


def _offer(column: ColumnSample) -> str:
    """Describe a column without numbers, and the option by which it could be used."""
    if column.kind == "date":
        return "dates"
    name = shlex.quote(column.name)
    if column.is_repeated:
        return f"text with {column.n_different} values: --labels {name}"
    return f"text: --names {name}" if column.n_different == len(column.cells) else "text"


def _labels_by_question(columns: Sequence[ColumnSample], features: Sequence[int], request: Request) -> tuple[int, ...]:
    """Ask whether a column of numbers contains the labels; if nobody can be asked, warn that it is a feature."""
    for name in label_like([columns[j] for j in features]):
        place = next(j for j in features if columns[j].name == name)
        if request.ask is not None:
            if request.ask(f"Column {name!r} has {columns[place].n_different} different numbers. Are they labels?"):
                return (place,)
            continue
        warnings.warn(
            f"{request.path}: column {name!r} is used as a feature; pass --labels {shlex.quote(name)} if it contains "
            "labels.",
            UserWarning,
            stacklevel=2,
        )
    return ()


def _check_features(columns: Sequence[ColumnSample], features: Sequence[int], request: Request) -> None:
    if not features:
        raise ReadingError(
            f"{request.path} has no columns of numbers besides labels and names: expected at least one feature."
        )
    _check_names([columns[j].name for j in features], request)


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
            columns = Columns.of(file.schema_arrow.names, request, _samples(file))
            X, texts = _rows(file, columns, request)
    except pyarrow.ArrowInvalid as error:
        raise ReadingError(f"{request.path} is not a valid .parquet file: {library_message(error)}.") from error
    return columns.dataset(X, texts, request)


def _samples(file: Any) -> list[list[str]]:
    """Return the first cells of each column as text; null is empty."""
    batch = next(file.iter_batches(SAMPLE_ROWS), None)
    if batch is None:
        return [[] for _ in file.schema_arrow.names]
    return [["" if cell is None else str(cell) for cell in column.to_pylist()] for column in batch.columns]


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
