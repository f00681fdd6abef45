"""Tables as they are: dates, truth values, texts, identifiers, missing values, labels, and different units."""

import io
import warnings

import numpy as np
import pyarrow.csv
import pytest
from pyarrow import parquet
from scipy import sparse

from deepnmf.preprocessing import ColumnScaler
from deepnmf.reading import Dataset, ReadingError, Scaling, delimited, read
from deepnmf.reading.scales import has_different_units

MESSY = """patient_id,visited,smoker,city,age,dose_mg,comment,weight,grade
P-001,2024-03-01,yes,Ulm,41.5,1200,first visit,70.5,1
P-002,2024-03-02,no,Bonn,NA,850.5,,81,2
P-003,2024-04-11,Yes,Ulm,33.5,?,came late,64.5,1
P-004,,no,Bonn,58.25,990,has a dog,n/a,2
P-005,2024-05-30,,Ulm,61,1010.25,none of these,90,1
P-006,2024-06-01,no,Bonn,47.5,1100,left early,77.5,2
"""
FEATURES = ("smoker", "age", "dose_mg", "weight")


@pytest.fixture(params=["narrow", "wide", "parquet"])
def messy(request, tmp_path, monkeypatch):
    """The table as .csv, by either parser, or as .parquet."""
    if request.param == "parquet":
        words = {"true_values": ["yes", "Yes"], "false_values": ["no"], "null_values": ["", "NA", "?", "n/a"]}
        missing = pyarrow.csv.ConvertOptions(**words, strings_can_be_null=True)
        table = pyarrow.csv.read_csv(io.BytesIO(MESSY.encode()), convert_options=missing)
        parquet.write_table(table, tmp_path / "messy.parquet")
        return tmp_path / "messy.parquet"
    if request.param == "wide":
        monkeypatch.setattr(delimited, "WIDE", 1)
    (tmp_path / "messy.csv").write_text(MESSY)
    return tmp_path / "messy.csv"


def test_a_messy_table_gives_numbers_names_and_offers(messy):
    with pytest.warns(UserWarning, match="column 'grade' is used as a feature; pass --labels grade"):
        data = read(messy)
    assert data.feature_names == (*FEATURES, "grade")
    np.testing.assert_array_equal(data.X[:, 0], [1, 0, 1, 0, np.nan, 0])
    assert np.isnan(data.X).sum() == 4
    assert data.sample_names == tuple(f"P-00{number}" for number in range(1, 7))
    assert data.notes == (
        "Column 'patient_id' identifies the samples and is used for their names.",
        "These columns are ignored because they are not numbers: 'visited' (dates), "
        "'city' (text with 2 values: --labels city), 'comment' (text: --names comment).",
    )


def test_a_column_that_looks_like_labels_is_asked_about(messy):
    questions = []
    data = read(messy, ask=lambda question: not questions.append(question))
    assert questions == ["Column 'grade' has 2 different numbers. Are they labels?"]
    assert (data.feature_names, data.y.tolist()) == (FEATURES, [1, 2, 1, 2, 1, 2])
    assert read(messy, ask=lambda _: False).feature_names == (*FEATURES, "grade")


def test_columns_are_chosen_and_dropped(messy):
    data = read(messy, labels="city", columns=["weight", "age"])
    assert (data.feature_names, data.class_names) == (("weight", "age"), ("Bonn", "Ulm"))
    assert read(messy, labels="grade", drop=["smoker", "city"]).feature_names == FEATURES[1:]
    with pytest.raises(ReadingError, match=r"no column 'wieght' for --drop: closest are 'weight'"):
        read(messy, drop=["wieght"])
    with pytest.raises(ReadingError, match=r"column 'comment'"):
        read(messy, columns=["comment"])


def test_several_columns_of_labels_are_several_attributes(messy):
    data = read(messy, labels="city,grade")
    assert data.y.tolist() == [[1, 1], [0, 2], [1, 1], [0, 2], [1, 1], [0, 2]]
    assert "2 classes in column 'city', 2 classes in column 'grade'" in data.description
    again = read(messy, like=data.recipe)
    assert (again.feature_names, again.y.tolist()) == (data.feature_names, data.y.tolist())


def test_a_cell_that_is_not_a_boolean_is_named(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n1,yes\n2,no\n3,maybe\n4,no\n5,yes\n")
    assert read(tmp_path / "t.csv").feature_names == ("a",)
    monkeypatch.setattr(delimited, "SAMPLE_ROWS", 2)
    with pytest.raises(ReadingError, match=r"line 4, column 'b': 'maybe' is not a number"):
        read(tmp_path / "t.csv")


# ------------------------------------------------------------------------------------------------- units


def table(names, maxima, kind="table"):
    X = np.random.default_rng(0).random((20, len(names)))
    return Dataset(X / X.max(axis=0) * maxima, kind, "20 samples.", feature_names=tuple(names))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (table(["ash", "proline"], [1.0, 1000.0]), True),
        (table(["sepal length", "petal width"], [7.9, 2.5]), False),
        (table(["400 nm", "500 nm"], [1.0, 1000.0]), False),
        (table(["CD4", "IL7R"], [1.0, 1000.0], "cells"), False),
        (table(["age", "empty", "income"], [90.0, 0.0, 1e5]), True),
    ],
)
def test_units_are_recognized_by_names_and_maxima(data, expected):
    assert has_different_units(data) == expected
    scaling = Scaling.for_units(data)
    assert scaling.name == ("columns" if expected else "none")
    again = Scaling.from_json(scaling.to_json())
    np.testing.assert_array_equal(again(data.X), scaling(data.X))
    np.testing.assert_array_equal(scaling(sparse.csr_array(data.X)).toarray(), scaling(data.X))
    np.testing.assert_allclose(ColumnScaler().fit_transform(data.X)[:, 0].max(), 1 if expected else data.X[:, 0].max())


def test_scales_of_earlier_results_are_still_read():
    assert Scaling.from_json({"name": "unit", "largest": 1.0}) == Scaling("samples")
    assert Scaling.from_json({"name": "max", "largest": 4.0}) == Scaling("max", (4.0,))
    with pytest.raises(ValueError, match="'huge' is not a scale"):
        Scaling.from_json({"name": "huge", "largest": 1.0})


def test_batches_of_a_scaler_agree_with_all_rows():
    X = np.random.default_rng(0).random((40, 3)) * [1, 5, 500]
    X[3, 1] = np.nan
    whole, batches = ColumnScaler().fit(X), ColumnScaler()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (X[:20], X[20:]):
            batches.partial_fit(rows)
    np.testing.assert_array_equal(batches.scale_, whole.scale_)
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(X)), X)
    assert not np.any(ColumnScaler(factor=1e6).fit(X).scale_ != 1)
