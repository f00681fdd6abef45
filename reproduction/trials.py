"""Parallel trials; the rows of each trial are stored as soon as it ends, so that an interrupted run can be resumed."""

import contextlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from deepnmf import HierarchyWarning
from reproduction.experiment import Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.pages import source
from reproduction.shared_layers import shared_layers

__all__ = ["OtherResultsError", "TrialLog", "in_parallel", "run"]

OnTrial = Callable[[int, int], None]


class OtherResultsError(ValueError):
    """The stored results belong to another source or another plan."""


@dataclass(frozen=True)
class TrialLog:
    """The rows of finished trials: a file of JSON lines, the first of which names the experiment, plan and source."""

    path: Path

    def begin(self, experiment: Experiment, plan: Plan) -> None:
        """Start the file, or check that an existing file has the same source and plan."""
        wanted = {"experiment": experiment.name, "plan": asdict(plan), "source": source()}
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(wanted))
            return
        found = next(self._lines(), {})
        if found != wanted:
            raise OtherResultsError(
                f"{self.path} holds results of another source or plan ({_difference(found, wanted)}): "
                "--again discards them and starts again."
            )

    def discard(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def add(self, index: int, rows: Sequence[Row]) -> None:
        """Append the rows of a trial in one write; the line break comes first: a truncated line damages no other."""
        with self.path.open("a") as file:
            file.write("\n" + json.dumps({"trial": index, "rows": rows}))

    def read(self) -> dict[int, list[Row]]:
        """Return the rows of each finished trial, by its index."""
        return {line["trial"]: line["rows"] for line in self._lines() if "trial" in line}

    def _lines(self) -> Iterator[dict[str, Any]]:
        for line in self.path.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):  # a run was interrupted while it wrote this line
                yield json.loads(line)


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {found.get(key)} instead of {wanted[key]}" for key in wanted if found.get(key) != wanted[key]
    )


def run(
    experiment: Experiment,
    plan: Plan,
    data: Data,
    log: TrialLog,
    jobs: int | None = None,
    on_trial: OnTrial | None = None,
) -> Results:
    """Run the trials that are not finished yet, and return the rows of all."""
    trials = experiment.trials(plan)
    done = log.read()
    waiting = [index for index in range(len(trials)) if index not in done]
    report = on_trial or _no_report
    report(len(done), len(trials))
    for index, rows in in_parallel(experiment, [trials[i] for i in waiting], waiting, plan, data, jobs):
        log.add(index, rows)
        done[index] = rows
        report(len(done), len(trials))
    results = Results([row for index in range(len(trials)) for row in done[index]])
    return results.only(plan.protocol) if plan.protocol else results


def _no_report(done: int, total: int) -> None:
    pass


def in_parallel(
    experiment: Experiment, trials: Sequence[Trial], indices: Sequence[int], plan: Plan, data: Data, jobs: int | None
) -> Iterator[tuple[int, list[Row]]]:
    """Run trials, and yield the index and the rows of each as soon as it ends."""
    calls = (delayed(_rows)(experiment, index, trial, plan, data) for index, trial in zip(indices, trials, strict=True))
    n_jobs = min(jobs or os.cpu_count() or 1, max(len(trials), 1))
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls)


def _rows(experiment: Experiment, index: int, trial: Trial, plan: Plan, data: Data) -> tuple[int, list[Row]]:
    """Run one trial on one thread, because trials run in parallel."""
    sharing = contextlib.nullcontext() if experiment.timed else shared_layers()
    with threadpool_limits(1), sharing, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", HierarchyWarning)  # the papers' models are fitted as they are
        began = time.perf_counter()
        rows = [dict(trial) | _plain(row) for row in experiment.run(trial, data, plan)]
        seconds = time.perf_counter() - began
    return index, [row | {"trial_seconds": 0.0 if place else round(seconds, 3)} for place, row in enumerate(rows)]


def _plain(row: Row) -> Row:
    """Return the row with numbers of Python instead of numbers of numpy."""
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: Value) -> Value:
    return value.item() if hasattr(value, "item") else value
