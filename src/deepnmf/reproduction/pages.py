"""What pages of measurements have in common."""

import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from deepnmf.version import __version__

__all__ = ["commit", "machine", "source", "table", "versions"]

HERE = Path(__file__).parent


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown.

    Examples
    --------
    >>> print(table(["k", "accuracy"], [[2, 0.5]]))
    | k | accuracy |
    | --- | --- |
    | 2 | 0.5 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def machine() -> str:
    """The processor, its cores and the memory."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, {memory:.0f} GB of memory"


def versions(packages: Iterable[str] = ("numpy", "scipy", "scikit-learn")) -> str:
    """Which versions of packages are installed, and which are not."""
    return ", ".join(f"{package} {_version(package) or '(not installed)'}" for package in packages)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def commit() -> str:
    """The commit that deepnmf runs from, marked where files were changed; empty outside of a repository."""
    found = _git("rev-parse", "--short", "HEAD")
    return f"{found} with changes" if found and _git("status", "--porcelain", "--", str(HERE.parent)) else found


def source() -> str:
    """What tells one state of the source from another: the tree of the package in git, or else the version."""
    tree = _git("rev-parse", "--short", "HEAD:./")
    changes = _git("status", "--porcelain", "--", ".")
    return f"{tree} with changes" if tree and changes else tree or __version__


def _git(*arguments: str) -> str:
    """What git says of the folder of the package; nothing if that is in no repository of git."""
    try:
        said = subprocess.run(["git", *arguments], cwd=HERE.parent, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
