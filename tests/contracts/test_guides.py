"""Guides pull components towards targets: not at all without a weight, and as far as fixing them with a large one."""

import numpy as np
import pytest
from scipy.special import kl_div
from sklearn.base import clone
from sklearn.preprocessing import normalize

from catalogue import SMALL, data, name_of
from deepnmf import NMF, NSNMF, DeepNMF, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SemiNMF, SparseDeepNMF
from deepnmf.models import known_components

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::deepnmf.HierarchyWarning"),
]
MODELS = [
    NMF(4, random_state=0),
    NMF(4, solver="mu", random_state=0),
    NSNMF(4, theta=0.3, random_state=0),
    SemiNMF(4, random_state=0),
    DeepNSNMF((8, 4), random_state=0),
    SparseDeepNMF((8, 4), penalty="RL1", random_state=0),
    DeepSemiNMF((8, 4), random_state=0),
    DeepNMF((8, 4), explains="data", random_state=0),
    NMF(4, beta_loss="kullback-leibler", random_state=0),
    NMF(4, beta_loss="kullback-leibler", solver="mu", random_state=0),
    DeepNMF((8, 4), explains="data", beta_loss="kullback-leibler", random_state=0),
]
guided_models = pytest.mark.parametrize("model", MODELS, ids=name_of)
TARGETS = np.random.default_rng(3).random((2, 24)) * [[5.0], [0.01]]


def cosines(features, targets):
    there = ~np.isnan(targets)
    return np.sum(normalize(features * there) * normalize(np.nan_to_num(targets)), axis=1)


def on_layer(layer, targets):
    return [None] * layer + [targets]


@guided_models
def test_a_guide_of_weight_zero_changes_no_bit(model):
    plain, found = clone(model).fit(data()), clone(model).fit(data(), guide=TARGETS, guide_weight=0)
    assert all(np.array_equal(Z, other) for Z, other in zip(plain.factors_, found.factors_, strict=True))


@guided_models
def test_components_of_every_layer_come_nearer_with_the_weight_and_the_loss_never_rises(model):
    partly = np.where(np.arange(24) % 3 == 0, np.nan, TARGETS)
    for layer, targets in [
        (layer, one) for layer in range(len(model._problem().layer_sizes(24))) for one in (TARGETS, partly)
    ]:
        near = []
        for weight in (1e-3, 0.1, 1e3):
            found = clone(model).fit(data(), guide=on_layer(layer, targets), guide_weight=weight)
            assert np.all(np.diff(found.loss_curve_) <= 1e-12 * found.loss_curve_[0])
            near.append(cosines(found.features_[layer][:2], targets).sum())
        assert near[0] < near[1] + 1e-3
        assert near[1] < near[2] + 1e-3
        assert near[2] > 2 - 1e-3


def scene():
    """Mixtures of three spectra, of which one is never pure, and a rough target for that one."""
    bands = np.linspace(0, 1, 40)
    spectra = np.array([0.3 + 0.3 * bands, np.exp(-20 * (bands - 0.3) ** 2), np.exp(-40 * bands**2)])
    down, across = np.mgrid[0:1:12j, 0:1:12j]
    covers = [0.6 * np.sin(np.pi * down) ** 2, np.maximum(1 - 1.6 * across, 0), np.maximum(1.6 * across - 0.6, 0)]
    return np.reshape(covers / np.sum(covers, axis=0), (3, -1)).T @ spectra, spectra[0] * (1 + 0.2 * np.sin(12 * bands))


@pytest.mark.parametrize("weight", [1e-4, 1e-2, 1])
def test_a_guide_pulls_the_component_that_is_like_its_target_and_does_not_make_one_of_another(weight):
    X, target = scene()
    found = NMF(3, random_state=0, tol=1e-6, max_iter=2000).fit(X, guide=target[None], guide_weight=weight)
    near = normalize(found.components_) @ normalize(target[None])[0]
    assert near[0] > 0.97
    assert np.all(near[1:] < 0.9)


def test_a_large_weight_approaches_fixed_components():
    options = {"random_state": 0, "tol": 1e-7, "max_iter": 2000}
    fixed = NMF(6, **options).fit(data(), fixed_components=TARGETS)
    guided = NMF(6, **options).fit(data(), guide=TARGETS, guide_weight=1e6)
    assert guided.reconstruction_err_ == pytest.approx(fixed.reconstruction_err_, rel=0.01)
    assert np.allclose(guided.components_[:2], normalize(TARGETS), atol=1e-5)


def test_the_weight_is_what_a_component_pays_for_being_orthogonal_to_its_target():
    X = data()
    found = NMF(6, random_state=0).fit(X, guide=TARGETS, guide_weight=0.3)
    chain = found._learned.optimized_chain()
    distances = np.sum((chain.factors[0][:2] - normalize(TARGETS)) ** 2)
    value = 0.5 * found.reconstruction_err_**2 + 0.3 * 0.5 * np.sum(X**2) * 0.5 * distances
    assert found.loss_curve_[-1] == pytest.approx(value, rel=1e-6)


def test_a_target_adds_the_share_of_all_counts_that_the_weight_is():
    X, target = data(), normalize(TARGETS, "l1")
    found = NMF(6, beta_loss="kullback-leibler", random_state=0).fit(X, guide=TARGETS, guide_weight=0.3)
    features = found._learned.optimized_chain().factors[0][:2]
    value = 0.5 * found.reconstruction_err_**2 + 0.3 * X.sum() * np.sum(kl_div(target, features))
    assert found.loss_curve_[-1] == pytest.approx(value, rel=1e-6)


def test_targets_have_no_scale_and_the_weight_no_units():
    one, other = (
        NSNMF(6, theta=0, random_state=0).fit(size * data(), guide=scale * TARGETS)
        for size, scale in ((1, 1), (100, 7))
    )
    assert np.allclose(one.components_, other.components_, atol=1e-6)


def test_guides_follow_fixed_components():
    fixed = np.random.default_rng(5).random((2, 24))
    found = NMF(6, random_state=0).fit(data(), fixed_components=fixed, guide=TARGETS, guide_weight=1e3)
    assert np.array_equal(found.components_[:2], fixed)
    assert np.all(cosines(found.components_[2:4], TARGETS) > 0.999)


def test_a_component_without_a_target_is_free():
    targets = np.vstack([np.full(24, np.nan), TARGETS])
    found = NMF(6, random_state=0).fit(data(), guide=targets, guide_weight=1e3)
    assert np.all(cosines(found.components_[1:3], TARGETS) > 0.999)


def test_a_refusal_names_the_models_that_take_a_guide():
    named = known_components.GUIDED.replace(" and ", ", ").split(", ")
    assert {type(model).__name__ for model in SMALL if model._problem().guides_components} == set(named)


@pytest.mark.parametrize(
    "model",
    [MultilayerNMF((8, 4)), DeepNMF((8, 4)), NMF(4, beta_loss=1.5), DeepSemiNMF((8, 4), activation="relu")],
    ids=name_of,
)
def test_other_models_and_losses_refuse_a_guide_in_a_sentence(model):
    with pytest.raises(ValueError, match=f"{type(model).__name__} with these parameters supports no guide. NMF"):
        model.fit(data(), guide=TARGETS)


@pytest.mark.parametrize(
    ("guide", "weight", "sentence"),
    [
        (TARGETS[:, :20], 1, "guide has 20 columns, but X has 24 features"),
        (np.ones((7, 24)), 1, "guide and the fixed components have 7 rows, but the layer has 6 components"),
        (-TARGETS, 1, r"Negative values in data passed to NMF \(guide\)"),
        (np.full((1, 24), np.inf), 1, "Input guide contains infinity"),
        (np.zeros((1, 24)), 1, "Row 0 of guide is all zeros"),
        ([TARGETS, TARGETS], 1, "guide has 2 arrays, but the model has 1 layers"),
        (TARGETS, -1, "guide_weight is -1: expected a number of at least 0"),
        (TARGETS, np.nan, "guide_weight is nan: expected a number of at least 0"),
    ],
)
def test_guides_that_cannot_pull_are_refused_in_a_sentence(guide, weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        NMF(6).fit(data(), guide=guide, guide_weight=weight)


def test_components_of_any_sign_are_fixed_or_guided_but_not_both():
    with pytest.raises(ValueError, match="SemiNMF takes either fixed_components or guide, but not both"):
        SemiNMF(6).fit(data(), fixed_components=TARGETS, guide=TARGETS)
