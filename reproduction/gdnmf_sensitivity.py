"""GD²NMF (supplement): decay and label weight (Fig. R2), and the map between layers."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from deepnmf import GDNMF
from reproduction.comparisons import Claim, Evidence
from reproduction.experiment import Data, Experiment, Plan, Results, Row, Trial
from reproduction.faces import unit_samples
from reproduction.gdnmf_labels import BESIDE, DECAY, SETS, few_sweeps, sets_of, without_labels
from reproduction.gdnmf_parts import beside_table, fitted_scores, introduction
from reproduction.pages import table

__all__ = ["EXPERIMENTS"]

DECAYS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
WEIGHTS = tuple(10.0**power for power in range(-4, 4))
ACTIVATIONS = ("square", "tanh", "sigmoid", "softplus", "relu", "identity")
GRID_DRAWS = 5
STABLE = 0.15  # the supplement's: accuracies are stable for larger decays


def _sensitivity_trials(plan: Plan) -> list[Trial]:
    grid = product(plan.repeats(GRID_DRAWS), plan.some(DECAYS), plan.some(WEIGHTS))
    maps = product(sets_of(plan), plan.some(ACTIVATIONS))
    weighted: list[Trial] = [
        {"data": "CMU PIE", "decay": decay, "weight": weight, "draw": draw} for draw, decay, weight in grid
    ]
    beside: list[Trial] = [
        {"data": "CMU PIE", "model": model, "draw": draw} for draw, model in product(plan.repeats(GRID_DRAWS), BESIDE)
    ]
    shapes: list[Trial] = [
        {"data": name, "activation": activation, "decay": DECAY, "draw": 0} for name, activation in maps
    ]
    return weighted + beside + shapes


def _run_sensitivity(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    X, y = unit_samples(data, SETS[str(trial["data"])])
    draw = int(trial["draw"])
    if "model" in trial:
        model = without_labels(str(trial["model"]), X.shape[1], draw, plan)
        yield fitted_scores(model, X, y, draw, plan) | {"part": "beside"}
        return
    decay = float(trial["decay"])
    if "activation" in trial:
        mapped = GDNMF(decay=decay, random_state=draw, **few_sweeps(plan))
        mapped.set_params(activation=trial["activation"]).fit(X)
        yield {"part": "g", "loss": float(mapped.loss_curve_[-1]), "sweeps": mapped.n_iter_}
        return
    model = GDNMF(decay=decay, label_weight=float(trial["weight"]), random_state=draw, **few_sweeps(plan))
    yield fitted_scores(model, X, y, draw, plan) | {"part": "grid"}


def _grid(some: Results, measure: str) -> str:
    weights = some.distinct("weight")
    rows = [
        [f"{decay:g}", *(f"{100 * some.where(decay=decay, weight=w).mean(measure):.1f}" for w in weights)]
        for decay in some.distinct("decay")
    ]
    return table(["r", *(f"α = {float(weight):g}" for weight in weights)], rows)


def _range(some: Results, measure: str, along: str, above: float = 0.0) -> float:
    """Return the range of the mean along one parameter above a value, averaged over the other."""
    values = [value for value in some.distinct(along) if float(value) > above]
    return float(np.ptp([100 * some.where(**{along: value}).mean(measure) for value in values])) if values else 0.0


def _ranges(some: Results, measure: str, name: str) -> str:
    over_decay = (
        f"{_range(some, measure, 'decay'):.1f} over r, {_range(some, measure, 'decay', STABLE):.1f} over r > {STABLE}"
    )
    return f"- {name}: {_range(some, measure, 'weight'):.1f} over α, {over_decay}."


def _claims(results: Results) -> Iterator[Claim]:
    some, evidence = results.where(part="grid"), {}
    for protocol in results.protocols:
        over_weight, over_decay = (_range(some, f"{protocol}_accuracy", along) for along in ("weight", "decay"))
        numbers = f"range of accuracy {over_weight:.1f} over α, {over_decay:.1f} over r"
        evidence[protocol] = Evidence(numbers, over_weight < over_decay)
    yield Claim("GD²NMF is less sensitive to α than to the decay r", evidence)


def _activation_table(some: Results) -> str:
    rows = []
    for activation in some.distinct("activation"):
        found = [some.where(activation=activation, data=name).rows[0] for name in some.distinct("data")]
        rows.append([activation, *(f"{row['loss']:.3f} ({row['sweeps']})" for row in found)])
    return table(["g", *some.distinct("data")], rows)


def _sensitivity_page(results: Results) -> str:
    some = results.where(part="grid")
    titles = product({"accuracy": "accuracy", "nmi": "NMI", "purity": "purity"}.items(), some.protocols)
    measures = {f"{p}_{name}": f"{title}, `{p}`" for (name, title), p in titles}
    measures["labels"] = "accuracy on unlabeled samples"
    parts = [
        introduction(some),
        "The supplement plots surfaces over the decay r and the label weight α and gives no numbers; it states that\n"
        "GD²NMF is less sensitive to α, and stable for r > 0.15. The list gives the range of the mean (largest minus\n"
        "smallest, in percentage points) along one parameter, averaged over the other.",
        "\n".join(_ranges(some, measure, name) for measure, name in measures.items()),
    ]
    for measure, name in measures.items():
        parts += [f"## {name[0].upper()}{name[1:]}", _grid(some, measure)]
    parts += beside_table(results.where(part="beside"))
    parts += [
        "## The map between layers",
        "The supplement does not specify the map g. The table gives the loss ½‖X - X̂‖² at the end of a fit without\n"
        "labels, and the number of sweeps. With identity or relu, the model is NMF in other variables. Sigmoid and\n"
        "softplus are shifted to pass through 0, which turns the sigmoid into a rescaled tanh.",
        _activation_table(results.where(part="g")),
    ]
    return "\n\n".join(parts)


EXPERIMENTS = (
    Experiment(
        name="gdnmf-sensitivity",
        title="GD²NMF, Fig. R2: decay and label weight",
        data=tuple(SETS.values()),
        trials=_sensitivity_trials,
        run=_run_sensitivity,
        page=_sensitivity_page,
        claims=_claims,
    ),
)
