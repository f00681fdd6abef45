import errno
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from command_line import digits, run, write_digits
from deepnmf.cli import results

FEW = ("--layers", "4,2", "--set", "max_iter=2", "--set", "tol=0", "--no-report")


def failed(code, *arguments, out):
    """Return the sentence of a command that must fail and write nothing."""
    ground = next(parent for parent in out.parents if parent.is_dir())
    before = sorted(ground.rglob("*"))
    result = run(*arguments, "-o", out)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    lines = [line for line in result.stderr.splitlines() if "hierarchy_" not in line]
    assert len(lines) == 1, lines
    assert sorted(ground.rglob("*")) == before
    return lines[0]


@pytest.fixture
def out(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results" / "below" / "out"


def broken_images(path):
    path.mkdir()
    for name in "abc":
        Image.new("L", (30, 30), 9).save(path / f"{name}.png")
    (path / "b.png").write_bytes((path / "b.png").read_bytes()[:50])


UNREADABLE = {
    "empty.csv": (lambda path: path.touch(), "is empty."),
    "ragged.csv": (lambda path: path.write_text("a,b\n1,2\n3\n"), "line 3: 1 cell, but the first line has 2."),
    "typo.csv": (lambda path: path.write_text("a,b\n1,2\n3,x\n"), "line 3, column 'b': 'x' is not a number"),
    "images": (broken_images, "b.png is not a valid image"),
    "broken.mat": (lambda path: path.write_bytes(b"nothing of MATLAB's"), "is not a valid MATLAB file"),
    "pickle.npz": (lambda path: path.write_bytes(pickle.dumps([1, 2])), "contains a pickle"),
    "missing.csv": (lambda path: None, "There is no file or folder"),
    "what.xyz": (lambda path: path.write_text("?"), "ends in '.xyz'"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_input_that_cannot_be_read_ends_with_3(tmp_path, out, name):
    make, what = UNREADABLE[name]
    make(tmp_path / name)
    assert what in failed(3, "fit", tmp_path / name, *FEW, out=out)


@pytest.mark.parametrize(
    ("labels", "what"), [("p3", "is not a class"), ("diggit", "has no column 'diggit' for --labels")]
)
def test_labels_of_the_wrong_kind_end_with_3(tmp_path, out, labels, what):
    csv = write_digits(tmp_path / "d.csv", X=digits()[0] / 3)
    assert what in failed(3, "fit", csv, "--labels", labels, "--names", "id", *FEW, out=out)


@pytest.mark.parametrize(
    ("model", "spoil", "what"),
    [("deep-nsnmf", -1.0, "Negative values in data passed to DeepNSNMF"), ("gdnmf", np.nan, "Input X contains NaN.")],
)
def test_data_that_do_not_fit_the_model_end_with_4(tmp_path, out, model, spoil, what):
    X, _ = digits()
    X[3, 5] = spoil
    np.save(tmp_path / "d.npy", X)
    assert what in failed(4, "fit", tmp_path / "d.npy", "--model", model, *FEW, out=out)


def test_a_scale_that_does_not_fit_the_data_ends_with_4(tmp_path, out):
    np.save(tmp_path / "d.npy", -np.ones((5, 4)))
    assert "--scale is 'log'" in failed(4, "fit", tmp_path / "d.npy", "--scale", "log", *FEW, out=out)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--model", "deep-nsmnf"), "There is no model 'deep-nsmnf': expected deep-nsnmf"),
        (("--model", "nmf", "--set", "max_itr=3"), "nmf has no parameter 'max_itr': expected max_iter"),
        (("--model", "deep-nsnmf", "--set", "solver=magic"), "The 'solver' parameter of DeepNSNMF must be"),
        (("--model", "deep-nsnmf", "--set", "theta"), "--set is 'theta': expected name=value"),
        (("--model", "deep-nsnmf", "--layers", "4,2", "--set", "theta=1,2,3"), "theta has 3 values"),
        (("--layers", "4,zwei"), "--layers is '4,zwei'"),
        (("--layers", "0"), "--layers is '0'"),
        (("--model", "nmf", "--layers", "8,4"), "nmf has one layer, but --layers is 8,4"),
        (("--scale", "huge"), "--scale is 'huge': expected columns, samples, max, log, none."),
        (("--size", "8"), "--size is '8': expected height x width"),
        (("--codes", "xlsx"), "--codes is 'xlsx'"),
    ],
)
def test_wrong_usage_ends_with_2(tmp_path, out, arguments, what):
    np.save(tmp_path / "d.npy", digits()[0])
    assert what in failed(2, "fit", tmp_path / "d.npy", *arguments, out=out)


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("writer", ["write_codes", "write_json", "write_table"])
def test_a_full_disk_ends_with_5_and_leaves_nothing(tmp_path, out, monkeypatch, writer):
    np.save(tmp_path / "d.npy", digits()[0])
    monkeypatch.setattr(results, writer, full_disk)
    sentence = failed(5, "fit", tmp_path / "d.npy", *FEW, out=out)
    assert sentence == f"--output is {out}, but it cannot be written: No space left on device."


def test_a_full_disk_leaves_the_earlier_result_as_it_was(tmp_path, monkeypatch):
    np.save(tmp_path / "d.npy", digits()[0])
    out = tmp_path / "results" / "out"
    assert run("fit", tmp_path / "d.npy", *FEW, "-o", out).exit_code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    monkeypatch.setattr(results, "write_json", full_disk)
    failed(5, "fit", tmp_path / "d.npy", *FEW, "--overwrite", "--seed", 1, out=out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_result_that_cannot_be_moved_leaves_the_earlier_one(tmp_path, monkeypatch):
    np.save(tmp_path / "d.npy", digits()[0])
    out, rename = tmp_path / "results" / "out", Path.rename
    assert run("fit", tmp_path / "d.npy", *FEW, "-o", out).exit_code == 0

    def refuse_the_new(path, target):
        return full_disk() if path.name == "new" else rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse_the_new)
    failed(5, "fit", tmp_path / "d.npy", *FEW, "--overwrite", out=out)


def test_a_file_in_place_of_the_folder_ends_with_5_before_anything_is_read(tmp_path):
    (tmp_path / "taken").write_text("mine")
    assert "which is a file" in failed(5, "fit", "nothing.csv", out=tmp_path / "taken")
    assert f"but {tmp_path / 'taken'} is a file" in failed(5, "fit", "nothing.csv", out=tmp_path / "taken" / "below")
    assert (tmp_path / "taken").read_text() == "mine"


def test_the_current_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("fit", "nothing.csv", "-o", ".")
    assert (result.exit_code, result.stderr) == (
        5,
        "--output is ., which is the current folder: expected another one.\n",
    )


def test_debug_shows_the_traceback_before_the_sentence(tmp_path):
    result = run("fit", tmp_path / "no.csv", "--debug", "-o", tmp_path / "out")
    assert result.exit_code == 3
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("There is no file or folder")


def test_an_unexpected_error_is_reported_in_one_sentence(tmp_path, out, monkeypatch):
    def surprise(*_):
        raise RuntimeError("the sky\nis green.")

    np.save(tmp_path / "d.npy", digits()[0])
    monkeypatch.setattr(results, "_groups", surprise)
    assert failed(1, "fit", tmp_path / "d.npy", *FEW, out=out).startswith("Unexpected RuntimeError: the sky is green.")


def test_errors_are_events_for_programs(tmp_path):
    import json

    result = run("fit", tmp_path / "no.csv", "--json", "-o", tmp_path / "out")
    event = json.loads(result.stdout)
    assert (event["event"], event["exit_code"]) == ("error", 3)
