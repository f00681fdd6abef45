"""Planted counts, most of which are zero: squared error and Kullback-Leibler, with hidden entries or hidden events."""

import numpy as np
from benchmarks.page import table
from benchmarks.selection.planted import RANKS, planted_counts, rank_of
from benchmarks.selection.search import Part, percent, searched
from scipy import sparse

from deepnmf import NMF

SHAPE = (500, 200)
RATES = (0.5, 0.1)
KL = "kullback-leibler"
SEARCHES = {
    "squared error, entries and zeros of a sparse X": ("frobenius", sparse.csr_array, None),
    "Kullback-Leibler, counts": (KL, sparse.csr_array, "counts"),
    "Kullback-Leibler, entries": (KL, np.asarray, "entries"),
}


def contenders() -> list[str]:
    """Return the names of the losses, with what is hidden."""
    return list(SEARCHES)


def measure(rate, name, seed, limits):
    """Choose a size."""
    loss, form, hide = SEARCHES[name]
    planted = planted_counts(SHAPE, rank_of(seed), rate, seed)
    selection, seconds = searched(NMF(beta_loss=loss), form(planted.X), seed, limits, hide=hide, refit=False)
    return {"rank": rank_of(seed), "chosen": selection.best_sizes_[0], "delta": planted.delta, "seconds": seconds}


def tables(records) -> str:
    """Return a table of hit rates, by the rate of events and by the loss."""
    rows = []
    for case, name in dict.fromkeys((one["case"], one["contender"]) for one in records):
        of_case = [one["values"] for one in records if (one["case"], one["contender"]) == (case, name)]
        missed = [abs(values["chosen"] - values["rank"]) for values in of_case]
        deltas = [values["delta"] for values in of_case]
        choices = ", ".join(f"{values['chosen']} of {values['rank']}" for values in of_case)
        seconds = np.mean([values["seconds"] for values in of_case])
        hits = percent(miss == 0 for miss in missed), percent(miss <= 1 for miss in missed)
        rows.append([case, f"{min(deltas):.1f} to {max(deltas):.1f}", name, *hits, choices, f"{seconds:.1f}"])
    return table(["counts", "δ", "loss, hidden", "exact, %", "within one, %", "found", "seconds"], rows)


PART = Part(
    title="Counts",
    text=(
        f"The data are Poisson counts in matrices of {SHAPE[0]} x {SHAPE[1]}, with the given mean number of events per entry, planted ranks from {RANKS[0]} to {RANKS[-1]}, and sparse gamma factors. For squared "
        "error, the small components are below the noise (δ is the smallest singular value of the signal divided by the largest singular value of the noise)."
    ),
    cases={f"{rate:g} an entry": rate for rate in RATES},
    contenders=contenders,
    measure=measure,
    tables=tables,
)
