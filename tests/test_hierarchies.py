import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepnmf import NMF
from deepnmf.datasets import make_hierarchy
from deepnmf.metrics import matched_cosine


def rectangle(patch):
    """Return the sides of the smallest rectangle around the pixels of a patch, and whether it is filled evenly."""
    rows, columns = np.flatnonzero(patch.any(axis=1)), np.flatnonzero(patch.any(axis=0))
    inside = patch[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return inside.shape, bool((inside == inside[0, 0]).all())


def overlaps(parts):
    """Return the largest share of each part that lies in another one."""
    used = (parts > 0).astype(float)
    shared = used @ used.T
    np.fill_diagonal(shared, 0)
    return (shared / used.sum(axis=1, keepdims=True)).max(axis=1)


@pytest.mark.parametrize("noise", ["gaussian", "poisson", None])
def test_data_factors_and_codes_have_the_shapes_of_a_model_and_are_nonnegative(noise):
    truth = make_hierarchy(50, (12, 5, 3), image_shape=(15, 18), noise=noise, random_state=0)
    assert truth.data.shape == (50, 270)
    assert [Z.shape for Z in truth.factors] == [(12, 270), (5, 12), (3, 5)]
    assert [C.shape for C in truth.features] == [(12, 270), (5, 270), (3, 270)]
    assert [H.shape for H in truth.codes] == [(50, 12), (50, 5), (50, 3)]
    assert truth.image_shape == (15, 18)
    for array in (truth.data, *truth.factors, *truth.features, *truth.codes):
        assert array.dtype == float
        assert np.isfinite(array).all()
        assert (array >= 0).all()


def test_without_variation_and_noise_the_data_are_the_product_of_the_chain():
    truth = make_hierarchy(40, (12, 6, 3), variation=0, noise=None, random_state=0)
    Z_1, Z_2, Z_3 = truth.factors
    np.testing.assert_allclose(truth.data, truth.codes[2] @ Z_3 @ Z_2 @ Z_1, rtol=1e-12)
    np.testing.assert_array_equal(truth.codes[1], truth.codes[2] @ Z_3)
    np.testing.assert_array_equal(truth.codes[0], truth.codes[1] @ Z_2)


def test_variation_has_mean_one_and_the_given_coefficient():
    truth = make_hierarchy(20_000, (6, 3), variation=0.4, noise=None, random_state=0)
    expected = truth.codes[1] @ truth.factors[1]
    ratio = truth.codes[0][expected > 0] / expected[expected > 0]
    assert ratio.mean() == pytest.approx(1, abs=0.01)
    assert ratio.std() == pytest.approx(0.4, abs=0.01)
    assert (truth.codes[0][expected == 0] == 0).all()


def test_the_smallest_variation_leaves_numbers():
    truth = make_hierarchy(20, (6, 3), variation=1e-300, noise=None, random_state=0)
    np.testing.assert_allclose(truth.codes[0], truth.codes[1] @ truth.factors[1], rtol=1e-6)


@pytest.mark.parametrize("noise", ["gaussian", "poisson", None])
def test_the_same_seed_gives_the_same_bits_and_another_seed_other_data(noise):
    one, two = (make_hierarchy(30, noise=noise, random_state=7) for _ in range(2))
    assert one.data.tobytes() == two.data.tobytes()
    for name in ("factors", "features", "codes"):
        assert [array.tobytes() for array in one[name]] == [array.tobytes() for array in two[name]]
    assert not np.array_equal(one.data, make_hierarchy(30, noise=noise, random_state=8).data)


@pytest.mark.parametrize(("n_parts", "image_shape"), [(24, (20, 20)), (48, (20, 20)), (2, (3, 5)), (60, (32, 30))])
def test_parts_are_patches_of_3_to_6_pixels_per_side_that_overlap_by_at_most_half(n_parts, image_shape):
    parts = make_hierarchy(60, (n_parts,), image_shape=image_shape, random_state=0).factors[0]
    for part in parts:
        sides, filled = rectangle(part.reshape(image_shape))
        assert filled
        assert all(3 <= side <= 6 for side in sides)
    assert overlaps(parts).max() <= 0.5


def test_without_an_image_parts_are_blocks_that_cover_all_features():
    truth = make_hierarchy(20, (24, 6), n_features=200, random_state=0)
    assert truth.data.shape == (20, 200)
    assert truth.image_shape is None
    assert truth.factors[0].any(axis=0).all()
    for part in truth.factors[0]:
        (_, length), filled = rectangle(part[None])
        assert filled
        assert length >= 3
    assert 0 < overlaps(truth.factors[0]).max() < 1


def test_wholes_share_parts_and_differ():
    used = make_hierarchy(10, random_state=0).factors[1] > 0
    assert (used.sum(axis=1) == 7).all()
    assert used.any(axis=0).all()
    assert (used.sum(axis=0) > 1).any()
    assert len(np.unique(used, axis=0)) == len(used)


def test_the_number_of_parts_may_differ_from_layer_to_layer():
    truth = make_hierarchy(10, (12, 6, 4), parts_per_whole=(5, 2), random_state=0)
    assert [set(np.count_nonzero(Z, axis=1)) for Z in truth.factors[1:]] == [{5}, {2}]


def test_a_single_whole_is_made_of_all_features_below():
    assert (make_hierarchy(10, (6, 1), random_state=0).factors[1] > 0).all()


def test_all_the_sets_there_are_can_be_wholes():
    used = make_hierarchy(10, (4, 6), parts_per_whole=2, random_state=0).factors[1] > 0
    assert len(np.unique(used, axis=0)) == 6


def test_gaussian_noise_has_the_given_deviation():
    clean, noisy = (make_hierarchy(500, noise=noise, noise_level=0.1, random_state=0) for noise in (None, "gaussian"))
    inside = clean.data > clean.data.std()  # where no negative entry is set to 0
    noise = noisy.data[inside] - clean.data[inside]
    assert noise.std() == pytest.approx(0.1 * clean.data.std(), rel=0.05)
    np.testing.assert_array_equal(clean.codes[0], noisy.codes[0])


def test_poisson_data_are_counts_around_the_product():
    truth = make_hierarchy(500, noise="poisson", noise_level=4.0, random_state=0)
    mean = truth.codes[0] @ truth.factors[0]
    assert (truth.data == np.round(truth.data)).all()
    assert mean.mean() == pytest.approx(4)
    assert ((truth.data - mean) ** 2).mean() == pytest.approx(4, rel=0.05)


def test_nmf_recovers_the_parts_at_little_variation():
    truth = make_hierarchy(variation=0.2, random_state=0)
    parts = NMF(24, max_iter=700, tol=0, random_state=0).fit(truth.data).components_
    assert matched_cosine(parts, truth.features[0]) > 0.93


@st.composite
def sizes_and_parts(draw):
    """Draw layer sizes that fall, at most by half, and how many features a whole is made of."""
    sizes = [draw(st.integers(4, 30))]
    for _ in range(draw(st.integers(0, 3))):
        sizes.append(draw(st.integers(max((sizes[-1] + 1) // 2, 3), max(sizes[-1] - 1, 3))))
    return tuple(sizes), draw(st.integers(2, 9))


@given(sizes_and_parts(), st.booleans(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_all_features_are_used_and_different_for_any_sizes(drawn, image, seed):
    sizes, parts_per_whole = drawn
    space = {"image_shape": (24, 20)} if image else {"n_features": 100}
    truth = make_hierarchy(30, sizes, parts_per_whole=parts_per_whole, random_state=seed, **space)
    assert overlaps(truth.factors[0]).max() < 1
    for Z in truth.factors[1:]:
        used = Z > 0
        assert used.any(axis=0).all()
        assert (used.sum(axis=1) >= 2).all()
        assert len(np.unique(used, axis=0)) == len(used)
    for H in truth.codes:
        assert H.any(axis=0).all()
    product = np.eye(truth.data.shape[1])
    for Z, C in zip(truth.factors, truth.features, strict=True):
        product = Z @ product
        np.testing.assert_allclose(C, product, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(C, axis=1), 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, r"'n_samples' parameter of make_hierarchy must be an int in the range \[1, inf\). Got 0"),
        ({"n_samples": 5}, "n_samples is 5, but the top layer has 6 features: expected at least one per feature"),
        ({"layer_sizes": ()}, "layer_sizes must contain one positive integer per layer"),
        ({"layer_sizes": (1, 3)}, r"layer_sizes is \(1, 3\): expected at least 2 features"),
        ({"layer_sizes": (4, 7)}, "expected at most 6 in layer 2"),
        ({"layer_sizes": (400, 60)}, "layer_sizes.0. is 400, but images of 20 x 20 pixels have no room"),
        ({"image_shape": (2, 20)}, r"image_shape must be two integers of at least 3, got \(2, 20\)"),
        ({"image_shape": 20}, "image_shape must be two integers of at least 3, got 20"),
        ({"image_shape": (20.0, 20.0)}, "image_shape must be two integers"),
        ({"image_shape": (20, 20), "n_features": 400}, "image_shape is .* and n_features is 400: expected at most one"),
        ({"n_features": 71}, "n_features is 71: expected at least 3 for each of the 24 parts"),
        ({"parts_per_whole": 1}, "'parts_per_whole' parameter .* Got 1"),
        ({"parts_per_whole": 3}, "parts_per_whole of layer 2 == 3, must be >= 4"),
        ({"parts_per_whole": (25,)}, "parts_per_whole of layer 2 == 25, must be <= 24"),
        ({"parts_per_whole": (7, 3)}, r"parts_per_whole has 2 values: expected one, or 1 for \(24, 6\)"),
        ({"variation": -0.1}, "'variation' parameter .* Got -0.1"),
        ({"variation": np.nan}, "'variation' parameter .* Got nan"),
        ({"noise": "uniform"}, "'noise' parameter .* Got 'uniform'"),
        ({"noise_level": np.inf}, "'noise_level' parameter .* Got inf"),
        ({"noise": "poisson", "noise_level": 0}, "noise_level is 0, but it is the mean count"),
        ({"random_state": "seed"}, "'random_state' parameter .* Got 'seed'"),
    ],
)
def test_a_bad_parameter_is_named_with_what_was_found_and_what_is_expected(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_hierarchy(**{"random_state": 0, **parameters})


def test_the_number_of_parts_must_be_an_integer():
    with pytest.raises(TypeError, match=r"parts_per_whole of layer 2 must be an instance of .*, not float"):
        make_hierarchy(parts_per_whole=(4.5,))
