"""The reader of each format, and the function `read`."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deepnmf.reading import delimited, hdf5, images, matlab, matrix_files, sounds, tables, texts
from deepnmf.reading.dataset import (
    Dataset,
    OnBytes,
    ReadingError,
    Recipe,
    Request,
    closest,
    count_text,
    library_message,
)
from deepnmf.reading.folder_files import Files


@dataclass(frozen=True)
class Format:
    """A reader and its options."""

    reader: Callable[[Request], Dataset]
    options: frozenset[str]


def _format(reader: Callable[[Request], Dataset], *options: str) -> Format:
    return Format(reader, frozenset(options))


def read_folder(request: Request) -> Dataset:
    """Read images or sounds, otherwise texts: a text file beside images is ignored."""
    pictures = Files.below(request.path, images.SUFFIXES)
    recordings = Files.below(request.path, sounds.SUFFIXES)
    if pictures.paths and recordings.paths:
        raise ReadingError(
            f"{request.path} contains {count_text(len(pictures.paths), 'image')} and "
            f"{count_text(len(recordings.paths), 'sound')}: expected one kind."
        )
    if request.size is not None and not pictures.paths:
        raise ReadingError(f"{request.path} contains no images: --size cannot be used.")
    if (request.stop_words, request.ngrams) != (None, None) and (pictures.paths or recordings.paths):
        raise ReadingError(f"{request.path} contains no texts: --stop-words and --ngrams cannot be used.")
    if pictures.paths:
        return images.read_images(pictures, request)
    if recordings.paths:
        return sounds.read_sounds(recordings, request)
    documents = Files.below(request.path, texts.SUFFIXES)
    if documents.paths:
        return texts.read_texts(documents, request)
    expected = ", ".join((*images.SUFFIXES, *sounds.SUFFIXES, *texts.SUFFIXES))
    raise ReadingError(f"{request.path} contains no readable files: expected files ending in {expected}.")


SUFFIXES = {
    ".npy": _format(matrix_files.read_npy, "size"),
    ".npz": _format(matrix_files.read_npz, "labels", "key", "size"),
    ".csv": _format(delimited.read_delimited, "labels", "names", "size", "columns", "drop"),
    ".tsv": _format(delimited.read_delimited, "labels", "names", "size", "columns", "drop"),
    ".parquet": _format(tables.read_parquet, "labels", "names", "size", "columns", "drop"),
    ".mat": _format(matlab.read_mat, "labels", "key", "size"),
    ".h5ad": _format(hdf5.read_h5ad, "labels", "key"),
    ".h5mu": _format(hdf5.read_h5mu, "labels", "key"),
    ".jsonl": _format(texts.read_jsonl, "labels", "names", "stop_words", "ngrams"),
    ".wav": _format(sounds.read_wav),
}
WHITE = 255  # of images of 8 bits
FOLDER = _format(read_folder, "size", "stop_words", "ngrams")
OPTIONS = ("labels", "names", "key", "size", "columns", "drop", "stop_words", "ngrams")


def read(
    path: str | os.PathLike[str],
    *,
    labels: str | None = None,
    names: str | None = None,
    key: str | None = None,
    size: tuple[int, int] | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    stop_words: str | None = None,
    ngrams: int | None = None,
    like: Recipe | None = None,
    on_bytes: OnBytes | None = None,
    ask: Callable[[str], bool] | None = None,
) -> Dataset:
    """Read a file, or a folder of images, texts or sounds.

    Parameters
    ----------
    path : str or path
        ``.npy``, ``.npz`` (dense, scipy's sparse form, or CSR parts), ``.csv``, ``.tsv``, ``.parquet``, ``.mat``,
        ``.h5ad``, ``.h5mu``, ``.jsonl`` of texts, ``.wav``, or a folder of images, ``.txt`` or ``.wav`` files, whose
        subfolders are classes. Images of 8 and 16 bits become gray levels from 0 to 1; 32-bit integers and floats are
        read as they are stored. Images are rotated according to their EXIF data.
    labels : str, optional
        The column, field or array of labels; of a table also several columns, separated by commas. By default ``y`` in
        ``.npz``, ``gnd`` in ``.mat`` and ``label`` in ``.jsonl``, where they exist.
    names : str, optional
        The column or field of the names of the samples.
    key : str, optional
        The array that is X, in ``.npz`` and ``.mat``; the layer of an ``.h5ad`` file; the modality of an ``.h5mu``
        file, or ``modality/layer``.
    size : (int, int), optional
        Height and width. Images of a folder are resized to it, by default to 32 x 32 if their sizes differ; rows of a
        file are interpreted as images of this size.
    columns : sequence of str, optional
        The columns of a table that are features. By default these are all columns of numbers and Booleans (0 and 1)
        except labels, names and identifiers; columns of dates and texts are ignored, see `Dataset.notes`.
    drop : sequence of str
        Columns of a table to be ignored.
    stop_words : str, optional
        Words of texts to be ignored: "english", or the path of a text file of words.
    ngrams : int, optional
        Phrases of up to `ngrams` words count as words, too.
    like : Recipe, optional
        The recipe of a file read earlier, which determines columns, words, sizes and rates.
    on_bytes : callable, optional
        ``on_bytes(read, total)`` is called while a large table is read.
    ask : callable, optional
        ``ask(question)`` is called if a column of numbers looks like labels; the column is used as labels if it returns
        True. By default such a column is a feature, with a warning.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from deepnmf.reading import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.npy"
    ...     np.save(path, np.ones((3, 4)))
    ...     data = read(path)
    >>> data.description
    'rows.npy: 3 samples of 4 features.'
    """
    request = Request(
        Path(path),
        labels=labels,
        names=names,
        key=key,
        size=size,
        like=like,
        on_bytes=on_bytes,
        columns=None if columns is None else tuple(columns),
        drop=tuple(drop),
        ask=ask,
        stop_words=stop_words,
        ngrams=ngrams,
    )
    try:
        found = _read(request)
    except ReadingError:
        raise
    except OSError as error:
        raise ReadingError(f"{path} cannot be read: {error.strerror or library_message(error)}.") from error
    except Exception as error:  # a damaged file can raise any error in its parser
        raise ReadingError(f"{path} is not a valid {_noun(request.path)}: {library_message(error)}.") from error
    return _as_floats(_as_images(_aligned(_checked(found, request.path), request), request))


def _read(request: Request) -> Dataset:
    chosen = _chosen(request.path)
    for option in OPTIONS:
        if getattr(request, option) not in (None, ()) and option not in chosen.options:
            name = option.replace("_", "-")
            raise ReadingError(f"{request.path}: --{name} cannot be used for a {_noun(request.path)}.")
    return chosen.reader(request)


def _chosen(path: Path) -> Format:
    if not path.exists():
        raise ReadingError(f"There is no file or folder {path}.")
    if path.is_dir():
        return FOLDER
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ReadingError(
            f"{path} ends in {suffix or 'nothing'!r}: expected {', '.join(SUFFIXES)}, "
            "or a folder of images, texts or sounds."
        )
    if path.stat().st_size == 0:
        raise ReadingError(f"{path} is empty.")
    return SUFFIXES[suffix]


def _noun(path: Path) -> str:
    return "folder" if path.is_dir() else f"{path.suffix.lower()} file"


def _checked(data: Dataset, path: Path) -> Dataset:
    """Raise an error unless X is a matrix of real numbers."""
    X = data.X
    if X.ndim != 2 or not (np.issubdtype(X.dtype, np.number) or X.dtype == bool) or np.iscomplexobj(X):
        raise ReadingError(f"{path} contains {X.dtype} of shape {X.shape}: expected a matrix of real numbers.")
    if 0 in X.shape:
        raise ReadingError(
            f"{path} contains a matrix of shape {X.shape}: expected at least one sample and one feature."
        )
    return data


def _as_images(data: Dataset, request: Request) -> Dataset:
    """Mark the rows as images if a size was given, or the image shape of the model fits."""
    known = None if request.like is None else request.like.image_shape
    shape, n_features = data.image_shape or request.size or known, data.X.shape[1]
    if shape is None or math.prod(shape) != n_features:
        if request.size is not None:
            height, width = request.size
            raise ReadingError(f"{request.path} has {n_features} features: --size {height}x{width} does not fit.")
        return data
    return replace(data, kind="images", image_shape=shape)


def _as_floats(data: Dataset) -> Dataset:
    """Return images of bytes as gray levels from 0 to 1; other numbers keep their values."""
    X = data.X
    if data.image_shape is not None and X.dtype == np.uint8:
        return replace(data, X=X / WHITE)
    return data if X.dtype in (np.float32, np.float64) else replace(data, X=X.astype(np.float64))


def _aligned(data: Dataset, request: Request) -> Dataset:
    """Put the columns into the order of the recipe, if both have names."""
    wanted, found = request.wanted_features, data.feature_names
    if wanted is None or found is None or wanted == found:
        return data
    places = {name: j for j, name in enumerate(found)}
    for name in wanted:
        if name not in places:
            raise ReadingError(
                f"{request.path} has no column {name!r}, which the model was fitted on: "
                f"closest are {closest(name, found)}."
            )
    return replace(data, X=data.X[:, [places[name] for name in wanted]], feature_names=wanted)
