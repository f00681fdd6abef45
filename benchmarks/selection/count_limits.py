"""Planted counts: which ranks can be detected at all, and how well the planted model itself predicts hidden counts."""

from types import SimpleNamespace

import numpy as np
from benchmarks.page import table
from benchmarks.selection.counts import KL, RATES, SHAPE
from benchmarks.selection.planted import planted_counts, rank_of
from benchmarks.selection.search import Part, only_select_layers
from scipy import sparse

from deepnmf import NMF
from deepnmf.selection.splits import HIDDEN_SHARE
from deepnmf.selection.thinned_counts import ThinnedCounts

STEPS = 500  # for the codes of given features
SMALLEST = 1e-12


def measure(rate, _, seed, limits):
    """Hide a tenth of the counts, and predict them with four models."""
    planted = planted_counts(SHAPE, rank_of(seed), rate, seed)
    split = ThinnedCounts(sparse.csr_array(planted.X), [seed])
    seen = split.seen(0).X
    params = {"beta_loss": KL, "random_state": 0, "max_iter": limits.sweeps or STEPS}
    one, fitted = (NMF(k, **params).fit(seen) for k in (1, rank_of(seed)))
    codes = codes_of(seen.toarray(), planted.features, params["max_iter"])
    models = {
        "one feature": one,
        "a fit of the planted rank": fitted,
        "planted features": given(codes, planted.features, fitted),
        "planted model": given((1 - HIDDEN_SHARE) * planted.codes, planted.features, fitted),
    }
    errors = {name: float(np.divide(*map(np.sum, split.errors(0, model)))) for name, model in models.items()}
    return {"rank": rank_of(seed), "delta": planted.delta, "whitened": planted.whitened_delta, "errors": errors}


def codes_of(X, features, n_steps):
    """Return the codes of given features, by Lee and Seung's multiplicative steps for Kullback-Leibler."""
    codes = np.full((len(X), len(features)), X.mean())
    for _ in range(n_steps):
        codes *= (X / np.maximum(codes @ features, SMALLEST)) @ features.T / features.sum(axis=1)
    return codes


def given(codes, features, fitted):
    """Return a model of known codes and features, with the attributes that predictions need."""
    return SimpleNamespace(codes_=[codes], decode=lambda H, _: H @ features, _learned=fitted._learned)


def tables(records) -> str:
    """Return a table with one row for each problem."""
    rows = []
    for one in sorted(records, key=lambda one: (one["case"], one["values"]["rank"])):
        values = one["values"]
        errors = [f"{error:.3f}" for error in values["errors"].values()]
        rows.append([one["case"], values["rank"], f"{values['delta']:.2f}", f"{values['whitened']:.2f}", *errors])
    return table(["counts", "rank", "δ", "δ, whitened", *records[0]["values"]["errors"]], rows)


PART = Part(
    title="Limits for counts",
    text=(
        "The problems are those of the previous table. δ is computed from the counts, and also from rows and columns that are scaled so that the noise has unit variance, which is the weighting of Kullback-Leibler. If δ is below 1, the "
        "smallest component is inside the bulk of the noise. The other columns are the Kullback-Leibler divergence of a hidden count, predicted by one feature, by a fit with the planted number of features, by the "
        "planted features with codes fitted to the seen counts, and by the planted model itself. If one feature predicts better than a fit of the planted rank, no rule that uses "
        "predictions can find this rank; if it also predicts better than the planted features, the events of a row do not determine its codes."
    ),
    cases={f"{rate:g} an entry": rate for rate in RATES},
    contenders=only_select_layers,
    measure=measure,
    tables=tables,
)
