"""The findings of a fit, in words."""

import numpy as np
from sklearn.metrics import roc_auc_score

from catalogue import data
from deepnmf import NMF, DeepNMF, MultilayerNMF
from deepnmf.plotting.sample_groups import label_groups
from deepnmf.report.display_choice import ShownAs
from deepnmf.report.evaluation import Evaluation
from deepnmf.report.findings import class_areas, findings, percent

NAMES = tuple(f"gene {j}" for j in range(24))


def found_in(model, X, y=None, class_names=None, **shown):
    evaluation = Evaluation.of(model, X, y, class_names)
    return tuple(map(str, findings(evaluation, ShownAs(**shown).display(evaluation))))


def test_areas_are_those_under_the_curves():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 5, (80, 6)).astype(float), np.arange(80) % 4 - 1  # ties, and class -1 is unknown
    known = y >= 0
    areas = class_areas(codes, label_groups(y, 80))
    for label in range(3):
        expected = [roc_auc_score(y[known] == label, code) for code in codes[known].T]
        np.testing.assert_allclose(areas[:, label], expected)


def test_sentences_name_shares_features_inputs_and_classes():
    wholes = np.kron(np.eye(2), np.ones(12))
    y = np.repeat([0, 1], 30)
    X = np.random.default_rng(0).gamma(5, size=(60, 2)) * np.eye(2)[y] @ wholes + 0.1 * data()
    model = NMF(2, random_state=0, max_iter=1000).fit(X)
    explained, strongest, advice = found_in(model, X, y, ("left", "right"), feature_names=NAMES)
    assert explained == f"2 features explain {percent(model.score(X))} of the variation in the data."
    for j, name in enumerate(("left", "right")):
        feature = int(np.argmax(model.components_[:, 12 * j])) + 1
        sentence = strongest[strongest.index(f"eature {feature} (") :]
        assert sentence.partition(") ")[2].startswith(f"marks {name} (AUC 1.00)")
    assert "NMI 1.00" in strongest
    assert advice == "Every feature is used. To compare other sizes: deepnmf.select_layers(model, X)."


def test_sentences_of_a_deep_model_have_every_layer_and_what_is_wasted():
    X = data()
    model = MultilayerNMF((8, 4), random_state=0).fit(X)
    low, high = (percent(one.explained) for one in model.hierarchy_)
    explained, strongest, _ = found_in(model, X, image_shape=(4, 6))
    assert explained == f"4 wholes explain {high} of the variation in the data, and the 8 parts below {low}."
    assert strongest.startswith("Whole ")
    assert "marks" not in strongest
    selecting = MultilayerNMF((4, 3), max_iter=1, tol=0).fit(X, factors=[np.eye(4, 24), np.eye(3, 4)])
    *_, advice = found_in(selecting, X, image_shape=(4, 6))
    assert advice.startswith("3 of 3 wholes are almost the same as one feature below.")


def test_curves_are_named_by_their_peaks_and_counts_by_their_deviance():
    X = np.round(9 * data())
    model = DeepNMF((6, 3), beta_loss="kullback-leibler", random_state=0).fit(X)
    explained, strongest, _ = found_in(model, X, axis=100.0 * np.arange(24), axis_label="depth (m)")
    assert "% of the deviance, and the 6 parts below" in explained
    first = int(strongest.split()[1]) - 1
    assert f"Whole {first + 1} (peak at {100 * int(model.components_[first].argmax())} m)" in strongest


def test_a_fit_that_did_not_converge_gets_the_advice_to_run_longer():
    X = data()
    model = NMF(4, max_iter=3, tol=0, random_state=0).fit(X)
    assert found_in(model, X, feature_names=NAMES)[2].endswith("let it run longer: max_iter=30.")


def test_percentages_have_a_digit_where_it_counts():
    assert [percent(share) for share in (0.0123, 0.5678, 0.997)] == ["1.2 %", "57 %", "99.7 %"]
