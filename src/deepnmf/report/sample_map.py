"""The map of the samples: points in two dimensions, and the values by which they can be colored."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from deepnmf.arrays import Array
from deepnmf.plotting.embedding import embedding
from deepnmf.report.display import Display
from deepnmf.report.evaluation import Evaluation
from deepnmf.report.numbers import Pack, all_rounded, deflated, in_bytes, largest_magnitudes

MOST_POINTS = 20_000
CODE_BUDGET = 1_600_000  # codes of all layers together
COLUMN_BUDGET = 400_000  # values of all columns together
MOST_COLUMNS = 200
BLOCK_ROWS = 500
UINT16 = 65535


def pack_map(
    evaluation: Evaluation,
    display: Display,
    layers: Sequence[Pack],
    originals: Array,
    column_names: Sequence[str] | None,
    names: Sequence[str] | None,
) -> Pack:
    """Pack the samples as points, in the arrangement of each layer, with their codes and columns in 8 bits."""
    rows = _mapped_rows(evaluation.rows.n_samples, originals)
    with threadpool_limits(1), ThreadPoolExecutor(2) as pool:  # t-SNE runs on one thread, so that its result is fixed
        found = list(pool.map(embedding, [H[rows] for H in evaluation.codes]))
    return {
        "rows": None if len(rows) == evaluation.rows.n_samples else deflated(rows.astype("<u4")),
        "count": len(rows),
        "groups": deflated(evaluation.groups.places[rows].astype("<i2")),
        "names": None if names is None else [names[row] for row in rows.tolist()],
        "methods": [one.method for one in found],
        "landmarks": [one.n_landmarks for one in found],
        "points": [deflated(_scaled_to_unit_square(one.points)) for one in found],
        "codes": _pack_codes(evaluation, layers, rows),
        "columns": _pack_columns(evaluation, rows, column_names),
        "previews": None if len(originals) >= len(rows) else _pack_previews(evaluation, display, rows),
    }


def _mapped_rows(n_samples: int, originals: Array) -> Array:
    """Return all rows, or a fixed random choice that includes the samples of the page."""
    if n_samples <= MOST_POINTS:
        return np.arange(n_samples)
    others = np.setdiff1d(np.random.default_rng(0).permutation(n_samples)[:MOST_POINTS], originals)
    return np.sort(np.concatenate([originals, others[: MOST_POINTS - len(originals)]]))


def _scaled_to_unit_square(points: Array) -> Array:
    """Scale both axes equally, so that the longer one ranges over 16 bits."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) or 1.0
    return np.round(UINT16 * ((points - (low + high) / 2) / span + 0.5)).clip(0, UINT16).astype("<u2").T


def _pack_codes(evaluation: Evaluation, layers: Sequence[Pack], rows: Array) -> list[Pack]:
    """Pack the codes of the strongest features of each layer, feature by feature."""
    most = max(1, CODE_BUDGET // (len(rows) * evaluation.depth))
    packed = []
    for H, layer in zip(evaluation.codes, layers, strict=True):
        features = np.asarray(layer["shown"][:most], dtype=int)
        codes = H[np.ix_(rows, features)].T
        scales = largest_magnitudes(codes)
        packed.append({"n_features": len(features), "scales": all_rounded(scales), "values": in_bytes(codes, scales)})
    return packed


def _pack_columns(evaluation: Evaluation, rows: Array, names: Sequence[str] | None) -> Pack:
    """Pack the columns of the data that vary most, each in 8 bits between its least and its largest value."""
    most = min(MOST_COLUMNS, max(1, COLUMN_BUDGET // len(rows)))
    deviations = evaluation.columns.deviations
    columns = np.sort(np.argsort(-deviations, kind="stable")[:most])
    columns = columns[deviations[columns] > 0]
    values = np.concatenate([block[:, columns] for block in _blocks(evaluation, rows)]).T
    low = np.nanmin(values, axis=1, initial=np.inf)
    high = np.nanmax(values, axis=1, initial=-np.inf)
    spans = np.where(high > low, high - low, 1.0)
    return {
        "columns": columns.tolist(),
        "total": evaluation.rows.n_features,
        "names": None if names is None else [names[column] for column in columns.tolist()],
        "low": all_rounded(low),
        "high": all_rounded(high),
        "values": in_bytes(values - low[:, None], spans),
    }


def _pack_previews(evaluation: Evaluation, display: Display, rows: Array) -> Pack:
    signed = bool(np.any(evaluation.columns.means < 0))
    return display.pack_previews(_blocks(evaluation, rows), len(rows), signed)


def _blocks(evaluation: Evaluation, rows: Array) -> Iterator[Array]:
    """Yield the rows of the map in blocks."""
    for start in range(0, len(rows), BLOCK_ROWS):
        yield evaluation.rows[rows[start : start + BLOCK_ROWS]]
