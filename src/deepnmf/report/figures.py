"""Figures of the page: the loss after each sweep, and the mean codes of each group."""

import numpy as np

from deepnmf.arrays import Array
from deepnmf.plotting.sample_groups import Groups
from deepnmf.plotting.strengths import strengths
from deepnmf.report.evaluation import Evaluation
from deepnmf.report.numbers import Pack, all_rounded
from deepnmf.report.similarity import similarity_order

MOST_LOSSES = 400
MOST_COLUMNS = 40
MOST_GROUPS = 100


def pack_loss(losses: Array) -> Pack:
    """Pack sweeps and losses; of many sweeps a selection, denser at the beginning, where the loss decreases fast."""
    n = len(losses)
    if n > MOST_LOSSES:
        sweeps = np.unique(np.round(np.geomspace(1, n, 2 * MOST_LOSSES)).astype(int))
    else:
        sweeps = np.arange(1, n + 1)
    return {"sweeps": sweeps.tolist(), "losses": all_rounded(np.asarray(losses)[sweeps - 1], 6)}


def pack_profiles(evaluation: Evaluation) -> list[Pack]:
    """Pack the mean codes of each group at every layer, for the strongest features."""
    return [
        _profile(H, C, evaluation.groups) for H, C in zip(evaluation.codes, evaluation.model.features_, strict=True)
    ]


def _profile(codes: Array, features: Array, groups: Groups) -> Pack:
    """Pack one layer, with similar groups and similar features next to each other."""
    columns = np.argsort(-strengths(features, codes), kind="stable")[:MOST_COLUMNS]
    counts = [int(np.sum(groups.places == place)) for place in range(len(groups.names))]
    places = range(min(len(groups.names), MOST_GROUPS))
    means = np.array([codes[groups.places == place][:, columns].mean(axis=0, dtype=np.float64) for place in places])
    largest = np.abs(means).max(axis=0)
    relative = means / np.where(largest > 0, largest, 1)
    rows, order = similarity_order(relative), similarity_order(relative.T)
    return {
        "features": columns[order].tolist(),
        "groups": rows.tolist(),
        "counts": counts,
        "means": [all_rounded(mean, 3) for mean in means[np.ix_(rows, order)]],
    }
