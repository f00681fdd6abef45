"""The data of a page: the features and links of every layer, samples, and figures."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.metrics import sparseness
from deepnmf.models.factorization import Factorization
from deepnmf.plotting.fit_plots import embedding, sampled_rows
from deepnmf.plotting.hierarchy_plot import strengths
from deepnmf.plotting.sample_groups import Groups
from deepnmf.report.display import Display, Pictures, all_rounded, largest_magnitudes, rounded
from deepnmf.report.evaluation import Evaluation

# --------------------------------------------------------------------------------- strongest entries


class StrongestEntries(NamedTuple):
    """The strongest entries of each row as [index, weight]; the number and the share of the others."""

    entries: list[list[list[Any]]]
    left_out: list[list[Any]]


def strongest_entries(rows: Array, limit: int, among: Array | None = None) -> StrongestEntries:
    """Return the nonzero entries of largest magnitude, the largest first; only columns in `among` are considered."""
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
    return StrongestEntries(entries, left_out)


# -------------------------------------------------------------------------------------------- layers


MOST_FEATURES = 600  # per layer; the page states the number of the others
MOST_LINKS = 24
FEATURE_BUDGET = 1_500_000  # values of all features together


def pack_layers(model: Factorization, codes: list[Array], display: Display) -> list[dict[str, Any]]:
    """Pack the features of every layer, the strongest first, with their links to the layers below and above."""
    strength = [strengths(C, H) for C, H in zip(model.features_, codes, strict=True)]
    shown = [np.argsort(-s, kind="stable")[:MOST_FEATURES] for s in strength]
    if isinstance(display, Pictures):
        display = display.within_budget(sum(map(len, shown)), FEATURE_BUDGET)
    signed = any(bool(np.any(C < 0)) for C in model.features_)
    return [
        _features(model, layer, strength[layer], shown[layer], display, signed) | _links(model, layer, shown)
        for layer in range(len(shown))
    ]


def pack_top_features(model: Factorization, codes: Array, display: Display, limit: int) -> dict[str, Any]:
    """Pack the strongest features of the top layer."""
    C = model.features_[-1]
    strength = strengths(C, codes)
    shown = np.argsort(-strength, kind="stable")[:limit]
    if isinstance(display, Pictures):
        display = replace(display, stride=display.within_budget(len(shown), FEATURE_BUDGET // 4).stride)
    return _features(model, len(model.features_) - 1, strength, shown, display, bool(np.any(C < 0)))


def _features(
    model: Factorization, layer: int, strength: Array, shown: Array, display: Display, signed: bool
) -> dict[str, Any]:
    C = np.asarray(model.features_[layer], dtype=np.float64)
    total = float(strength.sum()) or 1.0
    return {
        "size": len(C),
        "shown": shown.tolist(),
        "strength": all_rounded(strength[shown] / total, 3),
        "sparseness": [rounded(sparseness(C[[j]]), 3) for j in shown],
        "pack": display.pack(C[shown], largest_magnitudes(C[shown]), signed),
    }


def _links(model: Factorization, layer: int, shown: list[Array]) -> dict[str, Any]:
    """Rows of Z_l link a feature to the layer below, columns of Z_{l+1} to the layer above."""
    links: dict[str, Any] = {}
    if layer > 0:
        links |= _named("below", strongest_entries(model.factors_[layer][shown[layer]], MOST_LINKS, shown[layer - 1]))
    if layer + 1 < len(shown):
        links |= _named(
            "above", strongest_entries(model.factors_[layer + 1].T[shown[layer]], MOST_LINKS, shown[layer + 1])
        )
    return links


def _named(direction: str, found: StrongestEntries) -> dict[str, Any]:
    return {direction: found.entries, f"{direction}_left_out": found.left_out}


# ------------------------------------------------------------------------------------------- samples


MOST_SAMPLES, FEWEST_SAMPLES = 200, 12
MOST_CODES = 20
SAMPLE_BUDGET = 1_500_000  # values of all samples and their reconstructions together


def pack_samples(evaluation: Evaluation, display: Display, names: list[str] | None) -> dict[str, Any]:
    """Pack samples from all groups with their codes and their reconstructions from every layer."""
    n_chosen = _n_samples_shown(evaluation, display)
    rows = balanced_rows(evaluation.groups, n_chosen)
    if isinstance(display, Pictures):
        display = display.within_budget(n_chosen * (evaluation.depth + 1), SAMPLE_BUDGET)
    X = evaluation.rows[rows]
    codes = [H[rows] for H in evaluation.codes]
    rebuilt = [np.asarray(evaluation.model.decode(H, layer), np.float64) for layer, H in enumerate(codes)]
    found = [strongest_entries(H, MOST_CODES) for H in codes]
    signed, scales = bool(np.nanmin(X, initial=0.0) < 0), largest_magnitudes(X)
    return {
        "rows": rows.tolist(),
        "names": None if names is None else [names[row] for row in rows.tolist()],
        "groups": evaluation.groups.places[rows].tolist(),
        "total": evaluation.rows.n_samples,
        "codes": [layer.entries for layer in found],
        "left_out": [layer.left_out for layer in found],
        "error_name": "error" if evaluation.loss.is_squared_error else "unexplained deviance",
        "errors": [all_rounded(evaluation.divergences.unexplained(X, X_layer), 3) for X_layer in rebuilt],
        "packs": [display.pack(vectors, scales, signed) for vectors in (X, *rebuilt)],
    }


def _n_samples_shown(evaluation: Evaluation, display: Display) -> int:
    """Return as many as the budget allows, within bounds."""
    affordable = SAMPLE_BUDGET // display.n_values(evaluation.depth + 1)
    return min(evaluation.rows.n_samples, max(FEWEST_SAMPLES, min(MOST_SAMPLES, affordable)))


def balanced_rows(groups: Groups, count: int) -> Array:
    """Return a fixed random choice of rows, in their order, with equal numbers from each group where possible."""
    shuffled = np.random.default_rng(0).permutation(len(groups.places))
    places = groups.places[shuffled]
    rank = np.empty(len(places), dtype=int)
    for place in np.unique(places):
        members = places == place
        rank[members] = np.arange(np.count_nonzero(members))
    return np.sort(shuffled[np.argsort(rank, kind="stable")[:count]])


# ------------------------------------------------------------------------------------------- figures


MOST_LOSSES = 400
MOST_COLUMNS = 40
MOST_GROUPS = 100


def pack_loss(losses: Array) -> dict[str, Any]:
    """Pack sweeps and losses; of many sweeps a selection, denser at the beginning, where the loss decreases fast."""
    n = len(losses)
    if n > MOST_LOSSES:
        sweeps = np.unique(np.round(np.geomspace(1, n, 2 * MOST_LOSSES)).astype(int))
    else:
        sweeps = np.arange(1, n + 1)
    return {"sweeps": sweeps.tolist(), "losses": all_rounded(np.asarray(losses)[sweeps - 1], 6)}


def pack_map(evaluation: Evaluation, shown: list[int]) -> dict[str, Any]:
    """Pack the codes of every layer in two dimensions, including those of the shown samples."""
    rows = np.union1d(sampled_rows(evaluation.rows.n_samples), np.asarray(shown, dtype=int))
    embeddings = [embedding(H[rows]) for H in evaluation.codes]
    return {
        "rows": rows.tolist(),
        "groups": evaluation.groups.places[rows].tolist(),
        "methods": [found.method for found in embeddings],
        "points": [_scaled_to_unit_square(found.points) for found in embeddings],
    }


def _scaled_to_unit_square(points: Array) -> list[list[float]]:
    """Scale both axes equally, so that the longer one ranges from 0 to 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) or 1.0
    centered = (points - (low + high) / 2) / span + 0.5
    return [[round(x, 4), round(y, 4)] for x, y in centered.tolist()]


def pack_profiles(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Pack the mean codes of each group at every layer, for the strongest features."""
    return [
        _profile(H, C, evaluation.groups) for H, C in zip(evaluation.codes, evaluation.model.features_, strict=True)
    ]


def _profile(codes: Array, features: Array, groups: Groups) -> dict[str, Any]:
    columns = np.argsort(-strengths(features, codes), kind="stable")[:MOST_COLUMNS]
    counts = [int(np.sum(groups.places == place)) for place in range(len(groups.names))]
    means = [
        codes[groups.places == place][:, columns].mean(axis=0, dtype=np.float64)
        for place in range(min(len(groups.names), MOST_GROUPS))
    ]
    return {"features": columns.tolist(), "counts": counts, "means": [all_rounded(mean, 3) for mean in means]}
