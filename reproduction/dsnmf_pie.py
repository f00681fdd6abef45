"""Deep Semi-NMF (Trigeorgis, Bousmalis, Zafeiriou & Schuller, 2017): Fig. 8 and 10."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import auc
from sklearn.preprocessing import normalize

from deepnmf import GNMF, NMF, DeepNMF, DeepSemiNMF, ImageGradientOrientations, MultilayerNMF, SemiNMF
from reproduction.baselines import BASELINES, baseline
from reproduction.comparisons import Claim, Evidence
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import STARTS, unit_samples
from reproduction.pages import table
from reproduction.pictures import draw_curves
from reproduction.protocols import RESTARTS, described, of_protocol, scores

__all__ = ["COMPONENTS", "EXPERIMENTS", "MODELS", "PIE", "WIDE", "settings_of"]

PIE = "pie_pose27"
COMPONENTS = (20, 30, 40, 50, 60, 70)
WIDE = 625

MODELS = ("Deep Semi-NMF", "GNMF", "Multi-layer NMF", "NMF (MUL)", "NeNMF", "Semi-NMF")
MIXED = ("Semi-NMF", "Deep Semi-NMF")  # models that accept data of both signs


def settings_of(model: str, k: int, common: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """Return the settings of a model to try, by name; the first is the default."""
    k, deep = plan.size(k, 4), (plan.size(WIDE, 6), plan.size(k, 4))
    pretrained = common | {"pretrain_max_iter": plan.size(50, 3)}
    if model in BASELINES:
        return {"as it is": baseline(model, k)}
    if model == "DeepNMF":
        return {"as it is": DeepNMF(deep, **pretrained)}
    return _published_settings(model, k, deep, common, pretrained)


def _published_settings(
    model: str, k: int, deep: tuple[int, int], common: dict[str, Any], pretrained: dict[str, Any]
) -> dict[str, Any]:
    match model:
        case "NMF (MUL)":
            return {"as it is": NMF(k, solver="mu", **common)}
        case "NeNMF":
            return {"as it is": NMF(k, solver="apg", **common)}
        case "GNMF":
            return {f"λ = {w:g}": GNMF(k, graph_weights=w, **common) for w in (GNMF().graph_weights, 0.1, 1.0, 10.0)}
        case "Multi-layer NMF":
            return {f"θ = {theta:g}": MultilayerNMF(deep, theta=theta, **common) for theta in (0.0, 0.1, 0.5)}
        case "Semi-NMF":
            return {f"start {start}": SemiNMF(k, init=start, **common) for start in STARTS}
    linear = {f"linear, start {start}": DeepSemiNMF(deep, init=start, **pretrained) for start in STARTS}
    return linear | {name: DeepSemiNMF(deep, activation=name, **pretrained) for name in ("stanh", "square")}


# ---------------------------------------------------------------------------------------------------- Fig. 8 and 10

SWEEPS, REPETITIONS = 60, 5
INPUTS = {"pixels": (*BASELINES, *MODELS, "DeepNMF"), "IGO": (*BASELINES, *MIXED)}


def _input(name: str, data: Data) -> tuple[Array, Array]:
    """Return pixels or gradient orientations at unit norm, and the labels."""
    X, y = unit_samples(data, PIE)
    if name == "pixels":
        return X, y
    height, width = map(int, data[PIE].image_shape)
    return normalize(ImageGradientOrientations((height, width)).fit_transform(X)), y


def _pie_trials(plan: Plan) -> list[Trial]:
    """Return all trials; those with the same first layer follow each other."""
    return [
        {"input": name, "model": model, "k": k, "repetition": repetition}
        for repetition, (name, models) in product(plan.repeats(REPETITIONS), INPUTS.items())
        for model, k in product(INPUTS["IGO"] if plan.quick else models, plan.some(COMPONENTS))
    ]


def _common(repetition: int, plan: Plan) -> dict[str, Any]:
    return {"random_state": repetition, "max_iter": plan.size(SWEEPS, 3)}


def _run_pie(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """Yield the scores of every setting of one model by both protocols."""
    repetition = int(trial["repetition"])
    X, y = _input(str(trial["input"]), data)
    settings = settings_of(str(trial["model"]), int(trial["k"]), _common(repetition, plan), plan)
    for place, setting in enumerate(plan.tried(settings)):
        codes = settings[setting].fit(X).codes_[-1]
        found = scores(codes, y, repetition, plan.size(RESTARTS, 2))
        yield found | {"setting": setting, "default": int(place == 0)}


def _by_model(results: Results, protocol: str, name: str) -> dict[str, Results]:
    some = results.where(input=name)
    return {str(m): of_protocol(some.where(model=m), protocol, "accuracy") for m in some.distinct("model")}


def _curve(chosen: Results, protocol: str) -> list[tuple[float, float]]:
    """Return the points of a curve: accuracy in percent over k."""
    return [(float(k), 100 * chosen.where(k=k).mean(f"{protocol}_accuracy")) for k in chosen.distinct("k")]


def _area(curve: list[tuple[float, float]]) -> float:
    """Return the area under a curve, divided by the area under perfect accuracy."""
    x, y = np.transpose(curve)
    return float(auc(x, y) / (x[-1] - x[0]) / 100)


def _pie_page(results: Results) -> str:
    ks = results.distinct("k")
    parts = [
        "Models are fitted to all faces, at unit norm. They have k components on top, and deep models have a layer\n"
        f"of {WIDE} components below. k-means runs on the codes, with {RESTARTS} restarts. Accuracy is in percent,\n"
        f"mean and standard deviation over {len(results.distinct('repetition'))} seeds. AUC is the area under the\n"
        "curve over k, divided by that of perfect accuracy. The paper gives the AUC inside its figures only, so no\n"
        "published numbers are shown. Gradient orientations (IGO) have both signs, so only models with signed\n"
        "features can use them. The baselines (k-means on the data, PCA and whitened PCA with k components) and\n"
        "`DeepNMF` are not in the paper.",
        described(results),
        "Settings, the default first: "
        + "; ".join(f"{model}: {' / '.join(settings_of(model, 20, {}, Plan()))}" for model in INPUTS["pixels"])
        + ".\nIn `paper`, one setting is chosen for all k, by the mean accuracy.",
    ]
    for name, protocol in product(INPUTS, results.protocols):
        figure = {"pixels": "Fig. 8, pixels", "IGO": "Fig. 10, gradient orientations"}[name]
        chosen = _by_model(results, protocol, name)
        column = f"{protocol}_accuracy"
        rows: list[list[Value]] = [
            [k, *(some.where(k=k).spread(column, 1, 100) for some in chosen.values())] for k in ks
        ]
        rows += [["AUC", *(f"**{_area(_curve(some, protocol)):.3f}**" for some in chosen.values())]]
        rows += [["setting", *(some.rows[0]["setting"] for some in chosen.values())]]
        parts += [f"## {figure}, protocol `{protocol}`", table(["k", *chosen], rows)]
    return "\n\n".join([*parts, _order(results)])


def _order(results: Results) -> str:
    """Return a section with the paper's claim, and the differences that support or contradict it."""
    lines = []
    for name, protocol in product(INPUTS, results.protocols):
        chosen = _by_model(results, protocol, name)
        areas = {model: _area(_curve(some, protocol)) for model, some in chosen.items()}
        best = max(areas, key=lambda model: areas[model])
        gain = areas["Deep Semi-NMF"] - areas["Semi-NMF"]
        lines.append(
            f"- {name}, `{protocol}`: the AUC of Deep Semi-NMF minus that of Semi-NMF is {gain:+.3f}; "
            f"{best} has the highest AUC."
        )
    claim = (
        'The paper states: "in all cases, with the exception of the CMU PIE Pose experiment with IGOs, our Deep\n'
        "Semi-NMF outperformed all other methods with a difference in performance that is statistically\n"
        'significant". Here:'
    )
    return "\n\n".join(["## The order of the models", claim, "\n".join(lines)])


def _pie_claims(results: Results) -> Iterator[Claim]:
    evidence = {}
    for protocol in results.protocols:
        chosen = _by_model(results.where(input="pixels"), protocol, "pixels")
        areas = {model: _area(_curve(chosen[model], protocol)) for model in MODELS if model in chosen}
        ours = areas.pop("Deep Semi-NMF")
        rival = max(areas, key=lambda model: areas[model])
        evidence[protocol] = Evidence(f"AUC {ours:.3f}, {rival} {areas[rival]:.3f}", ours > areas[rival])
    reason = "linear Deep Semi-NMF has the optimum of Semi-NMF, so that initialization and convergence decide the order"
    yield Claim("Deep Semi-NMF is better than the other models of the paper (pixels)", evidence, reason)


def _draw_pie(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    lines = []
    for name, protocol in product(INPUTS, results.protocols):
        curves = {model: _curve(some, protocol) for model, some in _by_model(results, protocol, name).items()}
        file = f"dsnmf-pie-{name.lower()}-{protocol}.svg"
        draw_curves(curves, folder / file, "components", f"accuracy, % ({protocol}, {name})")
        lines.append(f"![Accuracy over the number of components, {name}, protocol {protocol}]({file})")
    return lines


EXPERIMENTS = (
    Experiment(
        name="dsnmf-pie",
        title="Deep Semi-NMF, Fig. 8 and 10: clustering CMU PIE faces, pixels and gradient orientations",
        data=(PIE,),
        trials=_pie_trials,
        run=_run_pie,
        page=_pie_page,
        draw=_draw_pie,
        claims=_pie_claims,
    ),
)
