import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from deepnmf import ColumnScaler, ImageGradientOrientations

ROWS, COLUMNS = np.mgrid[:6, :9].astype(float)


def oriented(image):
    cosines, sines = np.split(ImageGradientOrientations(image.shape).fit_transform(image.reshape(1, -1))[0], 2)
    return cosines.reshape(image.shape), sines.reshape(image.shape)


@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi / 2, -2.0])
def test_a_slope_has_the_same_orientation_everywhere(angle):
    cosines, sines = oriented(np.cos(angle) * COLUMNS + np.sin(angle) * ROWS)
    assert np.allclose(cosines, np.cos(angle))
    assert np.allclose(sines, np.sin(angle))


def test_contrast_and_brightness_do_not_matter():
    image = np.random.default_rng(0).random((6, 9))
    assert np.allclose(oriented(image), oriented(0.1 * image + 5))


def test_a_flat_image_has_no_orientation():
    assert not np.any(oriented(np.full((6, 9), 3.0)))


def test_every_pixel_that_is_not_flat_has_unit_length():
    cosines, sines = oriented(np.random.default_rng(0).random((6, 9)))
    assert np.allclose(cosines**2 + sines**2, 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator_passes():
    check_estimator(ImageGradientOrientations(), on_skip=None)
    check_estimator(ColumnScaler(), on_skip=None)


def test_features_are_named_and_the_dtype_is_kept():
    model = ImageGradientOrientations((2, 3)).fit(np.ones((2, 6)))
    assert list(model.get_feature_names_out()[[0, 5, 6]]) == ["cos0", "cos5", "sin0"]
    assert model.transform(np.ones((2, 6), np.float32)).dtype == np.float32


@pytest.mark.parametrize("shape", [(2, 2), (6,), (0, 0), (-2, -3)])
def test_a_shape_that_does_not_fit_is_refused(shape):
    with pytest.raises(ValueError, match="image_shape is .*, but X has 6 features"):
        ImageGradientOrientations(shape).fit(np.ones((2, 6)))
