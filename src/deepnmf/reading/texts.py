"""Texts, one per file or one per line of JSON, as weights of words (tf-idf)."""

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from deepnmf.arrays import Matrix
from deepnmf.reading.classes import class_count_text, classes
from deepnmf.reading.dataset import (
    Dataset,
    Names,
    ReadingError,
    Request,
    closest,
    description_of,
    library_message,
    size_text,
)
from deepnmf.reading.folder_files import Files

SUFFIXES = (".txt",)
SEVERAL = 20  # from this many texts on, words in only one text or in most texts are ignored
TEXT, LABEL = "text", "label"
ENGLISH = "english"  # scikit-learn's list of stop words


def read_texts(files: Files, request: Request) -> Dataset:
    """Read one text per ``.txt`` file."""
    y, class_names, source = files.classes()
    texts = tuple(_content(path) for path in files.paths)
    X, words, settings = _tfidf(texts, request)
    return Dataset(
        X,
        "texts",
        description_of(files.folder, size_text(X, "text", "word"), class_count_text(y, source)),
        y=y,
        class_names=class_names,
        feature_names=words,
        sample_names=files.names,
        texts=texts,
        settings=settings,
    )


def read_jsonl(request: Request) -> Dataset:
    """Read one object per line, with a ``text`` and optionally a ``label``."""
    records = list(_records(request.path))
    label = request.labels or request.recipe_setting("labels") or LABEL
    y, class_names = _labels(records, label, request)
    texts = tuple(record[TEXT] for record in records)
    X, words, settings = _tfidf(texts, request)
    return Dataset(
        X,
        "texts",
        description_of(request.path, size_text(X, "text", "word"), class_count_text(y, f"in {label!r}")),
        y=y,
        class_names=class_names,
        feature_names=words,
        sample_names=_names(records, request),
        texts=texts,
        settings=settings | {"labels": label} | ({} if request.names is None else {"names": request.names}),
    )


# --------------------------------------------------------------------------------------------- words


def _tfidf(documents: Sequence[str], request: Request) -> tuple[Matrix, Names, dict[str, Any]]:
    """Return the weights, the words, and the settings to weight other texts in the same way."""
    if request.like is not None and request.like.kind == "texts" and request.recipe_setting("idf"):
        vectorizer = _recipe_vectorizer(request)
        return vectorizer.transform(documents), request.like.feature_names or (), dict(request.like.settings)
    vectorizer = _fitted_vectorizer(documents, request)
    X = vectorizer.transform(documents)
    settings = {"idf": vectorizer.idf_.tolist(), "ngrams": vectorizer.ngram_range[1]}
    if request.stop_words is not None and request.ngrams is not None:
        settings["stop_words"] = sorted(vectorizer.get_stop_words())  # phrases are made of the remaining words
    return X, tuple(vectorizer.get_feature_names_out().tolist()), settings


def _fitted_vectorizer(documents: Sequence[str], request: Request) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    rare, common = (2, 0.5) if len(documents) >= SEVERAL else (1, 1.0)
    try:
        return TfidfVectorizer(
            min_df=rare, max_df=common, stop_words=_stop_words(request.stop_words), ngram_range=(1, request.ngrams or 1)
        ).fit(documents)
    except ValueError as error:
        raise ReadingError(f"{request.path} contains no words: {library_message(error)}.") from error


def _stop_words(given: str | None) -> Any:
    """Return scikit-learn's English words by their name, or the words of a text file."""
    if given is None or given == ENGLISH:
        return given
    if not Path(given).is_file():
        raise ReadingError(f"--stop-words is {given!r}: expected {ENGLISH}, or a text file of words.")
    return sorted(set(_content(Path(given)).lower().split()))


def _recipe_vectorizer(request: Request) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    assert request.like is not None
    vectorizer = TfidfVectorizer(
        vocabulary=request.like.feature_names,
        ngram_range=(1, request.recipe_setting("ngrams") or 1),
        stop_words=request.recipe_setting("stop_words"),
    )
    vectorizer.idf_ = np.array(request.recipe_setting("idf"))
    return vectorizer


# --------------------------------------------------------------------------------------------- files


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadingError(f"{path} is not text in UTF-8: {error.reason} at byte {error.start}.") from error


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_content(path).split("\n"), start=1):
        if line.strip():
            yield _record(line, f"{path}, line {number}")


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_float=Decimal)  # keeps labels such as 9007199254740993.0 exact
    except json.JSONDecodeError as error:
        raise ReadingError(f"{where}, column {error.colno}: not JSON, {error.msg}.") from error
    if not isinstance(record, dict) or not isinstance(record.get(TEXT), str):
        raise ReadingError(f"{where}: expected an object with the field {TEXT!r}.")
    return record


def _labels(records: Sequence[dict[str, Any]], label: str, request: Request) -> Any:
    if not any(label in record for record in records):
        if request.labels is None:
            return None, None
        known = dict.fromkeys(name for record in records for name in record)
        raise ReadingError(f"{request.path} has no field {label!r} for --labels: closest are {closest(label, known)}.")
    values = [record.get(label) for record in records]
    wrong = next((value for value in values if isinstance(value, list | dict)), None)
    if wrong is not None:
        raise ReadingError(f"{request.path}, {label!r}: {wrong!r} is not a label: expected a text or a number.")
    return classes(np.array(values, dtype=object), len(records), f"{request.path}, {label!r}")


def _names(records: Sequence[dict[str, Any]], request: Request) -> Names | None:
    name = request.names or request.recipe_setting("names")
    if name is None:
        return None
    if request.names is not None and not all(name in record for record in records):
        raise ReadingError(f"{request.path} has no field {name!r} in every line for --names.")
    return tuple(str(record.get(name, "")) for record in records)
