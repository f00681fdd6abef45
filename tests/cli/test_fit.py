import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import deepnmf
from command_line import digits, interrupting, run, succeeded, table, write_digits
from deepnmf.cli import model_choice, output
from deepnmf.cli.safe_text import json_text
from deepnmf.models import MODELS

FEW = ("--layers", "8,4", "--set", "max_iter=3", "--set", "tol=0", "--set", "pretrain_max_iter=2")
FEW_SHALLOW = ("--layers", "4", "--set", "max_iter=3", "--set", "tol=0")


@pytest.fixture
def csv(tmp_path):
    return write_digits(tmp_path / "digits.csv")


def test_unused_features_are_reported(tmp_path, csv):
    usual = ("fit", csv, "--model", "nmf", *FEW_SHALLOW, "--labels", "digit", "--names", "id", "--no-report")
    dear = ("--set", "alpha_W=1.0", "--set", "l1_ratio=1.0")
    sparse = succeeded(*usual, *dear, "-o", tmp_path / "out")
    assert "Unused features per layer:" in sparse.output.replace("\n", " ")
    plain = succeeded(*usual, "-o", tmp_path / "plain")
    assert "Unused features" not in plain.output.replace("\n", " ")


def test_one_command_writes_all_results_of_a_table(tmp_path, csv):
    out = tmp_path / "made" / "on the way"
    result = succeeded("fit", csv, "--model", "deep-nsnmf", *FEW, "--labels", "digit", "--names", "id", "-o", out)
    assert {path.name for path in out.iterdir()} == {
        "model.safetensors",
        "codes_1.csv",
        "codes_2.csv",
        "loss.csv",
        "settings.json",
        "reading.json",
        "report.html",
        "manifest.json",
    }
    assert not list(tmp_path.glob(".*"))
    X, _ = digits()
    model = deepnmf.load(out / "model.safetensors")
    for layer, size in enumerate((8, 4)):
        codes = table(out / f"codes_{layer + 1}.csv")
        assert codes.columns.tolist() == ["sample", *(f"code_{j + 1}" for j in range(size))]
        assert codes["sample"][7] == "d7"
        np.testing.assert_allclose(codes.iloc[:, 1:], model.encode(X, layer), rtol=1e-12)
    np.testing.assert_allclose(table(out / "loss.csv")["loss"], model.loss_curve_, rtol=1e-14)
    assert "DeepNSNMF on digits.csv" in (out / "report.html").read_text(encoding="utf-8")
    assert "60 samples of 64 features, 10 classes in column 'digit'" in result.stdout
    assert str(out / "report.html") in result.stdout


def test_settings_contain_the_parameters_and_the_scores(tmp_path, csv):
    args = ("--model", "deep-nsnmf", *FEW, "--set", "theta=0.1,0.9", "--seed", 3)
    succeeded("fit", csv, *args, "--labels", "digit", "--names", "id", "--no-report", "-o", tmp_path / "out")
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["parameters"]["theta"] == [0.1, 0.9]
    assert settings["parameters"]["random_state"] == 3
    assert settings["layers"] == [8, 4]
    assert (settings["sweeps"], settings["stop_reason"]) == (3, "max_iter")
    assert settings["versions"]["deepnmf"] == deepnmf.__version__
    assert [score["size"] for score in settings["scores"]] == [8, 4]
    assert 0 < settings["scores"][1]["accuracy"] <= 1
    assert not (tmp_path / "out" / "report.html").exists()


def test_the_same_seed_gives_the_same_files(tmp_path, csv):
    for name, seed in {"a": 1, "b": 1, "c": 2}.items():
        start = ("--set", "init=random", "--seed", seed, "--no-report", "-o", tmp_path / name)
        succeeded("fit", csv, "--labels", "digit", "--names", "id", *FEW, *start)
    a, b, c = ((tmp_path / name / "codes_2.csv").read_text() for name in "abc")
    assert a == b != c


def test_missing_options_are_chosen_from_the_data_and_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("faces.npz", X=digits()[0], y=digits()[1])
    result = succeeded("fit", "faces.npz", "--no-report")
    output = " ".join(result.stdout.split())
    layers = re.search(r"Layers ([\d,]+) predict hidden entries best. Tried: 1, 2, 3, 4,", output)[1]
    assert f"No --model and no --layers: using deep-nmf with layers {layers}." in output
    model = deepnmf.load(tmp_path / "deepnmf-faces" / "model.safetensors")
    assert ",".join(map(str, model.layer_sizes)) == layers
    result = succeeded("fit", "faces.npz", "--model", "gdnmf", "--set", "max_iter=2", "--no-report", "-o", "gdnmf")
    output = " ".join(result.stdout.split())
    assert "GDNMF with these parameters cannot skip hidden entries of X" in output
    assert "using gdnmf with layers 30,10." in output


def test_a_search_for_layers_that_ended_early_reports_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(model_choice, "ENTRIES_READ", 0)
    monkeypatch.setattr(model_choice, "FEWEST_PASSES", 1)
    np.save("signed.npy", digits()[0] - 0.5)
    output = " ".join(succeeded("fit", "signed.npy", "--no-report").stdout.split())
    assert "Tried: 1 features in the first layer" in output
    assert "The search ended early to save time" in output
    assert "using deep-semi-nmf with layers 1." in output


@pytest.mark.parametrize("model", [model_choice.command_name(model) for model in MODELS])
def test_every_model_is_fitted_by_its_name(tmp_path, model):
    X, y = digits(30)
    np.savez(tmp_path / "d.npz", X=X, y=np.where(y < 3, y, -1))
    few = (
        FEW_SHALLOW
        if model_choice.is_shallow(model_choice.model_class(model)())
        else ("--layers", "8,4", *FEW_SHALLOW[2:])
    )
    succeeded("fit", tmp_path / "d.npz", "--model", model, *few, "--no-report", "-o", tmp_path / "out")
    assert model_choice.command_name(type(deepnmf.load(tmp_path / "out" / "model.safetensors"))) == model


def test_recordings_are_the_groups_of_a_model_that_pools(tmp_path):
    from scipy.io import wavfile

    for k in range(2):
        wave = np.sin(np.arange(4000) * (0.2 + 0.3 * k)) * (1 + np.sin(np.arange(4000) / 400))
        wavfile.write(tmp_path / f"{k}.wav", 8000, (8000 * wave).astype(np.int16))
    out = tmp_path / "out"
    succeeded("fit", tmp_path, "--model", "deep-nmf-network", *FEW, "--set", "pool_size=3", "-o", out)
    assert '"groups":{"kind":"group","names":["0.wav","1.wav"]}' in (out / "report.html").read_text()
    codes = table(out / "codes_2.csv")
    data = deepnmf.reading.read(tmp_path)
    model = deepnmf.load(out / "model.safetensors")
    pooled = model.encode(data.X, -1, groups=data.groups)
    np.testing.assert_allclose(codes.iloc[:, 1:], pooled, rtol=1e-9)
    error = np.linalg.norm(data.X - model.decode(pooled))
    assert json.loads((out / "settings.json").read_text())["scores"][1]["error"] == pytest.approx(error)
    assert not np.allclose(pooled, model.encode(data.X, -1))


def test_codes_are_parquet_where_the_input_was_or_where_asked_for(tmp_path, csv):
    columns = {f"p{j}": column for j, column in enumerate(digits()[0].T)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "d.parquet")
    succeeded("fit", tmp_path / "d.parquet", *FEW, "--no-report", "-o", tmp_path / "a")
    assert parquet.read_table(tmp_path / "a" / "codes_1.parquet").num_columns == 8
    succeeded("fit", tmp_path / "d.parquet", *FEW, "--no-report", "--codes", "csv", "-o", tmp_path / "b")
    assert (tmp_path / "b" / "codes_2.csv").exists()


def test_json_is_one_object_per_line(tmp_path, csv, monkeypatch):
    monkeypatch.setattr(output, "SECONDS_BETWEEN_EVENTS", 0)
    out = tmp_path / "out"
    args = ("--labels", "digit", "--names", "id", *FEW, "--set", "tol=1e-9", "--no-report", "--json", "-o", out)
    result = succeeded("fit", csv, *args)
    events = [json.loads(line) for line in result.stdout.splitlines() if "hierarchy_" not in line]
    assert [event["event"] for event in events] == ["start", "sweep", "sweep", "sweep", "warning", "result"]
    assert events[0]["parameters"]["layer_sizes"] == [8, 4]
    assert [event["sweep"] for event in events[1:4]] == [1, 2, 3]
    assert events[2]["decrease"] > 0
    assert "Maximum number of iterations" in events[4]["message"]
    assert (events[5]["output"], events[5]["exit_code"]) == (str(out), 0)
    assert events[5]["scores"][1]["size"] == 4


def test_deep_models_show_what_their_layers_are_like(tmp_path, csv):
    args = ("--labels", "digit", "--names", "id", "--no-report")
    result = succeeded("fit", csv, *args, *FEW, "-o", tmp_path / "deep")
    hierarchy = json.loads((tmp_path / "deep" / "settings.json").read_text())["hierarchy"]
    assert [layer["size"] for layer in hierarchy] == [8, 4]
    assert "copies" in result.stdout
    for layer in hierarchy:
        assert f"{100 * layer['explained']:.1f} %" in result.stdout
    result = succeeded("fit", csv, *args, "--model", "nmf", *FEW_SHALLOW, "-o", tmp_path / "shallow")
    assert json.loads((tmp_path / "shallow" / "settings.json").read_text())["hierarchy"] == []
    assert "copies" not in result.stdout


def test_sweeps_are_reported_about_once_a_second(tmp_path, csv):
    args = ("--labels", "digit", "--names", "id", *FEW, "--set", "max_iter=30", "--no-report", "--json")
    result = succeeded("fit", csv, *args, "-o", tmp_path / "out")
    sweeps = [line for line in result.stdout.splitlines() if '"sweep", "model"' in line]
    assert 1 <= len(sweeps) < 30


def test_quiet_prints_warnings_only(tmp_path, csv):
    args = ("--labels", "digit", "--names", "id", *FEW, "--set", "tol=1e-9", "--no-report", "--quiet")
    result = succeeded("fit", csv, *args, "-o", tmp_path / "out")
    assert result.stdout == ""
    first, *others = result.stderr.splitlines()
    assert first == "Warning: Maximum number of iterations 3 reached. Increase it to improve convergence."
    assert all(line.startswith("Warning: ") and "hierarchy_" in line for line in others)


def test_progress_is_shown_on_a_terminal(tmp_path, csv, monkeypatch):
    args = (
        "fit",
        csv,
        "--labels",
        "digit",
        "--names",
        "id",
        *FEW,
        "--no-report",
        "-o",
        tmp_path / "out",
        "--overwrite",
    )
    assert "sweep" not in succeeded(*args).stderr
    monkeypatch.setenv("FORCE_COLOR", "1")
    progress = succeeded(*args).stderr
    assert "sweep 3/3, loss" in progress
    assert "reading" in progress


def test_results_are_json_that_every_program_reads():
    content = {"nan": float("nan"), "size": (np.int64(3), 2.5), "path": Path("a"), "known": None, "is": np.bool_(True)}
    assert json.loads(json_text(content)) == {"nan": None, "size": [3, 2.5], "path": "a", "known": None, "is": True}


def test_an_interrupted_fit_is_written_and_reported(tmp_path, csv, monkeypatch):
    interrupting(monkeypatch, sweep=2)
    out = tmp_path / "out"
    result = run("fit", csv, "--labels", "digit", "--names", "id", *FEW, "--no-report", "-o", out)
    assert result.exit_code == 130
    assert "Interrupted: the best result so far is saved." in result.stdout
    assert deepnmf.load(out / "model.safetensors").stop_reason_ == "interrupted"
    assert json.loads((out / "settings.json").read_text())["stop_reason"] == "interrupted"


def test_an_interrupted_fit_resumes_from_its_checkpoint(tmp_path, csv, monkeypatch):
    call = ["fit", csv, "--labels", "digit", "--names", "id", "--model", "nmf", "--layers", 3, "--set", "tol=0"]
    call += ["--set", "max_iter=30", "--no-report", "--checkpoint", tmp_path / "kept"]
    with monkeypatch.context() as patch:
        interrupting(patch, sweep=5)
        assert run(*call, "-o", tmp_path / "cut").exit_code == 130
    assert (tmp_path / "kept").exists()
    succeeded(*call, "-o", tmp_path / "resumed")
    assert not (tmp_path / "kept").exists()
    without_checkpoint = call[:-2]
    succeeded(*without_checkpoint, "-o", tmp_path / "undisturbed")
    assert (tmp_path / "resumed" / "loss.csv").read_text() == (tmp_path / "undisturbed" / "loss.csv").read_text()


def test_an_interruption_before_the_fit_leaves_nothing(tmp_path, csv, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("deepnmf.reading.read", interrupt)
    result = run("fit", csv, "-o", tmp_path / "out")
    assert result.exit_code == 130
    assert result.output == "Interrupted before there was a result: nothing was written.\n"
    assert not (tmp_path / "out").exists()


def test_overwrite_replaces_an_earlier_result_and_nothing_else(tmp_path, csv):
    out = tmp_path / "out"
    args = ("fit", csv, "--labels", "digit", "--names", "id", *FEW, "--no-report", "-o", out)
    succeeded(*args, "--codes", "parquet")
    refused = run(*args)
    assert refused.exit_code == 5
    assert refused.output == f"--output is {out}, which is not empty: pass --overwrite to replace an earlier result.\n"
    succeeded(*args, "--overwrite")
    assert sorted(path.name for path in out.glob("codes*")) == ["codes_1.csv", "codes_2.csv"]
    (out / "thesis.tex").write_text("years of work")
    for refused in (run(*args), run(*args, "--overwrite")):
        assert refused.exit_code == 5
        assert "is not empty: thesis.tex is not in the manifest" in refused.output
    assert (out / "thesis.tex").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_scales_reach_the_model_and_are_kept(tmp_path):
    X, _ = digits()
    np.save(tmp_path / "d.npy", 16 * X)
    succeeded("fit", tmp_path / "d.npy", *FEW, "--scale", "max", "--no-report", "-o", tmp_path / "a")
    np.save(tmp_path / "d.npy", X)
    succeeded("fit", tmp_path / "d.npy", *FEW, "--no-report", "-o", tmp_path / "b")
    a, b = (deepnmf.load(tmp_path / name / "model.safetensors") for name in "ab")
    np.testing.assert_allclose(a.components_, b.components_)
    assert json.loads((tmp_path / "a" / "reading.json").read_text())["scaling"] == {"name": "max", "divisors": [16.0]}


def test_help_loads_no_heavy_library():
    code = "import sys, deepnmf.cli; print({'numpy', 'sklearn', 'pyarrow', 'rich.progress'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_help_lists_the_commands_and_the_exit_codes():
    text = " ".join(run("--help").stdout.split())
    assert all(command in text for command in ("fit", "transform", "report", "compare", "models", "demo"))
    assert "3 the input cannot be read" in text
