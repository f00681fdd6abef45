import re
import runpy
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import deepnmf
from command_line import interrupting
from deepnmf import NMF, DeepNMF, cli
from deepnmf.cli import demo_command, output, results
from deepnmf.report import layer_scores

MODELS = {
    "NMF": "nmf",
    "DeepNMF": "deep-nmf",
    "DeepNSNMF": "deep-nsnmf",
    "SparseDeepNMF": "sparse-deep-nmf",
    "DeepSemiNMF": "deep-semi-nmf",
}
ROW = re.compile(r"(\d) +(\d+) +(\d+\.\d) % +(\d+) +(\d+)? +(\d\.\d{3}) +(\d\.\d{3})")


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def printed_layers(output):
    """Numbers of the table: layer, size, explained, dead, copies (-1 for a single layer), accuracy, NMI."""
    return [tuple(float(cell or -1) for cell in row) for row in ROW.findall(output)]


def test_demo_draws_five_models_prints_one_row_per_layer_and_ends_with_a_report(tmp_path):
    folder = tmp_path / "made" / "on the way"
    result = run("demo", "--output", folder)
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} == {"report.html", *(f"{name}.png" for name in MODELS)}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.glob("*.png"))
    assert all(name in result.output for name in MODELS.values())
    layers = printed_layers(result.output)
    assert [row[:2] for row in layers] == [(1, 10)] + 4 * [(1, 40), (2, 10)]
    assert (layers[2][3:5], layers[4][4] > 0) == ((0, 0), True)  # of DeepNMF, and copies of a published model
    assert "Findings of deep-nmf:\n- 10 wholes explain " in result.output
    *_, last = result.output.splitlines()
    assert last == f"Open {folder / 'report.html'} in a browser. Next, fit your own data: deepnmf fit FILE."


def test_printed_figures_are_those_of_the_layer(tmp_path, capsys):
    digits = demo_command._digits()
    data = replace(digits, X=digits.X[:200], y=digits.y[:200])
    models = [NMF(3, tol=1e-2, random_state=0), DeepNMF((6, 3), tol=1e-2, random_state=0)]
    demo_command._compare(models, data, tmp_path, output.TerminalMessages())
    text = capsys.readouterr().out
    printed = printed_layers(text)
    assert [row[:2] for row in printed] == [(1, 3), (1, 6), (2, 3)]
    scores = [score for model in models for score in layer_scores(model, data.X, data.y)]
    for row, score in zip(printed, scores, strict=True):
        assert (row[2], *row[5:]) == pytest.approx((100 * score.explained, score.accuracy, score.nmi), abs=0.06)
    for row, summary in zip(printed[1:], models[1].hierarchy_, strict=True):
        assert row[2:5] == pytest.approx((100 * summary.explained, summary.dead, summary.copies), abs=0.06)
    assert re.search(r"k-means on data +0\.\d{3} +0\.\d{3}", text)


def test_lines_of_a_terminal_break_between_words():
    words = "Layer 1 (40 features) explains 98.3 % beyond the column means, layer 2 (10) 60.8 %. " * 3
    for width in (80, 40):
        lines = output._wrapped(f"- {words}", width).splitlines()
        assert max(map(len, lines)) <= width
        assert " ".join(line.strip() for line in lines) == f"- {words}".strip()


def test_tables_are_at_most_80_characters_wide(monkeypatch, capsys):
    digits = demo_command._digits()
    data = replace(digits, X=digits.X[:60], y=digits.y[:60])
    monkeypatch.setenv("COLUMNS", "80")
    model = deepnmf.DeepNMFNetwork((6, 3), max_iter=50, tol=0.1).fit(data.X, data.y)
    fit = results.TimedFit(model, 1234.56)
    output.print_layers(output.TerminalMessages(), [fit], {fit.name: results.evaluate(model, data)})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["model", "layer", "size", "explained", "dead", "copies", "accuracy", "NMI", "seconds"]
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)


def test_version_is_printed():
    result = run("--version")
    assert (result.exit_code, result.output.strip()) == (0, f"deepnmf {deepnmf.__version__}")


def test_help_names_the_commands_and_their_options():
    assert "demo" in run("--help").output
    assert "--output" in run("demo", "--help").output


@pytest.mark.parametrize("place", ["taken", "taken/below"])
def test_a_file_in_place_of_the_folder_is_refused_in_one_sentence(tmp_path, place):
    (tmp_path / "taken").write_text("mine")
    result = run("demo", "--output", tmp_path / place)
    assert result.exit_code == 5
    assert result.output == (f"--output is {tmp_path / place}, which is a file: expected a folder for the pictures.\n")
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_reported_in_one_sentence(tmp_path):
    (tmp_path / "NMF.png").mkdir()
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 5
    assert result.stderr.strip() == f"--output is {tmp_path}, but a picture cannot be written there: Is a directory."


def test_an_interrupted_fit_ends_the_demo(tmp_path, monkeypatch):
    interrupting(monkeypatch, sweep=2)
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 130
    assert result.output.endswith("Interrupted: the demo is not complete.\n")


def test_without_typer_the_command_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match=r"pip install 'deepnmf\[cli\]'"):
        runpy.run_path(cli.__file__)
