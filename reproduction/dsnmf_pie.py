"""Deep Semi-NMF (Trigeorgis, Bousmalis, Zafeiriou & Schuller, 2017): Table 1, and Fig. 8 and 10."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import auc
from sklearn.preprocessing import normalize

from deepnmf import GNMF, NMF, DeepNMF, DeepSemiNMF, ImageGradientOrientations, MultilayerNMF, SemiNMF
from reproduction.baselines import BASELINES, baseline
from reproduction.comparisons import Comparison, Grid
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import STARTS, unit_samples
from reproduction.pages import table
from reproduction.pictures import draw_curves
from reproduction.protocols import RESTARTS, described, of_protocol, scores

__all__ = ["EXPERIMENTS", "PUBLISHED_ERRORS", "settings_of"]

PIE = "pie_pose27"
COMPONENTS = (20, 30, 40, 50, 60, 70)
WIDE = 625

# Table 1, for 20, 30, ..., 70 components.
PUBLISHED_ERRORS = {
    "Deep Semi-NMF": (9.18, 7.61, 6.50, 5.67, 4.99, 4.39),
    "GNMF": (10.56, 9.35, 8.73, 8.18, 7.81, 7.48),
    "Multi-layer NMF": (11.11, 10.16, 9.28, 8.49, 7.63, 6.98),
    "NMF (MUL)": (10.53, 9.36, 8.51, 7.91, 7.42, 7.00),
    "NeNMF": (9.83, 8.39, 7.39, 6.60, 5.94, 5.36),
    "Semi-NMF": (9.14, 7.57, 6.43, 5.53, 4.76, 4.13),
}
MIXED = ("Semi-NMF", "Deep Semi-NMF")  # those that take data of both signs


def settings_of(model: str, k: int, common: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """The settings of a model that are tried, by name; the first is that of the defaults."""
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


# ---------------------------------------------------------------------------------------------------------- Table 1

SVD = "truncated SVD"
NARROW = (200, 100)  # first layers of multi-layer NMF that are tried beside the wide one


def _error_trials(plan: Plan) -> list[Trial]:
    return [{"model": model, "k": k} for k, model in product(plan.some(COMPONENTS), (SVD, *PUBLISHED_ERRORS))]


def _run_errors(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    X = normalize(data[PIE].data.astype(np.float64))
    model, k = str(trial["model"]), int(trial["k"])
    if model == SVD:
        values = np.linalg.svd(X, compute_uv=False)[plan.size(k, 4) :]
        yield {"error": float(np.linalg.norm(values)), "sweeps": 0, "setting": "", "default": 1}
        return
    for place, (setting, contender) in enumerate(_error_settings(model, k, plan).items()):
        fitted = contender.fit(X)
        about: Row = {"setting": setting, "default": int(place == 0)}
        yield about | {"error": fitted.reconstruction_err_, "sweeps": fitted.n_iter_}


def _error_settings(model: str, k: int, plan: Plan) -> dict[str, Any]:
    """The default; and others of the two models whose error depends on a choice that the paper does not give."""
    common: dict[str, Any] = {"random_state": 0, "max_iter": plan.size(200, 3)}
    settings = settings_of(model, k, common, plan)
    if model == "GNMF":
        return settings
    default = dict([next(iter(settings.items()))])
    if model == "Multi-layer NMF":
        top = plan.size(k, 4)
        return default | {f"r_1 = {wide}": MultilayerNMF((plan.size(wide, 5), top), **common) for wide in NARROW}
    return default


def _error_page(results: Results) -> str:
    ks = results.distinct("k")
    head = ["k", SVD, *(cell for model in PUBLISHED_ERRORS for cell in (model, "paper"))]
    rows = []
    for k in ks:
        theirs = {model: errors[COMPONENTS.index(int(k))] for model, errors in PUBLISHED_ERRORS.items()}
        ours = {model: results.where(k=k, model=model, default=1).mean("error") for model in (SVD, *theirs)}
        pairs = (cell for model in theirs for cell in (f"{ours[model]:.3f}", f"{theirs[model]:.2f}"))
        rows.append([k, f"{ours[SVD]:.3f}", *pairs])
    return "\n\n".join(
        [
            f"‖X - X̂‖_F of samples at unit norm, in double precision, with default settings (at most 200 sweeps; deep models have a layer of {WIDE} below the\n"
            "top one). The caption of the paper's table has the square of this norm and its text the norm; its numbers have the magnitude of the norm. No\n"
            "model with k components on top can have a smaller error than the truncated SVD. NMF (MUL) is `NMF` with multiplicative updates, NeNMF is `NMF`\n"
            f"with accelerated gradient. The error of GNMF depends on the graph's λ, which the paper does not give: here it is {GNMF().graph_weights:g}; other values are below the\n"
            "table. Multi-layer NMF is fitted layer by layer: its second layer factorizes the codes of the first, without regard to the error of the data.",
            table(head, rows),
            "## Against the paper, on average over k",
            "\n".join(_mean_difference(results, model, ks) for model in PUBLISHED_ERRORS),
        ]
    )


REASONS = {
    "GNMF": "the error grows with the graph's λ, which the paper does not give; with λ = 1 it is below the published one (see the page)",
    "Multi-layer NMF": "the error of this chain grows as its first layer converges; 20 multiplicative updates from a random start reach the published one ([causes](causes.md))",
}


def _compared_errors(results: Results) -> Iterator[Comparison]:
    """Every error of Table 1; the widened grid has the best of all settings."""
    for model, errors in PUBLISHED_ERRORS.items():
        for k, error in zip(COMPONENTS, errors, strict=True):
            mine = results.where(model=model, k=k)
            runs: dict[Grid, list[float]] = {
                "paper": mine.where(default=1).column("error"),
                "widened": sorted(mine.column("error"))[:1],
            }
            reason = REASONS.get(model, "")
            yield Comparison(f"{model}, k = {k}", error, runs, lower_is_better=True, reason=reason)


def _mean_difference(results: Results, model: str, ks: list[Value]) -> str:
    theirs = np.array([PUBLISHED_ERRORS[model][COMPONENTS.index(int(k))] for k in ks])
    lines = []
    for setting in results.where(model=model).distinct("setting"):
        ours = np.array([results.where(k=k, model=model, setting=setting).mean("error") for k in ks])
        against = f"{ours.mean():.3f} against {theirs.mean():.3f} ({ours.mean() - theirs.mean():+.3f})"
        lines.append(f"- {model}, {setting}: {against}, lower at {np.sum(ours < theirs)} of {len(ks)} k.")
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------- Fig. 8 and 10

SWEEPS, REPETITIONS = 60, 3
INPUTS = {"pixels": (*BASELINES, *PUBLISHED_ERRORS, "DeepNMF"), "IGO": (*BASELINES, *MIXED)}


def _input(name: str, data: Data) -> tuple[Array, Array]:
    """Pixels or gradient orientations, samples at unit norm, and labels."""
    X, y = unit_samples(data, PIE)
    if name == "pixels":
        return X, y
    height, width = map(int, data[PIE].image_shape)
    return normalize(ImageGradientOrientations((height, width)).fit_transform(X)), y


def _pie_trials(plan: Plan) -> list[Trial]:
    return [
        {"input": name, "model": model, "k": k, "repetition": repetition}
        for name, models in INPUTS.items()
        for model in (INPUTS["IGO"] if plan.quick else models)
        for k, repetition in product(plan.some(COMPONENTS), plan.repeats(REPETITIONS))
    ]


def _common(repetition: int, plan: Plan) -> dict[str, Any]:
    return {"random_state": repetition, "max_iter": plan.size(SWEEPS, 3)}


def _run_pie(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """Every setting of one model, each scored by both protocols."""
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
    """Accuracy in per cent over k."""
    return [(float(k), 100 * chosen.where(k=k).mean(f"{protocol}_accuracy")) for k in chosen.distinct("k")]


def _area(curve: list[tuple[float, float]]) -> float:
    """The area under a curve, as part of the area under 1."""
    x, y = np.transpose(curve)
    return float(auc(x, y) / (x[-1] - x[0]) / 100)


def _pie_page(results: Results) -> str:
    ks = results.distinct("k")
    parts = [
        f"All faces, samples at unit norm; k components on top, and a layer of {WIDE} below in deep models; k-means on the codes, {RESTARTS} restarts. Accuracy in per cent,\n"
        f"mean and standard deviation over {len(results.distinct('repetition'))} seeds. AUC is the area under the curve over k, divided by that of perfect accuracy. The paper gives\n"
        "the AUC inside its figures only, so no published numbers are shown. Gradient orientations (IGO) have both signs, so that\n"
        "only models with signed features can use them. k-means on the data, PCA and whitened PCA of k components, and `DeepNMF` are not in the paper.",
        described(results),
        "Settings, the default first: "
        + "; ".join(f"{model}: {' / '.join(settings_of(model, 20, {}, Plan()))}" for model in INPUTS["pixels"])
        + ".\nIn `paper` one setting is chosen for all k, by the mean accuracy.",
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
    """The paper's claim, difference by difference."""
    lines = []
    for name, protocol in product(INPUTS, results.protocols):
        chosen = _by_model(results, protocol, name)
        areas = {model: _area(_curve(some, protocol)) for model, some in chosen.items()}
        best = max(areas, key=lambda model: areas[model])
        gain = areas["Deep Semi-NMF"] - areas["Semi-NMF"]
        lines.append(
            f"- {name}, `{protocol}`: the AUC of Deep Semi-NMF minus that of Semi-NMF is {gain:+.3f}; {best} has the highest AUC."
        )
    claim = (
        'The paper: "in all cases, with the exception of the CMU PIE Pose experiment with IGOs, our Deep Semi-NMF outperformed all other methods\n'
        'with a difference in performance that is statistically significant". Here:'
    )
    return "\n\n".join(["## The order of the models", claim, "\n".join(lines)])


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
        name="dsnmf-errors",
        title="Deep Semi-NMF, Table 1: reconstruction errors on CMU PIE",
        data=(PIE,),
        trials=_error_trials,
        run=_run_errors,
        page=_error_page,
        compared=_compared_errors,
    ),
    Experiment(
        name="dsnmf-pie",
        title="Deep Semi-NMF, Fig. 8 and 10: clustering CMU PIE faces, pixels and gradient orientations",
        data=(PIE,),
        trials=_pie_trials,
        run=_run_pie,
        page=_pie_page,
        draw=_draw_pie,
    ),
)
