import pytest

from reproduction import EXPERIMENTS
from reproduction.comparisons import Comparison
from reproduction.experiment import Results, results_path
from reproduction.page_index import last_commit, page_table
from reproduction.sdnmf_pie import PUBLISHED
from reproduction.verdicts import write_verdicts


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        ([0.90, 0.91, 0.92], "at or above"),
        ([0.85, 0.90, 0.91], "within two standard errors"),
        ([0.85, 0.90], "below"),
        ([0.85, 0.85, 0.86], "below"),
    ],
)
def test_a_verdict_needs_three_runs_for_a_standard_error(runs, verdict):
    assert Comparison("row", 0.9, {"paper": runs}).verdict == verdict
    lower = Comparison("row", -0.9, {"paper": [-run for run in runs]}, lower_is_better=True)
    assert lower.verdict == verdict


def table_iii(added):
    """Rows of Table III with the default weight as published, and with another one that was added later."""
    for title, (nmi, precision, error) in PUBLISHED.items():
        for setting, gain in (("weight 0.03", 0.0), ("weight 0.003", added)):
            numbers = {"nmi": nmi + gain - 0.01, "np": precision + gain, "er": error - gain}
            both = {f"{protocol}_{key}": value for protocol in ("paper", "blind") for key, value in numbers.items()}
            yield {"row": title, "setting": setting, "default": int(not gain)} | both


def test_no_row_is_won_by_settings_that_were_added_after_seeing_results(tmp_path):
    Results(list(table_iii(added=0.1))).write_csv(results_path(tmp_path, "sdnmf-pie"))
    page = write_verdicts(EXPERIMENTS.values(), tmp_path).read_text()
    assert "| [sdnmf-pie](sdnmf-pie.md) | 63 | 42 | 0 | 21 | 63 | 42 |" in page
    assert page.count("**below**: ") == 21
    assert page.count("with the pseudo-inverse of the features") == 6


def test_a_page_holds_at_the_commit_at_which_it_was_confirmed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Made by `python -m reproduction dnsnmf-orl` from deepnmf 1.0 (commit 0123abc).")
    assert last_commit(page) == "0123abc"
    page.write_text(f"{page.read_text()}\n\nRun again at commit 4567def: 4 of 810 trials, with the same results.")
    assert last_commit(page) == "4567def"
    assert not last_commit(tmp_path / "absent.md")


def test_verdicts_are_written_from_the_results_of_quick_runs(reproduce, stand_ins, tmp_path):
    folder = ["--data-home", stand_ins, "--output", tmp_path]
    run = reproduce("dsnmf-errors", "gdnmf-labels", "--quick", "--jobs", 1, *folder)
    assert run.exit_code == 0, run.output
    assert "2 experiments; there are no earlier results" in run.output
    assert "took 0 minutes of one core" in reproduce("dsnmf-errors", "--quick", "--jobs", 1, *folder).output
    result = reproduce("--verdicts", *folder)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "verdicts.md").read_text()
    assert "| Deep Semi-NMF, k = 20 | 9.18 |" in page
    assert "k = 70" not in page
    assert "nan" not in page


CLAIMS = {
    "dnsnmf-cbcl": [
        {"model": "Deep nsNMF", "features": 0.9, "codes": 0.7},
        {"model": "Deep Semi-NMF", "features": 0.2, "codes": 0.5},
    ],
    "gdnmf-layers": [{"rows": "layer 1", "silhouette": 0.3}, {"rows": "layer 2", "silhouette": 0.1}],
}


def test_claims_of_figures_are_shown_at_a_glance_on_the_page_and_in_the_guide(tmp_path):
    folder = tmp_path / "reproduction"
    folder.mkdir()
    for name, rows in CLAIMS.items():
        Results(rows).write_csv(results_path(folder, name))
    page = write_verdicts(EXPERIMENTS.values(), folder).read_text()
    statement = "Deep nsNMF has sparser codes than Deep Semi-NMF (top layer)"
    cells = f"| {statement} |  | sparseness 0.70 and 0.50 | holds |"
    assert f"| [dnsnmf-cbcl](dnsnmf-cbcl.md) {cells}" in page
    assert "| silhouette 0.300 and 0.100 | **does not hold**: the cause is not found |" in page
    assert f"| [dnsnmf-cbcl](reproduction/dnsnmf-cbcl.md) {cells}" in (folder / "at_a_glance.txt").read_text()


def test_pages_are_listed_with_their_commands_and_commits(tmp_path):
    (tmp_path / "speed.md").write_text(
        "# Speed\n\nMade by `python -m benchmarks.speed`. Commit abcdef0, deepnmf 0.1.0.\n"
    )
    (tmp_path / "about.md").write_text("# About\n")
    (tmp_path / "parts.md").write_text("Commit abcdef0.\n\nRun again at commit 1234567: 3 trials.\n\nCommit abcdef1.\n")
    *_, about, parts, speed = page_table([tmp_path]).splitlines()
    assert parts.endswith("parts.md |  | abcdef0, abcdef1, confirmed at 1234567 | unknown |")
    assert about.endswith("about.md |  |  |  |")
    assert speed.endswith("speed.md | python -m benchmarks.speed | abcdef0 | unknown |")
