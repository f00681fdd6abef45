"""Sparse Deep NMF (Guo & Zhang, 2019): Fig. 1 and 2, ORL faces."""

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from reproduction.baselines import BASELINES
from reproduction.comparisons import Claim, evidence_on_most
from reproduction.experiment import Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import divided, unit_samples
from reproduction.pages import table
from reproduction.protocols import scores
from reproduction.sdnmf_pie import MEASURES, RESTARTS, SPARSE, SWEEPS, settings_of

__all__ = ["EXPERIMENTS"]

ORL = "orl_32x32"
EXPERIMENTS_ON_ORL, TESTED_ON_ORL = 20, 2
FIRST_SIZES = (100, 200, 300, 400, 500, 600, 700, 800)
TOP_SIZES = (160, 80, 120)
SINGLE = ("PgNMF", "NeNMF", *BASELINES)
DEEP = ("Deep Semi-NMF", *SPARSE, "DeepNMF")
PUBLISHED_CHOICE = {
    "Deep Semi-NMF": 700,
    "DNMF": 300,
    "SDNMF/R": 300,
    "SDNMF/L": 700,
    "SDNMF/RL2": 500,
}  # k1 at k2 = 160
FIGURE_2: Mapping[str, int] = dict.fromkeys(SINGLE, 0) | {
    model: PUBLISHED_CHOICE[model] for model in ("Deep Semi-NMF", "DNMF", "SDNMF/RL2")
}


def _orl_trials(plan: Plan) -> list[Trial]:
    """Return trials with every k1 at k2 = 160, and with single layers and the paper's k1 at every k2."""
    deep = plan.some(DEEP)
    first = [(model, k1, TOP_SIZES[0]) for k1, model in product(plan.some(FIRST_SIZES), deep)]
    second = [(model, k1, k2) for k2 in plan.some(TOP_SIZES) for model, k1 in FIGURE_2.items()]
    return [
        {"model": model, "k1": k1, "k2": k2, "repetition": repetition}
        for repetition, (model, k1, k2) in product(plan.repeats(EXPERIMENTS_ON_ORL), dict.fromkeys(first + second))
    ]


def _run_orl(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    model, repetition = str(trial["model"]), int(trial["repetition"])
    sizes = (6, 4) if plan.quick else (int(trial["k1"]), int(trial["k2"]))
    X, y = unit_samples(data, ORL)
    train, test = divided(y, repetition, TESTED_ON_ORL)
    default = next(iter(settings_of(model, sizes, "linear", repetition, plan).values()))
    yield scores(default.fit(X[train]).transform(X[test]), y[test], repetition, plan.size(RESTARTS, 2), MEASURES)


def _orl_page(results: Results) -> str:
    parts = [
        f"Four fifths of the faces are used for training; the others ({TESTED_ON_ORL} of each of 40 people) are\n"
        f"encoded with fixed factors and clustered by k-means. There are {len(results.distinct('repetition'))}\n"
        f"experiments (the paper has {EXPERIMENTS_ON_ORL}); numbers are mean and standard deviation over them. The\n"
        "pictures are aligned and have 32 x 32 pixels; those of the paper have 112 x 92. The models are linear and\n"
        f"have their defaults, with at most {SWEEPS} sweeps; samples have unit norm and single precision. The\n"
        f"protocols differ only in the restart of k-means: of {RESTARTS} restarts, `paper` takes the one with the\n"
        "best NMI by the labels, and `blind` takes the one with the lowest inertia. The paper shows box plots and\n"
        'gives no numbers; it concludes that its models outperform Deep Semi-NMF, "but do not always perform\n'
        'better than PgNMF and NeNMF".'
    ]
    for measure, protocol in product(("nmi", "er"), results.protocols):
        parts += [f"## Fig. 1: {measure.upper()} with layers (k1, 160), protocol `{protocol}`"]
        parts += [_by_first_size(results.where(k2=TOP_SIZES[0]), f"{protocol}_{measure}")]
    parts += [
        "## Fig. 2: NMI by k2",
        "The deep models have the k1 that the paper gives for k2 = 160; the paper itself chose a k1 for every k2.",
    ]
    return "\n\n".join([*parts, *(_by_top_size(results, protocol) for protocol in results.protocols)])


def _by_first_size(results: Results, column: str) -> str:
    """Return a table of a measure by model and k1, with the best k1 here and in the paper."""
    models = [model for model in DEEP if results.where(model=model)]
    sizes = [k1 for k1 in FIRST_SIZES if k1 in results.distinct("k1")]
    cells = [[results.where(model=model, k1=k1) for model in models] for k1 in sizes]
    rows: list[list[Value]] = [
        [k1, *(cell.spread(column) for cell in line)] for k1, line in zip(sizes, cells, strict=True)
    ]
    sign = -1 if column.endswith("_er") else 1
    means = np.array([[sign * cell.mean(column) for cell in line] for line in cells])
    rows.append(["best k1", *(sizes[int(place)] for place in np.nanargmax(means, axis=0))])
    rows.append(["the paper's choice", *(PUBLISHED_CHOICE.get(model, "") for model in models)])
    single = {model: results.where(model=model) for model in SINGLE}
    for rival, level in {
        "Deep Semi-NMF at the same k1": means[:, :1],
        **{model: np.array([[sign * some.mean(column)]]) for model, some in single.items()},
    }.items():
        rows.append(
            [f"number of k1 with a better result than {rival}", *(int(n) for n in np.sum(means > level, axis=0))]
        )
    flat = ", ".join(f"{model}: {some.spread(column)}" for model, some in single.items())
    return "\n\n".join(
        [table(["k1", *models], rows), f"Single layers of 160 components, and k-means on {BASELINES[0]}: {flat}."]
    )


def _by_top_size(results: Results, protocol: str) -> str:
    head = [f"k2, `{protocol}`", *(f"{model}, k1 = {k1}" if k1 else model for model, k1 in FIGURE_2.items())]
    rows = []
    for k2 in sorted(map(int, results.distinct("k2"))):
        some = [results.where(model=model, k1=k1, k2=k2) for model, k1 in FIGURE_2.items()]
        rows.append([k2, *(cell.spread(f"{protocol}_nmi") for cell in some)])
    return table(head, rows)


def _claims(results: Results) -> Iterator[Claim]:
    some = results.where(k2=TOP_SIZES[0])
    sparse = [model for model in SPARSE if some.where(model=model)]
    evidence = {}
    for protocol in results.protocols:
        column = f"{protocol}_nmi"
        rival = some.where(model="Deep Semi-NMF").mean(column)
        better = [some.where(model=model).mean(column) > rival for model in sparse]
        evidence[protocol] = evidence_on_most(sum(better), len(better), "models")
    yield Claim("the models of the paper have a higher NMI than Deep Semi-NMF (means over k1, k2 = 160)", evidence)


EXPERIMENTS = (
    Experiment(
        name="sdnmf-orl",
        title="Sparse Deep NMF, Fig. 1 and 2: clustering ORL faces",
        data=(ORL,),
        trials=_orl_trials,
        run=_run_orl,
        page=_orl_page,
        claims=_claims,
    ),
)
