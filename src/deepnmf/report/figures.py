"""Figures of the page: the loss, a map of the codes, and what each group of samples is made of."""

from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.plotting.embedding import chosen_rows, plane
from deepnmf.plotting.groups import Groups
from deepnmf.plotting.hierarchy import strengths
from deepnmf.report.numbers import all_rounded
from deepnmf.report.subject import Subject

MOST_LOSSES = 400
MOST_COLUMNS = 40
MOST_GROUPS = 100


def packed_loss(losses: Array) -> dict[str, Any]:
    """Sweeps and their losses; of many sweeps a choice, close together where the loss falls fast."""
    n = len(losses)
    if n > MOST_LOSSES:
        sweeps = np.unique(np.round(np.geomspace(1, n, 2 * MOST_LOSSES)).astype(int))
    else:
        sweeps = np.arange(1, n + 1)
    return {"sweeps": sweeps.tolist(), "losses": all_rounded(np.asarray(losses)[sweeps - 1], 6)}


def packed_map(subject: Subject, shown: list[int]) -> dict[str, Any]:
    """Every layer's codes in two dimensions, the shown samples among them."""
    rows = np.union1d(chosen_rows(subject.rows.n_samples), np.asarray(shown, dtype=int))
    planes = [plane(H[rows]) for H in subject.codes]
    return {
        "rows": rows.tolist(),
        "groups": subject.groups.places[rows].tolist(),
        "methods": [found.method for found in planes],
        "points": [_within_the_unit_square(found.points) for found in planes],
    }


def _within_the_unit_square(points: Array) -> list[list[float]]:
    """Both axes on one scale, the larger from 0 to 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) or 1.0
    centred = (points - (low + high) / 2) / span + 0.5
    return [[round(x, 4), round(y, 4)] for x, y in centred.tolist()]


def packed_profile(subject: Subject) -> list[dict[str, Any]]:
    """Mean codes of each group at every layer, of its strongest features."""
    return [_profile(H, C, subject.groups) for H, C in zip(subject.codes, subject.model.features_, strict=True)]


def _profile(codes: Array, features: Array, groups: Groups) -> dict[str, Any]:
    columns = np.argsort(-strengths(features, codes), kind="stable")[:MOST_COLUMNS]
    counts = [int(np.sum(groups.places == place)) for place in range(len(groups.names))]
    means = [
        codes[groups.places == place][:, columns].mean(axis=0, dtype=np.float64)
        for place in range(min(len(groups.names), MOST_GROUPS))
    ]
    return {"features": columns.tolist(), "counts": counts, "means": [all_rounded(mean, 3) for mean in means]}
