"""Places that results cannot go to, refused before hours are spent on them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deepnmf.cli.failing import Exit, Failure
from deepnmf.cli.manifest import result_files


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
