"""Sparse Deep NMF (Guo & Zhang, 2019): Fig. 3 to 6, depth and width, and Fig. 8, from a class to its parts."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from deepnmf.metrics import sparseness
from reproduction.comparisons import Claim, evidence_on_most
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import divided, random_sizes, unit_samples
from reproduction.pages import table
from reproduction.pictures import draw_rows
from reproduction.protocols import scores
from reproduction.sdnmf_pie import BESIDE, MEASURES, PIE, RESTARTS, SPARSE, SPLITS, SWEEPS, TESTED, settings_of

__all__ = ["EXPERIMENTS"]

# ----------------------------------------------------------------------------------------------------- Fig. 3 to 6

DEPTHS = (1, 2, 3, 4)  # the paper's are 2 to 4
DRAWS, PUBLISHED_DRAWS = 5, 50
TOP, MEAN = 40, 400
FIRST = ((600, 40), (600, 80), (300, 40), (300, 80))
SECOND = ((600, 40), (600, 80), (600, 120), (600, 160), (600, 200))
THIRD = ((600, 160), (600, 160, 40), (600, 160, 80), (600, 160, 120))


def _joined(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def _structure_trials(plan: Plan) -> list[Trial]:
    """Return all trials; those with the same first layer follow each other."""
    models = (*plan.some(SPARSE), *BESIDE)
    depths: list[Trial] = [
        {"figure": "depth", "model": model, "depth": depth, "repetition": draw}
        for draw, depth, model in product(plan.repeats(DRAWS), plan.some(DEPTHS), models)
    ]
    sizes = dict.fromkeys(plan.some(FIRST) + plan.some(SECOND) + plan.some(THIRD))
    splits: list[Trial] = [
        {"figure": "sizes", "model": model, "sizes": _joined(widths), "repetition": split}
        for split, widths, model in product(plan.repeats(SPLITS), sizes, models)
    ]
    return depths + splits


def _run_structure(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    repetition = int(trial["repetition"])
    X, y = unit_samples(data, PIE)
    drawn: Row = {}
    if trial["figure"] == "depth":
        sizes = random_sizes(int(trial["depth"]), TOP, MEAN, repetition)
        model = _default(trial, sizes, plan).fit(X)
        codes, labels, drawn = model.codes_[-1], y, {"sizes": _joined(sizes)}
    else:
        train, test = divided(y, repetition, plan.size(TESTED, 2))
        model = _default(trial, [int(size) for size in str(trial["sizes"]).split(", ")], plan).fit(X[train])
        codes, labels = model.transform(X[test]), y[test]
    yield drawn | scores(codes, labels, repetition, plan.size(RESTARTS, 2), MEASURES)


def _default(trial: Trial, sizes: Sequence[int], plan: Plan) -> Any:
    widths = range(3 + len(sizes), 3, -1) if plan.quick else sizes
    return next(iter(settings_of(str(trial["model"]), widths, "linear", int(trial["repetition"]), plan).values()))


def _structure_page(results: Results) -> str:
    depth, splits = results.where(figure="depth"), results.where(figure="sizes")
    draws, repeats = len(depth.distinct("repetition")), len(splits.distinct("repetition"))
    parts = [
        f"The models are linear and have their defaults, with at most {SWEEPS} sweeps; samples have unit norm and\n"
        f"single precision. The protocols differ only in the restart of k-means: of {RESTARTS} restarts, `paper`\n"
        "takes the one with the best NMI by the labels, and `blind` takes the one with the lowest inertia. The paper\n"
        "shows box plots and gives no numbers; its conclusion is quoted under each title.\n"
        "The baselines (k-means on the data, PCA and whitened PCA with as many components as the top layer) and\n"
        "`DeepNMF` are not in the paper.",
        "## Fig. 3: NP by the number of layers",
        f"Models are fitted to all faces, with {TOP} components on top; the sizes of the lower layers are drawn from\n"
        f"an exponential distribution and sorted. The number of draws is {draws} (the paper has {PUBLISHED_DRAWS},\n"
        f"and does not give the mean of the distribution; here it is {MEAN}). The paper compares 2 to 4 layers:\n"
        '"L = 2 should be the best choice".',
        *(_matrix(depth, "depth", depth.distinct("depth"), protocol, "np") for protocol in results.protocols),
    ]
    for title, claim, sizes in (
        ("Fig. 4: NMI by k1", '"the classification results with k1 = 300 and k1 = 600 are consistent"', FIRST),
        (
            "Fig. 5: NMI by k2",
            '"besides DNMF [...], the precision of four models rise as k2 grows at first and reach the climax '
            'under k2 = 120 or k2 = 160"',
            SECOND,
        ),
        (
            "Fig. 6: NMI of two and three layers",
            '"most of our models, except DNMF, reach their best with layer size= [600, 160]"',
            THIRD,
        ),
    ):
        available = [joined for joined in map(_joined, sizes) if joined in splits.distinct("sizes")]
        parts += [
            f"## {title}",
            "The codes of the test faces are scored. The splits are made as in Table III, and their number is "
            f"{repeats}. The paper: {claim}.",
        ]
        parts += [_matrix(splits, "sizes", available, protocol, "nmi") for protocol in results.protocols]
    return "\n\n".join(parts)


def _matrix(results: Results, by: str, values: Sequence[Value], protocol: str, measure: str) -> str:
    """Return a table of a measure of every model, with the best value of each in the last row.

    A baseline that does not depend on the value has none.
    """
    models, column = results.distinct("model"), f"{protocol}_{measure}"
    rows = [[value, *(results.where(model=m, **{by: value}).spread(column) for m in models)] for value in values]
    best = [
        f"**{_best(results.where(model=model), by, values, column)}**" if len(set(cells)) > 1 else ""
        for model, cells in zip(models, zip(*(row[1:] for row in rows), strict=True), strict=True)
    ]
    return table([f"{by}, `{protocol}`", *models], [*rows, ["best", *best]])


def _best(some: Results, by: str, values: Sequence[Value], column: str) -> Value:
    return max(values, key=lambda value: some.where(**{by: value}).mean(column))


def _claims(results: Results) -> Iterator[Claim]:
    """Yield the claims on depth and sizes, each with the number of models that are best where the paper says."""
    depths, k2, layers = (2, 3, 4), list(map(_joined, SECOND)), list(map(_joined, THIRD))
    reason = "the paper gives no weights of the penalties, which change the results more than the sizes (Table III)"
    for statement, figure, measure, tried, best, models in (
        ("two layers are best (NP, among 2 to 4 layers)", "depth", "np", depths, depths[:1], SPARSE),
        ("k2 = 120 or 160 has the highest NMI, except for DNMF", "sizes", "nmi", k2, k2[2:4], SPARSE[1:]),
        (
            "(600, 160) is better than three layers (NMI), except for DNMF",
            "sizes",
            "nmi",
            layers,
            layers[:1],
            SPARSE[1:],
        ),
    ):
        some = results.where(figure=figure)
        if set(tried) <= set(some.distinct(figure) if some else ()):
            yield Claim(
                statement,
                {
                    protocol: evidence_on_most(
                        sum(_best(some.where(model=m), figure, tried, f"{protocol}_{measure}") in best for m in models),
                        len(models),
                        "models",
                    )
                    for protocol in results.protocols
                },
                reason,
            )


# ----------------------------------------------------------------------------------------------------------- Fig. 8

PATH_SIZES = (193, 141, 40)
CLASS = 36  # counted from 1, as in the paper
STRONGEST = 5


def _fitted(data: Data, plan: Plan) -> tuple[Any, Array]:
    """Return SDNMF/L fitted to all faces, and a mask of the faces of the class."""
    X, y = unit_samples(data, PIE)
    classes = np.unique(y)
    sizes = (7, 6, 5) if plan.quick else PATH_SIZES
    model = next(iter(settings_of("SDNMF/L", sizes, "linear", 0, plan).values()))  # the default
    return model.fit(X), y == classes[min(CLASS, len(classes)) - 1]


def _path_trials(plan: Plan) -> list[Trial]:
    return [{"model": "SDNMF/L"}]


def _run_path(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """Yield the strongest top features of the class and, layer by layer, the strongest parts of the strongest one."""
    model, is_class = _fitted(data, plan)
    top = model.codes_[-1]
    weights, others, of = _shares(top[is_class].mean(axis=0)), _shares(top[~is_class].mean(axis=0)), "the class"
    for layer in range(len(model.factors_), 0, -1):
        strongest = [int(f) for f in np.argsort(-weights, kind="stable")[:STRONGEST] if weights[f] > 0]
        for feature in strongest:
            elsewhere = f"{others[feature]:.3f}" if layer == len(model.factors_) else ""
            sparse = sparseness(model.features_[layer - 1][[feature]])
            place: Row = {"layer": layer, "feature": feature + 1, "of": of}
            yield place | {"share": float(weights[feature]), "elsewhere": elsewhere, "sparseness": sparse}
        of = f"feature {strongest[0] + 1}"
        weights = _shares(model.factors_[layer - 1][strongest[0]])


def _shares(weights: Array) -> Array:
    """Return weights that add up to one."""
    return weights / max(float(weights.sum()), np.finfo(np.float32).tiny)


def _path_page(results: Results) -> str:
    head = ["layer", "feature", "of", "share", "share in the other faces", "sparseness"]
    rows = [
        [
            row["layer"],
            row["feature"],
            row["of"],
            f"{float(row['share']):.3f}",
            row["elsewhere"],
            f"{float(row['sparseness']):.3f}",
        ]
        for row in results.rows
    ]
    mean = {layer: results.where(layer=layer).mean("sparseness") for layer in results.distinct("layer")}
    order = sorted(mean, key=lambda layer: mean[layer], reverse=True)
    return "\n\n".join(
        [
            f"Linear SDNMF/L with layers {PATH_SIZES} is fitted to all faces with default weights. The path starts\n"
            f"at the mean code of class {CLASS} (counted from 1), the paper's example, and goes from the strongest\n"
            f"feature of each layer to the {STRONGEST} strongest features below it. A share is relative to the sum\n"
            "of all weights. The number of a feature depends on the initialization (the paper's path is 7, then 13).\n"
            "The paper shows pictures; their weights are the only numbers. The faces themselves are not shown,\n"
            "because they may not be redistributed.",
            table(head, rows),
            "Mean sparseness of these features: "
            + ", ".join(f"{mean[layer]:.3f} in layer {layer}" for layer in order)
            + " (sparsest first).",
        ]
    )


def _draw_path(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    """Draw the features of the path, with their shares."""
    model, _ = _fitted(data, plan)
    rows = {}
    for layer in results.distinct("layer"):
        some = results.where(layer=layer)
        features = model.features_[int(layer) - 1][[int(number) - 1 for number in some.column("feature")]]
        rows[f"layer {layer}: the strongest of {some.rows[0]['of']}"] = features
    file = "sdnmf-path.png"
    shares = [f"{share:.2f}" for share in results.column("share")]
    draw_rows(rows, shares, data[PIE].image_shape, folder / file)
    return [f"![The strongest features of a class and the parts of the strongest, with their shares]({file})"]


EXPERIMENTS = (
    Experiment(
        name="sdnmf-structure",
        title="Sparse Deep NMF, Fig. 3 to 6: number and sizes of layers",
        data=(PIE,),
        trials=_structure_trials,
        run=_run_structure,
        page=_structure_page,
        claims=_claims,
    ),
    Experiment(
        name="sdnmf-path",
        title="Sparse Deep NMF, Fig. 8: the path from a class to its parts",
        data=(PIE,),
        trials=_path_trials,
        run=_run_path,
        page=_path_page,
        draw=_draw_path,
    ),
)
