"""Destinations of results, checked before the fit begins; an earlier result is known by its manifest."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deepnmf.cli.exits import Exit, Failure
from deepnmf.cli.safe_text import as_json
from deepnmf.untrusted import of_type, parsed


def check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that cannot be made, or that holds anything but an earlier result."""
    with writable("--output", folder):
        _check_ground("--output", folder)
        if folder.exists():
            _check_replaceable(folder)
            _check_content(folder, overwrite)


def check_file(path: Path, overwrite: bool) -> None:
    """Refuse a file that cannot be made, or that is there already."""
    with writable("--output", path):
        _check_no_folder("--output", path)
        _check_ground("--output", path)
        if path.exists() and not overwrite:
            raise _refusal("--output", path, "which is there already: pass --overwrite to replace it.")


def check_checkpoint(path: Path, results: Path) -> None:
    """Refuse a file for checkpoints that cannot be made, or that the results would displace."""
    with writable("--checkpoint", path):
        place = path.resolve()
        _check_no_folder("--checkpoint", path)
        if results.resolve() in place.parents:
            raise _refusal("--checkpoint", path, f"which is in {results}: expected a file outside --output.")
        if not place.parent.exists():
            raise _refusal("--checkpoint", path, f"but there is no folder {place.parent}: expected one that is there.")
        _check_ground("--checkpoint", path)


@contextmanager
def writable(option: str, path: Path) -> Iterator[None]:
    """Turn what the system says of a place into one sentence."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise _refusal(option, path, f"but it cannot be written: {reason}.") from error


def _check_ground(option: str, path: Path) -> None:
    """Refuse where the nearest folder there is takes no files, or none of this name."""
    place = path.resolve()
    ground = next((parent for parent in place.parents if parent.exists()), place)
    if not ground.is_dir():
        raise _refusal(option, path, f"but {ground} is a file: expected a folder.")
    _check_access(option, path, ground)
    for name in place.relative_to(ground).parts:
        with suppress(FileNotFoundError):
            os.lstat(ground / name)  # a name may be too long for the file system


def _check_access(option: str, path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refusal(option, path, f"but nothing may be written into {folder}.")


def _check_no_folder(option: str, path: Path) -> None:
    if path.is_dir():
        raise _refusal(option, path, "which is a folder: expected a file.")


def _check_replaceable(folder: Path) -> None:
    """Refuse what another folder cannot take the place of."""
    if not folder.is_dir():
        raise _refusal("--output", folder, "but a file is in the way: expected a folder.")
    if folder.resolve() == Path.cwd():
        raise _refusal("--output", folder, "the folder you are in: expected another one.")
    if os.path.ismount(folder.resolve()):
        raise _refusal("--output", folder, "where a file system begins: expected a folder below it.")
    _check_access("--output", folder, folder)


def _check_content(folder: Path, overwrite: bool) -> None:
    content = sorted(folder.iterdir())
    foreign = sorted(set(content) - set(result_files(folder)))
    if foreign:
        raise _refusal(
            "--output",
            folder,
            f"which is not empty: it holds {foreign[0].name}, which is not in the manifest of a result or was changed "
            "since.",
        )
    if content and not overwrite:
        raise _refusal("--output", folder, "which is not empty: pass --overwrite to replace an earlier result.")


def _refusal(option: str, path: Path, reason: str) -> Failure:
    return Failure(f"{option} is {path}, {reason}", Exit.UNWRITABLE)


# -------------------------------------------------------------------------------------- the manifest


MANIFEST, FORMAT = "manifest.json", "deepnmf-result-1"


def write_manifest(folder: Path) -> None:
    """List every file of a complete result."""
    digests = {path.name: _digest(path) for path in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(manifest_text(digests), encoding="utf-8")


def manifest_text(digests: dict[str, Any]) -> str:
    """The content of a manifest; a file with any other is none."""
    return as_json({"format": FORMAT, "files": digests}, indent=2) + "\n"


def result_files(folder: Path) -> list[Path]:
    """Files that a fit wrote and that nobody has changed since, the manifest last.

    Only entries of the folder are looked at, so a manifest that names other places, links or folders has no effect.
    """
    digests = _listed(folder / MANIFEST)
    if digests is None:
        return []
    return [path for path in sorted(folder.iterdir()) if _is_unchanged(path, digests)] + [folder / MANIFEST]


def _listed(manifest: Path) -> dict[str, Any] | None:
    """Digests by name, or None where there is no manifest of deepnmf."""
    try:
        text = manifest.read_text(encoding="utf-8") if _is_file(manifest) else "{}"
        digests = of_type(parsed(text).get("files"), dict, "files")
        return digests if text == manifest_text(digests) else None
    except ValueError:
        return None


def _is_unchanged(path: Path, digests: dict[str, Any]) -> bool:
    return path.name in digests and _is_file(path) and digests[path.name] == _digest(path)


def _is_file(path: Path) -> bool:
    """Whether it is a file itself, and not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
