"""The samples of the page: their data, their codes, and their reconstructions from every layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.plotting.sample_groups import Groups
from deepnmf.report.display import Display
from deepnmf.report.evaluation import Evaluation
from deepnmf.report.layer_data import strongest_entries
from deepnmf.report.numbers import Pack, all_rounded, largest_magnitudes

MOST_SAMPLES, FEWEST_SAMPLES = 200, 12
MOST_CODES = 20
REBUILT_BUDGET = 600_000  # values of the reconstructions of all samples together
ORIGINAL_BUDGET = 1_200_000  # values of the samples themselves
LONGEST_TEXT = 1500  # characters


def pack_samples(
    evaluation: Evaluation,
    display: Display,
    layers: Sequence[Pack],
    texts: Sequence[str] | None,
) -> Pack:
    """Pack some samples completely, and the strongest samples of each feature as they are in the data."""
    rows = balanced_rows(evaluation.groups, _n_complete(evaluation, display))
    originals = _with_strongest(display, rows, layers)
    X = evaluation.rows[originals]
    signed, scales = bool(np.nanmin(X, initial=0.0) < 0), largest_magnitudes(X)
    return {
        "rows": rows.tolist(),
        "originals": originals.tolist(),
        "total": evaluation.rows.n_samples,
        "original": display.within_budget(len(originals), ORIGINAL_BUDGET).pack_samples(X, scales, signed),
        "texts": None if texts is None else [texts[row][:LONGEST_TEXT] for row in originals.tolist()],
        **_codes_and_reconstructions(evaluation, display, rows, signed),
    }


def _codes_and_reconstructions(evaluation: Evaluation, display: Display, rows: Array, signed: bool) -> Pack:
    X, codes = evaluation.rows[rows], [H[rows] for H in evaluation.codes]
    rebuilt = [np.asarray(evaluation.model.decode(H, layer), np.float64) for layer, H in enumerate(codes)]
    found = [strongest_entries(H, MOST_CODES) for H in codes]
    display, scales = display.within_budget(len(rows) * evaluation.depth, REBUILT_BUDGET), largest_magnitudes(X)
    return {
        "codes": [layer.entries for layer in found],
        "left_out": [layer.left_out for layer in found],
        "error_name": "error" if evaluation.loss.is_squared_error else "unexplained deviance",
        "errors": [all_rounded(evaluation.divergences.unexplained(X, X_layer), 3) for X_layer in rebuilt],
        "rebuilt": [display.pack_samples(vectors, scales, signed) for vectors in rebuilt],
    }


def _n_complete(evaluation: Evaluation, display: Display) -> int:
    """Return as many as the budget allows, within bounds."""
    affordable = REBUILT_BUDGET // display.n_values(evaluation.depth)
    return min(evaluation.rows.n_samples, max(FEWEST_SAMPLES, min(MOST_SAMPLES, affordable)))


def _with_strongest(display: Display, rows: Array, layers: Sequence[Pack]) -> Array:
    """Return the rows and the strongest samples of the features, of the strongest features if there are too many."""
    found: list[Any] = [set(rows.tolist())]
    most = max(len(rows), ORIGINAL_BUDGET // display.within_budget(len(rows), ORIGINAL_BUDGET).n_values(1))
    for place in range(max(len(layer["shown"]) for layer in layers)):
        strongest = [layer["strongest"][place] for layer in layers if place < len(layer["shown"])]
        more = found[-1] | {row for entries in strongest for row, _ in entries}
        if len(more) > most:
            break
        found.append(more)
    return np.array(sorted(found[-1]), dtype=int)


def balanced_rows(groups: Groups, count: int) -> Array:
    """Return a fixed random choice of rows, in their order, with equal numbers from each group where possible."""
    shuffled = np.random.default_rng(0).permutation(len(groups.places))
    places = groups.places[shuffled]
    rank = np.empty(len(places), dtype=int)
    for place in np.unique(places):
        members = places == place
        rank[members] = np.arange(np.count_nonzero(members))
    return np.sort(shuffled[np.argsort(rank, kind="stable")[:count]])
