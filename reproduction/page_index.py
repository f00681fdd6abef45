"""A table of all pages of measurements, with their commands and commits, and whether the library's code has changed."""

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import deepnmf
from reproduction.pages import run_git, table

__all__ = ["changed_modules", "changes_since", "command_of", "last_commit", "page_table"]

COMMAND = re.compile(r"`(python [^`]+)`")
COMMIT = re.compile(r"\bcommit ([0-9a-f]{7,40})\b", flags=re.IGNORECASE)
CONFIRMED = re.compile(r"\bRun again at commit ([0-9a-f]{7,40})\b")


def page_table(folders: Iterable[Path]) -> str:
    """Return a table in Markdown with one row per page."""
    pages = sorted(path for folder in folders for path in folder.glob("*.md"))
    head = ["page", "command", "commit", "files of the library with other code now"]
    return table(head, [_line(path) for path in pages])


def _line(path: Path) -> list[str]:
    """Return one row."""
    confirmed, commits = _first(CONFIRMED, path), _commits(path)
    described = ", ".join(commits) + (f", confirmed at {confirmed}" if confirmed else "")
    changed = changed_modules(path) if commits else ""
    return [str(path), command_of(path), described, "unknown" if changed is None else str(changed)]


def changed_modules(path: Path) -> int | None:
    """Return the number of modules of the library whose code has changed since a page was made or confirmed.

    The result is None if the page does not exist, or if it names no commit or one that is not in the history. If its
    parts have different commits, the oldest counts.
    """
    confirmed = _first(CONFIRMED, path)
    changes = [changes_since(commit) for commit in ([confirmed] if confirmed else _commits(path))]
    known = [number for number in changes if number is not None]
    return max(known) if known and len(known) == len(changes) else None


def _commits(path: Path) -> list[str]:
    """Return the commits at which the parts of a page were made."""
    return list(dict.fromkeys(COMMIT.findall(CONFIRMED.sub("", path.read_text())))) if path.exists() else []


def command_of(path: Path) -> str:
    """Return the command that made a page, or an empty string if the page does not name it."""
    return _first(COMMAND, path)


def last_commit(path: Path) -> str:
    """Return the commit at which a page was made or last confirmed, or an empty string if it names none."""
    return _first(CONFIRMED, path) or _first(COMMIT, path)


def _first(pattern: re.Pattern[str], path: Path) -> str:
    found = pattern.search(path.read_text()) if path.exists() else None
    return found[1] if found else ""


@cache
def changes_since(commit: str) -> int | None:
    """Return the number of modules of the library whose code has changed; comments and docstrings do not count.

    The result is None if the commit is not in the history.
    """
    library = Path(deepnmf.__file__).parent
    if not run_git(library, "rev-parse", "--verify", f"{commit}^{{commit}}"):
        return None
    names = run_git(library, "diff", "--name-only", "--relative", commit, "--", "*.py").splitlines()
    return sum(_code_at(commit, library / name) != _code_of(library / name) for name in names)


def _code_at(commit: str, path: Path) -> str:
    return _without_docstrings(run_git(path.parent, "show", f"{commit}:./{path.name}"))


def _code_of(path: Path) -> str:
    return _without_docstrings(path.read_text() if path.exists() else "")


def _without_docstrings(source: str) -> str:
    r"""Return the syntax tree of a module without docstrings, as text.

    Examples
    --------
    >>> _without_docstrings("x = 1  # one") == _without_docstrings("'''A number.'''\nx = 1")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
