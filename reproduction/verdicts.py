"""Every published number and claim beside our results, with a verdict: ``python -m reproduction --verdicts``."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from reproduction.comparisons import Claim, Comparison, Evidence, Grid, Protocol, Verdict
from reproduction.experiment import Experiment, Results, mean_and_deviation, results_path
from reproduction.page_index import last_commit
from reproduction.pages import made_by, table

__all__ = ["write_verdicts"]

INTRODUCTION = """This page compares our results with every number of every published table whose data are available. It
is computed from the results of all trials, which are stored beside the pages.

- *paper*: choices by the labels, as in the paper, among settings that were fixed before results were seen.
- *widened*: the same, with further settings that were added after results were seen. They have a column of their own,
  and the verdict does not use them.
- *blind*: no choice by labels; the defaults of the library. Above each table is the commit at which its page was made,
  or at which some of its trials were last run again with the same results.
- The verdict compares *paper* with the published number: at or above it; within two standard errors of our mean (of at
  least three runs); or below, with the reason and the page that shows it.

Figures have no numbers; for them, the verdict tests what the paper states. A claim about several models or data sets
holds if it holds for most of them. If it does not hold, our explanation follows, which is read from the page and was
not tested by an experiment. If nothing is chosen by labels, there is one result, in the column *blind*."""
GLANCE = "at_a_glance.txt"  # the table of the guide, which is in the folder above


def write_verdicts(experiments: Iterable[Experiment], folder: Path) -> Path:
    """Write the page of all verdicts from the results in a folder, and return its path."""
    results = {
        experiment: Results.read_csv(path)
        for experiment in experiments
        if (path := results_path(folder, experiment.name)).exists()
    }
    found = {experiment.name: (experiment.title, _measured(experiment, some)) for experiment, some in results.items()}
    tables = {name: pair for name, pair in found.items() if pair[1]}
    claims = {experiment.name: list(experiment.claims(some)) for experiment, some in results.items()}
    comparisons_of = {name: comparisons for name, (_, comparisons) in found.items()}
    (folder / GLANCE).write_text(_at_a_glance(comparisons_of, claims, f"{folder.name}/"))
    parts = ["# The papers' numbers and ours", made_by("python -m reproduction --verdicts"), INTRODUCTION]
    parts += ["## At a glance", _at_a_glance(comparisons_of, claims), "## Numbers", _summary(tables)]
    for name, (title, comparisons) in tables.items():
        parts += [
            f"## {title}",
            f"[{name}]({name}.md), commit {last_commit(folder / f'{name}.md')}.",
            _table(comparisons),
        ]
    path = folder / "verdicts.md"
    path.write_text("\n\n".join(parts) + "\n")
    return path


def _measured(experiment: Experiment, results: Results) -> list[Comparison]:
    """Return comparisons with the published numbers for which there are runs."""
    return [one for one in experiment.compared(results) if one.runs["paper"]]


def _at_a_glance(
    comparisons: Mapping[str, Sequence[Comparison]], claims: Mapping[str, Sequence[Claim]], place: str = ""
) -> str:
    """Return a table with one row for the numbers of each page, and one for each claim; `place` is where pages are."""
    rows = []
    for name, some in comparisons.items():
        link = f"[{name}]({place}{name}.md)"
        rows += [[link, *_glance_at_numbers(some)]] if some else []
        for claim in claims[name]:
            cells = (claim.evidence.get(protocol, Evidence("", supports=False)) for protocol in get_args(Protocol))
            rows.append([link, claim.statement, *(cell.numbers for cell in cells), claim.verdict])
    return table(["page", "published", "ours, `paper`", "ours, `blind`", "verdict"], rows)


def _glance_at_numbers(some: Sequence[Comparison]) -> list[str]:
    above, within, below, _, without_labels = _counts(some)
    blind = f"{without_labels} at or above" if any("blind" in one.runs for one in some) else ""
    verdict = f"**{below} below**, each with its reason" if below else "none below"
    return [
        f"{len(some)} numbers",
        f"{above} at or above, {within} within two standard errors",
        blind,
        verdict,
    ]


def _summary(tables: dict[str, tuple[str, list[Comparison]]]) -> str:
    """Return a table with the number of verdicts of each kind, by page."""
    rows = [[f"[{name}]({name}.md)", len(some), *_counts(some)] for name, (_, some) in tables.items()]
    every = [one for _, some in tables.values() for one in some]
    head = ["page", "numbers", *get_args(Verdict), "at or above by *widened*", "at or above by *blind*"]
    return table(head, [*rows, ["all", len(every), *_counts(every)]])


def _counts(some: Sequence[Comparison]) -> list[int]:
    counted = Counter(one.verdict for one in some)
    others: tuple[Grid, ...] = ("widened", "blind")
    reached = (sum(grid in one.runs and one.of(grid) == "at or above" for one in some) for grid in others)
    return [*(counted[verdict] for verdict in get_args(Verdict)), *reached]


def _table(comparisons: Sequence[Comparison]) -> str:
    rows = [
        [
            one.row,
            f"{one.published:.4g}",
            *(_cell(one, grid) for grid in get_args(Grid)),
            _judged(one),
        ]
        for one in comparisons
    ]
    return table(["row", "published", "ours, `paper`", "ours, widened", "ours, `blind`", "verdict"], rows)


def _cell(one: Comparison, grid: Grid) -> str:
    """Return mean and deviation, with fewer digits for large numbers."""
    return mean_and_deviation(np.array(one.runs.get(grid, [])), 1 if one.published > 20 else 3)


def _judged(one: Comparison) -> str:
    if one.verdict != "below":
        return one.verdict
    return f"**below**: {one.reason or 'the cause is not found'}"
