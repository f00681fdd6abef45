"""Files that are whole or not there: made beside their place, and moved when complete."""

import secrets
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.destinations import result_files, writable, write_manifest
from deepnmf.cli.safe_text import as_json, encodable, spreadsheet_text

if TYPE_CHECKING:
    from deepnmf.arrays import Array


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `folder` when it is complete."""
    place = folder.resolve()
    with writable("--output", folder), _workspace(place.parent) as new:
        yield new
        write_manifest(new)
        earlier = new.with_name("earlier")
        _exchange(new, place, earlier)
        _discard(earlier, place)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write, which takes the place of `path` when it is complete."""
    place = path.resolve()
    with writable("--output", path), _workspace(place.parent) as new:
        yield new / place.name
        (new / place.name).replace(place)


# ------------------------------------------------------------------------------------------- contents


def write_json(path: Path, content: Any) -> None:
    """Numbers, text and lists, to be read by people too."""
    path.write_text(as_json(content, indent=2) + "\n", encoding="utf-8")


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Columns as ``.parquet`` or ``.csv``, by the name of the file."""
    import pyarrow
    from pyarrow import csv, parquet

    is_parquet = path.suffix.lower() == ".parquet"
    safe = encodable if is_parquet else _csv_text
    table = pyarrow.table({heading: _with_texts(column, safe) for heading, column in columns.items()})
    with path.open("wb") as file:
        if is_parquet:
            parquet.write_table(table, file)
        else:
            file.write(f"{','.join(columns)}\n".encode())  # pyarrow would quote every name
            csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="needed"))


def _with_texts(column: Any, safe: Callable[[str], str]) -> Any:
    """A column whose texts are safe to write; only lists may have any."""
    if not isinstance(column, list):
        return column
    return [safe(value) if isinstance(value, str) else value for value in column]


def _csv_text(text: str) -> str:
    return spreadsheet_text(encodable(text))


def write_codes(path: Path, codes: "Array", sample_names: Sequence[str] | None) -> None:
    """One row a sample, after its name where it has one."""
    named = {} if sample_names is None else {"sample": list(sample_names)}
    write_table(path, named | {f"code_{j + 1}": column for j, column in enumerate(codes.T)})


# ------------------------------------------------------------------------------------------ workspace


@contextmanager
def _workspace(parent: Path) -> Iterator[Path]:
    """A folder for what is not complete yet; its name is short, whatever the name of the result."""
    workspace = parent / f".deepnmf-{secrets.token_hex(8)}"
    with _made_parents(parent):
        workspace.mkdir()
        try:
            (workspace / "new").mkdir()
            yield workspace / "new"
        finally:
            shutil.rmtree(workspace / "new", ignore_errors=True)
            with suppress(OSError):  # what could not be discarded stays
                workspace.rmdir()


def _exchange(new: Path, place: Path, earlier: Path) -> None:
    """Move a folder to its place, and what was there to `earlier`; if that fails, everything is as before."""
    try:
        if place.exists():
            place.rename(earlier)
        new.rename(place)
    except BaseException:
        if earlier.exists() and not place.exists():
            earlier.rename(place)
        raise


def _discard(earlier: Path, place: Path) -> None:
    """Remove the files of an earlier result; anything that came to its folder during the fit stays."""
    if not earlier.exists():
        return
    with suppress(OSError):
        for path in result_files(earlier):
            path.unlink()
        earlier.rmdir()
    if earlier.exists():
        warnings.warn(
            f"{place} has the new result, but not all that was there before could be removed or is a result of "
            f"deepnmf: the rest is in {earlier}.",
            UserWarning,
            stacklevel=2,
        )


@contextmanager
def _made_parents(folder: Path) -> Iterator[None]:
    """Make the folders on the way, which are removed again if nothing is written into them."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise
