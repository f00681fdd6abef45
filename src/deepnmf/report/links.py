"""The strongest entries of rows, and what leaving out the others leaves out."""

from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.report.numbers import rounded


class Strongest(NamedTuple):
    """For each row its strongest entries as [place, weight], and how many others hold which share of the magnitude."""

    entries: list[list[list[Any]]]
    left_out: list[list[Any]]


def strongest(rows: Array, limit: int, among: Array | None = None) -> Strongest:
    """Entries of largest magnitude, the largest first, zeros never; `among` says which places may be shown."""
    rows = np.asarray(rows, dtype=np.float64)
    sizes = np.abs(rows)
    offered = sizes if among is None else np.where(np.isin(np.arange(rows.shape[1]), among), sizes, -1.0)
    order = np.argsort(-offered, axis=1, kind="stable")[:, :limit]
    kept = np.take_along_axis(offered, order, axis=1) > 0
    entries = [
        [[int(j), rounded(row[j])] for j in best[keep]] for row, best, keep in zip(rows, order, kept, strict=True)
    ]
    shown = np.where(kept, np.take_along_axis(sizes, order, axis=1), 0).sum(axis=1)
    totals = sizes.sum(axis=1)
    shares = 1 - shown / np.where(totals > 0, totals, 1)
    others = np.count_nonzero(rows, axis=1) - kept.sum(axis=1)
    left_out = [
        [int(count), rounded(max(share, 0.0), 3) if count else 0.0] for count, share in zip(others, shares, strict=True)
    ]
    return Strongest(entries, left_out)
