"""Why some rows of the papers' tables differ from ours: one small experiment for each cause."""

import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from deepnmf import GNMF, NMF, MultilayerNMF, SparseDeepNMF
from deepnmf.metrics import clustering_accuracy
from reproduction.baselines import BASELINES
from reproduction.causes_page import (
    BASELINE,
    CHAIN,
    CHAIN_SWEEPS,
    CODES_OF_TEST_FACES,
    GRAPH,
    GRAPH_WEIGHT,
    JOINT_SWEEPS,
    PAIRS,
    ROOT,
    SEMI,
    page,
)
from reproduction.dnsnmf_faces import settings_of
from reproduction.dnsnmf_pages import CODES, INPUTS
from reproduction.dsnmf_pie import COMPONENTS, WIDE
from reproduction.experiment import Array, Data, Experiment, Plan, Row, Trial
from reproduction.faces import divided, unit_samples
from reproduction.protocols import CODE_SCALES, clusterings, scores
from reproduction.protocols import RESTARTS as RESTARTS_OF_TABLES
from reproduction.sdnmf_pie import MEASURES, PIE, RESTARTS, SIZES, SOLVERS, TESTED
from reproduction.sdnmf_pie import settings_of as sparse_settings

__all__ = ["EXPERIMENTS"]

YALE = "yale_32x32"


def _trials(plan: Plan) -> list[Trial]:
    splits, pairs = plan.repeats(REPEATS), list(combinations(range(15), 2))
    semi: list[Trial] = [
        {"cause": SEMI, "sweeps": n, "split": split} for n, split in product(plan.some(ITERATIONS), splits)
    ]
    errors: list[Trial] = [{"cause": cause, "k": k} for cause, k in product((GRAPH, CHAIN), plan.some(COMPONENTS))]
    stopped: list[Trial] = [
        {"cause": BASELINE, "model": model, "sweeps": n, "split": split}
        for model, n, split in product(SOLVERS, plan.some(BASELINE_SWEEPS), splits)
    ]
    roots: list[Trial] = [
        {"cause": ROOT, "model": model, "split": split} for model, split in product(plan.some(ROOT_MODELS), splits)
    ]
    people: list[Trial] = [
        {"cause": PAIRS, "model": model, "pair": f"{a}, {b}"}
        for model, (a, b) in product(PAIR_MODELS, plan.some(pairs))
    ]
    return semi + errors + stopped + roots + people


def _run(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    yield RUNS[str(trial["cause"])](trial, data, plan)


def _split(trial: Trial, data: Data, plan: Plan) -> tuple[Array, Array, Array]:
    """Return training faces, test faces and the people of the test faces, as in Table III of Sparse Deep NMF."""
    X, y = unit_samples(data, PIE)
    train, test = divided(y, int(trial["split"]), plan.size(TESTED, 2))
    return X[train], X[test], y[test]


def _test_codes(nonnegative: Array, features: Array, test: Array) -> dict[str, Array]:
    """Return nonnegative codes of test faces, as in our Table III, and codes by the pseudo-inverse of the features."""
    return dict(zip(CODES_OF_TEST_FACES, (nonnegative, test @ np.linalg.pinv(features)), strict=True))


# ---------------------------------------------------------------------- Deep Semi-NMF by the published updates

REPEATS = 5
ITERATIONS = (1, 3, 10, 30)


def _published_algorithm() -> Any:
    """Return the module with the paper's Algorithm 1, against which the library is tested."""
    tests = str(Path(__file__).parents[1] / "tests")
    if tests not in sys.path:
        sys.path.insert(0, tests)
    return import_module("reference.deep_semi_nmf")


def _run_semi(trial: Trial, data: Data, plan: Plan) -> Row:
    """Return the scores and errors of the published updates from a random initialization.

    Each layer and the fine-tuning have the same number of iterations.
    """
    algorithm, sizes = _published_algorithm(), (6, 4) if plan.quick else SIZES
    n_iter, split = int(trial["sweeps"]), int(trial["split"])
    train, test, people = _split(trial, data, plan)
    rng = np.random.default_rng(split)
    start = algorithm.pretrain(train.astype(float), sizes, n_iter, lambda X, rank: rng.random((len(X), rank)))
    _, factors, losses = algorithm.fine_tune(train.astype(float), *start, n_iter)
    features, error = algorithm.product(factors), float(np.sqrt(2 * losses[-1]))
    optimum = np.linalg.norm(np.linalg.svd(train, compute_uv=False)[sizes[-1] :])
    row: Row = {"error": error, "times": error / float(optimum)}
    nonnegative = np.array([nnls(features.T, face)[0] for face in test])
    for kind, H in _test_codes(nonnegative, features, test).items():
        found = scores(H, people, split, plan.size(RESTARTS, 2), MEASURES)
        row |= {f"{measure}_{kind}": value for measure, value in found.items()}
    return row


# ------------------------------------------------------------------------- multi-layer NMF by multiplicative updates


def _run_chain(trial: Trial, data: Data, plan: Plan) -> Row:
    """Return the error of layers fitted one after the other, and errors of a joint fit that is pre-trained as long."""
    X, _ = unit_samples(data, PIE)
    sizes = (6, 4) if plan.quick else (WIDE, int(trial["k"]))
    common: dict[str, Any] = {"layer_sizes": sizes, "init": "random", "solver": "mu", "tol": 0, "random_state": 0}
    layers = MultilayerNMF(max_iter=plan.size(CHAIN_SWEEPS, 3), **common).fit(X)
    sweeps: dict[str, Any] = {"pretrain_max_iter": plan.size(CHAIN_SWEEPS, 3), "max_iter": max(JOINT_SWEEPS)}
    joint = SparseDeepNMF(pretrain_tol=0, **sweeps, **common).fit(X)
    errors = {f"error_{n}": float(np.sqrt(2 * joint.loss_curve_[n - 1])) for n in JOINT_SWEEPS}
    return {"error": layers.reconstruction_err_, **errors}


def _run_graph(trial: Trial, data: Data, plan: Plan) -> Row:
    X, _ = unit_samples(data, PIE)
    model = GNMF(plan.size(int(trial["k"]), 4), graph_weights=GRAPH_WEIGHT, max_iter=plan.size(200, 3), random_state=0)
    return {"error": model.fit(X).reconstruction_err_}


# ------------------------------------------------------------------------------------- NMF baselines, root function

BASELINE_SWEEPS = (10, 40, 200)
ROOT_MODELS = ("DNMF", "SDNMF/L", "SDNMF/RL2")


def _run_baseline(trial: Trial, data: Data, plan: Plan) -> Row:
    train, test, people = _split(trial, data, plan)
    n_iter = plan.size(int(trial["sweeps"]), 3)
    rank = plan.size(SIZES[-1], 4)
    model = NMF(rank, solver=SOLVERS[str(trial["model"])], max_iter=n_iter, tol=0, random_state=int(trial["split"]))
    row: Row = {"error": model.fit(train).reconstruction_err_}
    for kind, H in _test_codes(model.transform(test), model.components_, test).items():
        found = scores(H, people, int(trial["split"]), plan.size(RESTARTS, 2), MEASURES)
        row |= {f"{measure}_{kind}": value for measure, value in found.items()}
    return row


def _run_root(trial: Trial, data: Data, plan: Plan) -> Row:
    """Return the scores of Square1 and Square2 for both kinds of codes; negative codes count as 0 in roots."""
    train, test, people = _split(trial, data, plan)
    split = int(trial["split"])
    settings = sparse_settings(str(trial["model"]), (6, 4) if plan.quick else SIZES, "root", split, plan)
    setting, model = list(settings.items())[-1]  # the smallest weight, which hides least
    lower, upper = model.fit(train).factors_
    row: Row = {"setting": setting, "error": model.reconstruction_err_}
    for kind, H in _test_codes(model.transform(test), upper @ lower, test).items():
        for square, scored in (("Square1", H), ("Square2", np.sqrt(np.maximum(H, 0)))):
            found = scores(scored, people, split, plan.size(RESTARTS, 2), MEASURES)
            row |= {f"{measure}_{square}_{kind}": value for measure, value in found.items()}
    return row


# ---------------------------------------------------------------------------------------------------- pairs of Yale

PAIR_MODELS = (BASELINES[0], "Deep nsNMF")


def _run_pair(trial: Trial, data: Data, plan: Plan) -> Row:
    """Return the best accuracy of all settings and restarts, chosen by the labels."""
    people = [int(number) for number in str(trial["pair"]).split(", ")]
    rows = np.flatnonzero(np.isin(data[YALE].target, people))
    X, y = data[YALE].data[rows].astype(np.float32), data[YALE].target[rows]
    best = {"frozen": 0.0, "widened": 0.0}
    for scaled, model in product(INPUTS.values(), plan.some(settings_of(str(trial["model"]), 2, plan).values())):
        codes = model.fit(scaled(X)).codes_[-1]
        for name in CODES if codes.min() >= 0 else CODE_SCALES:
            found = clusterings(CODES[name](codes), 2, 0, plan.size(RESTARTS_OF_TABLES, 2))
            reached = max(clustering_accuracy(y, clusters) for _, clusters in found)
            best["widened"] = max(best["widened"], reached)
            best["frozen"] = max(best["frozen"], reached if name == next(iter(CODES)) else 0.0)
        if best["frozen"] == 1:  # no other setting can have a better accuracy
            break
    return dict(best)


RUNS = {
    SEMI: _run_semi,
    CHAIN: _run_chain,
    GRAPH: _run_graph,
    BASELINE: _run_baseline,
    ROOT: _run_root,
    PAIRS: _run_pair,
}
EXPERIMENTS = (
    Experiment(
        name="causes",
        title="Why rows of the papers' tables differ from ours",
        data=(PIE, YALE),
        trials=_trials,
        run=_run,
        page=page,
    ),
)
