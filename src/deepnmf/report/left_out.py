"""Sentences about the content that a page omits to stay small."""

from collections.abc import Iterator
from typing import Any


def left_out(data: dict[str, Any]) -> list[str]:
    """Return a sentence for each kind of content that is incomplete in the page."""
    return [*_layers(data["layers"]), *_samples(data["samples"], data["map"]), *_map(data["map"], data["layers"])]


def _layers(layers: list[dict[str, Any]]) -> Iterator[str]:
    for number, layer in enumerate(layers, start=1):
        n_alive = layer["size"] - layer["dead"]
        if len(layer["shown"]) < n_alive:
            yield f"Layer {number}: the {len(layer['shown'])} strongest of {n_alive:,} features are shown."


def _samples(samples: dict[str, Any], mapped: dict[str, Any]) -> Iterator[str]:
    if len(samples["rows"]) < samples["total"]:
        yield (
            f"Exact codes and reconstructions are included for {len(samples['rows'])} of {samples['total']:,} samples, "
            "from every group; the others have codes in 8 bits."
        )
    if mapped["previews"] is not None:
        yield (
            f"{len(samples['originals']):,} samples are complete, including the strongest of each feature; the others "
            "have previews."
        )


def _map(mapped: dict[str, Any], layers: list[dict[str, Any]]) -> Iterator[str]:
    if mapped["rows"] is not None:
        yield f"The map shows {mapped['count']:,} samples, a fixed random choice."
    fewest = min(mapped["landmarks"])
    if fewest < mapped["count"]:
        yield (
            f"t-SNE arranges {fewest:,} samples of the map; each of the others is placed between the three of these "
            "with the most similar codes."
        )
    for number, (codes, layer) in enumerate(zip(mapped["codes"], layers, strict=True), start=1):
        if codes["n_features"] < len(layer["shown"]):
            yield f"The map can be colored by the {codes['n_features']} strongest features of layer {number}."
    columns = mapped["columns"]
    if len(columns["columns"]) < columns["total"]:
        n_columns = len(columns["columns"])
        yield f"The map can be colored by {n_columns} of {columns['total']:,} columns, those that vary most."
