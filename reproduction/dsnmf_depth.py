"""Deep Semi-NMF (Trigeorgis, Bousmalis, Zafeiriou & Schuller, 2017): Fig. 6, accuracy by depth."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from deepnmf import DeepNMF, DeepSemiNMF
from reproduction.baselines import BASELINES, baseline
from reproduction.experiment import Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import STARTS, random_sizes, unit_samples
from reproduction.pages import table
from reproduction.protocols import RESTARTS, of_protocol, scores

__all__ = ["EXPERIMENTS"]

DEPTHS = (2, 3, 4, 5)
DRAWS, PUBLISHED_DRAWS = 10, 200
TOP, MEAN = 40, 400
SWEEPS = 60
PIE = "pie_pose27"


def _depth_trials(plan: Plan) -> list[Trial]:
    models = [*((name, 1) for name in BASELINES), *product(("Deep Semi-NMF", "DeepNMF"), plan.some(DEPTHS))]
    return [
        {"model": model, "depth": depth, "repetition": draw}
        for (model, depth), draw in product(models, plan.repeats(DRAWS))
    ]


def _run_depth(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """Yield the scores for one draw of layer sizes; Deep Semi-NMF has the default and a random initialization."""
    repetition, depth = int(trial["repetition"]), int(trial["depth"])
    drawn = random_sizes(depth, TOP, MEAN, repetition)
    sizes = tuple(range(3 + depth, 3, -1)) if plan.quick else drawn
    X, y = unit_samples(data, PIE)
    settings = _settings(str(trial["model"]), sizes, repetition, plan)
    for place, setting in enumerate(plan.tried(settings)):
        model = settings[setting].fit(X)
        found = scores(model.codes_[-1], y, repetition, plan.size(RESTARTS, 2))
        about: Row = {"sizes": ", ".join(map(str, drawn)), "setting": setting, "default": int(place == 0)}
        yield about | found | {"error": getattr(model, "reconstruction_err_", float("nan"))}


def _settings(model: str, sizes: tuple[int, ...], seed: int, plan: Plan) -> dict[str, Any]:
    common: dict[str, Any] = {"random_state": seed, "max_iter": plan.size(SWEEPS, 3)}
    if model in BASELINES:
        return {"": baseline(model, sizes[-1])}
    if model == "DeepNMF":
        return {"": DeepNMF(sizes, pretrain_max_iter=plan.size(50, 3), **common)}
    return {start: DeepSemiNMF(sizes, init=start, **common) for start in STARTS[:2]}


def _depth_page(results: Results) -> str:
    rows: list[list[Value]] = []
    for model, depth in dict.fromkeys((row["model"], row["depth"]) for row in results.rows):
        row = [model, depth]
        for protocol in results.protocols:
            chosen = of_protocol(results.where(model=model, depth=depth), protocol, "accuracy")
            row += [chosen.spread(f"{protocol}_accuracy", 1, 100), chosen.rows[0]["setting"], chosen.spread("error")]
        rows.append(row)
    head = [f"{name}, `{p}`" for p in results.protocols for name in ("accuracy", "init", "‖X - X̂‖_F")]
    return "\n\n".join(
        [
            f"Linear `DeepSemiNMF` is fitted to all faces, with {TOP} components on top. `DeepNMF` and the baselines\n"
            "(k-means on the data, PCA and whitened PCA) are shown for comparison. The sizes of the lower layers are\n"
            f"drawn from an exponential distribution with mean {MEAN} and sorted; none is smaller than the top layer\n"
            f"or larger than 1000. There are {len(results.distinct('repetition'))} draws for each depth (the paper\n"
            f"has {PUBLISHED_DRAWS} in total). k-means runs on the top codes, with {RESTARTS} restarts; accuracy is\n"
            "in percent. `paper`: the best restart and the better of two initializations (SVD, random), chosen by\n"
            "the labels; `blind`: the restart with the lowest inertia and the default initialization (SVD). The\n"
            "paper shows the figure and gives no numbers. As long as no layer is narrower than the top layer, the\n"
            "optimum of the linear model has the same error at every depth.",
            table(["model", "layers", *head], rows),
        ]
    )


EXPERIMENTS = (
    Experiment(
        name="dsnmf-depth",
        title="Deep Semi-NMF, Fig. 6: accuracy by depth",
        data=(PIE,),
        trials=_depth_trials,
        run=_run_depth,
        page=_depth_page,
    ),
)
