"""Files and folders that are written completely or not at all: they are moved into place when complete."""

import secrets
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.destinations import explained_write_errors, result_files, write_manifest
from deepnmf.cli.safe_text import json_text, spreadsheet_text

if TYPE_CHECKING:
    from deepnmf.arrays import Array


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, which replaces `folder` when it is complete."""
    place = folder.resolve()
    with explained_write_errors("--output", folder), _workspace(place.parent) as new:
        yield new
        write_manifest(new)
        earlier = new.with_name("earlier")
        _swap(new, place, earlier)
        _discard(earlier, place)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `path` when it is complete."""
    place = path.resolve()
    with explained_write_errors("--output", path), _workspace(place.parent) as new:
        yield new / place.name
        (new / place.name).replace(place)


# ------------------------------------------------------------------------------------------- contents


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON."""
    path.write_text(json_text(content, indent=2) + "\n", encoding="utf-8")


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Write columns as ``.parquet`` or ``.csv``, depending on the name of the file."""
    import pyarrow
    from pyarrow import csv, parquet

    from deepnmf.reading.dataset import utf8_text

    is_parquet = path.suffix.lower() == ".parquet"
    safe = utf8_text if is_parquet else _csv_text
    table = pyarrow.table({heading: _safe_column(column, safe) for heading, column in columns.items()})
    with path.open("wb") as file:
        if is_parquet:
            parquet.write_table(table, file)
        else:
            file.write(f"{','.join(columns)}\n".encode())  # pyarrow would quote every name
            csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="needed"))


def _safe_column(column: Any, safe: Callable[[str], str]) -> Any:
    """Return a column with safe texts; only lists may contain texts."""
    if not isinstance(column, list):
        return column
    return [safe(value) if isinstance(value, str) else value for value in column]


def _csv_text(text: str) -> str:
    from deepnmf.reading.dataset import utf8_text

    return spreadsheet_text(utf8_text(text))


def write_codes(path: Path, codes: "Array", sample_names: Sequence[str] | None) -> None:
    """Write one row per sample, which begins with its name if there are names."""
    named = {} if sample_names is None else {"sample": list(sample_names)}
    write_table(path, named | {f"code_{j + 1}": column for j, column in enumerate(codes.T)})


# ------------------------------------------------------------------------------------------ workspace


@contextmanager
def _workspace(parent: Path) -> Iterator[Path]:
    """Yield a temporary folder; its name is short, however long the name of the result is."""
    workspace = parent / f".deepnmf-{secrets.token_hex(8)}"
    with _created_parents(parent):
        workspace.mkdir()
        try:
            (workspace / "new").mkdir()
            yield workspace / "new"
        finally:
            shutil.rmtree(workspace / "new", ignore_errors=True)
            with suppress(OSError):  # files of an earlier result that could not be removed stay
                workspace.rmdir()


def _swap(new: Path, place: Path, earlier: Path) -> None:
    """Move the folder `new` to `place`, and the one that was there to `earlier`; undo this after an error."""
    try:
        if place.exists():
            place.rename(earlier)
        new.rename(place)
    except BaseException:
        if earlier.exists() and not place.exists():
            earlier.rename(place)
        raise


def _discard(earlier: Path, place: Path) -> None:
    """Remove the files of an earlier result; other files in its folder are kept."""
    if not earlier.exists():
        return
    with suppress(OSError):
        for path in result_files(earlier):
            path.unlink()
        earlier.rmdir()
    if earlier.exists():
        warnings.warn(
            f"{place} contains the new result, but some earlier files could not be removed or are not results of "
            f"deepnmf: they are in {earlier}.",
            UserWarning,
            stacklevel=2,
        )


@contextmanager
def _created_parents(folder: Path) -> Iterator[None]:
    """Create missing parent folders; remove them after an error."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise
