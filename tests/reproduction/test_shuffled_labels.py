"""Shuffled labels must not raise a score: no experiment may score labels that it was given."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from deepnmf import CNMF, GDNMF, DeepWSF
from reproduction import EXPERIMENTS
from reproduction.experiment import Data, Plan, Results
from reproduction.protocols import clusterings, given_labels, known_rows, scores_beside_labels

SHUFFLES, SAMPLES, SHARE = 12, 150, 0.4
FEW = {"max_iter": 40, "tol": 0.0, "random_state": 0}
SUPERVISED = [
    CNMF(10, **FEW),
    GDNMF(pretrain_max_iter=3, label_weight=100.0, **FEW),
    DeepWSF((20, 10), graph_weights=100.0, **FEW),
]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def accuracy(codes, y, known):
    return scores_beside_labels(clusterings(codes, len(np.unique(y)), seed=0, restarts=2), y, known)["blind_accuracy"]


def gain_over_chance(model, X, y, seed):
    """Accuracy less that on another shuffle of the labels that were not given: no fit can tell the two."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(y)
    known = known_rows(shuffled, SHARE, seed)
    codes = clone(model).fit(X, given_labels(shuffled, known)).codes_[-1]
    again = shuffled.copy()
    again[~known] = rng.permutation(shuffled[~known])
    return accuracy(codes, shuffled, known) - accuracy(codes, again, known)


@pytest.mark.parametrize("model", SUPERVISED, ids=lambda model: type(model).__name__)
def test_shuffled_labels_do_not_help_with_samples_whose_label_was_not_given(model):
    digits = load_digits()
    X, y = digits.data[:SAMPLES] / 16, digits.target[:SAMPLES]
    with threadpool_limits(1):
        gains = [gain_over_chance(model, X, y, seed) for seed in range(SHUFFLES)]
    assert abs(np.mean(gains)) < 4 * np.std(gains) / np.sqrt(SHUFFLES)


@pytest.fixture(scope="module")
def shuffled_stand_ins(stand_ins, tmp_path_factory):
    """The stand-ins, each with its labels in another order."""
    folder = tmp_path_factory.mktemp("shuffled_stand_ins")
    rng = np.random.default_rng(0)
    for path in stand_ins.glob("*.npz"):
        with np.load(path) as file:
            kept = dict(file)
        if "y" in kept:
            kept["y"] = rng.permutation(kept["y"])
        np.savez(folder / path.name, **kept)
    return folder


def results_of(name, folder):
    experiment, plan = EXPERIMENTS[name], Plan(quick=True, protocol="blind")
    with threadpool_limits(1):
        return Results(
            [
                dict(trial) | row
                for trial in experiment.trials(plan)
                for row in experiment.run(trial, Data(str(folder)), plan)
            ]
        )


@pytest.mark.parametrize(
    ("name", "measure", "scored"),
    [("gdnmf-labels", "labels", 90), ("network-bbc", "groups", 24)],
)
def test_what_is_predicted_from_shuffled_labels_is_right_as_often_as_by_chance(
    name, measure, scored, shuffled_stand_ins
):
    """No row beats what guessing the largest class reaches by luck, in as many tries as there are rows."""
    rows = [row for row in results_of(name, shuffled_stand_ins).rows if row.get("protocol", "blind") == "blind"]
    right = [row[measure] for row in rows if measure in row and not np.isnan(row[measure])]
    largest = 13 / 120  # of the stand-ins' classes
    luck = stats.binom.isf(1e-3 / len(right), scored, largest) / scored
    assert right
    assert max(right) <= luck
