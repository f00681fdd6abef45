"""The folder of a result: what --overwrite may remove, and which destinations are refused before the fit."""

import contextlib
import errno
import hashlib
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from command_line import digits, run, succeeded
from deepnmf.cli import output, result_writer, results
from deepnmf.cli.destinations import MANIFEST, check_folder, manifest_text, result_files
from deepnmf.cli.exits import ENDING_SIGNALS, CommandError, signals_as_interrupts
from deepnmf.cli.result_writer import atomic_file, atomic_folder

FEW = ("--model", "nmf", "--layers", "2", "--set", "max_iter=2", "--set", "tol=0", "--no-report")


@pytest.fixture
def matrix(tmp_path):
    np.save(tmp_path / "d.npy", digits(20)[0])
    return tmp_path / "d.npy"


def write_result(folder, number, meanwhile=()):
    """Write a result of one file, while the user adds files to its folder."""
    with atomic_folder(folder) as new:
        (new / "loss.csv").write_text(f"loss\n{number}\n")
        for name in meanwhile:
            (folder / name).write_text("years of work")
    return folder


@pytest.fixture
def result(tmp_path):
    return write_result(tmp_path / "out", 1)


def refused(folder):
    """Return the message that refuses a folder although --overwrite is given."""
    with pytest.raises(CommandError) as failure:
        check_folder(folder, overwrite=True)
    return str(failure.value)


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


# ------------------------------------------------------------------------------------------ overwrite


@pytest.mark.parametrize("own", ["codes_backup/thesis.txt", "codes_notes.txt", "mine.safetensors", "scores.csv"])
def test_overwrite_never_removes_a_file_of_the_user(tmp_path, matrix, own):
    out = tmp_path / "out"
    succeeded("fit", matrix, *FEW, "-o", out)
    (out / own).parent.mkdir(exist_ok=True)
    (out / own).write_text("years of work")
    again = run("fit", matrix, *FEW, "-o", out, "--overwrite")
    assert again.exit_code == 5
    assert f"{own.partition('/')[0]} is not in the manifest of an earlier result" in again.stderr
    assert (out / own).read_text() == "years of work"


def test_overwrite_refuses_files_that_no_manifest_names(tmp_path):
    """As a result of an earlier version."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "codes_1.csv").write_text("code_1\n1\n")
    assert "codes_1.csv is not in the manifest" in refused(tmp_path / "out")


def test_overwrite_refuses_a_file_that_was_changed_since(result):
    (result / "loss.csv").write_text("my notes\n")
    assert "loss.csv is not in the manifest of an earlier result, or was changed since." in refused(result)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": "an extension", "files": {}}', "\xff"])
def test_a_manifest_of_something_else_is_a_file_of_the_user(result, text):
    (result / MANIFEST).write_text(text, encoding="latin-1")
    assert result_files(result) == []
    assert refused(result)


def test_a_manifest_reaches_no_file_outside_its_folder(tmp_path, result):
    """Neither by a path nor by a link nor by a folder."""
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (result / "link.txt").symlink_to(outside)
    (result / "folder").mkdir()
    names = ("../outside.txt", str(outside), "link.txt", "folder", "..", "")
    forged = dict.fromkeys(names, hashlib.sha256(b"mine").hexdigest())
    (result / MANIFEST).write_text(manifest_text(forged))
    assert result_files(result) == [result / MANIFEST]
    with pytest.warns(UserWarning, match="they are in"):
        write_result(result, 2)
    assert outside.read_text() == "mine"


def test_a_manifest_with_notes_of_the_user_is_a_file_of_the_user(result):
    manifest = json.loads((result / MANIFEST).read_text())
    (result / MANIFEST).write_text(json.dumps(manifest | {"notes": "the run for chapter 3"}, indent=2) + "\n")
    assert result_files(result) == []


def test_a_linked_manifest_is_ignored(tmp_path, result):
    (result / MANIFEST).rename(tmp_path / "elsewhere.json")
    (result / MANIFEST).symlink_to(tmp_path / "elsewhere.json")
    assert result_files(result) == []


def test_a_file_created_during_the_fit_is_kept_beside_the_new_result(tmp_path, result):
    with pytest.warns(UserWarning, match="they are in") as caught:
        write_result(result, 2, meanwhile=["thesis.tex"])
    kept = Path(str(caught[0].message).rpartition(" are in ")[2].removesuffix("."))
    assert [path.name for path in kept.iterdir()] == ["thesis.tex"]
    assert (result / "loss.csv").read_text() == "loss\n2\n"


def test_a_link_to_the_folder_of_a_result_stays(tmp_path, result):
    link = tmp_path / "latest"
    link.symlink_to(result)
    check_folder(link, overwrite=True)
    write_result(link, 2)
    assert link.is_symlink()
    assert (result / "loss.csv").read_text() == "loss\n2\n"
    assert hidden(tmp_path) == []


# --------------------------------------------------------------------------------------------- places


def test_the_root_is_refused_before_the_fit():
    result = run("fit", "nothing.npy", "-o", "/", "--overwrite")
    assert result.exit_code == 5
    assert result.stderr == "--output is /, which is a mount point: expected a folder below it.\n"


@pytest.mark.parametrize("folders", ["", "missing/"])
@pytest.mark.parametrize("command", ["fit", "transform", "report"])
def test_an_output_name_of_300_characters_is_refused_before_the_fit(tmp_path, command, folders):
    name = "x" * 300 + ".csv"
    result = run(command, *["nothing"] * (1 + (command != "fit")), "-o", f"{tmp_path}/{folders}{name}")
    assert result.exit_code == 5
    assert "but it cannot be written: File name too long." in " ".join(result.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_an_output_name_of_250_characters_is_written(tmp_path):
    name = "x" * 250
    check_folder(tmp_path / name, overwrite=False)
    for number in range(2):
        write_result(tmp_path / name, number)
    with atomic_file(tmp_path / f"{name}.csv") as path:
        path.write_text("code_1\n1\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"{name}.csv"]


def test_a_read_only_result_is_refused_before_the_fit(result, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != result)
    assert refused(result) == f"--output is {result}, but the folder {result} is not writable."


def test_an_earlier_result_that_cannot_be_removed_is_named(result, monkeypatch):
    def protected(path, missing_ok=False):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(result_writer.Path, "unlink", protected)
    with pytest.warns(UserWarning, match=f"{result} contains the new result, but some"):
        write_result(result, 2)
    assert (result / "loss.csv").read_text() == "loss\n2\n"


# ---------------------------------------------------------------------------------------- checkpoints


@pytest.mark.parametrize(
    ("checkpoint", "reason"),
    [
        ("taken", "which is a folder: expected a file."),
        ("missing/fit", "but there is no folder {}/missing: expected an existing folder."),
        ("protected/fit", "but the folder {}/protected is not writable."),
        ("out/fit", "which is in {}/out: expected a file outside --output."),
        ("x" * 300, "but it cannot be written: File name too long."),
    ],
)
def test_an_impossible_checkpoint_is_refused_before_the_fit(tmp_path, monkeypatch, checkpoint, reason):
    for name in ("taken", "protected", "out"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "protected")
    result = run("fit", "nothing.npy", "-o", tmp_path / "out", "--checkpoint", tmp_path / checkpoint)
    assert result.exit_code == 5
    assert result.stderr == f"--checkpoint is {tmp_path / checkpoint}, {reason.format(tmp_path)}\n"


def test_a_full_disk_for_checkpoints_leaves_the_result(tmp_path, matrix, monkeypatch):
    def full_disk(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("deepnmf.solvers.checkpoints.write", full_disk)
    result = succeeded("fit", matrix, *FEW, "-o", tmp_path / "out", "--checkpoint", tmp_path / "kept")
    assert result.stderr.count("cannot be written") == 1
    assert (tmp_path / "out" / "model.safetensors").exists()


# -------------------------------------------------------------------------------------------- signals


@pytest.fixture
def default_signals():
    """Give the ending signals their default handlers, even if the tests run under nohup."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("default_signals")
def test_sigterm_while_results_are_written_leaves_nothing_behind(tmp_path, matrix, monkeypatch):
    monkeypatch.setattr(results, "write_json", lambda *_: signal.raise_signal(signal.SIGTERM))
    result = run("fit", matrix, *FEW, "-o", tmp_path / "out")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted before there was a result: nothing was written.\n"
    assert list(tmp_path.iterdir()) == [matrix]


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_an_ending_signal_keeps_the_best_result_so_far(tmp_path, matrix, monkeypatch, number):
    def on_sweep(sweep, loss):
        if sweep == 2:
            signal.raise_signal(number)

    monkeypatch.setattr(output.TerminalMessages, "fit_progress", lambda *_: contextlib.nullcontext(on_sweep))
    assert run("fit", matrix, *FEW, "--set", "max_iter=9", "-o", tmp_path / "out").exit_code == 130
    assert json.loads((tmp_path / "out" / "settings.json").read_text())["sweeps"] == 2
    assert signal.getsignal(number) == signal.SIG_DFL


@pytest.mark.usefixtures("default_signals")
def test_an_ignored_signal_stays_ignored():
    """As under nohup."""
    signal.signal(ENDING_SIGNALS[-1], signal.SIG_IGN)
    with signals_as_interrupts():
        signal.raise_signal(ENDING_SIGNALS[-1])
    assert signal.getsignal(ENDING_SIGNALS[-1]) == signal.SIG_IGN
