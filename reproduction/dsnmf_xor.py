"""Deep Semi-NMF and Deep WSF (Trigeorgis et al., 2017): Fig. 4 and 5, points with two labels; Fig. 11, pre-training."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from deepnmf import DeepNMF, DeepSemiNMF, DeepWSF, SemiNMF
from reproduction.baselines import BASELINES, baseline
from reproduction.comparisons import Claim, Evidence
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import unit_samples
from reproduction.pages import table
from reproduction.pictures import draw_clouds, draw_curves
from reproduction.protocols import RESTARTS, scores

__all__ = ["EXPERIMENTS"]

# ----------------------------------------------------------------------------------------------------------- Fig. 11

ELSEWHERE = "orl_32x32"
SETS = {"CMU PIE": "pie_pose27", "Yale": "yale_32x32"}
WIDE, COMPONENTS = 625, (20, 30, 40, 50, 60, 70)
WEIGHTS = (0.0, 0.01)  # the paper's λ, lowest layer first
SEEDS, SWEEPS = 5, 40
STARTS = ("none", "Deep Semi-NMF of ORL", "Deep WSF of ORL")
BESIDE = (*BASELINES, "DeepNMF")  # not in the paper


def _pretraining_trials(plan: Plan) -> list[Trial]:
    return [
        {"data": name, "k": k, "start": start, "repetition": seed}
        for name, seed, start, k in product(
            SETS, plan.repeats(SEEDS), (*STARTS, *BESIDE), COMPONENTS[: plan.size(len(COMPONENTS), 1)]
        )
    ]


def _source(start: str, common: dict[str, Any], data: Data) -> list[Array] | None:
    """Return the factors of a model of other faces, as an initialization."""
    if start == STARTS[0]:
        return None
    X, y = unit_samples(data, ELSEWHERE)
    if start == STARTS[1]:
        return DeepSemiNMF(**common).fit(X).factors_
    return DeepWSF(graph_weights=WEIGHTS, **common).fit(X, y).factors_


def _run_pretraining(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    seed = int(trial["repetition"])
    sizes = (6, 4) if plan.quick else (WIDE, int(trial["k"]))
    sweeps = {"max_iter": plan.size(SWEEPS, 3), "pretrain_max_iter": plan.size(50, 3)}
    common: dict[str, Any] = {"layer_sizes": sizes, "random_state": seed} | sweeps
    X, y = unit_samples(data, SETS[str(trial["data"])])
    if trial["start"] in BESIDE:
        ours = DeepNMF(**common) if trial["start"] == "DeepNMF" else baseline(str(trial["start"]), sizes[-1])
        yield scores(ours.fit(X).codes_[-1], y, seed, plan.size(RESTARTS, 2))
        return
    model = DeepSemiNMF(**common).fit(X, factors=_source(str(trial["start"]), common, data))
    found = scores(model.codes_[-1], y, seed, plan.size(RESTARTS, 2))
    yield found | {"error": model.reconstruction_err_, "sweeps": model.n_iter_}


def _pretraining_page(results: Results) -> str:
    parts = [
        f"`DeepSemiNMF(({WIDE}, k))` is fitted to faces without labels. It starts from the default initialization,\n"
        "or from the factors of a model of other faces, ORL (400 faces, 40 people). The model of ORL is fitted\n"
        f"without labels (`DeepSemiNMF`), or with the people as labels of the top layer (`DeepWSF`, λ = {WEIGHTS}).\n"
        "The paper uses XM2VTS instead of ORL. The model without labels separates the effect of the labels from the\n"
        "effect of other faces. k-means runs on the top codes. Accuracy is in percent, mean and standard deviation\n"
        f"over {len(results.distinct('repetition'))} seeds of the fits and of k-means. Samples have unit norm and\n"
        f"single precision, and a fit has at most {SWEEPS} sweeps. The baselines (k-means on the data, PCA and\n"
        f"whitened PCA with k components) and `DeepNMF(({WIDE}, k))` are not in the paper.",
        f"Only the restart of k-means is chosen, out of {RESTARTS}: `paper` takes the one with the best accuracy by\n"
        "the labels, and `blind` takes the one with the lowest inertia. The paper shows curves and gives no numbers;\n"
        "all its models gain from pre-training with labels.",
    ]
    for name, protocol in product(results.distinct("data"), results.protocols):
        parts += [f"## {name}, protocol `{protocol}`", _accuracies(results.where(data=name), protocol)]
        parts += [_gains(results.where(data=name), protocol)]
    return "\n\n".join(parts)


def _accuracies(results: Results, protocol: str) -> str:
    column = f"{protocol}_accuracy"
    rows: list[list[Value]] = [
        [k, *(results.where(k=k, start=start).spread(column, 1, 100) for start in results.distinct("start"))]
        for k in results.distinct("k")
    ]
    errors = ["mean ‖X - X̂‖_F", *(f"{results.where(start=start).mean('error'):.3f}" for start in STARTS)]
    sweeps = ["mean sweeps", *(f"{results.where(start=start).mean('sweeps'):.0f}" for start in STARTS)]
    without = [""] * len(BESIDE)
    return table(["k", *STARTS, *BESIDE], [*rows, errors + without, sweeps + without])


def _gains(results: Results, protocol: str) -> str:
    """Return a list of the gains of each initialization over another, in fits with the same k and seed."""
    accuracy = {start: np.array(results.where(start=start).column(f"{protocol}_accuracy")) for start in STARTS}
    pairs = ((STARTS[2], STARTS[0]), (STARTS[1], STARTS[0]), (STARTS[2], STARTS[1]))
    lines = []
    for start, other in pairs:
        gains = 100 * (accuracy[start] - accuracy[other])
        lines.append(f"- {start} against {other}: {gains.mean():+.1f}, {np.sum(gains > 0)} of {len(gains)} fits gain.")
    return "\n".join(lines)


def _pretraining_claims(results: Results) -> Iterator[Claim]:
    for name in results.distinct("data"):
        none, labeled = (results.where(data=name, start=start) for start in (STARTS[0], STARTS[2]))
        gains = {p: 100 * (labeled.mean(f"{p}_accuracy") - none.mean(f"{p}_accuracy")) for p in results.protocols}
        evidence = {p: Evidence(f"{gain:+.1f} points of accuracy", gain > 0) for p, gain in gains.items()}
        yield Claim(f"models of {name} gain from pre-training with labels on other faces", evidence)


def _draw_pretraining(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    """Draw Fig. 11, accuracy over k on PIE."""
    lines = []
    for protocol in results.protocols:
        some, column = results.where(data="CMU PIE"), f"{protocol}_accuracy"
        ks = some.distinct("k")
        curves = {start: [(float(k), 100 * some.where(k=k, start=start).mean(column)) for k in ks] for start in STARTS}
        file = f"dsnmf-pretraining-{protocol}.svg"
        draw_curves(curves, folder / file, "components", f"accuracy, % ({protocol})")
        lines.append(f"![Accuracy on CMU PIE over the number of components by start, protocol {protocol}]({file})")
    return lines


# ------------------------------------------------------------------------------------------------------- Fig. 4 and 5

DRAWS, TRAIN, TEST = 10, 400, 4000
SETTINGS = ((3.0, 0.1), (3.0, 1.0), (2.5, 1.0))  # distance of the clouds from the axes, share of the labels
POINTS, SUPERVISED = (
    "the points themselves",
    '`DeepWSF((4, 4), activation="square", init="kmeans")`, labels of pose and identity',
)
ENCODERS: dict[str, Any] = {
    POINTS: None,
    "`SemiNMF(2)`": SemiNMF(2),
    '`SemiNMF(4, init="kmeans")`': SemiNMF(4, init="kmeans"),
    **{
        f'`DeepSemiNMF((4, 4), activation="square", init="{start}")`': DeepSemiNMF(
            (4, 4), activation="square", init=start
        )
        for start in ("kmeans", "svd", "random")
    },
    SUPERVISED: DeepWSF((4, 4), activation="square", init="kmeans"),
}


def _clouds(distance: float, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return points of four clouds at (±d, ±d), and their pose and identity, each 0 or 1.

    The pose is the sign of the first coordinate of the cloud, the identity that of the product of both coordinates.
    """
    signs = rng.choice([-1, 1], size=(n, 2))
    return distance * signs + rng.standard_normal((n, 2)), (np.column_stack([signs[:, 0], signs.prod(axis=1)]) + 1) // 2


def _xor_trials(plan: Plan) -> list[Trial]:
    return [
        {"encoder": encoder, "distance": distance, "share": share, "repetition": draw}
        for encoder, (distance, share), draw in product(
            ENCODERS, SETTINGS[: plan.size(len(SETTINGS), 1)], plan.repeats(DRAWS)
        )
    ]


def _encoder(name: str, X: Array, labels: Array, seed: int, plan: Plan) -> Any:
    encoder = clone(ENCODERS[name]).set_params(random_state=seed, max_iter=plan.size(200, 3))
    return encoder.fit(X, labels) if name == SUPERVISED else encoder.fit(X)


def _run_xor(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """Yield the accuracy of a linear probe that predicts the identities of new points from their codes.

    The probe is trained on a share of the labels.
    """
    name, distance, seed = str(trial["encoder"]), float(trial["distance"]), int(trial["repetition"])
    rng, n_train = np.random.default_rng(seed), plan.size(TRAIN, 40)
    X, labels = _clouds(distance, n_train, rng)
    new_X, new_labels = _clouds(distance, plan.size(TEST, 40), rng)
    known = rng.permutation(n_train)[: int(float(trial["share"]) * n_train)]
    partial = np.where(np.isin(np.arange(n_train), known)[:, None], labels, -1)
    codes, new_codes = X[known], new_X
    if name != POINTS:
        encoder = _encoder(name, X, partial, seed, plan)
        codes, new_codes = encoder.transform(codes), encoder.transform(new_X)
    probe = LogisticRegression(C=10, max_iter=5000).fit(codes, labels[known, 1])
    yield {"accuracy": float(probe.score(new_codes, new_labels[:, 1]))}


def _xor_page(results: Results) -> str:
    settings = [pair for pair in SETTINGS if results.where(distance=pair[0], share=pair[1])]
    rows = [
        [
            encoder,
            *(results.where(encoder=encoder, distance=d, share=share).spread("accuracy") for d, share in settings),
        ]
        for encoder in results.distinct("encoder")
    ]
    best = ["upper bound for any classifier", *(f"{_highest(distance):.3f}" for distance, _ in settings)]
    return "\n\n".join(
        [
            "The points come from four normal clouds with σ = 1 at (±d, ±d). The identity of a point is the product\n"
            "of the signs of the two coordinates of its cloud, and its pose is the sign of the first. A linear\n"
            f"classifier (logistic regression) is trained on the codes of {TRAIN} points, of which the given share\n"
            f"has labels, and scored on {TEST} new points, which are encoded with fixed factors and without labels.\n"
            f"Accuracies are mean and standard deviation over {len(results.distinct('repetition'))} draws. Only\n"
            "`DeepWSF` uses labels in its fit, like the paper's model: the known poses on its lower layer and the\n"
            "known identities on its top layer.",
            table(
                ["codes of", *(f"d = {d:g}, {100 * share:g} % of the labels" for d, share in settings)], [*rows, best]
            ),
            "According to the paper, one layer of Semi-NMF cannot separate the identities, because it is a linear\n"
            "map. But nonnegative codes are not a linear map of the points: compare two components with four, one\n"
            "for each cloud. The paper shows the codes and gives no numbers.",
        ]
    )


def _xor_claims(results: Results) -> Iterator[Claim]:
    some = results.where(distance=SETTINGS[0][0], share=SETTINGS[0][1])
    accuracy = {name: some.where(encoder=name).mean("accuracy") for name in some.distinct("encoder")}
    single, deep = (
        max(accuracy[name] for name in accuracy if str(name).startswith(kind)) for kind in ("`SemiNMF", "`DeepSemiNMF")
    )
    evidence = Evidence(f"accuracy {deep:.2f}, of one layer {single:.2f}", deep > single)
    reason = "nonnegative codes are no linear map: one layer with four components, one per cloud, separates them too"
    yield Claim("two layers of Semi-NMF separate the identities, which one layer cannot", {"blind": evidence}, reason)


def _highest(distance: float) -> float:
    """Return the accuracy of the best classifier, which has both signs right or both wrong."""
    right = norm.cdf(distance)
    return float(right**2 + (1 - right) ** 2)


def _draw_xor(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    """Draw the points, and the codes of each layer in the plane of their largest variance."""
    X, labels = _clouds(SETTINGS[0][0], plan.size(TRAIN, 40), np.random.default_rng(0))
    lines = []
    for title, name in (("Deep Semi-NMF", list(ENCODERS)[3]), ("Deep WSF", SUPERVISED)):
        model = _encoder(name, X, labels, 0, plan)
        clouds = {"X (Fig. 4)": X}
        for layer in (0, 1):
            clouds[f"codes of layer {layer + 1} (Fig. 5)"] = PCA(2).fit_transform(model.encode(X, layer))
        file = f"dsnmf-xor-{title.lower().replace(' ', '-')}.svg"
        draw_clouds(clouds, colors=labels[:, 0], markers=labels[:, 1], path=folder / file)
        lines.append(
            f"![Points, and codes of {title} by layer: the color is the pose, the marker the identity]({file})"
        )
    return lines


EXPERIMENTS = (
    Experiment(
        name="dsnmf-xor",
        title="Deep Semi-NMF, Fig. 4 and 5: separation of identities by codes",
        data=(),
        trials=_xor_trials,
        run=_run_xor,
        page=_xor_page,
        draw=_draw_xor,
        claims=_xor_claims,
    ),
    Experiment(
        name="dsnmf-pretraining",
        title="Deep WSF, Fig. 11: supervised pre-training on other faces",
        data=(ELSEWHERE, *SETS.values()),
        trials=_pretraining_trials,
        run=_run_pretraining,
        page=_pretraining_page,
        draw=_draw_pretraining,
        claims=_pretraining_claims,
    ),
)
