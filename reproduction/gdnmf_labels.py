"""GD²NMF (supplement of "Generalized Discriminative Deep NMF"): Table R2."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from deepnmf import CNMF, GDNMF, NMF, DeepNMF
from reproduction.baselines import BASELINES, baseline
from reproduction.comparisons import Comparison, Grid
from reproduction.experiment import Array, Data, Experiment, Plan, Protocol, Results, Row, Trial
from reproduction.faces import unit_samples
from reproduction.pages import table
from reproduction.pictures import draw_curves
from reproduction.protocols import (
    CODE_SCALES,
    LABELED_PROTOCOLS,
    RESTARTS,
    clusterings,
    described,
    given_labels,
    known_rows,
    ridge_accuracy,
    scores_beside_labels,
)

__all__ = [
    "BESIDE",
    "DECAY",
    "EXPERIMENTS",
    "ORIGIN",
    "SETS",
    "decayed",
    "few_sweeps",
    "scored",
    "sets_of",
    "without_labels",
]

SETS = {"CMU PIE": "pie_pose27", "COIL-20": "coil20_32x32", "Yale": "yale_32x32"}
SHARES = (0.1, 0.2, 0.3, 0.4)
DECAY = 0.3  # the supplement's, section 3.6
DRAWS = 10
BESIDE = (*BASELINES, "DeepNMF")  # not in the supplement
DEFAULT_WEIGHT, PUBLISHED_WEIGHT = GDNMF().label_weight, 100.0  # α of section 3.6

# Table R2: NMI in percent on CMU PIE, by share of labels.
PUBLISHED = {"GD²NMF": dict(zip(SHARES, (82.83, 83.99, 84.98, 84.64), strict=True))}
PUBLISHED["SGDNMF"] = dict(zip(SHARES, (76.69, 80.59, 81.88, 82.56), strict=True))

ORIGIN = (
    "The data are CMU PIE (2856 faces, 68 people), COIL-20 (1440 pictures of 20 objects) and Yale (165 faces, 15\n"
    "people), with 32 x 32 pixels. Samples have unit norm and, unless stated otherwise, single precision. The\n"
    "defaults of `GDNMF` were chosen with knowledge of the labels of PIE and COIL-20, but not of Yale: see\n"
    "[decision 8](../decisions/0008-gdnmf.md)."
)


def decayed(n_features: int, depth: int = 2, decay: float = DECAY) -> tuple[int, ...]:
    """Return the layer sizes r_1..r_m that `GDNMF` computes from the decay.

    Examples
    --------
    >>> decayed(1024)
    (307, 92)
    """
    sizes = [n_features]
    for _ in range(depth):
        sizes.append(max(1, round(decay * sizes[-1])))
    return tuple(sizes[1:])


def sets_of(plan: Plan) -> list[str]:
    """Return the names of the data sets, or only the first in a quick run."""
    return list(SETS)[:1] if plan.quick else list(SETS)


def few_sweeps(plan: Plan, *, pretrains: bool = True) -> dict[str, Any]:
    """Return limits of the number of sweeps in a quick run, otherwise no parameters."""
    names = ("max_iter", "pretrain_max_iter") if pretrains else ("max_iter",)
    return dict.fromkeys(names, 3) if plan.quick else {}


def scored(
    model: Any, y: Array, shares: Mapping[float, Array], seed: int, plan: Plan, scale: str = "as they are"
) -> Iterator[Row]:
    """Yield scores of k-means on the top codes and, if there are any, of the predicted labels of unlabeled samples.

    `shares` has the rows with known labels for each share of the labels.
    """
    codes = CODE_SCALES[scale](np.asarray(model.codes_[-1]))
    found = clusterings(codes, len(np.unique(y)), seed, plan.size(RESTARTS, 2))
    guessed = getattr(model, "transduction_", None)
    for share, known in shares.items():
        right = float("nan") if guessed is None else float(np.mean((guessed == y)[~known]))
        yield scores_beside_labels(found, y, known) | {"share": share, "labels": right}


def without_labels(name: str, n_features: int, seed: int, plan: Plan) -> Any:
    """Return a model that uses no labels: a baseline or `DeepNMF`, with the layer sizes of GD²NMF."""
    sizes = decayed(n_features)
    return baseline(name, sizes[-1]) if name in BASELINES else DeepNMF(sizes, random_state=seed, **few_sweeps(plan))


# --------------------------------------------------------------------------------------------------------- Table R2

LABEL_MODELS = ("GD²NMF", "SSNMF", "CNMF", "ridge on X")
UNLABELED_MODELS = ("NMF", *BESIDE)


def _label_trials(plan: Plan) -> list[Trial]:
    """Return all trials; a model without labels is fitted once for all shares of labels."""
    draws = list(product(sets_of(plan), plan.repeats(DRAWS)))
    unlabeled: list[Trial] = [
        {"data": name, "model": model, "draw": draw} for (name, draw), model in product(draws, UNLABELED_MODELS)
    ]
    labeled: list[Trial] = [
        {"data": name, "model": model, "draw": draw, "given": share}
        for (name, draw), share, model in product(draws, plan.some(SHARES), LABEL_MODELS)
    ]
    return labeled + unlabeled


def _label_models(name: str, n_features: int, seed: int, plan: Plan) -> dict[float, Any]:
    """Return the settings of a model by α, the default first."""
    rank, few = decayed(n_features)[-1], few_sweeps(plan, pretrains=False)
    weights = (DEFAULT_WEIGHT, PUBLISHED_WEIGHT)
    match name:
        case "NMF":
            return {0.0: NMF(rank, random_state=seed, **few)}
        case "CNMF":
            return {0.0: CNMF(rank, random_state=seed, **few)}
        case "SSNMF":  # its sweeps do less than sweeps of both paths, hence the smaller tol
            parameters = {"paths": "shallow", "tol": 1e-3, **few_sweeps(plan)}
            return {weight: GDNMF(label_weight=weight, random_state=seed, **parameters) for weight in weights}
        case "GD²NMF":
            return {w: GDNMF(label_weight=w, random_state=seed, **few_sweeps(plan)) for w in weights}
    return {0.0: without_labels(name, n_features, seed, plan)}


def _run_labels(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    X, y = unit_samples(data, SETS[str(trial["data"])])
    name, draw = str(trial["model"]), int(trial["draw"])
    shares = {share: known_rows(y, share, draw) for share in plan.some(SHARES) if trial.get("given", share) == share}
    if name == "ridge on X":
        for share, known in shares.items():
            accuracy = ridge_accuracy(X, y, known)
            yield {"share": share, "labels": accuracy, "weight": 0.0, "scale": "", "default": 1}
        return
    for place, (weight, model) in enumerate(plan.tried(_label_models(name, X.shape[1], draw, plan).items())):
        if name in UNLABELED_MODELS:
            model.fit(X)
        else:
            model.fit(X, given_labels(y, next(iter(shares.values()))))
        for scale in CODE_SCALES:
            default = int(place == 0 and scale == "as they are")
            for row in scored(model, y, shares, draw, plan, scale):
                yield row | {"weight": weight, "scale": scale, "default": default}


def _chosen(some: Results, protocol: str) -> Results:
    """Return the rows of the setting with the best mean accuracy (`paper`), or of the default (`blind`)."""
    if protocol == "blind":
        return some.where(default=1)
    settings = dict.fromkeys((row["weight"], row["scale"]) for row in some.rows)
    found = (some.where(weight=weight, scale=scale) for weight, scale in settings)
    return max(found, key=lambda rows: rows.mean("paper_accuracy"))


def _setting(some: Results) -> str:
    row = some.rows[0]
    return f"α = {row['weight']:g}, {row['scale']}" if row["weight"] else str(row["scale"])


Columns = dict[str, Callable[[Results], str]]
LABEL_COLUMNS: dict[Protocol, Columns] = {
    "paper": {
        "accuracy, `paper`": lambda some: _chosen(some, "paper").spread("paper_accuracy", 1, 100),
        "NMI, `paper`": lambda some: _chosen(some, "paper").spread("paper_nmi", 1, 100),
        "its setting": lambda some: _setting(_chosen(some, "paper")),
    },
    "blind": {
        "NMI, `blind`": lambda some: _chosen(some, "blind").spread("blind_nmi", 1, 100),
        "NMI, `blind`, unit rows": lambda some: some.where(weight=some.rows[0]["weight"], scale="unit rows").spread(
            "blind_nmi", 1, 100
        ),
    },
}


def _label_row(some: Results, columns: Columns) -> list[str]:
    """Return the table cells of a model; the cells of clustering scores are empty for a classifier."""
    cells = (cell(some) if some.protocols else "" for cell in columns.values())
    return [*cells, some.where(default=1).spread("labels", 1, 100)]


def _label_table(some: Results) -> str:
    columns = {head: cell for protocol in some.protocols for head, cell in LABEL_COLUMNS[protocol].items()}
    head = ["labels", "model", *columns, "accuracy on unlabeled samples"]
    rows = []
    for share, model in product(some.distinct("share"), (*LABEL_MODELS[:-1], *UNLABELED_MODELS, LABEL_MODELS[-1])):
        if found := some.where(share=share, model=model):
            rows.append([f"{float(share):.0%}", model, *_label_row(found, columns)])
    return table(head, rows)


def _published_table(some: Results) -> str:
    shares = some.distinct("share")
    lines = {
        f"{title}, ours, `{p}`": [
            _chosen(some.where(share=s, model=model), p).spread(f"{p}_nmi", 2, 100) for s in shares
        ]
        for p, (title, model) in product(some.protocols, {"GD²NMF": "GD²NMF", "NMF without labels": "NMF"}.items())
    }
    lines |= {f"{model}, published": [f"{values[float(s)]:.2f}" for s in shares] for model, values in PUBLISHED.items()}
    return table(["NMI, %", *(f"{float(s):.0%} of the labels" for s in shares)], [[k, *v] for k, v in lines.items()])


def _compared(results: Results) -> Iterator[Comparison]:
    """Yield a comparison for every number of Table R2."""
    pie = results.where(data="CMU PIE", model="GD²NMF")
    for share in pie.distinct("share"):
        some, number = pie.where(share=share), PUBLISHED["GD²NMF"][float(share)]
        runs: dict[Grid, list[float]] = {
            p: [100 * v for v in _chosen(some, p).column(f"{p}_nmi")] for p in results.protocols
        }
        yield Comparison(f"GD²NMF, NMI, {float(share):.0%} of the labels", number, runs)


def _label_claims(some: Results) -> str:
    lines = []
    for share, p in product(some.distinct("share"), some.protocols):
        ours, hard, none = (
            100 * _chosen(some.where(share=share, model=model), p).mean(f"{p}_nmi")
            for model in ("GD²NMF", "CNMF", "NMF")
        )
        gap = ours - PUBLISHED["GD²NMF"][float(share)]
        lines.append(
            f"- {float(share):.0%} of the labels: the NMI of GD²NMF by `{p}` differs by {gap:+.2f} from the published "
            f"one, by {ours - hard:+.2f} from that of CNMF (a hard constraint),\n"
            f"  and by {ours - none:+.2f} from that of NMF, which uses no labels and is scored on the same samples."
        )
    return "\n".join(lines)


def _label_page(results: Results) -> str:
    pie = results.where(data="CMU PIE")
    parts = [
        ORIGIN,
        f"Labels are given for a share of each class, in {len(results.distinct('draw'))} draws, each with its own\n"
        f"initialization. GD²NMF has two layers with a decay of {DECAY}. k-means runs on the fitted top codes, with\n"
        f"{RESTARTS} restarts. Scores are in percent, mean and standard deviation over the draws.",
        described(results, LABELED_PROTOCOLS),
        f"In `paper`, the label weight α ({DEFAULT_WEIGHT:g}, the default, or {PUBLISHED_WEIGHT:g}, the\n"
        "supplement's) and the scale of the codes are those with the best mean accuracy; in `blind`, α is the\n"
        "default and the codes are not rescaled. The last column is the share of samples without a label whose label\n"
        "the model predicts correctly. SSNMF is `GDNMF` without its deep path. CNMF gives all labeled samples of a\n"
        "class the same code.\n"
        "NMF, `DeepNMF` (with the layer sizes of GD²NMF) and the baselines (k-means on the data, PCA and whitened\n"
        "PCA) use no labels: one fit per draw is scored for every share of the labels.",
        "## Table R2: NMI on CMU PIE",
        _published_table(pie),
        _label_claims(pie),
        "SGDNMF is not implemented in this package.",
    ]
    for name in results.distinct("data"):
        parts += [f"## {name}", _label_table(results.where(data=name))]
    return "\n\n".join(parts)


def _draw_labels(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    pie, protocol = results.where(data="CMU PIE", default=1), results.protocols[-1]
    shares = pie.distinct("share")
    curves = {
        f"{m}, ours": [(100 * float(s), 100 * pie.where(model=m, share=s).mean(f"{protocol}_nmi")) for s in shares]
        for m in ("GD²NMF", "SSNMF", "CNMF")
    }
    curves |= {f"{m}, published": [(100 * float(s), v[float(s)]) for s in shares] for m, v in PUBLISHED.items()}
    draw_curves(
        curves, folder / "gdnmf-labels.svg", "labels given, %", f"NMI on CMU PIE, % (ours: {protocol}, defaults)"
    )
    return ["![NMI over the share of labels](gdnmf-labels.svg)"]


EXPERIMENTS = (
    Experiment(
        name="gdnmf-labels",
        title="GD²NMF, Table R2: NMI by the share of labels",
        data=tuple(SETS.values()),
        trials=_label_trials,
        run=_run_labels,
        page=_label_page,
        draw=_draw_labels,
        compared=_compared,
    ),
)
