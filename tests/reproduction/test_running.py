import json

import pytest
from typer.testing import CliRunner

from deepnmf.cli import app
from deepnmf.reproduction import Data, Experiment, Kept, OtherResultsError, Plan, run
from deepnmf.reproduction.results import Results

N_TRIALS = 6


def squares(trial, data, plan):
    yield {"square": trial["number"] ** 2}


def broken_at_four(trial, data, plan):
    if trial["number"] == 4:
        raise KeyboardInterrupt
    yield from squares(trial, data, plan)


def experiment(run_trial=squares):
    def trials(plan):
        return [{"number": number} for number in range(N_TRIALS)]

    return Experiment("squares", "Squares", (), trials, run_trial, lambda results: f"{len(results.rows)} rows")


@pytest.fixture
def kept(tmp_path):
    kept = Kept(tmp_path / "folder" / ".squares.jsonl")
    kept.begin(experiment(), Plan())
    return kept


def numbers_run(kept):
    """Run to the end and tell which trials were run."""
    before = set(kept.read())
    results = run(experiment(), Plan(), Data(), kept, jobs=1)
    assert results.column("square") == [number**2 for number in range(N_TRIALS)]
    return set(kept.read()) - before


def test_an_interrupted_run_goes_on_where_it_was(kept):
    with pytest.raises(KeyboardInterrupt):
        run(experiment(broken_at_four), Plan(), Data(), kept, jobs=1)
    assert set(kept.read()) == {0, 1, 2, 3}
    kept.begin(experiment(), Plan())
    assert numbers_run(kept) == {4, 5}


def test_a_line_that_was_cut_short_is_run_again(kept):
    run(experiment(), Plan(), Data(), kept, jobs=1)
    text = kept.path.read_text()
    kept.path.write_text(text[:-10])
    assert numbers_run(kept) == {5}


def test_trials_in_parallel_give_the_rows_in_their_order(kept):
    assert run(experiment(), Plan(), Data(), kept, jobs=2).column("number") == list(range(N_TRIALS))


def test_results_of_another_plan_are_refused_until_they_are_discarded(kept):
    with pytest.raises(OtherResultsError, match=r"holds results of another source or plan \(plan .*--again"):
        kept.begin(experiment(), Plan(repetitions=3))
    kept.discard()
    kept.begin(experiment(), Plan(repetitions=3))
    assert json.loads(kept.path.read_text())["plan"]["repetitions"] == 3


def test_progress_counts_trials(kept):
    said = []
    run(experiment(), Plan(), Data(), kept, jobs=1, on_trial=lambda done, total: said.append((done, total)))
    assert said == [(done, N_TRIALS) for done in range(N_TRIALS + 1)]


def test_results_with_different_measures_make_one_csv(tmp_path):
    Results([{"k": 2, "accuracy": 0.5}, {"k": 3, "nmi": 0.25}]).write_csv(tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_text() == "k,accuracy,nmi\n2,0.5,\n3,,0.25\n"


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_the_list_names_experiments_and_says_whose_data_are_not_there(tmp_path):
    listed = reproduce("--list", "--data-home", tmp_path).output
    assert "dnsnmf-yale" in listed
    assert "(not there)" in " ".join(listed.split())


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "Expected either names of experiments or --all; --list shows them."),
        (["dnsnmf-yale", "--all"], 2, "Expected either names of experiments or --all; --list shows them."),
        (["mnist"], 2, "There is no experiment 'mnist'; there are dnsnmf-orl, "),
        (
            ["dnsnmf-yale", "--data-home", "nowhere"],
            3,
            "dnsnmf-yale: Data set 'yale_32x32': there is no file yale_32x32.npz",
        ),
    ],
)
def test_what_cannot_be_reproduced_is_said_in_one_sentence(arguments, code, sentence):
    result = reproduce(*arguments)
    assert result.exit_code == code
    assert result.output.startswith(sentence)


def test_a_file_in_place_of_the_folder_is_reported(stand_ins, tmp_path):
    (tmp_path / "taken").write_text("mine")
    result = reproduce("dnsnmf-cbcl", "--quick", "--data-home", stand_ins, "--output", tmp_path / "taken")
    assert result.exit_code == 5
    assert result.output.startswith(f"--output is {tmp_path / 'taken'}, but results cannot be written there: ")


def test_a_second_run_only_writes_the_page_again(stand_ins, tmp_path):
    call = ["dnsnmf-cbcl", "--quick", "--data-home", stand_ins, "--output", tmp_path, "--jobs", 1]
    assert reproduce(*call).exit_code == 0
    page = (tmp_path / "dnsnmf-cbcl.md").read_text()
    assert reproduce(*call).exit_code == 0
    assert (tmp_path / "dnsnmf-cbcl.md").read_text() == page
