import json

import numpy as np
import pytest
from PIL import Image

import deepnmf
from command_line import digits, interrupting, run, succeeded, table, write_digits
from deepnmf.cli import model_choice
from deepnmf.models import MODELS

FEW = ("--layers", "8,4", "--set", "max_iter=3", "--set", "tol=0", "--no-report")


def numbers(path):
    """Codes of a csv file without names."""
    return table(path).to_numpy()


@pytest.fixture
def fitted(tmp_path):
    """A model of digits, fitted to pixels from 0 to 16 and scaled."""
    csv = write_digits(tmp_path / "digits.csv", X=16 * digits()[0])
    out = tmp_path / "out"
    succeeded("fit", csv, "--labels", "digit", "--names", "id", "--scale", "max", "--size", "8x8", *FEW, "-o", out)
    return out


def test_transform_reads_and_scales_as_the_fit_did(tmp_path, fitted):
    X, _ = digits(20)
    columns = ["remark", *(f"p{j}" for j in reversed(range(64)))]
    rows = [",".join(["fine", *map(str, 16 * row[::-1])]) for row in X]
    (tmp_path / "more.csv").write_text("\n".join([",".join(columns), *rows]))
    succeeded("transform", fitted, tmp_path / "more.csv", "-o", tmp_path / "codes.csv")
    model = deepnmf.load(fitted / "model.safetensors")
    np.testing.assert_allclose(numbers(tmp_path / "codes.csv"), model.transform(X), rtol=1e-9)
    succeeded("transform", fitted, tmp_path / "more.csv", "--layer", 1, "-o", tmp_path / "codes_1.csv")
    np.testing.assert_allclose(numbers(tmp_path / "codes_1.csv"), model.encode(X, 0), rtol=1e-9)


def test_transform_brings_images_to_the_size_of_the_fit(tmp_path):
    rng = np.random.default_rng(0)
    for name, shape in {"train": (6, 6), "more": (12, 12)}.items():
        (tmp_path / name).mkdir()
        for k in range(8):
            image = Image.fromarray(rng.integers(0, 255, (6, 6), dtype=np.uint8))
            image.resize(shape, Image.Resampling.NEAREST).save(tmp_path / name / f"{k}.png")
    succeeded("fit", tmp_path / "train", "--layers", "4,2", *FEW[2:], "-o", tmp_path / "out")
    succeeded("transform", tmp_path / "out", tmp_path / "more", "-o", tmp_path / "codes.csv")
    assert list(table(tmp_path / "codes.csv")["sample"]) == [f"{k}.png" for k in range(8)]


def test_transform_weights_words_as_the_fit_did(tmp_path):
    texts = ["wave sand salt", "wave salt", "stone moss", "moss stone stone", "sand moss", "salt wave wave"]
    lines = [json.dumps({"text": text, "label": "ab"[i % 2]}) for i, text in enumerate(texts)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    succeeded("fit", tmp_path / "t.jsonl", "--layers", "3,2", *FEW[2:], "-o", tmp_path / "out")
    (tmp_path / "one.jsonl").write_text(json.dumps({"text": "unknown, stone moss"}))
    succeeded("transform", tmp_path / "out", tmp_path / "one.jsonl", "-o", tmp_path / "codes.csv")
    np.testing.assert_allclose(
        numbers(tmp_path / "codes.csv")[0], numbers(tmp_path / "out" / "codes_2.csv")[2], rtol=1e-9
    )


def test_a_model_file_alone_transforms_what_has_its_features(tmp_path, fitted):
    X, _ = digits(5)
    np.save(tmp_path / "more.npy", X)
    alone = tmp_path / "alone.safetensors"
    alone.write_bytes((fitted / "model.safetensors").read_bytes())
    succeeded("transform", alone, tmp_path / "more.npy", "-o", tmp_path / "codes.csv")
    np.testing.assert_allclose(numbers(tmp_path / "codes.csv"), deepnmf.load(alone).transform(X), rtol=1e-9)
    np.save(tmp_path / "other.npy", X[:, 1:])
    result = run("transform", alone, tmp_path / "other.npy", "-o", tmp_path / "other.csv")
    assert result.exit_code == 4
    assert "X has 63 features" in result.stderr
    assert not (tmp_path / "other.csv").exists()


def test_transform_refuses_what_it_cannot_use(tmp_path, fitted):
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "no.safetensors").write_text("no model")
    csv = tmp_path / "digits.csv"
    for arguments, code, what in [
        ((tmp_path, csv, "-o", tmp_path / "c.csv"), 3, "There is no model"),
        ((tmp_path / "no.safetensors", csv, "-o", tmp_path / "c.csv"), 3, "is not a valid deepnmf model"),
        ((fitted, csv, "-o", tmp_path / "there.csv"), 5, "already exists"),
        ((fitted, csv, "-o", tmp_path / "c.xlsx"), 2, "expected a file ending in .csv or .parquet"),
        ((fitted, csv, "--layer", 3, "-o", tmp_path / "c.csv"), 2, "the model has 2 layers: expected 1 to 2"),
    ]:
        result = run("transform", *arguments)
        assert (result.exit_code, what in result.stderr) == (code, True), result.output
    (fitted / "reading.json").write_text("{}")
    result = run("transform", fitted, csv, "-o", tmp_path / "c.csv")
    assert (result.exit_code, "does not describe how the data were read" in result.stderr) == (3, True)
    assert not (tmp_path / "c.csv").exists()
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_report_writes_the_page_of_a_fitted_model(tmp_path, fitted):
    page = tmp_path / "page.html"
    succeeded("report", fitted, tmp_path / "digits.csv", "-o", page)
    assert "DeepNMF on digits.csv" in page.read_text(encoding="utf-8")
    assert run("report", fitted, tmp_path / "digits.csv", "-o", page).exit_code == 5
    succeeded("report", fitted, tmp_path / "digits.csv", "-o", page, "--overwrite")
    assert not list(tmp_path.glob(".*"))


def test_compare_shows_models_in_one_table_and_on_one_page(tmp_path):
    X, y = digits()
    np.savez(tmp_path / "d.npz", X=X, y=y, image_shape=(8, 8))
    out = tmp_path / "out"
    few = ("--layers", "8,4", "--set", "max_iter=3", "--set", "tol=0", "--set", "theta=0.2")
    result = succeeded("compare", tmp_path / "d.npz", "--models", "nmf,deep-nsnmf", *few, "-o", out)
    assert {path.name for path in out.iterdir()} == {
        "comparison.html",
        "scores.csv",
        "settings.json",
        "reading.json",
        "nmf.safetensors",
        "deep-nsnmf.safetensors",
        "manifest.json",
    }
    scores = table(out / "scores.csv")
    assert list(zip(scores["model"], scores["size"], strict=True)) == [("nmf", 4), ("deep-nsnmf", 8), ("deep-nsnmf", 4)]
    settings = json.loads((out / "settings.json").read_text())
    assert settings["models"]["deep-nsnmf"]["parameters"]["theta"] == 0.2
    assert "nmf" in result.stdout
    assert "accuracy" in result.stdout
    succeeded("transform", out / "nmf.safetensors", tmp_path / "d.npz", "-o", tmp_path / "codes.csv")
    assert numbers(tmp_path / "codes.csv").shape == (60, 4)


def test_compare_writes_the_models_fitted_before_an_interruption(tmp_path, monkeypatch):
    np.save(tmp_path / "d.npy", digits()[0])
    interrupting(monkeypatch, sweep=2)
    few = ("--layers", "4", "--set", "max_iter=3", "--models", "nmf,semi-nmf")
    result = run("compare", tmp_path / "d.npy", *few, "-o", tmp_path / "out")
    assert result.exit_code == 130
    assert (tmp_path / "out" / "nmf.safetensors").exists()
    assert not (tmp_path / "out" / "semi-nmf.safetensors").exists()


def test_compare_refuses_a_parameter_that_no_model_has(tmp_path):
    np.save(tmp_path / "d.npy", digits()[0])
    result = run("compare", tmp_path / "d.npy", "--models", "nmf", "--set", "theta=0.5", "-o", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (2, "None of nmf has a parameter 'theta'.\n")


def test_models_are_listed_one_per_line():
    lines = succeeded("models").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [model_choice.command_name(model) for model in MODELS]
    assert any(line.startswith("deep-nmf-network  Layers of NMF") for line in lines)


def test_parameters_of_a_model_are_listed_with_their_defaults():
    text = succeeded("models", "deep-nsnmf").stdout
    assert "--layers 100,10" in text
    assert (
        "--set theta=0.1\n    float or sequence of float in [0, 1]. Smoothing, one number for all layers or one per"
        in text
    )
    assert "verbose" not in text
    assert run("models", "deep").exit_code == 2


@pytest.mark.parametrize("model", [model_choice.command_name(model) for model in MODELS])
def test_every_parameter_of_every_model_is_explained(model):
    text = succeeded("models", model).stdout
    parameters = [line for line in text.splitlines() if line.startswith("--")]
    assert len(parameters) > 3
    assert len(text.splitlines()) == 2 + 2 * len(parameters)
