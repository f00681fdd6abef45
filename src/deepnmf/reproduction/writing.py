"""The page of an experiment, with what it was made by."""

import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from deepnmf.reproduction.experiment import Data, Experiment, Plan
from deepnmf.reproduction.pages import commit, machine, versions
from deepnmf.reproduction.results import Results
from deepnmf.version import __version__

__all__ = ["write_page"]


def write_page(experiment: Experiment, results: Results, data: Data, plan: Plan, folder: Path, command: str) -> Path:
    """Write rows, pictures and page into a folder, and return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    results.write_csv(folder / f"{experiment.name}.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pictures = experiment.draw(results, data, plan, folder)
    made = (
        f"Made by `{command}` from deepnmf {__version__}{_at(commit())}, {versions()}; {machine()}. "
        f"{sum(results.column('trial_seconds')):.0f} s of one core. [Every trial]({experiment.name}.csv)."
    )
    path = folder / f"{experiment.name}.md"
    path.write_text("\n\n".join([f"# {experiment.title}", made, experiment.page(results), *pictures]) + "\n")
    return path


def _at(commit: str) -> str:
    return f" (commit {commit})" if commit else ""
