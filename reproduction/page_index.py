"""A table of all pages of measurements, with their commands and commits, and the changes of the library since."""

import re
from collections.abc import Iterable
from pathlib import Path

import deepnmf
from reproduction.pages import run_git, table

__all__ = ["named_commit", "page_table"]

COMMAND = re.compile(r"`(python [^`]+)`")
COMMIT = re.compile(r"\bcommit ([0-9a-f]{7,40})\b", flags=re.IGNORECASE)


def page_table(folders: Iterable[Path]) -> str:
    """Return a table in Markdown with one row per page."""
    pages = sorted(path for folder in folders for path in folder.glob("*.md"))
    head = ["page", "command", "commit", "changes of the library since"]
    return table(head, [_line(path) for path in pages])


def _line(path: Path) -> list[str]:
    command, commit = _first(COMMAND, path), named_commit(path)
    return [str(path), command, commit, _changes_since(commit) if commit else ""]


def named_commit(path: Path) -> str:
    """Return the commit that a page names, or an empty string if there is none."""
    return _first(COMMIT, path)


def _first(pattern: re.Pattern[str], path: Path) -> str:
    found = pattern.search(path.read_text()) if path.exists() else None
    return found[1] if found else ""


def _changes_since(commit: str) -> str:
    """Return the number of commits to the library since a commit."""
    return run_git(Path(deepnmf.__file__).parent, "rev-list", "--count", f"{commit}..HEAD", "--", ".") or "unknown"
