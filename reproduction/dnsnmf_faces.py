"""Deep nsNMF (Yu, Zhou, Cichocki & Xie, 2018): Tables I to III, with Fig. 6 to 8."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from deepnmf import GNMF, NMF, NSNMF, DeepNMF, DeepNSNMF, DeepSemiNMF
from reproduction.baselines import BASELINES, baseline
from reproduction.dnsnmf_pages import CLUSTERS, CODES, INPUTS, MODELS, compared, draw_table, table_page
from reproduction.experiment import Array, Data, Experiment, Plan, Row, Trial
from reproduction.protocols import CODE_SCALES, RESTARTS, scores

__all__ = ["EXPERIMENTS", "REPETITIONS", "drawn", "few_sweeps", "settings_of"]

REPETITIONS = 10
DEFAULT = "the defaults"
WIDE = 100  # components of the first layer; the paper does not give the number
THETAS = ((0.0, 0.0), (0.1, 0.5), (0.1, 0.9), (0.5, 0.5), (0.5, 0.9), (0.0, 0.9), (0.9, 0.1))


def few_sweeps(plan: Plan) -> dict[str, Any]:
    """Return the parameters of all models: few sweeps (iterations), because many settings are tried on small data."""
    return {"random_state": 0, "tol": 1e-3, "max_iter": plan.size(60, 3)}


def settings_of(model: str, k: int, plan: Plan) -> dict[str, Any]:
    """Return the settings of a model to try, by name; the first has all defaults, including the number of sweeps."""
    if model in BASELINES:
        return {DEFAULT: baseline(model, k)}
    common = few_sweeps(plan)
    given: dict[str, Any] = {"random_state": 0} | ({"max_iter": 3} if plan.quick else {})
    match model:
        case "NMF":
            return {DEFAULT: NMF(k, **given)}
        case "GNMF":
            others = {f"λ = {w:g}": GNMF(k, graph_weights=w, **common) for w in (0.1, 1.0, 10.0)}
            return {DEFAULT: GNMF(k, **given), **others}
        case "nsNMF":
            others = {f"θ = {t:g}": NSNMF(k, theta=t, **common) for t in (0.1, 0.3, 0.7, 0.9)}
            return {DEFAULT: NSNMF(k, **given), **others}
    return _deep_settings(model, k, given, common | {"pretrain_max_iter": plan.size(20, 3)}, plan)


def _deep_settings(model: str, k: int, given: dict[str, Any], few: dict[str, Any], plan: Plan) -> dict[str, Any]:
    cls = {"Deep Semi-NMF": DeepSemiNMF, "Deep nsNMF": DeepNSNMF, "DeepNMF": DeepNMF}[model]
    sizes = [plan.size(size, 6) for size in (WIDE, 40)]
    default = {DEFAULT: cls((sizes[0], k), **given)}
    if cls is not DeepNSNMF:
        return default | {f"r_1 = {r}": cls((r, k), **few) for r in sizes}
    tried = product(sizes, (DeepNSNMF().theta, *THETAS))
    return default | {f"r_1 = {r}, θ = {t}": DeepNSNMF((r, k), theta=t, **few) for r, t in tried}


# -------------------------------------------------------------------------------------------------- Tables I to III


def drawn(bunch: Any, k: int, repetition: int) -> tuple[Array, Array]:
    """Return the samples of k classes that are drawn at random, in random order, and their labels."""
    rng = np.random.default_rng([k, repetition])
    classes = rng.choice(np.unique(bunch.target), k, replace=False)
    rows = rng.permutation(np.flatnonzero(np.isin(bunch.target, classes)))
    return bunch.data[rows].astype(np.float32), bunch.target[rows]


def _table_trials(plan: Plan) -> list[Trial]:
    ks, models = plan.some(CLUSTERS), (*BASELINES, *MODELS, "DeepNMF")
    return [
        {"model": model, "k": k, "repetition": repetition}
        for k, repetition, model in product(ks, plan.repeats(REPETITIONS), models)
    ]


def _run_table(name: str, trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """Yield the scores of every setting of one model by both protocols, for one draw of classes."""
    k, repetition = int(trial["k"]), int(trial["repetition"])
    X, y = drawn(data[name], k, repetition)
    settings = settings_of(str(trial["model"]), k, plan)
    tried = product(plan.tried(INPUTS), plan.tried(settings))
    for place, (scale, setting) in enumerate(tried):
        codes = settings[setting].fit(INPUTS[scale](X)).codes_[-1]
        for handed_out in plan.tried(CODES if codes.min() >= 0 else CODE_SCALES):
            found = scores(CODES[handed_out](codes), y, repetition, plan.size(RESTARTS, 2))
            default = int(place == 0 and handed_out == next(iter(CODES)))
            yield found | {"scale": scale, "setting": setting, "codes": handed_out, "default": default}


def _clustering_table(short: str, number: str, name: str, title: str) -> Experiment:
    return Experiment(
        name=f"dnsnmf-{short}",
        title=f"Deep nsNMF, Table {number}: clustering {title}",
        data=(name,),
        trials=_table_trials,
        run=partial(_run_table, name),
        page=partial(table_page, name),
        draw=partial(draw_table, name),
        compared=partial(compared, name),
    )


EXPERIMENTS = (
    _clustering_table("orl", "I", "orl_32x32", "ORL faces"),
    _clustering_table("jaffe", "II", "jaffe_32x32", "JAFFE faces"),
    _clustering_table("yale", "III", "yale_32x32", "Yale faces"),
)
