"""What the two protocols may gain from labels, and whether pages agree with their rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from deepnmf.metrics import clustering_accuracy
from reproduction import EXPERIMENTS, dsnmf_pie, sdnmf_pie
from reproduction.experiment import Data, Plan, Results
from reproduction.faces import divided, random_sizes
from reproduction.protocols import clusterings, of_protocol, scores
from reproduction.sdnmf_pie import PUBLISHED

SHUFFLES, RESTARTS = 30, 6


@pytest.fixture(scope="module")
def shuffled_scores():
    """Scores of real pictures on shuffled labels."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:100], y[:100]
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        found = [scores(X, rng.permutation(y), 0, RESTARTS) for _ in range(SHUFFLES)]
        _, clusters = min(clusterings(X, 10, 0, RESTARTS), key=lambda pair: pair[0])
    random = [clustering_accuracy(y, rng.permutation(clusters)) for _ in range(300)]
    return Results(found), np.array(random)


def test_blind_scores_on_shuffled_labels_are_those_of_random_assignments(shuffled_scores):
    found, random = shuffled_scores
    doubt = random.std() / np.sqrt(SHUFFLES)
    assert abs(found.mean("blind_accuracy") - random.mean()) < 4 * doubt
    assert max(found.column("blind_accuracy")) <= random.max() + doubt


def test_the_papers_protocol_gains_on_shuffled_labels(shuffled_scores):
    found, random = shuffled_scores
    assert found.mean("paper_accuracy") > random.mean() + 4 * random.std() / np.sqrt(SHUFFLES)


def test_the_blind_protocol_takes_the_default_even_where_another_setting_is_better():
    rows = [
        {"setting": "a", "default": 1, "paper_nmi": 0.5, "blind_nmi": 0.4},
        {"setting": "b", "default": 0, "paper_nmi": 0.7, "blind_nmi": 0.6},
    ]
    assert of_protocol(Results(rows), "blind", "nmi").distinct("setting") == ["a"]
    assert of_protocol(Results(rows), "paper", "nmi").distinct("setting") == ["b"]


@settings(deadline=None)
@given(st.integers(2, 5), st.integers(1, 4), st.integers(2, 4))
def test_repetitions_test_every_sample_once_and_never_train_on_it(n_classes, tested, n_folds):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(n_classes), tested * n_folds))
    parts = [divided(y, repetition, tested) for repetition in range(n_folds)]
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(len(y)))
    for train, test in parts:
        assert not set(train) & set(test)
        assert (np.bincount(y[test]) == tested).all()


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(0, 100))
def test_random_layers_never_widen_upwards(depth, seed):
    sizes = random_sizes(depth, 40, 400, seed)
    assert len(sizes) == depth
    assert sizes[-1] == 40
    assert all(below > 40 for below in sizes[:-1])
    assert list(sizes) == sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_trial_gives_the_same_rows_when_it_is_run_again(name, stand_ins):
    experiment, data, plan = EXPERIMENTS[name], Data(str(stand_ins)), Plan(quick=True)
    trial = experiment.trials(plan)[-1]
    with threadpool_limits(1):
        first, second = ([_measured(row) for row in experiment.run(trial, data, plan)] for _ in range(2))
    assert first
    assert first == second


def _measured(row):
    """The measures that do not depend on the machine, as text, because NaN does not equal itself."""
    return {name: str(value) for name, value in row.items() if name != "seconds"}


def table_iii(difference):
    """Rows of Table III that differ from the published ones in NMI."""
    for title, (nmi, precision, error) in PUBLISHED.items():
        model, _, kind = title.partition(" (")
        activation = "root" if kind.startswith("Square") else "linear"
        measured = {"nmi": nmi + difference, "np": precision, "er": error}
        both = {f"{protocol}_{key}": value for protocol in ("paper", "blind") for key, value in measured.items()}
        yield {"row": title, "model": model, "activation": activation, "split": 0, "setting": "s", "default": 1} | both


@pytest.mark.parametrize(("difference", "below"), [(-0.025, 21), (0.025, 0)])
def test_the_page_of_sparse_deep_nmf_names_every_row_below_the_paper(difference, below):
    page = EXPERIMENTS["sdnmf-pie"].page(Results(list(table_iii(difference))))
    assert f"{below} of 21 rows are below the paper" in page
    assert page.count("-0.025 (`paper`), -0.025 (`blind`); tried: s.") == below
    assert f"The best NMI of any row is {0.968 + difference:.3f} (`paper`)" in page


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_setting_of_a_search_can_be_fitted():
    X, plan = load_digits().data[:40] / 16, Plan(quick=True)
    semi = [dsnmf_pie.settings_of(name, 4, {"max_iter": 2}, plan) for name in dsnmf_pie.MODELS]
    sparse = [sdnmf_pie.settings_of(name, (6, 4), activation, 0, plan) for name, activation in sdnmf_pie.kinds()]
    with threadpool_limits(1):
        for setting, model in (pair for searched in semi + sparse for pair in searched.items()):
            assert np.isfinite(model.fit(X).codes_[-1]).all(), setting
