"""The findings of a fit, in words."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from catalogue import data
from deepnmf import NMF, DeepNMF, MultilayerNMF
from deepnmf.plotting.sample_groups import label_groups
from deepnmf.report.display import Curves, Pictures, Words
from deepnmf.report.evaluation import Evaluation
from deepnmf.report.findings import findings, separations

NAMES = tuple(f"gene {j}" for j in range(24))


def test_separations_are_the_areas_under_the_curves():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 5, (80, 6)).astype(float), np.arange(80) % 4 - 1  # ties, and class -1 is unknown
    known = y >= 0
    found = {one.group: one for one in separations(codes, label_groups(y, 80))}
    for label in range(3):
        areas = [roc_auc_score(y[known] == label, code) for code in codes[known].T]
        assert found[str(label)].feature == int(np.argmax(areas))
        assert found[str(label)].auc == pytest.approx(max(areas))


def test_sentences_name_shares_features_inputs_and_classes():
    wholes = np.kron(np.eye(2), np.ones(12))
    y = np.repeat([0, 1], 30)
    X = np.random.default_rng(0).gamma(5, size=(60, 2)) * np.eye(2)[y] @ wholes + 0.1 * data()
    model = NMF(2, random_state=0, max_iter=1000).fit(X)
    found = findings(Evaluation.of(model, X, y, ("left", "right")), Words(NAMES))
    assert found.explained == f"The 2 features explain {100 * model.score(X):.1f} % beyond the column means."
    for j, name in enumerate(("left", "right")):
        feature = int(np.argmax(model.components_[:, 12 * j])) + 1
        assert f"eature {feature} separates {name}" in found.strongest
    first = found.strongest.partition("(")[2].partition(")")[0].split(", ")
    assert len({int(name.removeprefix("gene ")) // 12 for name in first}) == 1
    assert found.advice.startswith("No feature is dead.")


def test_sentences_of_a_deep_model_have_every_layer_and_what_is_wasted():
    X = data()
    model = MultilayerNMF((8, 4), random_state=0).fit(X)
    low, high = (f"{100 * one.explained:.1f} %" for one in model.hierarchy_)
    found = findings(Evaluation.of(model, X), Pictures((4, 6)))
    assert found.explained == f"Layer 1 (8 features) explains {low} beyond the column means, layer 2 (4) {high}."
    assert found.strongest.startswith("The strongest features of layer 2 are ")
    assert "separates" not in found.strongest
    selecting = MultilayerNMF((4, 2), max_iter=1, tol=0).fit(X, factors=[np.eye(4, 24), np.eye(2, 4)])
    assert "2 copied" in findings(Evaluation.of(selecting, X), Pictures((4, 6))).advice


def test_curves_are_named_by_their_peaks_and_counts_by_their_deviance():
    X = np.round(9 * data())
    model = DeepNMF((6, 3), beta_loss="kullback-leibler", random_state=0).fit(X)
    found = findings(Evaluation.of(model, X), Curves(100.0 * np.arange(24)))
    assert "% of the deviance, layer 2 (3)" in found.explained
    strongest = int(found.strongest.partition(" are ")[2].split()[0]) - 1
    assert f"{strongest + 1} (peak at {100 * int(model.components_[strongest].argmax())})" in found.strongest


def test_a_fit_that_was_cut_off_is_told_to_go_on():
    X = data()
    model = NMF(4, max_iter=3, tol=0, random_state=0).fit(X)
    assert "try max_iter=30" in findings(Evaluation.of(model, X), Words(NAMES)).advice
