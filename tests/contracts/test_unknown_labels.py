"""Labels that are unknown, in every form that they come in."""

import pandas as pd
import polars as pl
import pytest

from deepnmf.models.labels import split_labels

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
