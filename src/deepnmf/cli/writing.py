"""Files that are whole or not there: made beside their place, and moved when complete."""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.failing import Exit, Failure
from deepnmf.cli.plain import as_json

if TYPE_CHECKING:
    from deepnmf.arrays import Array

OURS = (
    "*.safetensors",
    "settings.json",
    "reading.json",
    "loss.csv",
    "codes_*",
    "scores.csv",
    "report.html",
    "comparison.html",
)


def check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse a place that results cannot go to, before hours are spent on them."""
    if folder.exists() and not folder.is_dir():
        raise Failure(f"--output is {folder}, but a file is in the way: expected a folder.", Exit.UNWRITABLE)
    if folder.resolve() == Path.cwd():
        raise Failure(f"--output is {folder}, the folder you are in: expected another one.", Exit.UNWRITABLE)
    _check_ground(folder)
    content = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    foreign = [name for name in content if not _is_ours(name)]
    if foreign:
        raise Failure(
            f"--output is {folder}, which is not empty: it holds {foreign[0]}, which is no result of deepnmf's.",
            Exit.UNWRITABLE,
        )
    if content and not overwrite:
        raise Failure(
            f"--output is {folder}, which is not empty: pass --overwrite to replace an earlier result.",
            Exit.UNWRITABLE,
        )


def check_file(path: Path, overwrite: bool) -> None:
    """The same for a single file."""
    if path.is_dir():
        raise Failure(f"--output is {path}, which is a folder: expected a file.", Exit.UNWRITABLE)
    _check_ground(path)
    if path.exists() and not overwrite:
        raise Failure(f"--output is {path}, which is there already: pass --overwrite to replace it.", Exit.UNWRITABLE)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `folder` when it is complete."""
    place = folder.resolve()
    beside, old = (place.with_name(f".{place.name}.{os.getpid()}.{kind}") for kind in ("new", "old"))
    with _written(folder), _made_parents(place.parent):
        beside.mkdir()
        try:
            yield beside
            if place.exists():
                place.rename(old)
            beside.rename(place)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
            if old.exists() and not place.exists():
                old.rename(place)
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write, which takes the place of `path` when it is complete."""
    place = path.resolve()
    beside = place.with_name(f".{os.getpid()}.{place.name}")
    with _written(path), _made_parents(place.parent):
        try:
            yield beside
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------- contents


def write_json(path: Path, content: Any) -> None:
    """Numbers, text and lists, to be read by people too."""
    path.write_text(as_json(content, indent=2) + "\n", encoding="utf-8")


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Columns as ``.parquet`` or ``.csv``, by the name of the file."""
    import pyarrow
    from pyarrow import csv, parquet

    table = pyarrow.table(columns)
    with path.open("wb") as file:
        if path.suffix.lower() == ".parquet":
            parquet.write_table(table, file)
        else:
            file.write(f"{','.join(columns)}\n".encode())  # pyarrow would quote every name
            csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="needed"))


def write_codes(path: Path, codes: "Array", sample_names: Sequence[str] | None) -> None:
    """One row a sample, after its name where it has one."""
    named = {} if sample_names is None else {"sample": list(sample_names)}
    write_table(path, named | {f"code_{j + 1}": column for j, column in enumerate(codes.T)})


# --------------------------------------------------------------------------------------------- places


def _is_ours(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in OURS)


def _check_ground(path: Path) -> None:
    """Refuse where the nearest folder there is takes no files."""
    ground = next(parent for parent in path.resolve().parents if parent.exists())
    if not ground.is_dir():
        raise Failure(f"--output is {path}, but {ground} is a file: expected a folder.", Exit.UNWRITABLE)
    if not os.access(ground, os.W_OK | os.X_OK):
        raise Failure(f"--output is {path}, but nothing may be written into {ground}.", Exit.UNWRITABLE)


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os.strerror(errno.ENOSPC) if error.errno == errno.ENOSPC else error.strerror or error
        raise Failure(f"--output is {path}, but it cannot be written: {reason}.", Exit.UNWRITABLE) from error


@contextmanager
def _made_parents(folder: Path) -> Iterator[None]:
    """Folders on the way, which go again if nothing comes to lie in them."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for parent in missing:
            parent.rmdir()
        raise
