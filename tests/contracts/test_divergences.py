"""Beta divergences: their values, descent on chains of any depth, encoding, certificate, passes over X, threads."""

import pickle
from dataclasses import fields

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize as minimize_with_scipy
from sklearn.decomposition._nmf import _beta_divergence, _beta_loss_to_float
from threadpoolctl import threadpool_limits

from deepnmf import NMF, DeepNSNMF
from deepnmf.engines import RowsInMemory, Workers, make_engine, row_source
from deepnmf.engines.observed import holed
from deepnmf.objective import Chain, ElasticNet, Objective, Statistics
from deepnmf.objective.divergences import EPSILON, FREE, Divergence, penalty_value
from deepnmf.solvers.checkpoints import packed, unpacked
from deepnmf.solvers.count_batches import CountMemory, learn_count_batch
from deepnmf.solvers.divergence_descent import DivergenceDescent
from deepnmf.solvers.divergence_encoding import TOLERANCE, divergence_of, divergence_residual, encode_by_divergence
from deepnmf.solvers.loop import Run, minimize
from deepnmf.solvers.pass_sweeps import PassSweeps
from reference import divergence as reference

BETAS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
SIZES = {1: (4,), 2: (7, 3), 3: (8, 6, 3), 4: (8, 6, 5, 3)}
N, P = 37, 29


def counts(positive=False, seed=0, n=N, p=P):
    """Counts of rank 3, half of them 0, with a row and a column without any; or none of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.6, size=(n, 3)) @ rng.gamma(0.6, size=(3, p))).astype(float)
    X[5] = X[:, 7] = 0
    return X + 0.1 if positive else X


def start(X, sizes, seed=1):
    """Random codes and factors of the size of X."""
    rng = np.random.default_rng(seed)
    shapes = zip(sizes, (X.shape[1], *sizes), strict=False)
    factors = [rng.random(shape) + 0.1 for shape in shapes]
    codes = rng.random((X.shape[0], sizes[-1])) + 0.1
    return codes * X.sum() / (codes @ Chain.of(factors).decoder()).sum(), factors


def weights(X, seed=2):
    """A third of the entries count nothing, the others from a half to one."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < 0.3, 0, 0.5 + 0.5 * rng.random(X.shape))


def data(kind, beta, dtype=np.float64):
    X = counts(positive=beta <= 0).astype(dtype)
    if kind == "dense":
        return X, None
    if kind == "sparse":
        return sparse.csr_array(X), None
    W = weights(X).astype(dtype)
    if kind == "holes":
        return holed(np.where(W > 0, X, np.nan)), (W > 0).astype(float)
    if kind == "weights":
        return holed(X, W), W
    places = np.nonzero(W)
    stored = [sparse.csr_array((array[places], places), X.shape) for array in (X, W)]
    return holed(*stored), W


def run(X, beta, sizes, theta=0.0, penalty=FREE, sweeps=25, by_passes=False, dtype=np.float64, refined=False):
    """The states of some sweeps, the first of them the start."""
    codes, factors = start(counts(positive=beta <= 0), sizes)
    chain = Chain.of(factors, (theta,) * len(sizes))
    with Workers() as workers:
        descent = DivergenceDescent(RowsInMemory(X, workers), Divergence(beta), penalty, by_passes)
        states = [descent.start(codes.astype(dtype), chain, refined)]
        for _ in range(sweeps):
            states.append(descent.advance(states[-1]))
    return states


def assert_never_rises(states):
    losses = np.array([state.loss for state in states[1:]])
    assert np.isfinite(losses).all()
    assert np.all(np.diff(losses) <= 1e-12 * np.abs(losses[:-1]))
    assert losses[-1] < losses[0]


# ------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("beta", [*BETAS, -1.0, 0.3])
def test_the_divergence_is_scikit_learns(beta):
    X = counts(positive=beta <= 0)
    H, (Z,) = start(X, (4,))
    expected = _beta_divergence(X, H, Z, beta)
    assert Divergence(beta).value(X, H @ Z) == pytest.approx(expected, rel=1e-6)
    with Workers() as workers:
        for matrix in (X, sparse.csr_array(X)):
            found = divergence_of(RowsInMemory(matrix, workers), H, Z, Divergence(beta))
            assert found == pytest.approx(expected, rel=1e-6)
    error = Divergence(beta).reconstruction_error(found)
    assert error == pytest.approx(_beta_divergence(X, H, Z, beta, square_root=True), rel=1e-6)


def test_names_are_scikit_learns_and_others_are_refused():
    for name in ("frobenius", "kullback-leibler", "itakura-saito", 2, 1, 0, 0.7):
        assert Divergence.of(name).beta == _beta_loss_to_float(name)
    assert Divergence.of(1).name == "kullback-leibler"
    assert Divergence.of(0.7).name == "0.7"
    with pytest.raises(ValueError, match="beta_loss must be one of frobenius, kullback-leibler"):
        Divergence.of("poisson")
    with pytest.raises(ValueError, match="finite number"):
        Divergence.of(float("nan"))


@pytest.mark.parametrize("beta", BETAS)
def test_a_divergence_scales_by_its_degree(beta):
    X = counts(positive=True)
    Y = X[::-1] + 0.2
    loss = Divergence(beta)
    assert loss.value(4 * X, 4 * Y) == pytest.approx(4**loss.degree * loss.value(X, Y))


def test_zeros_of_counts_contribute_only_through_the_model():
    assert Divergence(1.0).value(np.zeros(3), np.array([0.0, 1.0, 2.0])) == 3.0
    at_epsilon = Divergence(1.0).value(np.ones(1), np.zeros(1))
    assert at_epsilon == pytest.approx(-np.log(EPSILON) - 1, rel=1e-5)


def test_the_baseline_of_counts_is_row_total_times_column_share():
    X = counts()
    rows, columns = Divergence(1.0).baseline(X.sum(axis=1), X.sum(axis=0), np.full(P, N))
    assert np.allclose(np.outer(rows, columns), np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum())
    rows, columns = Divergence(0.0).baseline(X.sum(axis=1), X.sum(axis=0), np.full(P, N))
    assert rows is None
    assert np.allclose(columns, X.mean(axis=0))


# ------------------------------------------------------------------------------------------------------------ descent


@pytest.mark.parametrize("depth", SIZES)
@pytest.mark.parametrize("theta", [0.0, 0.4])
@pytest.mark.parametrize("beta", BETAS)
def test_loss_never_rises_at_any_depth(beta, theta, depth):
    X, _ = data("dense", beta)
    assert_never_rises(run(X, beta, SIZES[depth], theta, sweeps=15))
    if beta == 1:
        assert_never_rises(run(X, beta, SIZES[depth], theta, by_passes=True))


@pytest.mark.parametrize("penalty", [FREE, ElasticNet(0.3, 0.0, 0.2, 0.0), ElasticNet(0.2, 0.4, 0.1, 0.3)])
@pytest.mark.parametrize("kind", ["dense", "sparse", "holes", "weights", "stored"])
@pytest.mark.parametrize("beta", BETAS)
def test_loss_never_rises_for_any_kind_of_data_and_penalty(beta, kind, penalty):
    X, _ = data(kind, beta)
    assert_never_rises(run(X, beta, (6, 3), penalty=penalty, sweeps=12))
    if beta == 1:
        assert_never_rises(run(X, beta, (6, 3), 0.2, penalty=penalty, by_passes=True))


@pytest.mark.parametrize("by_passes", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "holes", "weights", "stored"])
@pytest.mark.parametrize("beta", [0.0, 1.0, 1.5])
def test_a_states_loss_is_that_of_its_codes_and_factors(beta, kind, by_passes):
    X, W = data(kind, beta)
    penalty = ElasticNet(0.2, 0.4, 0.1, 0.3)
    state = run(X, beta, (6, 3), 0.2, penalty, sweeps=9, by_passes=by_passes)[-1]
    H, D = state.codes, state.chain.decoder()
    own = Divergence(beta).value(counts(positive=beta <= 0), H @ D, W)
    expected = own + penalty_value(penalty, state.chain, H.sum(), np.vdot(H, H))
    assert state.loss == pytest.approx(expected, rel=1e-6)
    with Workers() as workers:
        assert divergence_of(RowsInMemory(X, workers), H, D, Divergence(beta)) == pytest.approx(own, rel=1e-6)


def test_dense_and_sparse_counts_give_the_same_fit():
    dense, stored = (run(data(kind, 1.0)[0], 1.0, (6, 3), sweeps=30)[-1] for kind in ("dense", "sparse"))
    assert dense.loss == pytest.approx(stored.loss, rel=1e-6)


def test_weights_of_one_change_nothing():
    X = counts()
    plain = run(X, 1.0, (6, 3), sweeps=10)[-1]
    weighted = run(holed(X, np.ones_like(X)), 1.0, (6, 3), sweeps=10)[-1]
    assert weighted.loss == pytest.approx(plain.loss, rel=1e-6)


def test_beta_of_two_is_the_frobenius_objective():
    X = counts()
    state = run(X, 2.0, (6, 3), 0.3, sweeps=5)[-1]
    H = state.codes
    stats = Statistics(H.T @ X, H.T @ H, H.sum(axis=0), float(np.vdot(X, X)))
    assert state.loss == pytest.approx(Objective().value(state.chain, stats))


@pytest.mark.parametrize("by_passes", [False, True])
def test_single_precision_is_close_to_double(by_passes):
    single = run(counts().astype(np.float32), 1.0, (4,), sweeps=20, by_passes=by_passes, dtype=np.float32)
    double = run(counts(), 1.0, (4,), sweeps=20, by_passes=by_passes)
    assert single[-1].codes.dtype == np.float32
    assert single[-1].loss == pytest.approx(double[-1].loss, rel=1e-3)
    assert_never_rises(single)


def test_a_row_and_a_column_without_counts_stay_empty():
    for by_passes in (False, True):
        state = run(counts(), 1.0, (4,), sweeps=40, by_passes=by_passes)[-1]
        assert not state.codes[5].any()
        assert not state.chain.factors[0][:, 7].any()


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_data_in_other_units_give_the_same_fit(beta):
    X = counts(positive=True)
    codes, factors = start(X, (4,))
    losses = []
    for unit in (1.0, 2.0**20, 2.0**-20):
        with Workers() as workers:
            loss = Divergence(beta, epsilon=EPSILON * unit)
            descent = DivergenceDescent(RowsInMemory(X * unit, workers), loss)
            state, _ = minimize(
                descent.advance, descent.start(codes * unit, Chain.of(factors)), max_iter=15, tol=0, run=Run()
            )
            losses.append(state.loss / unit**loss.degree)
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


@pytest.mark.parametrize("beta", [1.0, 1.5])
def test_a_fit_ends_by_tolerance(beta):
    X, codes_and_factors = counts(), start(counts(), (3,))
    with Workers() as workers:
        descent = DivergenceDescent(RowsInMemory(X, workers), Divergence(beta))
        begun = descent.start(codes_and_factors[0], Chain.of(codes_and_factors[1]))
        state, history = minimize(descent.advance, begun, max_iter=2000, tol=1e-4, run=Run())
        assert history.stop_reason in ("decrease", "optimality")
        refined = descent.advance(descent.start(state.codes, state.chain, refined=True))
    assert refined.loss <= state.loss * (1 + 1e-4)


@pytest.mark.parametrize("by_passes", [False, True])
def test_a_state_survives_a_checkpoint_to_the_same_bits(by_passes):
    states = run(counts(), 1.0, (6, 3), sweeps=6, by_passes=by_passes)
    arrays = {}
    again = unpacked(packed(states[4], arrays, "state."), arrays, states[0])
    with Workers() as workers:
        descent = DivergenceDescent(RowsInMemory(counts(), workers), Divergence(1.0), by_passes=by_passes)
        descent.start(*start(counts(), (6, 3))[:1], Chain.of(start(counts(), (6, 3))[1]))
        resumed = descent.advance(again)
    assert resumed.loss == states[5].loss
    assert np.array_equal(resumed.codes, states[5].codes)
    assert [field.name for field in fields(pickle.loads(pickle.dumps(resumed)))]


# ------------------------------------------------------------------------------------------------------------ oracles


def planted(seed):
    """Many counts of rank 3, none of them 0: several starts have the same minimum."""
    rng = np.random.default_rng(seed)
    return rng.poisson(40 * rng.gamma(0.7, size=(40, 3)) @ rng.gamma(0.7, size=(3, 30))) + 0.5


def ends(X, beta, sizes, theta, seed):
    """Losses from one start after 200 sweeps: ours (counts also by passes), and the lowest of the oracles."""
    codes, factors = start(X, sizes, seed)
    chain = Chain.of(factors, (theta,) * len(sizes))
    plain = [reference.multiplicative(X, codes, factors, chain.theta, beta, 200)[2][-1]]
    if beta == 1:
        plain.append(reference.expectation_maximization(X, codes, factors, chain.theta, 200)[2][-1])
    ours = []
    with Workers() as workers:
        for by_passes in (False, True)[: 1 + (beta == 1)]:
            descent = DivergenceDescent(RowsInMemory(X, workers), Divergence(beta), by_passes=by_passes)
            state, _ = minimize(descent.advance, descent.start(codes, chain), max_iter=200, tol=0, run=Run())
            ours.append(state.loss)
    return ours, min(plain)


@pytest.mark.parametrize("theta", [0.0, 0.3])
@pytest.mark.parametrize("sizes", [(3,), (6, 3)])
def test_plain_algorithms_never_end_lower_on_counts(sizes, theta):
    for seed in range(4):
        ours, plain = ends(planted(seed), 1.0, sizes, theta, seed)
        assert max(ours) <= 1.001 * plain


@pytest.mark.parametrize("theta", [0.0, 0.3])
@pytest.mark.parametrize("sizes", [(3,), (6, 3)])
@pytest.mark.parametrize("beta", [beta for beta in BETAS if beta != 1])
def test_plain_algorithms_never_end_lower(beta, sizes, theta):
    """The best of three starts: from one of them multiplicative steps wait at a saddle point for hundreds of sweeps."""
    found = [ends(planted(0), beta, sizes, theta, seed) for seed in range(3)]
    assert min(ours[0] for ours, _ in found) <= 1.001 * min(plain for _, plain in found)


def test_the_oracles_descend():
    X = counts(positive=True)
    codes, factors = start(X, (6, 3))
    for beta in BETAS:
        _, _, losses = reference.multiplicative(X, codes, factors, (0.3, 0.1), beta, 40)
        assert np.all(np.diff(losses) <= 1e-9 * np.array(losses[:-1]))
    _, _, losses = reference.expectation_maximization(X, codes, factors, (0.3, 0.1), 40)
    assert np.all(np.diff(losses) <= 1e-9 * np.array(losses[:-1]))


# ------------------------------------------------------------------------------------------- encoding and certificate


def found_and_best(X, D, beta, penalty=FREE):
    """The objective of each row at the codes that are found, and at those of scipy's L-BFGS-B."""
    loss, r = Divergence(beta), len(D)
    with Workers() as workers:
        H = encode_by_divergence(RowsInMemory(X, workers), D, loss, penalty)

    def objective(h, x):
        y = np.maximum(h @ D, EPSILON)
        gradient = D @ (y ** (beta - 1) - x * y ** (beta - 2)) + penalty.codes_l1 + penalty.codes_l2 * h
        return loss.value(x, h @ D) + penalty.codes_l1 * h.sum() + 0.5 * penalty.codes_l2 * h @ h, gradient

    def best(x):
        begun = np.full(r, x.sum() / r) / D.sum(axis=1) + 1e-3
        options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}
        return minimize_with_scipy(
            objective, begun, (x,), "L-BFGS-B", jac=True, bounds=[(0, None)] * r, options=options
        )

    found = np.array([objective(h, x)[0] for h, x in zip(H, X, strict=True)])
    return found, np.array([best(x).fun for x in X])


@pytest.mark.parametrize("penalty", [FREE, ElasticNet(0.3, 0.2, 0.0, 0.0)])
@pytest.mark.parametrize("beta", [*BETAS, 1.3])
def test_codes_are_those_of_an_independent_solver(beta, penalty):
    D = np.random.default_rng(3).gamma(0.6, size=(5, P))
    found, best = found_and_best(counts(positive=beta <= 0)[:12], D, beta, penalty)
    assert np.all(found <= best + 1e-6 * np.abs(best) + 1e-9)


def test_a_hundred_rows_of_counts_have_the_deviance_of_an_independent_solver():
    rng = np.random.default_rng(4)
    D = rng.gamma(0.5, size=(6, 60))
    X = rng.poisson(2 * rng.gamma(0.5, size=(100, 6)) @ D).astype(float)
    found, best = found_and_best(X, D, 1.0)
    assert np.all(found <= best + 1e-6 * best + 1e-9)
    assert found.sum() == pytest.approx(best.sum(), rel=1e-6)


@pytest.mark.data
def test_a_hundred_documents_have_the_deviance_of_an_independent_solver(benchmark_data):
    X = sparse.csr_array(benchmark_data("bbc_news").data, dtype=np.float64)
    X = X[:, X.sum(axis=0) > 0]
    D = NMF(6, beta_loss="kullback-leibler", max_iter=20, tol=0, random_state=0).fit(X).components_
    found, best = found_and_best(X[::22][:100].toarray(), D, 1.0)
    assert np.all(found <= best + 1e-6 * best)


def test_codes_of_a_fit_belong_to_its_factors():
    """Sweeps extrapolate codes; what is handed out is what `transform` finds, and the last loss is that of it."""
    X = counts()
    for model in (NMF(4, beta_loss=1, max_iter=30, tol=0), DeepNSNMF((6, 3), beta_loss=1, max_iter=30, tol=0)):
        codes = model.fit_transform(X)
        encoded = model.transform(X)
        assert np.linalg.norm(codes - encoded) <= 2e-3 * np.linalg.norm(encoded)
        assert model.loss_curve_[-1] == pytest.approx(0.5 * model.reconstruction_err_**2, rel=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse", "holes", "stored"])
@pytest.mark.parametrize("beta", [0.0, 1.0, 1.5])
def test_a_rows_code_does_not_depend_on_other_rows(beta, kind):
    D = np.random.default_rng(3).gamma(0.6, size=(5, P))
    X, _ = data(kind, beta)
    with Workers() as workers:
        together = encode_by_divergence(RowsInMemory(X, workers), D, Divergence(beta))
        for part in (slice(0, 1), slice(4, 9), slice(20, N)):
            rows = X.rows(part) if hasattr(X, "rows") else X[part]
            alone = encode_by_divergence(RowsInMemory(rows, workers), D, Divergence(beta))
            assert np.array_equal(alone, together[part])


def test_codes_of_single_precision_are_those_of_double():
    D, X = np.random.default_rng(3).gamma(0.6, size=(5, P)), counts()
    with Workers() as workers:
        double, single = (
            encode_by_divergence(RowsInMemory(X.astype(dtype), workers), D, Divergence(1.0))
            for dtype in (np.float64, np.float32)
        )
    assert single.dtype == np.float32
    assert np.allclose(single, double, rtol=1e-6, atol=1e-6)


def central_differences(function, blocks, place):
    """The slope of a function of several arrays in one of them, whose entries are above 0."""
    slope, at = np.zeros_like(blocks[place]), blocks[place]
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = 1e-5 * at[index]
        sides = [function(*blocks[:place], at + sign * step, *blocks[place + 1 :]) for sign in (1, -1)]
        slope[index] = (sides[0] - sides[1]) / (2 * step[index])
    return slope


@pytest.mark.parametrize("kind", ["dense", "sparse", "weights", "stored"])
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 1.5, 3.0])
def test_the_certificate_is_the_relative_gradient(beta, kind):
    (X, W), dense = data(kind, beta), counts(positive=beta <= 0)
    used = np.ones_like(dense) if W is None else W
    penalty, loss = ElasticNet(0.2, 0.4, 0.1, 0.3), Divergence(beta)
    codes, factors = start(dense, (5, 3))
    chain = Chain.of(factors, (0.2, 0.1))
    blocks = [codes, *factors]

    def objective(H, *Z):
        own = Chain.of(Z, chain.theta)
        return loss.value(dense, H @ own.decoder(), used) + penalty_value(penalty, own, H.sum(), np.vdot(H, H))

    model = codes @ chain.decoder()
    push, pull = used * model ** (beta - 1), used * dense * model ** (beta - 2)
    expected = []
    for place, (price, ridge) in enumerate([(0.2, 0.4), (0.1, 0.3), (0.1, 0.3)]):
        A, B = (None, chain.decoder()) if place == 0 else reference.around(factors, chain.theta, place - 1)
        own_push, own_pull = (part @ B.T if A is None else A.T @ codes.T @ part @ B.T for part in (push, pull))
        slope = central_differences(objective, blocks, place)
        assert np.allclose(slope, own_push + price + ridge * blocks[place] - own_pull, rtol=1e-4, atol=1e-4)
        totals = (blocks[place] * own_pull).sum(axis=1, keepdims=True)
        if place == 0 and beta == 1:
            totals = (used * dense).sum(axis=1, keepdims=True)
        share = np.where(totals > 0, blocks[place] * (own_push + price) / np.where(totals > 0, totals, 1), 1)
        violation = np.where(slope > 0, np.minimum(slope, (own_push + price) * share), slope)
        size = own_push + price
        if place == 0 and beta == 1:
            size = np.tile(chain.decoder().sum(axis=1) + price, (N, 1))  # sums of the features, for every row
        expected.append(np.linalg.norm(violation) / np.linalg.norm(size))
    with Workers() as workers:
        found = divergence_residual(RowsInMemory(X, workers), codes, chain, loss, penalty)
    assert found == pytest.approx(max(expected), rel=1e-3)


@pytest.mark.parametrize("by_passes", [False, True])
def test_the_certificate_of_a_long_fit_is_small(by_passes):
    X = counts()
    states = run(X, 1.0, (3,), sweeps=400, by_passes=by_passes)
    with Workers() as workers:
        engine = RowsInMemory(X, workers)
        residuals = [divergence_residual(engine, s.codes, s.chain, Divergence(1.0)) for s in (states[1], states[-1])]
    assert residuals[1] < 1e-3 < residuals[0]


def test_encoded_rows_have_a_small_residual():
    X, D = counts(), np.random.default_rng(3).gamma(0.6, size=(5, P))
    with Workers() as workers:
        engine = RowsInMemory(X, workers)
        H = encode_by_divergence(engine, D, Divergence(1.0))
    slope = D.sum(axis=1) - (X / np.maximum(H @ D, EPSILON)) @ D.T
    violation = np.where(slope > 0, np.minimum(slope, H), slope)
    assert (
        np.linalg.norm(violation, axis=1).max() <= 10 * TOLERANCE * np.linalg.norm(D.sum(axis=1)) * X.sum(axis=1).max()
    )


# -------------------------------------------------------------------------------------------- passes, threads, batches


class CountingEngine(RowsInMemory):
    """Counts passes over X."""

    passes = 0

    def sweep(self, rows, step, out=None):
        self.passes += 1
        return super().sweep(rows, step, out)


@pytest.mark.parametrize("depth", SIZES)
@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_a_sweep_over_rows_is_one_pass_for_counts_and_one_per_layer_for_other_losses(beta, depth):
    X = counts()
    codes, factors = start(X, SIZES[depth])
    with Workers() as workers:
        engine = CountingEngine(X, workers)
        descent = PassSweeps(engine, Divergence(beta))
        state = descent.start(codes, Chain.of(factors))
        for _ in range(5):
            engine.passes = 0
            state = descent.advance(state)
            assert engine.passes == 1 if beta == 1 else 1 <= engine.passes <= depth  # fewer where one rose


def test_a_sweep_in_memory_is_a_pass_over_rows_and_one_over_columns(monkeypatch):
    from deepnmf.engines.entries import RowsByEntries

    passes, sweep = [], RowsByEntries.sweep
    monkeypatch.setattr(RowsByEntries, "sweep", lambda self, *args: passes.append(self) or sweep(self, *args))
    codes, factors = start(counts(), (7, 5, 3))
    with Workers() as workers:
        descent = DivergenceDescent(RowsInMemory(counts(), workers), Divergence(1.0))
        state = descent.start(codes, Chain.of(factors))
        for _ in range(5):
            passes.clear()
            state = descent.advance(state)
            assert [engine.n_samples for engine in passes] == [N, P]


@pytest.mark.parametrize("by_passes", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_any_number_of_threads_gives_the_same_bits(beta, kind, by_passes, small_blocks, monkeypatch):
    from deepnmf.engines import entries, memory

    monkeypatch.setattr(entries, "ENTRIES_TOGETHER", 100)
    monkeypatch.setattr(entries, "BY_COLUMNS", 0)
    monkeypatch.setattr(memory, "BLOCK_BYTES", 2**10)
    X, _ = data(kind, beta)
    ends = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            ends.append(run(X, beta, (6, 3), sweeps=8, by_passes=by_passes)[-1])
    assert ends[0].loss == ends[1].loss
    assert np.array_equal(ends[0].codes, ends[1].codes)
    assert all(np.array_equal(*pair) for pair in zip(ends[0].chain.factors, ends[1].chain.factors, strict=True))


@pytest.mark.parametrize("beta", [0.0, 1.0, 1.5])
def test_rows_of_a_file_or_of_dask_are_those_in_memory(beta, tmp_path):
    X = counts(positive=beta <= 0)
    codes, factors = start(X, (6, 3))
    np.save(tmp_path / "X.npy", X)
    losses = []
    with Workers() as workers:
        for rows in (X, row_source(tmp_path / "X.npy"), da.from_array(X, chunks=(15, P))):
            engine = make_engine(rows, workers=workers, nonnegative=True)
            descent = DivergenceDescent(engine, Divergence(beta), by_passes=True)
            state, _ = minimize(descent.advance, descent.start(codes, Chain.of(factors)), max_iter=8, tol=0, run=Run())
            decoder = state.chain.decoder()
            encoded = np.asarray(encode_by_divergence(engine, decoder, Divergence(beta)))
            own = divergence_of(engine, encoded, decoder, Divergence(beta))
            losses.append([state.loss, own, divergence_residual(engine, state.codes, state.chain, Divergence(beta))])
    assert np.allclose(losses, losses[0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse", "stored"])
def test_batches_come_close_to_the_fit_of_all_rows(kind):
    X, _ = data(kind, 1.0)
    whole = run(X, 1.0, (6, 3), sweeps=100)[-1]
    codes, factors = start(counts(), (6, 3))
    chain = Chain.of(factors)
    memory = CountMemory.of_codes(codes[:1], chain)
    with Workers() as workers:
        for _ in range(15):
            for part in (slice(0, 12), slice(12, 24), slice(24, N)):
                rows = X.rows(part) if hasattr(X, "rows") else X[part]
                state, memory = learn_count_batch(RowsInMemory(rows, workers), Divergence(1.0), chain, memory)
                chain = state.chain
        engine = RowsInMemory(X, workers)
        H = encode_by_divergence(engine, chain.decoder(), Divergence(1.0))
        assert divergence_of(engine, H, chain.decoder(), Divergence(1.0)) <= 1.2 * whole.loss
    assert memory.n_seen == 1 + 15 * N


def test_what_codes_would_have_left_is_a_fixed_point():
    codes, factors = start(counts(), (6, 3))
    chain = Chain.of(factors, (0.2, 0.0))
    again = CountMemory.of_codes(codes, chain).factors(chain, FREE)
    assert all(np.allclose(*pair) for pair in zip(chain.factors, again.factors, strict=True))
