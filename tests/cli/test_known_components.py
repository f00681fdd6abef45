"""The option --fixed."""

import numpy as np
import pandas as pd
import pytest

import deepnmf
from command_line import run, succeeded

FEW = ("--model", "nmf", "--layers", "4", "--set", "max_iter=5", "--set", "tol=0", "--no-report")


@pytest.fixture
def spectra(tmp_path):
    """A table of mixed spectra, and two known spectra with columns in another order, an empty cell and a name."""
    rng = np.random.default_rng(0)
    bands = [f"{400 + 10 * j} nm" for j in range(12)]
    known = pd.DataFrame(rng.random((2, 12)), columns=bands)
    mixed = pd.DataFrame(rng.random((40, 4)) @ np.vstack([known, rng.random((2, 12))]), columns=bands)
    known.loc[1, "450 nm"] = np.nan
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    known[bands[::-1]].assign(material=["soil", "water"]).to_csv(tmp_path / "known.csv", index=False)
    return tmp_path, known


def test_known_components_are_found_by_the_names_of_their_columns(spectra):
    folder, known = spectra
    result = succeeded("fit", folder / "mixed.csv", *FEW, "--fixed", folder / "known.csv", "-o", folder / "out")
    model = deepnmf.load(folder / "out" / "model.safetensors")
    assert np.array_equal(model.fixed_components_, known.to_numpy(), equal_nan=True)
    assert "2 of the components of the first layer are fixed." in result.stdout


def test_known_components_are_scaled_as_the_data(spectra):
    folder, known = spectra
    scale = ("--scale", "columns")
    succeeded("fit", folder / "mixed.csv", *FEW, *scale, "--fixed", folder / "known.csv", "-o", folder / "out")
    largest = pd.read_csv(folder / "mixed.csv").max().to_numpy()
    model = deepnmf.load(folder / "out" / "model.safetensors")
    assert np.allclose(model.fixed_components_, known.to_numpy() / largest, equal_nan=True)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (["400 nm", "420 nm"], "of --fixed has no column for '400 nm', '420 nm': expected all columns of the data."),
        ([f"{400 + 10 * j} nm" for j in range(7)], "'440 nm' and 2 more:"),
    ],
)
def test_missing_columns_are_named(spectra, columns, sentence):
    folder, known = spectra
    known.drop(columns=columns).to_csv(folder / "known.csv", index=False)
    result = run("fit", folder / "mixed.csv", *FEW, "--fixed", folder / "known.csv", "-o", folder / "out")
    assert result.exit_code != 0
    assert sentence in " ".join(result.stderr.split())
    assert not (folder / "out").exists()


def test_columns_without_names_are_matched_by_their_number(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.random((30, 8)))
    for name, width in (("known", 8), ("other", 7)):
        np.save(tmp_path / f"{name}.npy", rng.random((2, width)))
    usual = ("fit", tmp_path / "X.npy", *FEW, "-o", tmp_path / "out", "--fixed")
    result = run(*usual, tmp_path / "other.npy")
    assert "of --fixed has 7 columns, but the data have 8." in " ".join(result.stderr.split())
    succeeded(*usual, tmp_path / "known.npy")


def test_models_without_fixed_components_say_which_have_them(tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((30, 8)))
    arguments = ("--model", "gdnmf", "--layers", "4,2", "--fixed", tmp_path / "X.npy")
    result = run("fit", tmp_path / "X.npy", *arguments, "-o", tmp_path / "out")
    assert "GDNMF supports no fixed components: --fixed is for NMF" in " ".join(result.stderr.split())
