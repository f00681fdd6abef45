"""Data frames and AnnData as input and output."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import deepnmf
from deepnmf import NMF, DeepNSNMF, fit_anndata
from deepnmf.models import factorization
from deepnmf.reading import ReadingError, read
from jitter import without_copies

COLUMNS = ["iron", "oak", "rain", "salt", "wool"]


def numbers():
    rng = np.random.default_rng(0)
    return rng.random((40, 3)) @ rng.random((3, 5))


FRAMES = {"pandas": pd.DataFrame, "polars": lambda X, columns: pl.DataFrame(X, schema=columns)}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_gives_the_numbers_of_an_array_and_keeps_its_names(kind):
    X = numbers()
    frame = FRAMES[kind](X, columns=COLUMNS)
    model = NMF(2, random_state=0).fit(frame)
    assert np.array_equal(model.components_, NMF(2, random_state=0).fit(X).components_)
    assert list(model.feature_names_in_) == COLUMNS
    assert {name for name, _ in model.top_features(n=5)[0]} == set(COLUMNS)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(FRAMES[kind](X, columns=COLUMNS[::-1]))


@pytest.mark.parametrize("kind", FRAMES)
def test_codes_come_out_as_a_frame_with_names(kind):
    frame = FRAMES[kind](numbers(), columns=COLUMNS)
    codes = NMF(2, random_state=0).set_output(transform=kind).fit(frame).transform(frame)
    assert type(codes) is type(frame)
    assert list(codes.columns) == ["nmf0", "nmf1"]


def test_missing_entries_of_a_frame_are_holes():
    X = numbers()
    X[3, 2] = np.nan
    expected = NMF(2, random_state=0).fit(X)
    assert (NMF(2, random_state=0).fit(pd.DataFrame(X)).components_ == expected.components_).all()


@pytest.mark.anndata
@pytest.mark.filterwarnings("ignore")  # warnings of anndata
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_annotated_data_gets_codes_and_features_of_every_layer(form):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    adata = anndata.AnnData(form(numbers()))
    model = DeepNSNMF((4, 2), random_state=0)
    assert fit_anndata(model, adata) is adata
    assert (adata.varm["deepnsnmf"] == model.components_.T).all()
    assert (adata.varm["deepnsnmf_1"] == model.features_[0].T).all()
    assert (adata.obsm["X_deepnsnmf"] == model.transform(adata.X)).all()
    assert adata.obsm["X_deepnsnmf_1"].shape == (40, 4)


@pytest.mark.anndata
@pytest.mark.filterwarnings("ignore")
def test_another_layer_and_another_key_can_be_chosen():
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    adata = anndata.AnnData(np.zeros((40, 5)), layers={"log": numbers()})
    fit_anndata(NMF(2, random_state=0), adata, layer="log", key="parts")
    expected = NMF(2, random_state=0).fit(numbers())
    assert (adata.varm["parts"] == expected.components_.T).all()
    assert set(adata.obsm) == {"X_parts"}


@pytest.mark.anndata
@pytest.mark.filterwarnings("ignore")
def test_genes_keep_their_names_and_results_their_origin(tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    adata = anndata.AnnData(sparse.csr_matrix(numbers()), layers={"log": numbers()})
    adata.var_names, adata.obs["kind"] = COLUMNS, pd.Categorical(["oak", "elm"] * 20)
    holder = SimpleNamespace(mod={"rna": adata})
    model = DeepNSNMF((4, 2), random_state=0)
    assert fit_anndata(model, holder, layer="log", modality="rna", key="parts") is holder
    assert {name for name, _ in model.top_features(n=5)[0]} == set(COLUMNS)
    assert adata.obsm["X_parts_1"].shape == (40, 4)
    assert (adata.uns["parts"]["model"], adata.uns["parts"]["layer"]) == ("DeepNSNMF", "log")
    assert adata.uns["parts"]["explained"].tolist() == [one.explained for one in model.hierarchy_]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    model.save(tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = deepnmf.load(tmp_path / "model")
        again.transform(numbers())
    assert again.top_features() == model.top_features()
    model.report(tmp_path / "page.html", adata, "kind", layer="log")
    assert all(name in (tmp_path / "page.html").read_text() for name in (*COLUMNS, "elm"))
    data = read(tmp_path / "cells.h5ad", labels="kind", key="log")
    np.testing.assert_array_equal(data.X, numbers())
    assert "layer 'log'" in data.description
    again = read(tmp_path / "cells.h5ad", like=data.recipe)
    np.testing.assert_array_equal(again.X, data.X)
    with pytest.raises(ReadingError, match=r"no layer 'lag' for --key: closest are 'log'"):
        read(tmp_path / "cells.h5ad", key="lag")
    for wrong in ({"layer": "raw"}, {"y": "sort"}):
        with pytest.raises(ValueError, match="expected"):
            fit_anndata(model, adata, **wrong)
    with pytest.raises(ValueError, match="modality is 'atac': expected one of rna"):
        fit_anndata(model, holder, modality="atac")


@without_copies
@pytest.mark.anndata
@pytest.mark.filterwarnings("ignore")
def test_the_matrix_is_not_copied(monkeypatch):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    adata = anndata.AnnData(sparse.csr_matrix(numbers()))
    seen = []
    monkeypatch.setattr(
        factorization,
        "rows",
        lambda problem, data, *how, **unit: seen.append(data.X) or rows(problem, data, *how, **unit),
    )
    fit_anndata(NMF(2, random_state=0), adata)
    assert seen
    assert all(np.shares_memory(X.data, adata.X.data) for X in seen)


rows = factorization.rows
