"""The features of every layer for the page: their display, their parts, and the samples in which they are strongest."""

from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.metrics import sparseness
from deepnmf.models.factorization import Factorization
from deepnmf.plotting.image_shapes import ImageShape
from deepnmf.plotting.strengths import part_shares, strengths
from deepnmf.report.display import Display, Pictures
from deepnmf.report.evaluation import Evaluation
from deepnmf.report.numbers import Pack, all_rounded, largest_magnitudes, rounded
from deepnmf.report.similarity import similarity_order

MOST_FEATURES = 600  # per layer; the page states the number of the others
MOST_LINKS = 24
MOST_STRONGEST = 6
FEATURE_BUDGET = 700_000  # values of all features together
SCENE_BUDGET = 400_000  # pixels of all abundance maps of one layer together

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


class LayerFeatures(NamedTuple):
    """The strength of each feature of a layer as a share, and the features that are shown, the strongest first."""

    shares: Array
    shown: Array

    @classmethod
    def of(cls, features: Array, codes: Array, most: int = MOST_FEATURES) -> "LayerFeatures":
        """Rank the features; those of zero strength are dead, and are shown only if all features are dead."""
        strength = strengths(features, codes)
        shares = strength / (float(strength.sum()) or 1.0)
        order = np.argsort(-shares, kind="stable")
        alive = order[shares[order] > 0]
        return cls(shares, (alive if len(alive) else order)[:most])


def ranked_layers(evaluation: Evaluation) -> list[LayerFeatures]:
    """Rank the features of every layer by their strength on the data of the page."""
    return [LayerFeatures.of(C, H) for C, H in zip(evaluation.model.features_, evaluation.codes, strict=True)]


def pack_layers(evaluation: Evaluation, display: Display, sample_shape: ImageShape | None) -> list[Pack]:
    """Pack the features of every layer, with their links to the layers below and above."""
    model, ranked = evaluation.model, ranked_layers(evaluation)
    display = display.within_budget(sum(len(layer.shown) for layer in ranked), FEATURE_BUDGET)
    signed = any(bool(np.any(C < 0)) for C in model.features_)
    return [
        pack_features(model, layer, ranked[layer], display, signed)
        | _links(model, layer, [one.shown for one in ranked])
        | _strongest_samples(evaluation.codes[layer], ranked[layer].shown)
        | _scenes(evaluation.codes[layer], ranked[layer].shown, sample_shape)
        for layer in range(len(ranked))
    ]


def pack_features(model: Factorization, layer: int, ranked: LayerFeatures, display: Display, signed: bool) -> Pack:
    """Pack the shown features of a layer."""
    C = np.asarray(model.features_[layer], dtype=np.float64)[ranked.shown]
    return {
        "size": len(ranked.shares),
        "dead": int(np.count_nonzero(ranked.shares == 0)),
        "shown": ranked.shown.tolist(),
        "share": all_rounded(ranked.shares[ranked.shown], 3),
        "sparseness": [rounded(sparseness(feature[None]), 3) for feature in C],
        "titles": display.titles(C),
        "similar": similarity_order(C).tolist(),
        "pack": display.pack_features(C, signed),
    }


def _links(model: Factorization, layer: int, shown: list[Array]) -> Pack:
    """Rows of Z_l link a feature to the layer below, columns of Z_{l+1} to the layer above."""
    links: Pack = {}
    if layer > 0:
        links |= _named("below", model.factors_[layer], part_shares(model, layer), shown[layer], shown[layer - 1])
    if layer + 1 < len(shown):
        shares = part_shares(model, layer + 1).T
        links |= _named("above", model.factors_[layer + 1].T, shares, shown[layer], shown[layer + 1])
    return links


def _named(direction: str, weights: Array, shares: Array, features: Array, among: Array) -> Pack:
    """Pack links as [feature, weight, share of the whole], the largest weight first."""
    found = strongest_entries(weights[features], MOST_LINKS, among)
    links = [
        [[j, weight, rounded(shares[feature, j], 3)] for j, weight in entries]
        for feature, entries in zip(features.tolist(), found.entries, strict=True)
    ]
    return {direction: links, f"{direction}_left_out": found.left_out}


def _strongest_samples(codes: Array, shown: Array) -> Pack:
    """Pack the samples with the largest codes of each feature, over all samples."""
    found = strongest_entries(codes.T[shown], MOST_STRONGEST)
    return {"strongest": found.entries}


def _scenes(codes: Array, shown: Array, sample_shape: ImageShape | None) -> Pack:
    """Pack the codes of each feature as a picture of the scene whose pixels are the samples."""
    if sample_shape is None:
        return {}
    abundances = codes.T[shown]
    pictures = Pictures(tuple(map(int, sample_shape))).within_budget(len(shown), SCENE_BUDGET)
    return {"scene": pictures.pack_samples(abundances, largest_magnitudes(abundances), bool(np.any(abundances < 0)))}
