"""The benchmarks that are run a part at a time still run, and all pages are written by one command."""

import json
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import __main__ as runner
from benchmarks import parts
from benchmarks.hierarchy.__main__ import BENCHMARK as HIERARCHY
from benchmarks.page import described
from benchmarks.selection.__main__ import BENCHMARK as SELECTION
from benchmarks.selection.planted import planted

import deepnmf
from reproduction import pages
from reproduction.page_index import command_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def quick(benchmark, part, name, *models, seeds=2):
    options = SimpleNamespace(quick=True, first_seed=0, seeds=seeds, names=[name], models=models)
    return list(benchmark.measured(part, options, kept=[]))


@pytest.mark.parametrize(
    ("part", "name", "models"),
    [
        ("planted", "three levels", ("DeepNSNMF", "DeepNSNMF, from the truth", "the true features", "separate NMFs")),
        ("real", "digits", ("MultilayerNMF", "GDNMF", "separate NMFs")),
        ("stability", "digits", ("DeepSemiNMF", "separate NMFs")),
    ],
)
def test_a_part_of_the_hierarchy_benchmark_has_a_row_for_each_model(part, name, models):
    records = quick(HIERARCHY, part, name, *models)
    assert len(records) == 2 * len(models)
    section = HIERARCHY.section(part, records)
    assert [line.split(" | ")[0][2:] for line in section.splitlines()[-len(models) :]] == list(models)
    assert "nan" not in section


def test_fits_that_are_kept_are_not_made_again():
    kept = quick(HIERARCHY, "real", "digits", "separate NMFs")
    options = SimpleNamespace(quick=True, first_seed=0, seeds=2, names=["digits"], models=("separate NMFs",))
    assert not list(HIERARCHY.measured("real", options, kept))


def test_results_of_older_code_are_discarded(monkeypatch, tmp_path):
    monkeypatch.setattr(parts, "changes_since", {"old": 2, "new": 0, "lost": None}.get)
    records = [{"part": part, "commit": commit} for part in ("real", "planted") for commit in ("old", "new", "lost")]
    (tmp_path / ".hierarchy.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    HIERARCHY.discard("real", tmp_path)
    assert [(one["part"], one["commit"]) for one in HIERARCHY.kept(tmp_path)] == [
        ("real", "new"),
        ("planted", "old"),
        ("planted", "new"),
        ("planted", "lost"),
    ]


def test_all_deep_models_of_the_package_are_compared():
    names = HIERARCHY.parts["real"].contenders()
    assert {"MultilayerNMF", "DeepNSNMF", "SparseDeepNMF", "DeepSemiNMF", "DeepNMFNetwork", "GDNMF"} <= set(names)


def test_the_picture_of_wholes_shows_parts_that_add_up_to_them():
    picture = pytest.importorskip("benchmarks.hierarchy.picture")
    X = np.random.default_rng(0).random((30, 361))
    model = deepnmf.DeepNMF((12, 6), max_iter=3, tol=0, random_state=0).fit(X)
    cells = picture.drawn(model).axes
    assert len(cells) == picture.N_WHOLES * (picture.N_PARTS + 2)
    weights = model.factors_[1][picture.strongest(model)[0]]
    shown = np.sort(weights)[::-1][: picture.N_PARTS]
    whole, *parts, others = [cell.images[0].get_array().ravel() for cell in cells[: picture.N_PARTS + 2]]
    np.testing.assert_allclose(whole, shown @ np.array(parts) + others)
    assert cells[1].get_title() == f"{100 * shown[0] / weights.sum():.0f} %"


def test_rules_that_predict_or_compare_starts_find_a_planted_rank():
    records = quick(SELECTION, "single-layers-100", "gamma, dense, δ = 4", seeds=1)
    chosen = {one["contender"]: one["values"]["chosen"] for one in records}
    assert list(chosen) == SELECTION.parts["single-layers-100"].contenders()
    assert chosen["`select_layers`"] == chosen["bi-cross-validation"] == chosen["NMFk's rule"] == 3
    assert "| all with δ >= 2 | 100 / 100 | 100 / 100 |" in SELECTION.page(records)


@pytest.mark.parametrize(
    ("part", "name", "heading"),
    [
        ("counts", "0.1 an entry", "| counts |"),
        ("count-limits", "0.1 an entry", "| counts | rank |"),
        ("hierarchies", "(24,)", "| planted |"),
        ("real", "digits", "| data | known |"),
    ],
)
def test_a_part_of_the_benchmark_of_layer_sizes_runs(part, name, heading):
    records = quick(SELECTION, part, name, *SELECTION.parts[part].contenders()[:1], seeds=1)
    assert heading in SELECTION.section(part, json.loads(json.dumps(records)))


def test_planted_noise_has_the_level_that_was_asked_for():
    X, weak = (planted((60, 40), 3, "gamma", "dense", delta, seed=0) for delta in (2.0, 1e6))
    values = np.linalg.svd(weak, compute_uv=False)
    assert values[2] / np.linalg.norm(X - weak, 2) == pytest.approx(2, rel=0.1)


def test_pages_outside_of_git_name_no_commit(monkeypatch):
    monkeypatch.setattr(pages, "run_git", lambda *arguments: "")
    assert "ommit" not in described()
    assert f"deepnmf {deepnmf.__version__}" in described()


def test_parts_that_are_not_measured_keep_their_sections():
    stability = quick(HIERARCHY, "stability", "digits", "separate NMFs")
    planted_part = quick(HIERARCHY, "planted", "variation 1", "MultilayerNMF")
    both = HIERARCHY.page([*planted_part, *stability])
    assert HIERARCHY.page(planted_part, before=both) == both
    assert HIERARCHY.page(stability, before=both) == both
    assert HIERARCHY.page(stability) != both


# ------------------------------------------------------------------------------------------------ the pages


def test_every_page_has_a_command():
    assert {path.stem for path in runner.FOLDER.glob("*.md")} == {"index", *runner.PAGES}


def test_pages_name_the_module_that_writes_them():
    for page in runner.PAGES.values():
        module, *options = page.commands[0].split()
        command = command_of(page.path(runner.FOLDER)).removeprefix("python -m benchmarks.").split()
        assert command[0] == module
        assert command[1:] in ([], options)


def process(returncode, stdout):
    return lambda arguments, **options: subprocess.CompletedProcess(arguments, returncode, stdout)


def test_a_printed_page_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(subprocess, "run", process(0, "# Counts"))
    assert runner.main(["counts", "--folder", str(tmp_path)]) == 0
    assert (tmp_path / "counts.md").read_text() == "# Counts"


def test_a_page_stays_as_it_was_if_its_benchmark_fails(monkeypatch, tmp_path, capsys):
    (tmp_path / "counts.md").write_text("# Before")
    monkeypatch.setattr(subprocess, "run", process(1, "# Half of"))
    assert runner.main(["counts", "--folder", str(tmp_path)]) == 1
    assert (tmp_path / "counts.md").read_text() == "# Before"
    assert "counts: failed" in capsys.readouterr().err


def test_all_writes_only_pages_that_are_older_than_the_code(monkeypatch, tmp_path):
    changes = {"counts": 0, "holes": 3, "reading": None}
    monkeypatch.setattr(runner, "PAGES", {name: runner.PAGES[name] for name in changes})
    monkeypatch.setattr(runner, "changed_modules", lambda path: changes[path.stem])
    monkeypatch.setattr(subprocess, "run", process(0, "# Anew"))
    assert runner.main(["--all", "--folder", str(tmp_path)]) == 0
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["holes", "reading"]


def test_an_unknown_page_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit, match="2"):
        runner.main(["sounds"])
    assert "unknown page 'sounds'; expected one of speed_sweep" in capsys.readouterr().err
