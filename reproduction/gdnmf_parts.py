"""GD²NMF (supplement): the contribution of its parts (Fig. R1), and its depth (Fig. R4)."""

import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from deepnmf import GDNMF
from reproduction.comparisons import Claim, evidence_on_most
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import unit_samples
from reproduction.gdnmf_labels import (
    BESIDE,
    DECAY,
    ORIGIN,
    SETS,
    decayed,
    few_sweeps,
    scored,
    sets_of,
    without_labels,
)
from reproduction.pages import table
from reproduction.pictures import draw_curves
from reproduction.protocols import LABELED_PROTOCOLS, described, given_labels, known_rows

__all__ = ["EXPERIMENTS", "WITHOUT_LABELS", "beside_table", "fitted_scores", "introduction"]

SHARE = 0.1  # share of the labels; the supplement gives none for these figures
WITHOUT_LABELS = (
    "The baselines (k-means on the data,\n"
    "PCA and whitened PCA with as many components as the top layer) and `DeepNMF` with the layer sizes of GD²NMF\n"
    "use no labels, and are not in the supplement."
)


def fitted_scores(model: Any, X: Array, y: Array, seed: int, plan: Plan) -> Row:
    """Fit a model, GD²NMF with a random draw of labels and others without labels, and return the scores of its codes."""
    known = known_rows(y, SHARE, seed)
    fitted = model.fit(X, given_labels(y, known)) if isinstance(model, GDNMF) else model.fit(X)
    (row,) = scored(fitted, y, {SHARE: known}, seed, plan)
    return row


def _measures(some: Results) -> dict[str, str]:
    """Return the columns that are shown, by their titles."""
    scores = product({"accuracy": "accuracy", "NMI": "nmi"}.items(), some.protocols)
    measures = {f"{title}, `{p}`": f"{p}_{name}" for (title, name), p in scores}
    return measures | {"accuracy on unlabeled samples": "labels"}


def _cells(some: Results) -> list[str]:
    return [some.spread(measure, 1, 100) for measure in _measures(some).values()]


def introduction(results: Results) -> str:
    """Return a description of the data, the draws and the protocols."""
    return (
        f"{ORIGIN}\n\n"
        f"Labels are given for {SHARE:.0%} of each class, in {len(results.distinct('draw'))} draws, each with its\n"
        "own initialization. k-means runs on the fitted top codes, which are not rescaled. Scores are in percent,\n"
        f"mean and standard deviation over the draws.\n\n{described(results, LABELED_PROTOCOLS)}"
    )


# ---------------------------------------------------------------------------------------------------------- Fig. R1

PART_DRAWS = 5
CLASSES = range(20, 61, 10)  # of CMU PIE
BOTH, BASIS, FEATURES, DEEP, SHALLOW = "GD²NMF", "only basis deep", "only features deep", "deep path", "shallow path"


def _variant(name: Value, n_features: int) -> dict[str, Any]:
    """Return the parameters of GD²NMF, or of GD²NMF_b, GD²NMF_f, GD²NMF_d or GD²NMF_s of the supplement."""
    first, top = decayed(n_features)
    match name:
        case "only basis deep":
            return {"layer_sizes": (top,), "basis_sizes": (first, top)}
        case "only features deep":
            return {"layer_sizes": (first, top), "basis_sizes": (first,)}
        case "deep path":
            return {"paths": "deep"}
        case "shallow path":
            return {"paths": "shallow", "tol": 1e-3}  # its sweeps do less, and cost less
    return {}


def _part_trials(plan: Plan) -> list[Trial]:
    draws = plan.repeats(PART_DRAWS)
    of_sets = product(sets_of(plan), (0,), draws, (BOTH, BASIS, FEATURES, DEEP, SHALLOW, *BESIDE))
    of_classes = product(["CMU PIE"], (3, 5) if plan.quick else CLASSES, draws, (BOTH, DEEP, SHALLOW, *BESIDE))
    return [
        {"data": name, "classes": classes, "parts": parts, "draw": draw}
        for name, classes, draw, parts in (*of_sets, *of_classes)
    ]


def _run_parts(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    X, y = unit_samples(data, SETS[str(trial["data"])])
    draw = int(trial["draw"])
    if classes := int(trial["classes"]):
        chosen = np.random.default_rng([classes, draw]).choice(np.unique(y), classes, replace=False)
        X, y = X[np.isin(y, chosen)], y[np.isin(y, chosen)]
    if trial["parts"] in BESIDE:
        model = without_labels(str(trial["parts"]), X.shape[1], draw, plan)
    else:
        model = GDNMF(random_state=draw, **few_sweeps(plan) | _variant(trial["parts"], X.shape[1]))
    yield fitted_scores(model, X, y, draw, plan)


def _gains(some: Results, label: str) -> str:
    """Return a list of the gains of the full model over each variant."""
    whole = some.where(parts=BOTH)
    lines = []
    for parts in some.distinct("parts"):
        if parts != BOTH and parts not in BESIDE:
            other = some.where(parts=parts)
            gains = (
                f"{title} {100 * (whole.mean(measure) - other.mean(measure)):+.1f}"
                for title, measure in _measures(some).items()
                if not measure.endswith("nmi")
            )
            lines.append(f"- {label}, GD²NMF minus *{parts}*: {'; '.join(gains)}.")
    return "\n".join(lines)


def _part_page(results: Results) -> str:
    sets, by_classes = results.where(classes=0), Results([row for row in results.rows if row["classes"]])
    first = [
        [d, p, *_cells(sets.where(data=d, parts=p))] for d, p in product(sets.distinct("data"), sets.distinct("parts"))
    ]
    second = [
        [k, p, *_cells(by_classes.where(classes=k, parts=p))]
        for k, p in product(by_classes.distinct("classes"), by_classes.distinct("parts"))
    ]
    return "\n\n".join(
        [
            introduction(results),
            "## Fig. R1(a): deep basis, deep features, or both",
            "The supplement plots accuracies and gives no numbers; it states that on all three data sets GD²NMF is\n"
            "better than with a deep basis only or with deep features only. The two rows for the paths are our\n"
            f"addition. {WITHOUT_LABELS}",
            table(["data", "parts", *_measures(results)], first),
            "\n".join(_gains(sets.where(data=name), str(name)) for name in sets.distinct("data")),
            "## Fig. R1(b): deep path, shallow path, or both, by the number of classes of CMU PIE",
            "Classes are drawn at random. The supplement states that both paths together are usually better than "
            "either.",
            table(["classes", "parts", *_measures(results)], second),
            "\n".join(_gains(by_classes.where(classes=k), f"{k} classes") for k in by_classes.distinct("classes")),
        ]
    )


def _part_claims(results: Results) -> Iterator[Claim]:
    """Yield the claims of Fig. R1, each with the number of cases in which the full model has the better accuracy."""
    sets, classes = (Results([r for r in results.rows if bool(r["classes"]) == is_b]) for is_b in (False, True))
    one_side = "with deep features only, the accuracy is the same within its deviation, or better (CMU PIE)"
    one_path = "the shallow path is best for 20 classes, and the deep path from 40 classes on"
    for statement, some, by, parts, reason in (
        ("both sides deep are better than one (a)", sets, "data", (BASIS, FEATURES), one_side),
        ("both paths are usually better than either (b)", classes, "classes", (DEEP, SHALLOW), one_path),
    ):
        evidence = {}
        for protocol in results.protocols:
            column = f"{protocol}_accuracy"
            better = [
                some.where(**{by: case}, parts=BOTH).mean(column) > some.where(**{by: case}, parts=part).mean(column)
                for case, part in product(some.distinct(by), parts)
            ]
            evidence[protocol] = evidence_on_most(sum(better), len(better), "comparisons")
        yield Claim(f"Fig. R1: {statement}", evidence, reason)


def _draw_parts(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    some, protocol = Results([row for row in results.rows if row["classes"]]), results.protocols[-1]
    curves = {
        str(parts): [
            (float(k), 100 * some.where(parts=parts, classes=k).mean(f"{protocol}_accuracy"))
            for k in some.distinct("classes")
        ]
        for parts in some.distinct("parts")
        if parts not in BESIDE
    }
    draw_curves(curves, folder / "gdnmf-parts.svg", "classes of CMU PIE", f"accuracy, % ({protocol})")
    return ["![Accuracy over the number of classes](gdnmf-parts.svg)"]


# ---------------------------------------------------------------------------------------------------------- Fig. R4

DEPTHS = (1, 2, 3, 4, 5)
DEPTH_WEIGHTS = {"the default": GDNMF().label_weight, "the supplement's": 100.0}
DEPTH_DRAWS = 5


def _depth_trials(plan: Plan) -> list[Trial]:
    draws = list(product(sets_of(plan), plan.repeats(DEPTH_DRAWS)))
    beside: list[Trial] = [
        {"data": name, "model": model, "draw": draw} for (name, draw), model in product(draws, BESIDE)
    ]
    depths = product(draws, plan.some(DEPTHS), DEPTH_WEIGHTS.values())
    return beside + [
        {"data": name, "depth": depth, "weight": weight, "draw": draw} for (name, draw), depth, weight in depths
    ]


def _run_depth(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    X, y = unit_samples(data, SETS[str(trial["data"])])
    draw = int(trial["draw"])
    if "model" in trial:
        yield fitted_scores(without_labels(str(trial["model"]), X.shape[1], draw, plan), X, y, draw, plan)
        return
    depth = int(trial["depth"])
    model = GDNMF(depth=depth, label_weight=float(trial["weight"]), random_state=draw, **few_sweeps(plan))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a step that overflows is rejected
        found = fitted_scores(model, X.astype(np.float64), y, draw, plan)
    yield found | {"sizes": ", ".join(map(str, decayed(X.shape[1], depth)))}


def _best_depths(results: Results) -> str:
    lines = []
    for name, weight in product(results.distinct("data"), results.distinct("weight")):
        some = results.where(data=name, weight=weight)
        best = (f"{some.best('depth', f'{p}_accuracy').rows[0]['depth']} by `{p}`" for p in results.protocols)
        lines.append(f"- {name}, α = {float(weight):g}: the best number of layers is {', '.join(best)}.")
    return "\n".join(lines)


def _depth_claims(results: Results) -> Iterator[Claim]:
    deep = Results([row for row in results.rows if "depth" in row])
    cases = [
        deep.where(data=name, weight=weight) for name, weight in product(deep.distinct("data"), deep.distinct("weight"))
    ]
    evidence = {}
    for protocol in results.protocols:
        two = sum(some.best("depth", f"{protocol}_accuracy").rows[0]["depth"] == 2 for some in cases)
        evidence[protocol] = evidence_on_most(two, len(cases), "cases")
    reason = (
        "the number of layers decides the size of the top layer: 28 features are best for 20 and 15 classes, 307 for 68"
    )
    yield Claim("two layers are usually best", evidence, reason)


def beside_table(some: Results) -> list[str]:
    """Return a section with the scores of the models that use no labels."""
    rows = [
        [name, model, *_cells(some.where(data=name, model=model))]
        for name, model in product(some.distinct("data"), some.distinct("model"))
    ]
    return ["## Models without labels", WITHOUT_LABELS, table(["data", "model", *_measures(some)], rows)]


def _depth_page(results: Results) -> str:
    deep, beside = (Results([row for row in results.rows if name in row]) for name in ("depth", "model"))
    columns = [deep.distinct(name) for name in ("data", "weight", "depth")]
    rows = []
    for name, weight, depth in product(*columns):
        some = deep.where(data=name, weight=weight, depth=depth)
        rows.append([name, f"{float(weight):g}", depth, some.rows[0]["sizes"], *_cells(some)])
    weights = " and ".join(f"{weight:g} ({title})" for title, weight in DEPTH_WEIGHTS.items())
    return "\n\n".join(
        [
            introduction(results),
            f"Models have one to five layers with a decay of {DECAY}, and two label weights: {weights}. The\n"
            "supplement plots the scores and gives no numbers; it states that two layers are usually best and that\n"
            "more are much worse. Fits use double precision, because repeated squares exceed the range of single\n"
            "precision.",
            "Accuracy by depth:\n\n" + _best_depths(deep),
            table(["data", "α", "layers", "sizes", *_measures(results)], rows),
            *beside_table(beside),
        ]
    )


EXPERIMENTS = (
    Experiment(
        name="gdnmf-parts",
        title="GD²NMF, Fig. R1: contribution of its parts",
        data=tuple(SETS.values()),
        trials=_part_trials,
        run=_run_parts,
        page=_part_page,
        draw=_draw_parts,
        claims=_part_claims,
    ),
    Experiment(
        name="gdnmf-depth",
        title="GD²NMF, Fig. R4: one to five layers",
        data=tuple(SETS.values()),
        trials=_depth_trials,
        run=_run_depth,
        page=_depth_page,
        claims=_depth_claims,
    ),
)
