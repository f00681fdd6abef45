"""The deep NMF network (Flenner & Hunter): Fig. 9 and 11 on text, Fig. 13 and 14 on bird sounds, angles of Fig. 15."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from deepnmf import SSNMF, DeepNMFNetwork
from deepnmf.metrics import purity, sparseness
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial
from reproduction.network_pages import compared_purity, draw_accuracies, draw_heads, network_claims, network_page
from reproduction.protocols import given_labels
from reproduction.sequences import FOLDS, Reader, Sequences, Split, bird_frames, document_chunks, split

__all__ = ["EXPERIMENTS"]

PAIRS = 20_000  # pairs of rows whose angles are averaged
CONSOLIDATED = np.cos(np.deg2rad(5))  # the paper counts topics within 5° as one
FORWARD, BACKWARD = 2, 3  # the paper's algorithms


@dataclass(frozen=True)
class Setting:
    """One of the paper's two experiments."""

    data: str
    rows: Reader
    rank: int
    pools: tuple[int, ...]


TEXT = Setting("bbc_news", document_chunks, 20, (0, 3, 5, 7))
BIRDS = Setting("esc50_birds", bird_frames, 30, (0, 25, 50, 75))


def _trials(setting: Setting, plan: Plan) -> list[Trial]:
    """Return trials of the paper's grid by both protocols and with its own initialization, a baseline, and angles."""
    layers = (2,) if plan.quick else (2, 3)
    deep = product((FORWARD, BACKWARD), layers, setting.pools[::2] if plan.quick else setting.pools)
    grid = [(FORWARD, 1, 0), *deep]
    draws = range(1) if plan.quick else plan.repeats(FOLDS)
    runs = (("layer by layer", "paper"), ("layer by layer", "blind"), ("random", "paper"))
    trials: list[Trial] = [
        {"start": start, "protocol": protocol, "algorithm": a, "layers": m, "pool": pool, "draw": draw}
        for (start, protocol), (a, m, pool), draw in product(runs, grid, draws)
    ]
    trials += [{"start": "baseline", "protocol": p, "draw": draw} for p, draw in product(("paper", "blind"), draws)]
    trials += [{"start": "angles", "pool": pool} for pool in (0, setting.pools[-2])]
    return trials


def _sweeps(plan: Plan) -> dict[str, Any]:
    return {"max_iter": plan.size(200, 3), "pretrain_max_iter": plan.size(50, 3)}


def _model(setting: Setting, trial: Trial, plan: Plan) -> Any:
    rank, layers = plan.size(setting.rank, 5), int(trial["layers"])
    parameters = {"random_state": int(trial["draw"])} | _sweeps(plan)
    if trial["start"] == "random":
        parameters |= {"init": "random", "pretrain_max_iter": 0, "tol": 0.0, "max_iter": plan.size(100, 3)}
    if layers == 1:
        return SSNMF(rank, **parameters)
    backprop = trial["algorithm"] == BACKWARD
    return DeepNMFNetwork((rank,) * layers, pool_size=int(trial["pool"]), backprop=backprop, **parameters)


def _fitted(setting: Setting, trial: Trial, parts: Split, plan: Plan) -> Any:
    labels = given_labels(parts.fitted.y, parts.known)
    return _model(setting, trial, plan).fit(parts.fitted.X, labels, groups=parts.fitted.groups)


def _run(setting: Setting, trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    rows = setting.rows(data[setting.data])
    if trial["start"] == "angles":
        yield from _angles(setting, rows, int(trial["pool"]), plan)
        return
    parts = split(rows, str(trial["protocol"]), int(trial["draw"]))
    if trial["start"] == "baseline":
        yield _baseline(parts)
        return
    began = time.perf_counter()
    model = _fitted(setting, trial, parts, plan)
    row: Row = {"seconds": time.perf_counter() - began, "sweeps": model.n_iter_}
    row |= {"sparseness": sparseness(model.label_factor_, axis=0), "consolidated": _consolidated(model)}
    if parts.held_out is None:
        yield row | _transduced(model, parts.fitted, parts.known)
    else:
        yield row | _predicted(model, parts.held_out)


def _transduced(model: Any, rows: Sequences, known: Array) -> Row:
    """Return the scores of rows without a label, and of sequences without a labeled row."""
    right = _guessed_groups(model, rows) == rows.classes_of_groups
    head = (model.codes_[-1] @ model.label_factor_).argmax(axis=1)  # the published prediction
    return {
        "rows": _share((model.transduction_ == rows.y)[~known]),
        "head": _share((model.classes_[head] == rows.y)[~known]),
        "groups": _share(right[~rows.labeled_groups(known)]),
        "purity": purity(rows.y, model.transform(rows.X, groups=rows.groups).argmax(axis=1)),
    }


def _predicted(model: Any, rows: Sequences) -> Row:
    """Return the scores of rows and sequences that the fit has not used."""
    codes = model.transform(rows.X, groups=rows.groups)
    head = (codes @ model.label_factor_).argmax(axis=1)
    return {
        "rows": _share(model.predict(rows.X, groups=rows.groups) == rows.y),
        "head": _share(model.classes_[head] == rows.y),
        "groups": _share(_guessed_groups(model, rows) == rows.classes_of_groups),
        "purity": purity(rows.y, codes.argmax(axis=1)),
    }


def _baseline(parts: Split) -> Row:
    """Return the score of a logistic regression that is trained on summaries of the sequences with a labeled row."""
    rows, labeled = parts.fitted, parts.fitted.labeled_groups(parts.known)
    summaries = rows.summaries
    model = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=5000))
    model.fit(summaries[labeled], rows.classes_of_groups[labeled])
    if parts.held_out is not None:
        return {"groups": model.score(parts.held_out.summaries, parts.held_out.classes_of_groups)}
    return {"groups": _share((model.predict(summaries) == rows.classes_of_groups)[~labeled])}


def _guessed_groups(model: Any, rows: Sequences) -> Array:
    """Return, for each sequence, the class with the largest mean probability over its rows."""
    starts = np.unique(rows.groups, return_index=True)[1]
    sums = np.add.reduceat(model.predict_proba(rows.X, groups=rows.groups), starts)
    return np.asarray(model.classes_[sums.argmax(axis=1)])


def _share(right: Array) -> float:
    return float(np.mean(right)) if len(right) else float("nan")


def _consolidated(model: Any) -> int:
    """Return the number of top features that are within 5° of another one."""
    cosines = model.components_ @ model.components_.T - 2 * np.eye(len(model.components_))
    return int(np.count_nonzero(cosines.max(axis=1) >= CONSOLIDATED))


def _angles(setting: Setting, rows: Sequences, pool: int, plan: Plan) -> Iterator[Row]:
    """Yield the mean angles between the codes of rows of the same class and of different classes, layer by layer."""
    first, second = np.random.default_rng(0).integers(0, len(rows.y), (2, PAIRS))
    same = rows.y[first] == rows.y[second]
    sizes = (plan.size(setting.rank, 5),) * 3
    model = DeepNMFNetwork(sizes, pool_size=pool, random_state=0, **_sweeps(plan))
    model.fit(rows.X, groups=rows.groups)
    for layer in range(len(sizes)):
        codes = normalize(model.encode(rows.X, layer, groups=rows.groups))
        angles = np.rad2deg(np.arccos(np.clip(np.sum(codes[first] * codes[second], axis=1), 0, 1)))
        yield {"layer": layer + 1, "within": float(angles[same].mean()), "between": float(angles[~same].mean())}


def _draw(setting: Setting, name: str, results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    """Draw accuracy over the pool, and B before and after back-propagation with the paper's initialization."""
    bunch, pool = data[setting.data], setting.pools[-2]
    parts = split(setting.rows(bunch), "paper", draw=0)
    trial: Trial = {"start": "random", "layers": 2, "pool": pool, "draw": 0}
    heads = {
        title: _fitted(setting, {**trial, "algorithm": algorithm}, parts, plan).label_factor_
        for title, algorithm in (("before", FORWARD), ("after", BACKWARD))
    }
    draw_heads(heads, [str(label) for label in plan.some(bunch.class_names)], folder / f"{name}-b.svg")
    shown = (
        f"![B before (above) and after back-propagation, two layers, pool {pool}, random initialization]({name}-b.svg)"
    )
    return [*draw_accuracies(name, results, folder), shown]


def _experiment(name: str, title: str, setting: Setting) -> Experiment:
    return Experiment(
        name=name,
        title=title,
        data=(setting.data,),
        trials=partial(_trials, setting),
        run=partial(_run, setting),
        page=partial(network_page, name),
        draw=partial(_draw, setting, name),
        compared=partial(compared_purity, name),
        claims=network_claims,
        timed=True,
    )


EXPERIMENTS = (
    _experiment("network-bbc", "Deep NMF network, Fig. 9 and 11: classes of documents", TEXT),
    _experiment("network-birds", "Deep NMF network, Fig. 13 and 14: classes of bird sounds", BIRDS),
)
