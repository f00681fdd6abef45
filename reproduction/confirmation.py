"""Whether the results of a page still hold: some of its trials are run again, and compared with the stored results.

A complete run of all experiments takes hours. Seeds are fixed, so a trial whose source has not changed has the same
results, and a change of the source that affects a page most probably changes some of its trials.
"""

import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from reproduction.experiment import Data, Experiment, Plan, Results, Row, results_path, rounded, written_rows
from reproduction.page_index import command_of
from reproduction.pages import commit, counted
from reproduction.trials import in_parallel

__all__ = ["confirm"]

TIMES = ("seconds", "trial_seconds")  # columns that differ between two runs of a trial
SENTENCE = re.compile(r"\n\nRun again at commit [^\n]*")


def confirm(experiment: Experiment, folder: Path, data: Data, n_trials: int, jobs: int | None) -> tuple[bool, str]:
    """Run some trials of a page again, and return whether all have the stored results, and a message.

    If they have, the page gets a sentence that says so; otherwise such a sentence is removed from it.
    """
    page = folder / f"{experiment.name}.md"
    plan = plan_of(command_of(page))
    trials = experiment.trials(plan)
    indices = np.unique(np.linspace(0, len(trials) - 1, n_trials).astype(int)).tolist()
    stored = set(map(_compared, written_rows(results_path(folder, experiment.name))))
    other = [
        row
        for _, rows in in_parallel(experiment, [trials[index] for index in indices], indices, plan, data, jobs)
        for row in (Results(rows).only(plan.protocol).rows if plan.protocol else rows)
        if _compared(_written(row)) not in stored
    ]
    text = SENTENCE.sub("", page.read_text())
    if other:
        page.write_text(text)
        return (
            False,
            f"{experiment.name}: {counted(other, 'row')} of {counted(indices, 'trial')} differ, such as {other[0]}.",
        )
    sentence = f"Run again at commit {commit()}: {len(indices)} of {counted(trials, 'trial')}, with the same results."
    title, made, rest = text.split("\n\n", 2)
    page.write_text("\n\n".join([title, made, sentence, rest]))
    return True, f"{experiment.name}: {sentence}"


def plan_of(command: str) -> Plan:
    """Return the plan of the command of a page.

    Examples
    --------
    >>> plan_of("python -m reproduction dnsnmf-orl --repetitions 5")
    Plan(repetitions=5, quick=False, protocol=None)
    """
    words = shlex.split(command)
    values = {word: value for word, value in pairwise(words) if word.startswith("--")}
    repetitions, protocol = values.get("--repetitions"), values.get("--protocol")
    return Plan(int(repetitions) if repetitions else None, "--quick" in words, protocol)  # type: ignore[arg-type]


def _written(row: Row) -> dict[str, str]:
    """Return a row as it is written to a file."""
    return {name: str(rounded(value)) for name, value in row.items()}


def _compared(row: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Return the columns of a row that are the same in every run."""
    return frozenset((name, cell) for name, cell in row.items() if cell and name not in TIMES)
