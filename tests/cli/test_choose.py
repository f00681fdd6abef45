"""The command that chooses layer sizes."""

import json
import shlex

import numpy as np
import pytest

from command_line import digits, run, succeeded, write_digits
from deepnmf.datasets import make_hierarchy
from deepnmf.selection import search


@pytest.fixture
def planted(tmp_path):
    path = tmp_path / "planted.npy"
    np.save(path, make_hierarchy(400, (12, 4), image_shape=(16, 16), random_state=1).data)
    return path


def test_choose_prints_a_command_that_fits_the_choice(planted, tmp_path):
    plot = tmp_path / "sizes.svg"
    options = ("--candidates", "8,12,16", "--model", "deep-nmf", "--set", "max_iter=50", "--seed", 3, "-o", plot)
    command = succeeded("choose", planted, *options).stdout.splitlines()[-1]
    assert command == f"deepnmf fit {planted} --model deep-nmf --layers 12,4 --seed 3 --set max_iter=50"
    assert "<svg" in plot.read_text()
    fitted = run(*shlex.split(command)[1:], "--no-report", "-o", tmp_path / "out")
    assert fitted.exit_code == 0
    assert "layers 12,4" in fitted.stdout


def test_choose_as_json_has_the_choice_and_the_table(planted, tmp_path):
    output = succeeded("choose", planted, "--model", "nmf", "--candidates", "8,12", "--json", "-o", tmp_path / "a.png")
    result = json.loads(output.stdout.splitlines()[-1])
    assert result["layers"] == [12]
    assert [row["size"] for row in result["table"]] == [8, 12]
    assert result["exit_code"] == 0


def test_an_interrupted_choice_says_so_by_its_exit_code(planted, tmp_path, monkeypatch):
    original = search.fitted

    def interrupted(model, *args, **params):
        if model.n_components == 12:
            raise KeyboardInterrupt
        return original(model, *args, **params)

    monkeypatch.setattr(search, "fitted", interrupted)
    result = run("choose", planted, "--model", "nmf", "--candidates", "8,12", "-o", tmp_path / "a.png")
    assert result.exit_code == 130
    assert "--layers 8" in result.stdout


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--candidates", "a"), 2, "--candidates is 'a': expected positive integers"),
        (("--candidates", "100"), 4, "sizes has 100 for the first layer"),
        (("-o", "sizes.txt"), 2, "expected a file ending in .png, .svg, .pdf"),
        (("--model", "gdnmf"), 4, "cannot skip hidden entries of X"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(options, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = write_digits(tmp_path / "digits.csv", X=digits()[0])
    result = run("choose", table, "--labels", "digit", "--names", "id", *options)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())


def test_layers_of_texts_can_be_chosen(tmp_path):
    lines = [json.dumps({"text": f"word{k} word{k + 1} other"}) for k in range(50)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    succeeded("choose", tmp_path / "texts.jsonl", "--candidates", "1,2", "-o", tmp_path / "a.png")
