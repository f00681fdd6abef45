"""Which files of a folder belong to a result: a list of their names and digests, in the folder itself."""

import hashlib
import stat
from pathlib import Path
from typing import Any

from deepnmf.cli.plain import as_json
from deepnmf.untrusted import of_type, parsed

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
