"""Unknown labels in every form."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import deepnmf
from catalogue import SMALL, data, name_of
from deepnmf.labels import split_labels

TEXT = ["a", None, "b", "a"]
FORMS = {
    "string": pd.Series(TEXT, dtype="string"),
    "string array": pd.array(TEXT, dtype="string"),
    "default text": pd.Series(TEXT),
    "object with NA": pd.Series(["a", pd.NA, "b", "a"], dtype=object),
    "category": pd.Series(TEXT, dtype="category"),
    "frame": pd.DataFrame({"label": pd.Series(TEXT, dtype="string")})["label"],
    "polars": pl.Series(TEXT),
}


@pytest.mark.parametrize("form", FORMS)
def test_missing_text_of_a_series_is_an_unknown_label(form):
    classes, places = split_labels(FORMS[form], 4)
    assert classes.tolist() == ["a", "b"]
    assert classes.dtype.kind == "U"
    assert places.tolist() == [0, -1, 1, 0]


def test_the_na_of_nullable_numbers_is_an_unknown_label():
    classes, places = split_labels(pd.Series([7, None, 3, 7], dtype="Int64"), 4)
    assert classes.tolist() == [3, 7]
    assert places.tolist() == [1, -1, 0, 1]


UNKNOWN = {
    "-1": np.full(60, -1),
    "NaN": np.full(60, np.nan),
    "None": np.full(60, None),
    "NA": pd.Series([pd.NA] * 60, dtype="string"),
    "-1.0": np.full(60, -1.0),
}


@pytest.mark.parametrize("form", UNKNOWN)
@pytest.mark.parametrize("model", [m for m in SMALL if type(m).__name__ in ("CNMF", "SSNMF", "GDNMF")], ids=name_of)
def test_a_model_whose_labels_are_all_unknown_can_be_saved(model, form, tmp_path):
    X = data()
    fitted = clone(model).set_params(max_iter=3, tol=0).fit(X, UNKNOWN[form])
    fitted.save(tmp_path / "model.safetensors")
    loaded = deepnmf.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.transform(X), fitted.transform(X))
    assert not len(getattr(loaded, "classes_", ()))
