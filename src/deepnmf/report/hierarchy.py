"""Layers for the page: features, what they are made of, and what they take part in."""

from dataclasses import replace
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.metrics import sparseness
from deepnmf.models.factorization import Factorization
from deepnmf.plotting.hierarchy import strengths
from deepnmf.report.display import Display, Pictures
from deepnmf.report.links import Strongest, strongest
from deepnmf.report.numbers import all_rounded, peaks, rounded

MOST_FEATURES = 600  # of a layer; the page says how many others there are
MOST_LINKS = 24
BUDGET = 1_500_000  # values of all features together


def packed_layers(model: Factorization, codes: list[Array], display: Display) -> list[dict[str, Any]]:
    """Every layer's features, the strongest first, with their links to the layers below and above."""
    strength = [strengths(C, H) for C, H in zip(model.features_, codes, strict=True)]
    shown = [np.argsort(-s, kind="stable")[:MOST_FEATURES] for s in strength]
    if isinstance(display, Pictures):
        display = display.fitting(sum(map(len, shown)), BUDGET)
    signed = any(bool(np.any(C < 0)) for C in model.features_)
    return [
        _features(model, layer, strength[layer], shown[layer], display, signed) | _links(model, layer, shown)
        for layer in range(len(shown))
    ]


def packed_features(model: Factorization, codes: Array, display: Display, limit: int) -> dict[str, Any]:
    """The strongest features of the top layer alone."""
    C = model.features_[-1]
    strength = strengths(C, codes)
    shown = np.argsort(-strength, kind="stable")[:limit]
    if isinstance(display, Pictures):
        display = replace(display, stride=display.fitting(len(shown), BUDGET // 4).stride)
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
        "pack": display.pack(C[shown], peaks(C[shown]), signed),
    }


def _links(model: Factorization, layer: int, shown: list[Array]) -> dict[str, Any]:
    """Rows of Z_l are what a feature is made of, columns of Z_{l+1} what it takes part in."""
    links: dict[str, Any] = {}
    if layer > 0:
        links |= _named("below", strongest(model.factors_[layer][shown[layer]], MOST_LINKS, shown[layer - 1]))
    if layer + 1 < len(shown):
        links |= _named("above", strongest(model.factors_[layer + 1].T[shown[layer]], MOST_LINKS, shown[layer + 1]))
    return links


def _named(direction: str, found: Strongest) -> dict[str, Any]:
    return {direction: found.entries, f"{direction}_left_out": found.left_out}
