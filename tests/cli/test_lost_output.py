"""A fit whose output cannot be printed, or whose names cannot be encoded, still leaves its result."""

import csv
import errno
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import typer
from pyarrow import parquet

import deepnmf
from command_line import digits, run, succeeded, table
from deepnmf.cli import app, output

FEW = ("--model", "nmf", "--layers", "2", "--set", "max_iter=2", "--set", "tol=0")
WRITTEN = {"codes_1.csv", "loss.csv", "manifest.json", "model.safetensors", "reading.json", "settings.json"}


class GoneStream(io.StringIO):
    """A terminal or a file to which nothing can be written any more."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def write(self, text):
        raise OSError(self.number, os.strerror(self.number))

    def isatty(self):
        return True


@pytest.fixture
def matrix(tmp_path):
    np.save(tmp_path / "d.npy", digits(20)[0])
    return tmp_path / "d.npy"


def exit_code(*arguments):
    """Run a command on the streams of this process."""
    with pytest.raises(SystemExit) as ended:
        typer.main.get_command(app).main([str(argument) for argument in arguments])
    return ended.value.code


def names_in(folder):
    return {path.name for path in folder.iterdir()}


# -------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize(("number", "code"), [(errno.EPIPE, 0), (errno.EIO, 0), (errno.ENOSPC, 5)])
@pytest.mark.parametrize("form", [(), ("--json",), ("--set", "verbose=1")])
def test_a_closed_terminal_does_not_lose_the_result(tmp_path, matrix, monkeypatch, form, number, code):
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stdout", GoneStream(number))
    monkeypatch.setattr(sys, "stderr", errors)
    assert exit_code("fit", matrix, *FEW, *form, "--no-report", "-o", tmp_path / "out") == code
    assert names_in(tmp_path / "out") == WRITTEN
    lost = "The standard output cannot be written: No space left on device; everything else is complete.\n"
    assert errors.getvalue() == (lost if code else "")


def test_a_closed_terminal_does_not_end_the_bars(tmp_path, matrix, monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, GoneStream(errno.EIO))
    monkeypatch.setenv("FORCE_COLOR", "1")
    warning = ("--set", "tol=1e-9")
    assert exit_code("fit", matrix, *FEW, *warning, "--no-report", "-o", tmp_path / "out") == 0
    assert names_in(tmp_path / "out") == WRITTEN


def test_a_closed_pipe_is_neither_a_traceback_nor_a_lost_result(tmp_path, matrix):
    """As with ``| head -1``, in another process, since Python flushes its buffers at exit."""
    call = [sys.executable, "-c", "from deepnmf.cli import app; app()", "fit", matrix, *FEW, "--no-report"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*call, "-o", tmp_path / "out"], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert names_in(tmp_path / "out") == WRITTEN


def test_results_are_written_before_anything_is_printed_about_them(tmp_path, matrix, monkeypatch):
    out, printed = tmp_path / "out", {}
    monkeypatch.setattr(output.TerminalMessages, "info", lambda _, sentence: printed.update({sentence: out.exists()}))
    succeeded("fit", matrix, *FEW, "--no-report", "-o", out)
    written = {sentence.split()[0]: there for sentence, there in printed.items()}
    assert written == {"d.npy:": False, "nmf": True, "explained:": True, "-": True, "The": True}


def test_what_the_terminal_cannot_encode_is_escaped(tmp_path, matrix, monkeypatch):
    named = matrix.rename(tmp_path / "é.npy")
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert exit_code("fit", named, *FEW, "--no-report", "-o", tmp_path / "out") == 0
    assert rb"\xe9.npy: 20 samples" in output.getvalue()


# ---------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("codes", ["csv", "parquet"])
def test_a_file_name_that_is_not_utf8_does_not_lose_the_fit(tmp_path, codes):
    folder = tmp_path / os.fsdecode(b"data\xff")
    try:
        for name in (b"\xfe", b"plain"):
            (folder / os.fsdecode(name)).mkdir(parents=True)
            for i in range(3):
                (folder / os.fsdecode(name) / f"{os.fsdecode(name)}{i}.txt").write_text(f"apple pear plum{i} fig")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    result = succeeded("fit", folder, *FEW, "--codes", codes, "-o", tmp_path / "out")
    assert r"data\udcff: 6 texts" in result.stdout
    path = tmp_path / "out" / f"codes_1.{codes}"
    samples = table(path)["sample"] if codes == "csv" else parquet.read_table(path)["sample"].to_pylist()
    assert any(r"\udcfe0.txt" in name for name in samples)
    assert r"data\udcff" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert run("fit", folder, "--json", *FEW, "-o", tmp_path / "json").exit_code == 0


def test_a_surrogate_in_a_name_does_not_lose_the_fit(tmp_path):
    X, half = digits(6)[0], np.array(["\ud800", "b", "c", "d", "e", "f"])
    features = np.array(["\udfff", *map(str, range(1, X.shape[1]))])
    np.savez(tmp_path / "d.npz", X=X, sample_names=half, y=half[[0, 0, 0, 1, 1, 1]], feature_names=features)
    succeeded("fit", tmp_path / "d.npz", *FEW, "-o", tmp_path / "out")
    assert table(tmp_path / "out" / "codes_1.csv")["sample"][0] == r"\ud800"
    recipe = json.loads((tmp_path / "out" / "reading.json").read_text())["recipe"]
    assert recipe["feature_names"][0] == "\udfff"
    succeeded("transform", tmp_path / "out", tmp_path / "d.npz", "-o", tmp_path / "codes.csv")
    succeeded("compare", tmp_path / "d.npz", "--models", "nmf", *FEW[2:], "-o", tmp_path / "compared")


def test_a_surrogate_in_a_label_is_restored_from_a_model_file(tmp_path):
    labels = np.array(["\ud800", "b"])[np.arange(20) % 2]
    model = deepnmf.SSNMF(3, max_iter=2, tol=0, random_state=0).fit(digits(20)[0], labels)
    model.save(tmp_path / "model")
    assert deepnmf.load(tmp_path / "model").classes_.tolist() == ["b", "\ud800"]


def test_a_name_cannot_control_the_terminal(tmp_path, matrix):
    named = matrix.rename(tmp_path / "\x1b[2J.npy")
    result = succeeded("fit", named, *FEW, "--no-report", "-o", tmp_path / "out")
    assert r"\x1b[2J.npy: 20 samples" in result.stdout
    assert "\x1b" not in run("fit", tmp_path / "\x1b.npy", "-o", tmp_path / "other").stderr


def test_a_name_is_not_run_as_a_formula_by_a_spreadsheet(tmp_path):
    formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "--1"]
    harmless = ["plum", "a=b", "-1.5e-3", "+7", "", "'quoted"]
    X = digits(len(formulas + harmless))[0]
    np.savez(tmp_path / "d.npz", X=X, sample_names=np.array(formulas + harmless))
    succeeded("fit", tmp_path / "d.npz", *FEW, "--no-report", "-o", tmp_path / "out")
    with (tmp_path / "out" / "codes_1.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["sample"] for row in rows] == [*(f"'{name}" for name in formulas), *harmless]
    assert all(float(row["code_1"]) >= 0 for row in rows)
    succeeded("transform", tmp_path / "out", tmp_path / "d.npz", "-o", tmp_path / "codes.parquet")
    assert parquet.read_table(tmp_path / "codes.parquet")["sample"].to_pylist() == formulas + harmless
