import gzip
import json

import pytest

from reproduction.confirmation import confirm
from reproduction.experiment import Data, Experiment, Plan, Results
from reproduction.pages import write_page
from reproduction.trials import OtherResultsError, TrialLog, run

N_TRIALS = 6


def squares(trial, data, plan):
    yield {"square": trial["number"] ** 2}


def interrupted_at_four(trial, data, plan):
    if trial["number"] == 4:
        raise KeyboardInterrupt
    yield from squares(trial, data, plan)


def experiment(run_trial=squares):
    def trials(plan):
        return [{"number": number} for number in range(N_TRIALS)]

    return Experiment("squares", "Squares", (), trials, run_trial, lambda results: f"{len(results.rows)} rows")


@pytest.fixture
def log(tmp_path):
    log = TrialLog(tmp_path / "folder" / ".squares.jsonl")
    log.begin(experiment(), Plan())
    return log


def numbers_run(log):
    """Run to the end and return the trials that were run."""
    before = set(log.read())
    results = run(experiment(), Plan(), Data(), log, jobs=1)
    assert results.column("square") == [number**2 for number in range(N_TRIALS)]
    return set(log.read()) - before


def test_an_interrupted_run_is_resumed(log):
    with pytest.raises(KeyboardInterrupt):
        run(experiment(interrupted_at_four), Plan(), Data(), log, jobs=1)
    assert set(log.read()) == {0, 1, 2, 3}
    log.begin(experiment(), Plan())
    assert numbers_run(log) == {4, 5}


def test_a_trial_whose_line_is_truncated_is_run_again(log):
    run(experiment(), Plan(), Data(), log, jobs=1)
    text = log.path.read_text()
    log.path.write_text(text[:-10])
    assert numbers_run(log) == {5}


def test_trials_in_parallel_give_the_rows_in_their_order(log):
    assert run(experiment(), Plan(), Data(), log, jobs=2).column("number") == list(range(N_TRIALS))


def test_results_of_another_plan_are_refused_until_they_are_discarded(log):
    with pytest.raises(OtherResultsError, match=r"holds results of another source or plan \(plan .*--again"):
        log.begin(experiment(), Plan(repetitions=3))
    log.discard()
    log.begin(experiment(), Plan(repetitions=3))
    assert json.loads(log.path.read_text())["plan"]["repetitions"] == 3


def test_progress_counts_trials(log):
    reports = []
    run(experiment(), Plan(), Data(), log, jobs=1, on_trial=lambda done, total: reports.append((done, total)))
    assert reports == [(done, N_TRIALS) for done in range(N_TRIALS + 1)]


def test_results_with_different_measures_make_one_csv_of_rounded_numbers_that_can_be_read_back(tmp_path):
    Results([{"k": 2, "accuracy": 2 / 3}, {"k": 3, "nmi": 0.25, "setting": "θ = (0, 1)"}]).write_csv(
        tmp_path / "all.csv.gz"
    )
    assert (
        gzip.decompress((tmp_path / "all.csv.gz").read_bytes()).decode()
        == 'k,accuracy,nmi,setting\n2,0.66667,,\n3,,0.25,"θ = (0, 1)"\n'
    )
    read = Results.read_csv(tmp_path / "all.csv.gz")
    assert read.rows == [{"k": 2, "accuracy": 0.66667}, {"k": 3, "nmi": 0.25, "setting": "θ = (0, 1)"}]


@pytest.mark.parametrize(("values", "cell"), [([0.5], "0.5"), ([0.4, 0.6], "0.5"), ([0.4, 0.5, 0.6], "0.5 ± 0.1")])
def test_a_deviation_needs_at_least_three_runs(values, cell):
    rows = [{"accuracy": value} for value in [*values, float("nan")]]
    assert Results(rows).spread("accuracy", digits=1) == cell


def test_the_list_names_experiments_and_marks_those_without_data(reproduce, tmp_path):
    listed = reproduce("--list", "--data-home", tmp_path).output
    assert "dnsnmf-yale" in listed
    assert "(not available)" in " ".join(listed.split())


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "Expected either names of experiments or --all; --list shows the names."),
        (["dnsnmf-yale", "--all"], 2, "Expected either names of experiments or --all; --list shows the names."),
        (["mnist"], 2, "Unknown experiment 'mnist'; expected one of dnsnmf-orl, "),
        (
            ["dnsnmf-yale", "--data-home", "nowhere"],
            3,
            "dnsnmf-yale: Data set 'yale_32x32': there is no file yale_32x32.npz",
        ),
    ],
)
def test_what_cannot_be_reproduced_is_reported_in_one_sentence(reproduce, arguments, code, sentence):
    result = reproduce(*arguments)
    assert result.exit_code == code
    assert result.output.startswith(sentence)


def test_a_file_in_place_of_the_folder_is_reported(reproduce, stand_ins, tmp_path):
    (tmp_path / "taken").write_text("mine")
    result = reproduce("dnsnmf-cbcl", "--quick", "--data-home", stand_ins, "--output", tmp_path / "taken")
    assert result.exit_code == 5
    assert f"--output is {tmp_path / 'taken'}, but results cannot be written there: " in result.output


def test_a_second_run_only_writes_the_page_again(reproduce, stand_ins, tmp_path):
    call = ["dnsnmf-cbcl", "--quick", "--data-home", stand_ins, "--output", tmp_path, "--jobs", 1]
    assert reproduce(*call).exit_code == 0
    page = (tmp_path / "dnsnmf-cbcl.md").read_text()
    assert reproduce(*call).exit_code == 0
    assert (tmp_path / "dnsnmf-cbcl.md").read_text() == page


@pytest.fixture
def page(tmp_path, log):
    """The folder of a page of squares."""
    results = run(experiment(), Plan(), Data(), log, jobs=1)
    write_page(experiment(), results, Data(), Plan(), tmp_path, "python -m reproduction squares")
    return tmp_path


def test_a_page_whose_trials_have_the_same_results_says_so_once(page):
    for _ in range(2):
        assert confirm(experiment(), page, Data(), 3, jobs=1)[0]
    text = (page / "squares.md").read_text()
    assert text.count("3 of 6 trials, with the same results.") == 1
    assert text.endswith("6 rows\n")


def test_a_page_with_other_results_does_not_say_that_it_holds(page):
    def cubes(trial, data, plan):
        yield {"square": trial["number"] ** 3}

    confirm(experiment(), page, Data(), 3, jobs=1)
    holds, message = confirm(experiment(cubes), page, Data(), N_TRIALS, jobs=1)
    assert not holds
    assert "4 rows of 6 trials differ" in message  # 0 and 1 have the same squares and cubes
    assert "Run again" not in (page / "squares.md").read_text()
