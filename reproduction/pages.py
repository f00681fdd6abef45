"""Functions that write the page of an experiment, and that all pages of measurements share."""

import os
import platform
import subprocess
import warnings
from collections.abc import Iterable, Sequence, Sized
from importlib import metadata
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

import deepnmf
from deepnmf import HierarchyWarning, __version__
from reproduction.experiment import Data, Experiment, Plan, Results, results_path

__all__ = ["commit", "counted", "made_by", "run_git", "source", "table", "write_page"]

FOLDERS = (Path(deepnmf.__file__).parent, Path(__file__).parent)  # the numbers depend on the state of these folders
CHANGED = " with changes"


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(table(["k", "accuracy"], [[2, 0.5]]))
    | k | accuracy |
    | --- | --- |
    | 2 | 0.5 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def counted(items: Sized, noun: str) -> str:
    """Return the number of items with their noun, in the plural unless there is one."""
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def machine() -> str:
    """Return a description of the processor, its cores and the memory."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, {memory:.0f} GB of memory"


def versions(packages: Iterable[str] = ("numpy", "scipy", "scikit-learn")) -> str:
    """Return the versions of packages, and which packages are not installed."""
    return ", ".join(f"{package} {_version(package) or '(not installed)'}" for package in packages)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def commit() -> str:
    """Return the commit of deepnmf and the experiments, marked if files have changed; empty outside of git."""
    states = [_tree(folder) for folder in FOLDERS]
    if not all(states):
        return ""
    found = run_git(FOLDERS[0], "rev-parse", "--short", "HEAD")
    return f"{found}{CHANGED}" if any(state.endswith(CHANGED) for state in states) else found


def source() -> str:
    """Return an identifier of the source: the trees of both folders in git, or the version if there are none."""
    return ", ".join(f"{folder.name} {_tree(folder) or __version__}" for folder in FOLDERS)


def _tree(folder: Path) -> str:
    """Return the tree of a folder in git, marked if files have changed; empty if the folder is not in git."""
    tree = run_git(folder, "rev-parse", "--short", "HEAD:./")
    return f"{tree}{CHANGED}" if tree and run_git(folder, "status", "--porcelain", "--", ".") else tree


def run_git(folder: Path, *arguments: str) -> str:
    """Return the output of git in a folder, or an empty string if git is missing or fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def write_page(experiment: Experiment, results: Results, data: Data, plan: Plan, folder: Path, command: str) -> Path:
    """Write the rows, pictures and page to a folder, and return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    path = results_path(folder, experiment.name)
    results.write_csv(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", HierarchyWarning)
        pictures = experiment.draw(results, data, plan, folder)
    seconds = sum(results.column("trial_seconds"))
    made = f"{made_by(command)} {seconds:.0f} s of one core. [Every trial]({path.name})."
    page = folder / f"{experiment.name}.md"
    page.write_text("\n\n".join([f"# {experiment.title}", made, experiment.page(results), *pictures]) + "\n")
    return page


def made_by(command: str) -> str:
    """Return a sentence with the command, the commit, the versions and the machine of a page."""
    return f"Made by `{command}` from deepnmf {__version__}{_at(commit())}, {versions()}; {machine()}."


def _at(commit: str) -> str:
    return f" (commit {commit})" if commit else ""
