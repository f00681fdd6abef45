"""Masks of `numpy.ma`: a masked entry is a hole, and its value is never used."""

import numpy as np
import pytest
from sklearn.base import clone

from catalogue import SMALL, VARIANTS, data, name_of
from deepnmf import CNMF, GDNMF, GNMF, NMF, SSNMF, WSFMA, ImageGradientOrientations
from deepnmf.labels import split_labels
from deepnmf.report import layer_scores

SHAPE = (60, 24)
HIDDEN = np.random.default_rng(1).random(SHAPE) < 0.2
MASKED = "masked entries"


def masked(dtype=np.float64):
    """Data with wrong values under the mask, and the same data with NaN there."""
    X = np.round(10 * data(*SHAPE)).astype(dtype)
    holed = np.where(HIDDEN, np.nan, X.astype(np.float32 if dtype == np.float32 else np.float64))
    return np.ma.masked_array(np.where(HIDDEN, 99, X).astype(dtype), HIDDEN), holed


def quick(model):
    return clone(model).set_params(max_iter=5, tol=0)


@pytest.mark.parametrize("model", [m for m in SMALL if m._problem().masks_nan], ids=name_of)
def test_a_masked_entry_is_a_hole(model):
    X, holed = masked()
    fitted, expected = quick(model).fit(X), quick(model).fit(holed)
    assert np.array_equal(fitted.components_, expected.components_)
    assert np.array_equal(fitted.transform(X), expected.transform(holed))
    assert np.array_equal(fitted.encode(X, 0), expected.encode(holed, 0))
    if not hasattr(fitted, "predict"):
        assert fitted.score(X) == expected.score(holed)


@pytest.mark.parametrize("model", [m for m in VARIANTS if not m._problem().masks_nan], ids=name_of)
def test_masked_entries_are_refused_by_models_that_cannot_leave_them_out(model):
    name = type(model).__name__
    with pytest.raises(ValueError, match=f"X has {MASKED}, but {name} with these parameters needs complete data"):
        quick(model).fit(masked()[0])
    fitted = quick(model).fit(masked()[0].data)
    for use in (fitted.transform, fitted.score, fitted.encode):
        with pytest.raises(ValueError, match=f"X has {MASKED}"):
            use(masked()[0])


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.float32, bool])
def test_a_masked_entry_of_any_dtype_is_a_hole(dtype):
    X, holed = masked(dtype)
    assert np.array_equal(quick(NMF(3)).fit(X).components_, quick(NMF(3)).fit(holed).components_)
    assert np.array_equal(quick(NMF(3)).fit(list(X)).components_, quick(NMF(3)).fit(holed).components_)


def test_an_empty_mask_changes_nothing():
    X = data()
    expected = quick(GDNMF((8, 4), random_state=0)).fit(X).components_
    for mask in (False, np.zeros(X.shape, dtype=bool)):
        unmasked = np.ma.masked_array(X, mask)
        assert np.array_equal(quick(GDNMF((8, 4), random_state=0)).fit(unmasked).components_, expected)


def test_batches_and_reports_ignore_masked_entries(tmp_path):
    X, holed = masked()
    batches, expected = (quick(NMF(3, random_state=0)) for _ in range(2))
    for rows in (slice(0, 30), slice(30, 60)):
        batches.partial_fit(X[rows])
        expected.partial_fit(holed[rows])
    assert np.array_equal(batches.components_, expected.components_)
    assert layer_scores(batches, X) == layer_scores(batches, holed)
    pages = []
    for form in (X, holed):
        batches.report(tmp_path / "page.html", form)
        pages.append((tmp_path / "page.html").read_text())
    assert pages[0] == pages[1]


def test_masked_blocks_of_a_dask_array_are_refused():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    X = da.ma.masked_array(da.from_array(data(), chunks=(30, -1)), da.from_array(HIDDEN, chunks=(30, -1)))
    with pytest.raises(ValueError, match="contains NaN"):
        NMF(3).fit(X)


def test_a_checkpoint_of_data_with_another_mask_is_refused(tmp_path):
    X, path = masked()[0], tmp_path / "fit.checkpoint"
    NMF(3, random_state=0).fit(X, on_sweep=lambda sweep, loss: sweep == 2, checkpoint=path)
    assert path.exists()
    with pytest.raises(ValueError, match="other data"):
        NMF(3, random_state=0).fit(np.ma.masked_array(X.data, ~HIDDEN), checkpoint=path)


def test_masks_are_refused_in_arguments_that_need_every_value():
    X = data()
    codes, factor, square = (np.ma.masked_equal(np.eye(*shape), 1) for shape in ((60, 3), (3, 24), (60, 60)))
    groups = np.ma.masked_equal(np.arange(60), 3)
    wrong = {
        "entry_weight": lambda: NMF(3).fit(X, entry_weight=np.ma.masked_array(np.ones(SHAPE), HIDDEN)),
        "graph": lambda: GNMF(3).fit(X, graph=square),
        "factors": lambda: GNMF(3).fit(X, factors=[factor]),
        "codes": lambda: GNMF(3).fit(X, codes=codes),
        "H": lambda: NMF(3, init="custom").fit(X, W=codes.data, H=factor),
        "W": lambda: NMF(3, init="custom").fit(X, W=codes, H=factor.data),
        "groups": lambda: SSNMF(3).fit(X, groups=groups),
        "y": lambda: SSNMF(3, max_iter=1, tol=0).fit(X, np.arange(60) % 2).score(X, groups),
        "decoded codes": lambda: quick(NMF(3)).fit(X).decode(codes),
    }
    for fit in wrong.values():
        with pytest.raises(ValueError, match=f"has {MASKED}: expected a value"):
            fit()
    with pytest.raises(ValueError, match="NaN"):
        ImageGradientOrientations((4, 6)).fit(masked()[0])


def test_a_masked_label_is_unknown():
    y = np.ma.masked_array(np.arange(60) % 3, np.arange(60) % 5 == 0)
    classes, places = split_labels(y, 60)
    assert classes.tolist() == [0, 1, 2]
    assert np.array_equal(places, np.where(np.arange(60) % 5 == 0, -1, np.arange(60) % 3))
    X, known = data(), y.filled(-1)
    one, two = (CNMF(3, random_state=0).fit(X, labels) for labels in (y, known))
    assert np.array_equal(one.components_, two.components_)
    one, two = (WSFMA(3, random_state=0).fit(X, Y) for Y in (np.ma.stack([y, y]).T, np.stack([known, known]).T))
    assert np.array_equal(one.components_, two.components_)
