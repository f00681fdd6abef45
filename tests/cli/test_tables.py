"""Tables on the command line: units, labels of several attributes, and messages about the columns."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import deepnmf
from command_line import run, succeeded, table
from deepnmf.cli import output
from pages import data_of

FEW = ("--set", "max_iter=3", "--set", "tol=0", "--no-report")
UNITS = (
    "The columns have different units (maxima from 0.66 to 1.68e+03): each is divided by its maximum; "
    "--scale none disables this."
)


@pytest.fixture
def wine(tmp_path):
    load_wine(as_frame=True).frame.to_csv(tmp_path / "wine.csv", index=False)
    return tmp_path / "wine.csv"


def test_columns_in_different_units_are_scaled_and_scaled_again_by_transform(wine, tmp_path):
    result = succeeded("fit", wine, "--labels", "target", "--model", "NMF", "--layers", 3, *FEW, "-o", tmp_path / "out")
    assert UNITS in result.stdout
    X = load_wine().data
    codes = deepnmf.load(tmp_path / "out" / "model.safetensors").transform(X / X.max(axis=0))
    succeeded("transform", tmp_path / "out", wine)
    np.testing.assert_allclose(table(tmp_path / "out-codes-wine.csv").to_numpy(), codes, rtol=1e-9)
    kept = succeeded(
        "fit", wine, "--labels", "target", "--scale", "none", "--layers", "3", *FEW, "-o", tmp_path / "raw"
    )
    assert "different units" not in kept.stdout


def test_labels_of_several_columns_reach_models_of_several_attributes(wine, tmp_path):
    frame = table(wine)
    frame["light"] = np.arange(len(frame)) % 2
    frame.to_csv(tmp_path / "two.csv", index=False)
    settings = ("--model", "WSFMA", "--layers", 4, *FEW)
    result = succeeded("fit", tmp_path / "two.csv", "--labels", "target,light", *settings, "-o", tmp_path / "out")
    assert "3 classes in column 'target', 2 classes in column 'light'" in result.stdout
    X, y = load_wine().data, np.stack([load_wine().target, np.arange(178) % 2], axis=1)
    expected = deepnmf.WSFMA(4, max_iter=3, tol=0, random_state=0).fit(X / X.max(axis=0), y)
    found = deepnmf.load(tmp_path / "out" / "model.safetensors")
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-6)


def test_words_are_booleans_of_parameters_and_names_have_any_case(wine, tmp_path):
    options = ("--model", "Deep_NMF", "--layers", "4,2", "--set", "warm_start=false", *FEW)
    succeeded("fit", wine, "--labels", "target", *options, "-o", tmp_path / "out")
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert (settings["model"], settings["parameters"]["warm_start"]) == ("deep-nmf", False)


def test_a_size_is_proposed_for_columns_that_look_like_pixels(tmp_path):
    load_digits(as_frame=True).frame[:50].to_csv(tmp_path / "digits.csv", index=False)
    result = succeeded(
        "fit", tmp_path / "digits.csv", "--labels", "target", "--layers", "4,2", *FEW, "-o", tmp_path / "o"
    )
    assert "The columns look like pixels: --size 8x8 shows them as images." in result.stdout
    assert "different units" not in result.stdout


def test_a_terminal_is_asked_about_labels_and_a_pipe_is_warned(wine, tmp_path, monkeypatch):
    result = succeeded("fit", wine, "--layers", "4,2", *FEW, "-o", tmp_path / "piped")
    assert "column 'target' is used as a feature; pass --labels target" in result.stderr
    asked = []
    monkeypatch.setattr(output.TerminalMessages, "question", lambda _: lambda question: not asked.append(question))
    result = succeeded("fit", wine, "--layers", "4,2", *FEW, "-o", tmp_path / "asked")
    assert "178 samples of 13 features, 3 classes in column 'target'" in result.stdout
    assert asked == ["Column 'target' has 3 different numbers. Are they labels?"]


def test_samples_on_a_grid_are_maps_of_codes_in_the_report(tmp_path):
    np.save(tmp_path / "scene.npy", np.random.default_rng(0).random((12, 5)))
    few = ("--layers", "3,2", "--set", "max_iter=3", "--set", "tol=0")
    succeeded("fit", tmp_path / "scene.npy", *few, "--sample-shape", "3x4", "-o", tmp_path / "out")
    assert all("scene" in layer for layer in data_of(tmp_path / "out" / "report.html")["layers"])
    result = run("fit", tmp_path / "scene.npy", *few, "--sample-shape", "5x5", "-o", tmp_path / "other")
    assert result.exit_code == 2
    assert "--sample-shape is 5x5: expected a product of 12, the number of samples." in result.stderr
