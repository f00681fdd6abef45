"""Deep nsNMF (Yu, Zhou, Cichocki & Xie, 2018): accuracy by depth (Fig. 9), features by layer (Fig. 3 to 5)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.preprocessing import normalize

from deepnmf import DeepNMF, DeepNSNMF, DeepSemiNMF
from deepnmf.metrics import sparseness
from reproduction.baselines import BASELINES, baseline
from reproduction.comparisons import Claim, Evidence, Protocol
from reproduction.dnsnmf_faces import REPETITIONS, drawn, few_sweeps
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial
from reproduction.pages import table
from reproduction.pictures import draw_curves, draw_hierarchy
from reproduction.protocols import RESTARTS, of_protocol, scores

__all__ = ["EXPERIMENTS"]

# ----------------------------------------------------------------------------------------------------------- Fig. 9

DEPTHS = {1: (), 2: (100,), 3: (200, 60), 4: (200, 100, 40), 5: (200, 120, 70, 30)}
DEPTH_THETAS = (0.1, 0.0, 0.3, 0.5, 0.9)  # the default first
OURS: dict[str, Literal["codes", "data"]] = {"DeepNMF": "codes", 'DeepNMF(explains="data")': "data"}
DEPTH_DATA = {"ORL": "orl_32x32", "Yale": "yale_32x32"}


def _depth_trials(plan: Plan) -> list[Trial]:
    models = [*((name, 1) for name in BASELINES), *product(("Deep nsNMF", *OURS), plan.some(DEPTHS))]
    return [
        {"data": name, "model": model, "depth": depth, "repetition": repetition}
        for name, (model, depth), repetition in product(DEPTH_DATA, models, plan.repeats(REPETITIONS))
    ]


def _run_depth(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    k, repetition = plan.size(10, 3), int(trial["repetition"])
    X, y = drawn(data[DEPTH_DATA[str(trial["data"])]], k, repetition)
    sizes = (*(plan.size(size, 6) for size in DEPTHS[int(trial["depth"])]), k)
    settings = _depth_settings(str(trial["model"]), sizes, plan)
    for place, setting in enumerate(plan.tried(settings)):
        model = settings[setting].fit(normalize(X))
        found = scores(model.codes_[-1], y, repetition, plan.size(RESTARTS, 2))
        yield found | {"setting": setting, "default": int(place == 0)}


def _depth_settings(model: str, sizes: Sequence[int], plan: Plan) -> dict[str, Any]:
    if model in BASELINES:
        return {"": baseline(model, sizes[-1])}
    if model in OURS:
        return {"": DeepNMF(tuple(sizes), explains=OURS[model], **few_sweeps(plan))}
    return {f"θ = {theta:g}": DeepNSNMF(tuple(sizes), theta=theta, **few_sweeps(plan)) for theta in DEPTH_THETAS}


def _depth_page(results: Results) -> str:
    rows = []
    for name, model, depth in dict.fromkeys((row["data"], row["model"], row["depth"]) for row in results.rows):
        found = results.where(data=name, model=model, depth=depth)
        chosen = {p: of_protocol(found, p, "accuracy") for p in results.protocols}
        cells = ((some.spread(f"{p}_accuracy", 1, 100), some.rows[0]["setting"]) for p, some in chosen.items())
        rows.append([name, model, depth, DEPTHS[int(depth)], *(cell for pair in cells for cell in pair)])
    head = ["data", "model", "layers", "sizes below the top"]
    head += [cell for p in results.protocols for cell in (f"accuracy, `{p}`", f"smoothing, `{p}`")]
    return "\n\n".join(
        [
            f"Ten classes are drawn at random, {len(results.distinct('repetition'))} times. Models have ten\n"
            "components on top and 1 to 5 layers. `paper`: the best of 20 restarts of k-means and the smoothing that\n"
            "is best on average, both chosen by the labels; `blind`: the restart with the lowest inertia and the\n"
            "default smoothing. The baselines (k-means on the data, PCA and whitened PCA with ten components) and\n"
            "`DeepNMF` are not in the paper. The paper plots the curve and gives no numbers: its accuracy grows up\n"
            "to three layers and then stays the same. The lower layers have about as many features as there are\n"
            "samples (100 or 110), or more. Then each part describes a single sample, parts do not occur together,\n"
            'and the wholes of `DeepNMF`, which explain codes, become worse with each layer; with `explains="data"`,\n'
            "the accuracy stays near that of one layer up to four layers.",
            table(head, rows),
        ]
    )


def _depth_claims(results: Results) -> Iterator[Claim]:
    deep = results.where(model="Deep nsNMF")
    for name in deep.distinct("data"):
        evidence = {p: _growth(deep.where(data=name), p) for p in results.protocols}
        reason = "the differences between one and three layers are smaller than the deviations over the draws of people"
        yield Claim(f"the accuracy of Deep nsNMF on {name} grows up to three layers", evidence, reason)


def _growth(some: Results, protocol: Protocol) -> Evidence:
    """Return the accuracies with one to three layers, and whether they grow."""
    column, depths = f"{protocol}_accuracy", some.distinct("depth")[:3]
    means = [of_protocol(some.where(depth=depth), protocol, "accuracy").mean(column) for depth in depths]
    return Evidence(", ".join(f"{100 * mean:.1f}" for mean in means) + " %", means == sorted(means))


# ------------------------------------------------------------------------------------------------------ Fig. 3 to 5

CBCL = "cbcl_faces_19x19"
CBCL_SIZES = (150, 80, 40)


def _cbcl_models(plan: Plan) -> dict[str, Any]:
    sizes = (6, 5, 4) if plan.quick else CBCL_SIZES
    return {"Deep nsNMF": DeepNSNMF(sizes, **few_sweeps(plan)), "Deep Semi-NMF": DeepSemiNMF(sizes, **few_sweeps(plan))}


def _fitted_cbcl(model: str, data: Data, plan: Plan) -> tuple[Any, Array]:
    X = data[CBCL].data.astype(np.float32) / 255
    return _cbcl_models(plan)[model].fit(X), X


def _cbcl_trials(plan: Plan) -> list[Trial]:
    return [{"model": name} for name in _cbcl_models(plan)]


def _run_cbcl(trial: Trial, data: Data, plan: Plan) -> Iterable[Row]:
    model, X = _fitted_cbcl(str(trial["model"]), data, plan)
    for layer, features in enumerate(model.features_):
        codes = model.encode(X, layer)
        error = float(np.linalg.norm(X - model.decode(codes, layer)) / np.linalg.norm(X))
        yield {
            "layer": layer + 1,
            "size": len(features),
            "features": sparseness(features),
            "codes": sparseness(codes),
            "error": error,
        }


def _cbcl_page(results: Results) -> str:
    head = ["model", "layer", "size", "sparseness of features", "sparseness of codes", "relative error"]
    rows = [
        [row["model"], row["layer"], row["size"], *(f"{row[name]:.3f}" for name in ("features", "codes", "error"))]
        for row in results.rows
    ]
    return "\n\n".join(
        [
            "Models with three layers are fitted to 2429 faces of 19 x 19 pixels, with gray values from 0 to 1.\n"
            "Sparseness is Hoyer's measure, averaged over the rows. The paper shows pictures only. According to\n"
            "these, the features of Deep nsNMF are pixels, then edges, then parts of faces; Deep Semi-NMF finds no\n"
            "parts; and Deep nsNMF has the sparser codes.",
            table(head, rows),
        ]
    )


def _cbcl_claims(results: Results) -> Iterator[Claim]:
    for part in ("features", "codes"):
        deep, semi = (results.where(model=model).column(part)[-1] for model in ("Deep nsNMF", "Deep Semi-NMF"))
        evidence = Evidence(f"sparseness {deep:.2f} and {semi:.2f}", deep > semi)
        reason = (
            "the paper shows pictures of codes and gives no numbers; the smoothing makes features sparse, not codes"
        )
        yield Claim(f"Deep nsNMF has sparser {part} than Deep Semi-NMF (top layer)", {"blind": evidence}, reason)


def _draw_cbcl(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    lines, losses = [], {}
    for name in _cbcl_models(plan):
        model, _ = _fitted_cbcl(name, data, plan)
        file = f"dnsnmf-cbcl-{name.lower().replace(' ', '-')}.png"
        draw_hierarchy(model, data[CBCL].image_shape, folder / file)
        lines.append(f"![Features of {name}, layer by layer]({file})")
        losses[name] = list(enumerate(map(float, model.loss_curve_), start=1))
    draw_curves(losses, folder / "dnsnmf-cbcl-loss.svg", "sweep after the pre-training", "loss")
    return [*lines, "![Loss after each sweep of the fine-tuning](dnsnmf-cbcl-loss.svg)"]


EXPERIMENTS = (
    Experiment(
        name="dnsnmf-depth",
        title="Deep nsNMF, Fig. 9: accuracy by depth",
        data=tuple(DEPTH_DATA.values()),
        trials=_depth_trials,
        run=_run_depth,
        page=_depth_page,
        claims=_depth_claims,
    ),
    Experiment(
        name="dnsnmf-cbcl",
        title="Deep nsNMF, Fig. 3 to 5: features of CBCL faces by layer",
        data=(CBCL,),
        trials=_cbcl_trials,
        run=_run_cbcl,
        page=_cbcl_page,
        draw=_draw_cbcl,
        claims=_cbcl_claims,
    ),
)
