"""Samples for the page: which ones, their codes, and what each layer makes of them."""

from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.plotting.groups import Groups
from deepnmf.report.display import Display, Pictures
from deepnmf.report.links import strongest
from deepnmf.report.numbers import all_rounded, peaks
from deepnmf.report.subject import Subject

MOST_SAMPLES, FEWEST_SAMPLES = 200, 12
MOST_CODES = 20
BUDGET = 1_500_000  # values of all samples and their reconstructions together


def packed_samples(subject: Subject, display: Display, names: list[str] | None) -> dict[str, Any]:
    """A choice of samples, spread over the groups, beside their reconstruction from every layer."""
    n_chosen = _how_many(subject, display)
    rows = spread_over(subject.groups, n_chosen)
    if isinstance(display, Pictures):
        display = display.fitting(n_chosen * (subject.depth + 1), BUDGET)
    X = subject.rows[rows]
    codes = [H[rows] for H in subject.codes]
    rebuilt = [np.asarray(subject.model.decode(H, layer), np.float64) for layer, H in enumerate(codes)]
    found = [strongest(H, MOST_CODES) for H in codes]
    signed, scales = bool(np.nanmin(X, initial=0.0) < 0), peaks(X)
    return {
        "rows": rows.tolist(),
        "names": None if names is None else [names[row] for row in rows.tolist()],
        "groups": subject.groups.places[rows].tolist(),
        "total": subject.rows.n_samples,
        "codes": [layer.entries for layer in found],
        "left_out": [layer.left_out for layer in found],
        "errors": [all_rounded(_relative_errors(X, again), 3) for again in rebuilt],
        "packs": [display.pack(vectors, scales, signed) for vectors in (X, *rebuilt)],
    }


def _how_many(subject: Subject, display: Display) -> int:
    """As many as the budget allows, within bounds."""
    affordable = BUDGET // display.n_values(subject.depth + 1)
    return min(subject.rows.n_samples, max(FEWEST_SAMPLES, min(MOST_SAMPLES, affordable)))


def spread_over(groups: Groups, count: int) -> Array:
    """A fixed choice of samples, as even over the groups as it can be, in their order."""
    shuffled = np.random.default_rng(0).permutation(len(groups.places))
    places = groups.places[shuffled]
    rank = np.empty(len(places), dtype=int)
    for place in np.unique(places):
        members = places == place
        rank[members] = np.arange(np.count_nonzero(members))
    return np.sort(shuffled[np.argsort(rank, kind="stable")[:count]])


def _relative_errors(X: Array, rebuilt: Array) -> Array:
    """‖x - x̂‖ / ‖x‖ over the observed entries."""
    norms = np.sqrt(np.nansum(np.square(X), axis=1))
    return np.asarray(np.sqrt(np.nansum(np.square(X - rebuilt), axis=1)) / np.where(norms > 0, norms, 1))
