"""Destinations of results, checked before the fit begins; a manifest identifies the files of an earlier result."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deepnmf.cli.exits import CommandError, ExitCode
from deepnmf.cli.safe_text import json_text
from deepnmf.untrusted import of_type, parsed


def check_folder(folder: Path, overwrite: bool) -> None:
    """Raise an error if the folder cannot be created, or contains anything but an earlier result."""
    with explained_write_errors("--output", folder):
        _check_parent_folder("--output", folder)
        if folder.exists():
            _check_replaceable(folder)
            _check_content(folder, overwrite)


def check_file(path: Path, overwrite: bool) -> None:
    """Raise an error if the file cannot be created, or exists and may not be replaced."""
    with explained_write_errors("--output", path):
        _check_no_folder("--output", path)
        _check_parent_folder("--output", path)
        if path.exists() and not overwrite:
            raise _destination_error("--output", path, "which already exists: pass --overwrite to replace it.")


def check_checkpoint(path: Path, results: Path) -> None:
    """Raise an error if the checkpoint cannot be created, or lies in the folder of the results."""
    with explained_write_errors("--checkpoint", path):
        place = path.resolve()
        _check_no_folder("--checkpoint", path)
        if results.resolve() in place.parents:
            raise _destination_error("--checkpoint", path, f"which is in {results}: expected a file outside --output.")
        if not place.parent.exists():
            raise _destination_error(
                "--checkpoint", path, f"but there is no folder {place.parent}: expected an existing folder."
            )
        _check_parent_folder("--checkpoint", path)


@contextmanager
def explained_write_errors(option: str, path: Path) -> Iterator[None]:
    """Turn an error of the file system into one sentence that names the option."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise _destination_error(option, path, f"but it cannot be written: {reason}.") from error


def _check_parent_folder(option: str, path: Path) -> None:
    """Raise an error if the nearest existing folder is not writable, or the name is too long for it."""
    place = path.resolve()
    existing = next((parent for parent in place.parents if parent.exists()), place)
    if not existing.is_dir():
        raise _destination_error(option, path, f"but {existing} is a file: expected a folder.")
    _check_access(option, path, existing)
    for name in place.relative_to(existing).parts:
        with suppress(FileNotFoundError):
            os.lstat(existing / name)  # raises an error if the name is too long for the file system


def _check_access(option: str, path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _destination_error(option, path, f"but the folder {folder} is not writable.")


def _check_no_folder(option: str, path: Path) -> None:
    if path.is_dir():
        raise _destination_error(option, path, "which is a folder: expected a file.")


def _check_replaceable(folder: Path) -> None:
    """Raise an error if another folder cannot replace this one."""
    if not folder.is_dir():
        raise _destination_error("--output", folder, "which is a file: expected a folder.")
    if folder.resolve() == Path.cwd():
        raise _destination_error("--output", folder, "which is the current folder: expected another one.")
    if os.path.ismount(folder.resolve()):
        raise _destination_error("--output", folder, "which is a mount point: expected a folder below it.")
    _check_access("--output", folder, folder)


def _check_content(folder: Path, overwrite: bool) -> None:
    content = sorted(folder.iterdir())
    foreign = sorted(set(content) - set(result_files(folder)))
    if foreign:
        raise _destination_error(
            "--output",
            folder,
            f"which is not empty: {foreign[0].name} is not in the manifest of an earlier result, or was changed since.",
        )
    if content and not overwrite:
        raise _destination_error(
            "--output", folder, "which is not empty: pass --overwrite to replace an earlier result."
        )


def _destination_error(option: str, path: Path, reason: str) -> CommandError:
    return CommandError(f"{option} is {path}, {reason}", ExitCode.UNWRITABLE)


# -------------------------------------------------------------------------------------- the manifest


MANIFEST, FORMAT = "manifest.json", "deepnmf-result-1"


def write_manifest(folder: Path) -> None:
    """Write the names and digests of all files of a complete result."""
    digests = {path.name: _digest(path) for path in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(manifest_text(digests), encoding="utf-8")


def manifest_text(digests: dict[str, Any]) -> str:
    """Return the content of a manifest; a file with any other content is not a manifest."""
    return json_text({"format": FORMAT, "files": digests}, indent=2) + "\n"


def result_files(folder: Path) -> list[Path]:
    """Return the files that a fit wrote and that are unchanged since, the manifest last.

    Only files directly in the folder are considered: other paths, links and folders in a manifest have no effect.
    """
    digests = _read_digests(folder / MANIFEST)
    if digests is None:
        return []
    return [path for path in sorted(folder.iterdir()) if _is_unchanged(path, digests)] + [folder / MANIFEST]


def _read_digests(manifest: Path) -> dict[str, Any] | None:
    """Return the digests by file name, or None if there is no valid manifest."""
    try:
        text = manifest.read_text(encoding="utf-8") if _is_file(manifest) else "{}"
        digests = of_type(parsed(text).get("files"), dict, "files")
        return digests if text == manifest_text(digests) else None
    except ValueError:
        return None


def _is_unchanged(path: Path, digests: dict[str, Any]) -> bool:
    return path.name in digests and _is_file(path) and digests[path.name] == _digest(path)


def _is_file(path: Path) -> bool:
    """Whether the path is a regular file and not a link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
