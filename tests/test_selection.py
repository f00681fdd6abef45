"""The choice of layer sizes by predictions of hidden entries."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy import sparse

from catalogue import LABELED, SMALL, data, name_of
from deepnmf import GDNMF, NMF, DeepNMF, DeepNSNMF, MultilayerNMF, Selection, SparseDeepNMF, select_layers
from deepnmf.datasets import make_hierarchy
from deepnmf.metrics import matched_cosine
from deepnmf.selection import search
from deepnmf.selection.comparison import Features, Trial, best_sizes, candidates, layer_exists
from deepnmf.selection.hidden_entries import HiddenInArray
from deepnmf.selection.hidden_in_sparse import HiddenInSparse, HiddenInStored
from deepnmf.selection.layer_search import search_in_between
from deepnmf.selection.stability import stability
from deepnmf.selection.thinned_counts import ThinnedCounts

MASKING = [model for model in SMALL if model._problem().masks_nan]


def planted(rank, n=100, p=50, shape=20.0, seed=0):
    """Data of a known rank with gamma noise, which keeps the mean and the sign."""
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(n, rank)) @ rng.gamma(0.5, size=(rank, p)) * rng.gamma(shape, 1 / shape, (n, p))


def ratings(rank=3, n=150, p=60, share=0.4, seed=0):
    """A sparse matrix of which only the stored entries are known."""
    rng = np.random.default_rng(seed)
    X = (0.2 + rng.gamma(1, size=(n, rank))) @ rng.gamma(1, size=(rank, p)) * rng.gamma(100, 0.01, (n, p))
    return sparse.csr_array(np.where(rng.random((n, p)) < share, X, 0))


def trial(*errors):
    return Trial(np.array([errors], dtype=float), np.ones((1, len(errors))), Features(), 1.0, 1.0)


def fits_as_one_size(model):
    """Whether all parameters of a model suit any number of layers."""
    return not any(
        isinstance(value, tuple) for name, value in model.get_params(deep=False).items() if name != "layer_sizes"
    )


# ------------------------------------------------------------------------------------ what it chooses


@pytest.mark.parametrize("rank", [3, 5, 8])
def test_a_planted_rank_is_found_by_the_grid_made_from_the_data(rank):
    selection = select_layers(NMF(), planted(rank), random_state=0)
    assert selection.best_sizes_ == (rank,)
    assert selection.best_estimator_.components_.shape == (rank, 50)


def test_convergence_of_fits_does_not_decide_the_rank_of_data_without_noise():
    rng = np.random.default_rng(0)
    X = rng.random((100, 3)) @ rng.random((3, 20))
    chosen = [select_layers(NMF(), X, refit=False, random_state=seed).best_sizes_ for seed in range(5)]
    assert chosen == 5 * [(3,)]


@pytest.mark.parametrize("beta_loss", ["kullback-leibler", 1.5])
def test_the_loss_of_the_model_judges_the_entries(beta_loss):
    X = np.random.default_rng(0).poisson(20 * planted(4, shape=1e6)).astype(float)
    selection = select_layers(NMF(beta_loss=beta_loss), X, sizes=[2, 3, 4, 5, 6], random_state=0)
    assert selection.best_sizes_ == (4,)


@pytest.mark.parametrize(
    ("model", "variation"), [(DeepNMF(), 0.5), (MultilayerNMF(), 0.2), (DeepNSNMF(theta=0.1), 0.5)], ids=str
)
def test_the_top_of_a_planted_hierarchy_is_found(model, variation):
    X = make_hierarchy(300, (12, 4), image_shape=(16, 16), variation=variation, random_state=1).data
    selection = select_layers(model, X, sizes=[12], random_state=0)
    assert selection.best_sizes_ == (12, 4)
    assert [len(C) for C in selection.best_estimator_.features_] == [12, 4]


def test_parts_that_vary_independently_have_no_layer_above():
    selection = select_layers(DeepNMF(), planted(8, n=400, shape=100.0), sizes=[8], random_state=0)
    assert selection.best_sizes_ == (8,)
    assert {row.layer for row in selection.table_} == {1, 2}


def test_tuples_are_followed_layer_by_layer():
    X = make_hierarchy(500, (12, 4), image_shape=(16, 16), random_state=1).data
    sizes = [(12, 2), (12, 4), (12, 8), (6, 3), (6, 2)]
    selection = select_layers(DeepNMF(), X, sizes=sizes, random_state=0)
    assert selection.best_sizes_ == (12, 4)
    assert [(row.layer, row.size) for row in selection.table_] == [(1, 6), (1, 12), (2, 2), (2, 4), (2, 8)]


def test_a_layer_is_not_optional_if_every_tuple_has_it():
    X = planted(8, n=400, shape=100.0)
    given, optional = (
        select_layers(DeepNMF(), X, sizes=sizes, random_state=0) for sizes in ([(8, 4), (8, 3)], [(8, 4), (8,)])
    )
    assert given.best_sizes_ == (8, *(row.size for row in given.table_ if row.layer == 2 and row.is_best))
    assert optional.best_sizes_ == (8,)
    assert [row.size for row in optional.table_ if row.layer == 2] == [1, 4]


def test_only_stored_entries_of_ratings_count():
    selection = select_layers(NMF(), ratings(), sizes=[1, 2, 3, 4, 5], random_state=0, entry_weight="stored")
    assert selection.best_sizes_ == (3,)


def word_counts(rank=4, n=300, p=200, rate=0.5, seed=0):
    """A sparse matrix of counts, most of them zero."""
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.5, size=(n, rank)) @ rng.gamma(0.3, size=(rank, p))
    return sparse.csr_array(rng.poisson(means * (rate / means.mean())).astype(float))


@pytest.mark.parametrize("beta_loss", ["frobenius", "kullback-leibler"])
def test_zeros_of_a_sparse_matrix_count(beta_loss):
    X = word_counts()
    X.resize(300, 201)  # a word that is in no text
    selection = select_layers(NMF(beta_loss=beta_loss), X, sizes=range(2, 7), random_state=0)
    assert selection.best_sizes_ == (4,)
    assert 0 < selection.table_[2].explained < 1


class JudgeOfTwoLevels(search.Judge):
    """A single layer is best at 7, a compromise between levels of 10 and 4, which are best together."""

    def _measure(self, sizes):
        error = 3 + abs(sizes[0] - 7) if len(sizes) == 1 else abs(sizes[0] - 10) / 2 + abs(sizes[1] - 4) / 2
        return trial(error, error + 0.1)


def test_the_layer_above_an_intermediate_layer_is_chosen_again():
    judge = JudgeOfTwoLevels(SimpleNamespace(seeds=[0]), None, None, 2, search.Budget(), None, 0)
    judge.search(list(search.coarse_grid(40)))
    assert best_sizes(judge.trials) == (7,)
    search_in_between(judge, 40)
    assert best_sizes(judge.trials) == (10, 4)


def test_a_level_between_parts_and_top_is_found():
    X = make_hierarchy(400, (24, 8, 4), variation=0.5, random_state=101).data
    selection = select_layers(DeepNMF(), X, sizes=[24], random_state=101)
    parts, middle, top = selection.best_sizes_
    assert (parts, top) == (24, 4)
    assert top < middle < parts
    assert {(row.layer, len(row.above)) for row in selection.table_} == {(1, 0), (2, 1), (3, 0), (4, 0)}
    best = {(row.layer, row.size) for row in selection.table_ if row.is_best and row.layer < 4}
    assert best == {(1, 24), (2, middle), (3, 4)}
    given = select_layers(DeepNMF(), X, sizes=[(24, 4), (24, middle, 4)], random_state=101, refit=False)
    assert given.best_sizes_ == (24, middle, 4)
    assert not hasattr(given.best_estimator_, "components_")


def test_rows_of_a_file_are_sampled_for_the_choice(tmp_path, monkeypatch):
    X = planted(3, n=400)
    np.save(tmp_path / "X.npy", X)
    monkeypatch.setattr("deepnmf.selection.split_choice.MOST_ENTRIES", X.size // 2)
    selection = select_layers(NMF(), tmp_path / "X.npy", sizes=[2, 3, 4], random_state=0)
    assert selection.best_sizes_ == (3,)
    assert len(selection.best_estimator_.codes_[-1]) == 400


def test_entries_without_weight_do_not_count():
    X, rng = planted(3), np.random.default_rng(1)
    spoiled = rng.random(X.shape) < 0.1
    weight = np.where(spoiled, 0.0, 1.0)
    one, other = (
        select_layers(NMF(), np.where(spoiled, value, X), sizes=[2, 3, 4], random_state=0, entry_weight=weight)
        for value in (0.0, 1e3)
    )
    assert [row.error for row in one.table_] == [row.error for row in other.table_]
    assert one.best_sizes_ == (3,)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [model for model in MASKING if fits_as_one_size(model)], ids=name_of)
def test_every_model_that_can_leave_out_entries_takes_part(model):
    X = data() + 0.1
    y = np.arange(len(X)) % 3 if any(type(model) is type(one) for one in LABELED) else None
    selection = select_layers(model, X, y, sizes=[3, 5], n_splits=1, random_state=0)
    assert selection.best_sizes_[0] in (3, 5)
    assert all(np.isfinite(row.error) for row in selection.table_)
    assert [len(C) for C in selection.best_estimator_.features_] == list(selection.best_sizes_)


# ------------------------------------------------------------------------------------- the same choice


def figures(selection):
    return [(row.layer, row.size, row.error, row.excess_error) for row in selection.table_]


def test_the_same_seed_gives_the_same_choice():
    X = planted(4)
    one, other = (select_layers(NMF(init="random"), X, sizes=[3, 4, 5], random_state=7) for _ in range(2))
    assert figures(one) == figures(other)
    assert np.array_equal(one.best_estimator_.components_, other.best_estimator_.components_)


def test_splits_may_be_fitted_in_other_processes():
    X = planted(4)
    one, other = (select_layers(NMF(), X, sizes=[3, 4, 5], random_state=7, n_jobs=n) for n in (1, 2))
    np.testing.assert_allclose(figures(one), figures(other), rtol=1e-6)
    assert one.best_sizes_ == other.best_sizes_


def test_another_seed_hides_other_entries():
    X = planted(4)
    one, other = (select_layers(NMF(), X, sizes=[4], random_state=seed) for seed in (0, 1))
    assert figures(one) != figures(other)


def test_the_model_and_the_data_are_left_as_they_were():
    X, model = planted(3), NMF(7)
    before = X.copy()
    select_layers(model, X, sizes=[2, 3], random_state=0)
    assert np.array_equal(X, before)
    assert model.n_components == 7
    assert not hasattr(model, "components_")


# --------------------------------------------------------------------------------------- hidden entries


def test_every_row_and_column_keeps_an_entry_and_all_observed_entries_stay_or_are_hidden():
    X = np.full((100, 30), np.nan)
    X[:, 0], X[0], X[1:, 1:3] = 1.0, 2.0, 3.0
    entries = HiddenInArray(X, [5])
    seen, (rows, columns, _) = entries.seen(0).X, entries.hidden(0)
    assert np.isfinite(seen).any(axis=0).all()
    assert np.isfinite(seen).any(axis=1).all()
    seen[rows, columns] = X[rows, columns]
    assert np.array_equal(seen, X, equal_nan=True)


def test_about_a_tenth_is_hidden():
    (rows, _, _) = HiddenInArray(planted(3), [0]).hidden(0)
    assert 400 < len(rows) < 600


def test_stored_entries_are_hidden_as_the_same_entries_of_an_array():
    X = ratings()
    entries = HiddenInStored(X, [3])
    rows, columns, _ = entries.hidden(0)
    seen = entries.seen(0).X
    assert seen.nnz + len(rows) == X.nnz
    assert not seen[rows, columns].any()
    low, high, mean = entries.seen_columns(0)
    filled = np.where(seen.toarray() > 0, seen.toarray(), np.nan)
    np.testing.assert_allclose(low, np.nanmin(filled, axis=0), rtol=1e-6)
    np.testing.assert_allclose(high, np.nanmax(filled, axis=0), rtol=1e-6)
    np.testing.assert_allclose(mean, np.nanmean(filled, axis=0), rtol=1e-6)


def test_errors_are_those_of_the_reconstruction():
    X = planted(3)
    entries = HiddenInArray(X, [0])
    model = NMF(3, random_state=0).fit(entries.seen(0).X)
    low, high, _ = entries.seen_columns(0)
    rows, columns, _ = entries.hidden(0)
    expected = 0.5 * (X - np.clip(model.codes_[-1] @ model.components_, 2 * low - high, 2 * high - low)) ** 2
    errors, weights = entries.errors(0, model)
    np.testing.assert_allclose(errors.sum(), expected[rows, columns].sum())
    np.testing.assert_array_equal(weights, np.bincount(rows, minlength=len(X)))


def test_predictions_that_nothing_determines_are_bounded():
    X = planted(3)
    entries = HiddenInArray(X, [0])
    model = NMF(3, random_state=0).fit(entries.seen(0).X)
    model.codes_ = [1e9 * model.codes_[-1]]
    assert entries.errors(0, model)[0].sum() < 0.5 * X.size * (3 * X.max()) ** 2


def test_hidden_zeros_and_stored_entries_are_weighted_so_that_all_entries_count_equally():
    X = word_counts()
    entries = HiddenInSparse(X, [4])
    rows, columns, weights = entries.hidden(0)
    seen, given = entries.seen(0)
    assert (np.diff(rows) >= 0).all()
    assert not given.stored[rows, columns].any()
    assert abs(seen - X).max() == 0  # hidden entries are stored, without weight
    is_zero = np.asarray(X[rows, columns]).ravel() == 0
    assert weights[is_zero].sum() == pytest.approx(0.1 * (X.shape[0] * X.shape[1] - X.nnz), rel=0.05)
    assert weights[~is_zero].sum() == pytest.approx(0.1 * X.nnz, rel=0.05)
    n_seen_zeros = X.shape[0] * X.shape[1] - X.nnz - is_zero.sum()
    shares = given.rest * n_seen_zeros, given.stored.data.sum()
    assert shares[0] / shares[1] == pytest.approx((X.shape[0] * X.shape[1] - X.nnz) / X.nnz, rel=0.02)


def test_thinned_counts_add_up_and_their_errors_are_those_of_all_entries():
    X = word_counts()
    counts = ThinnedCounts(X, [2])
    seen, hidden = counts.seen(0).X.toarray(), X.toarray() - counts.seen(0).X.toarray()
    assert (hidden >= 0).all()
    assert hidden.sum() == pytest.approx(0.1 * X.sum(), rel=0.05)
    model = NMF(3, beta_loss="kullback-leibler", random_state=0).fit(seen)
    baseline = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / seen.sum()
    predicted = (0.99 * model.codes_[-1] @ model.components_ + 0.01 * baseline) / 9
    expected = model._learned.divergence.each(hidden, predicted).sum(axis=1)
    np.testing.assert_allclose(counts.errors(0, model)[0], expected)


def test_features_that_come_back_are_stable_and_others_are_not():
    rng = np.random.default_rng(0)
    same, others = rng.random((5, 40)) ** 4, rng.random((5, 40)) ** 4
    assert stability([same, same[::-1]]) == pytest.approx((1.0, 1.0))
    cosine, silhouette = stability([same, others])
    assert cosine < 0.8
    assert silhouette < 0.3


@pytest.mark.parametrize("model", [NMF(), DeepNMF()], ids=name_of)
def test_a_consensus_has_the_planted_features_and_codes_that_fit_them(model):
    planted = make_hierarchy(200, (6, 3), image_shape=(10, 10), random_state=1)
    selection = select_layers(model, planted.data, sizes=[6], random_state=0, consensus=True)
    features, codes, share_kept = vars(selection.consensus_).values()
    assert matched_cosine(features, planted.features[0]) > 0.95
    assert share_kept > 0.5
    assert np.linalg.norm(planted.data - codes @ features) < 0.1 * np.linalg.norm(planted.data)
    assert matched_cosine(selection.best_estimator_.features_[0], features) > 0.95


# ---------------------------------------------------------------------------------------------- the rule


def test_the_smallest_size_is_chosen_that_is_not_clearly_worse():
    trials = {(1,): trial(5, 5, 5, 5), (2,): trial(1, 2, 1, 2), (3,): trial(1, 1, 2, 1.9), (4,): trial(2, 2, 2, 2)}
    assert best_sizes(trials) == (2,)
    marks = {row.size: (row.is_smallest_error, row.is_best) for row in candidates(trials, 1)}
    assert marks == {1: (False, False), 2: (False, True), 3: (True, False), 4: (False, False)}


@pytest.mark.parametrize(
    ("trials", "exists"),
    [
        ({(1,): trial(5, 5, 5, 5), (3,): trial(1, 1, 1, 2)}, True),
        ({(1,): trial(5, 5, 5, 5), (6,): trial(1, 1, 1, 2)}, False),
        ({(1,): trial(1, 1, 1, 1), (3,): trial(2, 2, 2, 2)}, False),
        ({(1,): trial(1, 2, 1, 2), (3,): trial(1, 1, 2, 1.9)}, False),
    ],
)
def test_a_layer_exists_if_it_combines_and_is_better_than_one_feature(trials, exists):
    assert layer_exists(trials, below=6) == exists


def test_sizes_that_are_far_worse_in_the_first_split_are_not_fitted_to_the_others():
    X = planted(4, n=300, shape=1000.0)
    table = select_layers(NMF(), X, sizes=[1, 3, 4, 5], refit=False, random_state=0).table_
    complete = select_layers(NMF(), X, sizes=[4, 5], refit=False, random_state=0).table_
    assert [row.splits for row in table] == [1, 1, 3, 3]
    assert [row.error for row in table[2:]] == [row.error for row in complete]
    assert [row.excess > 3 * row.excess_error for row in table] == [True, True, False, False]


def test_trials_are_compared_in_the_splits_that_they_share():
    half, full = trial(2, 3), Trial(np.array([[1, 1], [9, 9.5]]), np.ones((2, 2)), Features(), 1.0, 1.0)
    assert half.excess(full) == (1.5, pytest.approx(0.5 / np.sqrt(2)))
    assert best_sizes({(3,): half, (4,): full}) == (4,)


def test_larger_sizes_are_not_tried_after_two_that_are_clearly_worse():
    selection = select_layers(NMF(), planted(3), random_state=0)
    assert max(row.size for row in selection.table_) < 20


# ------------------------------------------------------------------------- interruption and progress


def interrupt_at(size, monkeypatch):
    original = search.fitted

    def interrupted(model, X, y=None, **params):
        if getattr(model, "n_components", None) == size:
            raise KeyboardInterrupt
        return original(model, X, y, **params)

    monkeypatch.setattr(search, "fitted", interrupted)


def test_an_interrupted_search_keeps_what_has_been_tried(monkeypatch):
    interrupt_at(4, monkeypatch)
    with pytest.warns(UserWarning, match="choice is made among the sizes tried so far"):
        selection = select_layers(NMF(), planted(3), sizes=[2, 3, 4, 5], random_state=0)
    assert selection.ended_by_ == "interrupt"
    assert [row.size for row in selection.table_] == [2, 3]
    assert selection.best_estimator_.n_components == 3


def test_an_interrupt_before_the_first_size_ends_the_search(monkeypatch):
    interrupt_at(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        select_layers(NMF(), planted(3), sizes=[2, 3], random_state=0)


def test_an_interrupt_in_a_layer_above_keeps_the_layers_below(monkeypatch):
    interrupt_at(1, monkeypatch)
    with pytest.warns(UserWarning, match="Interrupted"):
        selection = select_layers(DeepNMF(), planted(8), sizes=[6, 8], random_state=0)
    assert selection.best_sizes_ == (8,)


def test_the_search_ends_after_max_passes():
    params = {"sizes": [2, 3, 4, 5], "random_state": 0}
    table = select_layers(NMF(), planted(3), **params).table_
    selection = select_layers(NMF(), planted(3), max_passes=table[0].passes + 1, **params)
    assert selection.ended_by_ == "max_passes"
    assert [row.size for row in selection.table_] == [2, 3]


def test_a_checkpoint_resumes_an_interrupted_search(tmp_path, monkeypatch):
    params = {"sizes": [2, 3, 4], "random_state": 0, "checkpoint": tmp_path / "sizes.checkpoint"}
    expected = select_layers(NMF(), planted(3), **params)
    assert not params["checkpoint"].exists()
    with monkeypatch.context() as patched:
        interrupt_at(4, patched)
        with pytest.warns(UserWarning, match="Interrupted"):
            select_layers(NMF(), planted(3), **params)
    measure, measured = search.Judge._measure, []
    monkeypatch.setattr(search.Judge, "_measure", lambda judge, sizes: measured.append(sizes) or measure(judge, sizes))
    assert figures(select_layers(NMF(), planted(3), **params)) == figures(expected)
    assert measured == [(4,)]
    assert not params["checkpoint"].exists()


def test_a_fit_that_ended_early_is_not_compared():
    def stop(sweep, loss):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.fitted(NMF(3, random_state=0), planted(3), on_sweep=stop)


def test_a_verbose_model_prints_a_line_for_each_size(capsys):
    select_layers(NMF(verbose=1), planted(3), sizes=[2, 3], random_state=0)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("layer 1, size")]
    assert "for sizes up to 3" in lines[0]
    assert lines[1].startswith("layer 1, size 3: error")
    assert lines[-1].startswith("layer 1, size 3, 3 splits: error")


# -------------------------------------------------------------------------------------- what is shown


def test_the_plot_has_a_panel_for_each_layer_and_names_the_verdict():
    selection = select_layers(DeepNMF(), planted(8, n=400, shape=100.0), sizes=[6, 8], random_state=0)
    figure = selection.plot()
    FigureCanvasAgg(figure).draw()
    titles = [panel.get_title(loc="left") for panel in figure.axes if panel.get_ylabel() != "stability (gray)"]
    assert titles == ["layer 1: 8 features", "layer 2: no such layer"]


def test_the_plot_marks_the_error_without_an_intermediate_layer():
    row = select_layers(NMF(), planted(3), sizes=[2], refit=False, random_state=0).table_[0]
    tried = [row, replace(row, layer=2, error=0.5), replace(row, layer=2, size=4, above=(2,)), replace(row, layer=3)]
    panels = Selection((6, 2), None, tried).plot().axes
    between = next(panel for panel in panels if panel.get_title(loc="left").startswith("layer 2 below 2"))
    assert [0.5, 0.5] in [list(line.get_ydata()) for line in between.lines]


def test_text_and_html_show_every_candidate():
    selection = select_layers(NMF(), planted(3), sizes=[2, 3, 4], random_state=0)
    assert len(repr(selection).splitlines()) == 2 + 3
    assert selection._repr_html_().count("<tr>") == 1 + 3
    assert "(3,)" in repr(selection)


# ------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "sizes is empty: expected at least one candidate"),
        ([3, 60], r"sizes has 60 for the first layer, but X has shape \(100, 50\): expected at most 50"),
        ([0], "sizes must be positive"),
        ([(3, 2)], "expected a list of integers, because the model has one layer"),
    ],
)
def test_bad_sizes_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        select_layers(NMF(), planted(3), sizes=sizes)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [([3, (3, 2)], "integers or a list of tuples"), ([(3, 4)], "layers that are not larger than the layer below")],
)
def test_bad_sizes_of_a_deep_model_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        select_layers(DeepNMF(), planted(3), sizes=sizes)


@pytest.mark.parametrize("model", [GDNMF(), SparseDeepNMF(activation="square")], ids=name_of)
def test_a_model_that_cannot_leave_out_entries_is_refused(model):
    with pytest.raises(ValueError, match="with these parameters cannot skip hidden entries of X"):
        select_layers(model, planted(3))


@pytest.mark.parametrize("model", [DeepNSNMF(theta=(0.1, 0.2)), DeepNMF(layer_weights=(1, 2))], ids=name_of)
def test_parameters_for_a_given_number_of_layers_are_refused(model):
    with pytest.raises(ValueError, match="the number of layers is to be chosen"):
        select_layers(model, planted(3))


def test_something_else_than_a_model_is_refused():
    with pytest.raises(TypeError, match="expected an estimator of deepnmf"):
        select_layers("NMF", planted(3))


@pytest.mark.parametrize("name", ["factors", "codes", "W"])
def test_arguments_of_fit_for_one_size_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} was given, but its shape depends on the sizes"):
        select_layers(NMF(), planted(3), **{name: "x"})


def with_empty_column():
    X = planted(3)
    X[:, 4] = np.nan
    return X


@pytest.mark.parametrize(
    ("X", "params", "message"),
    [
        (with_empty_column(), {}, "Column 4 of X has no observed entry"),
        (planted(3)[:10, :10], {}, "X has 100 observed entries: expected at least 200"),
        (ratings(), {"entry_weight": ratings()}, 'entry_weight must be None or "stored"'),
        (planted(3), {"hide": "rows"}, "hide is 'rows': expected 'entries', 'counts' or None"),
        (planted(3), {"hide": "counts"}, "hide='counts' needs beta_loss='kullback-leibler'"),
        (planted(3), {"max_passes": 0}, "max_passes is 0: expected a positive number or None"),
        (planted(3), {"checkpoint": "c"}, "checkpoint needs an integer as random_state, got None"),
        (planted(3), {"entry_weight": "stored"}, "entry_weight must be None or an array of the shape of X"),
        (planted(3), {"n_splits": 0}, "n_splits is 0: expected a positive integer"),
        (-planted(3), {}, "Negative values in data"),
    ],
)
def test_bad_data_are_refused_in_one_sentence(X, params, message):
    with pytest.raises(ValueError, match=message):
        select_layers(NMF(), X, **params)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (planted(3), "X has entries that are negative, NaN or not whole numbers"),
        (
            sparse.csr_array(planted(3)),
            "supports a sparse X for squared error, and for counts with beta_loss='kullback-leibler'",
        ),
    ],
)
def test_data_that_are_not_counts_cannot_be_thinned(X, message):
    hide = None if sparse.issparse(X) else "counts"
    with pytest.raises(ValueError, match=message):
        select_layers(NMF(beta_loss="kullback-leibler"), X, hide=hide)
