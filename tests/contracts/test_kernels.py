"""The compiled loops: each gives the results of its plain twin, for independent rows."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from scipy import sparse

from deepnmf.kernels import (
    TWINS,
    Position,
    SmallProblem,
    StoppingRule,
    descend_beta,
    descend_counts,
    descend_dense_counts,
    descend_layers,
    descend_layers_of_counts,
    descend_observed,
    descend_rows,
    first_maxima,
    polish_rows,
    quadratic_descent,
    sampled_products,
    sweeps_at_once,
)
from deepnmf.kernels.compilation import CompiledLoop
from deepnmf.kernels.layered_codes import UpperLayers
from deepnmf.kernels.poisson import CodesProblem, Entries

DTYPES = [np.float64, np.float32]


def quadratic(rng, n_rows=130, order=7, dtype=np.float64):
    """Nonnegative rows to start from, a Gram matrix, and linear terms of both signs."""
    D = rng.standard_normal((order, order + 3))
    F, H = rng.standard_normal((n_rows, order)), np.maximum(rng.standard_normal((n_rows, order)), 0)
    return H.astype(dtype), (D @ D.T).astype(dtype), F.astype(dtype)


def observed(rng, dtype):
    """Rows with a third of their entries stored, one of them empty, and weights."""
    X = sparse.random_array((40, 25), density=0.3, format="lil", rng=rng)
    X[3] = 0
    X = X.tocsr().astype(dtype)
    return X, rng.random(X.nnz).astype(dtype)


def rows_arguments(rng, dtype):
    H, G, F = quadratic(rng, dtype=dtype)
    return H, G, F, 4


def polish_arguments(rng, dtype):
    H, G, F = quadratic(rng)  # codes are always polished in double precision
    return descend_rows(H, G, F, 20)[0], G, F, 1e-10


def maxima_arguments(rng, dtype):
    rows = np.arange(60)
    return rng.integers(0, 4, (60, 5)).astype(dtype), np.maximum(rows - 3, 0), np.minimum(rows + 5, 60)


def products_arguments(rng, dtype):
    return observed(rng, dtype)[0], rng.random((40, 6)).astype(dtype), rng.random((6, 25)).astype(dtype)


def observed_arguments(rng, dtype):
    features, H = rng.random((25, 6)), rng.random((40, 6))
    features[:, 2] = 0
    return *observed(rng, dtype), features.astype(dtype), H.astype(dtype), 3, True


def counts_problem(rng, dtype):
    features = rng.random((25, 6)).astype(dtype)
    features[:, 2] = 0
    return CodesProblem(features, features.sum(axis=0), 0.1, 0.2, 1e-7)


def counts_arguments(rng, dtype):
    X, weights = observed(rng, dtype)
    return (
        Entries(X.indptr, X.indices, X.data, weights),
        counts_problem(rng, dtype),
        rng.random((40, 6)).astype(dtype),
        3,
    )


def dense_counts_arguments(rng, dtype):
    X = rng.poisson(rng.gamma(0.7, size=(40, 1)), (40, 25)).astype(dtype)  # rows with few zeros and with many
    return X, counts_problem(rng, dtype), rng.random((40, 6)).astype(dtype), 3


def beta_arguments(rng, dtype):
    X, weights, D, H = (rng.random(shape).astype(dtype) for shape in ((40, 25), (40, 25), (6, 25), (40, 6)))
    return X, weights, D, H, 1.3, (0.1, 0.2), 1e-7, 3


def upper_layers(rng, dtype, squared):
    factors = [rng.random(shape) for shape in ((6, 25), (4, 6), (3, 4))]
    return UpperLayers.of(factors, (0.5, 0.3), squared, np.dtype(dtype))


def layers_arguments(rng, dtype, squared=(False, False)):
    _, G, F = quadratic(rng, 40, 6, dtype)
    G[2] = G[:, 2] = 0
    return rng.random((40, 13)).astype(dtype), F, G, upper_layers(rng, dtype, squared), 3


def layers_of_counts_arguments(rng, dtype, squared=(False, False)):
    X, weights = observed(rng, dtype)
    features = rng.random((25, 6)).astype(dtype)
    return (
        rng.random((40, 13)).astype(dtype),
        Entries(X.indptr, X.indices, X.data, weights),
        CodesProblem(features, features.sum(axis=0), 0.0, 0.0, 1e-7),
        upper_layers(rng, dtype, squared),
        3,
    )


def whole_sweeps_arguments(rng, dtype):
    X, codes, plain, Z, ahead = (rng.random(shape) for shape in ((50, 18), (50, 5), (50, 5), (5, 18), (5, 18)))
    Z[2] = ahead[2] = 0
    penalties = 0.3, 0.2, 0.1, 0.05
    problem = SmallProblem(X.astype(dtype), float(np.sum(X**2)), 1e-9, 0.0, 1e-30, 3, 2, False, *penalties)
    position = Position(
        codes=codes.astype(dtype),
        plain_codes=plain.astype(dtype),
        Z=Z,
        ahead=ahead,
        extrapolates=True,
        loss=np.inf,
        optimality=np.inf,
        most_inner=1,
        n_plain=2,
        is_exhausted=False,
        beta=0.5,
        ceiling=1.0,
    )
    n_sweeps = 40 if dtype == np.float64 else 8  # rounding errors grow with the sweeps
    return problem, position, StoppingRule(tol=1e-4), np.zeros(n_sweeps), 0, 0.0


ARGUMENTS = {
    descend_beta: beta_arguments,
    descend_counts: counts_arguments,
    descend_dense_counts: dense_counts_arguments,
    descend_layers: layers_arguments,
    descend_layers_of_counts: layers_of_counts_arguments,
    descend_rows: rows_arguments,
    polish_rows: polish_arguments,
    first_maxima: maxima_arguments,
    sampled_products: products_arguments,
    sweeps_at_once: whole_sweeps_arguments,
    descend_observed: observed_arguments,
}


def copied(arguments):
    return [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]


def flat(results):
    """The numbers and arrays of nested tuples."""
    return [part for one in results for part in (flat(one) if isinstance(one, tuple) else [one])]


def assert_close(found, expected, dtype):
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    assert np.allclose(found, expected, rtol=tolerance, atol=tolerance * (1 + np.abs(expected).max(initial=0)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", TWINS, ids=lambda kernel: kernel.__name__)
def test_a_kernel_and_its_plain_twin_agree(kernel, dtype):
    arguments = ARGUMENTS[kernel](np.random.default_rng(0), dtype)
    given, given_plainly = copied(arguments), copied(arguments)
    found, expected = kernel(*given), TWINS[kernel](*given_plainly)
    if not isinstance(found, tuple):
        found, expected = ([] if one is None else [one] for one in (found, expected))
    changed_in_place = [
        pair for pair in zip(given, given_plainly, strict=True) if all(isinstance(one, np.ndarray) for one in pair)
    ]
    for one, other in [*zip(flat(found), flat(expected), strict=True), *changed_in_place]:
        assert_close(one, other, dtype)


@pytest.mark.parametrize("kernel", [descend_layers, descend_layers_of_counts])
@pytest.mark.parametrize("squared", [(True, False), (False, True), (True, True)])
def test_layers_of_squared_errors_and_their_plain_twins_agree(kernel, squared):
    arguments = ARGUMENTS[kernel](np.random.default_rng(0), np.float64, squared)
    given, given_plainly = copied(arguments), copied(arguments)
    kernel(*given)
    TWINS[kernel](*given_plainly)
    assert_close(given[0], given_plainly[0], np.float64)
    assert not np.allclose(given[0], arguments[0])


@pytest.mark.parametrize("kernel", [descend_counts, descend_dense_counts, descend_observed])
def test_coordinates_that_are_still_do_not_move(kernel):
    rng = np.random.default_rng(0)
    arguments, still = ARGUMENTS[kernel](rng, np.float64), rng.random((40, 6)) < 0.3
    given, given_plainly = copied(arguments), copied(arguments)
    found, expected = kernel(*given, still=still), TWINS[kernel](*given_plainly, still=still)
    (place,) = [i for i, one in enumerate(arguments) if isinstance(one, np.ndarray) and one.shape == (40, 6)]
    assert np.array_equal(given[place][still], arguments[place][still])
    assert_close(given[place], given_plainly[place], np.float64)
    assert_close(found, np.asarray(expected), np.float64)


@pytest.mark.parametrize("kernel", [descend_counts, descend_dense_counts])
def test_sums_over_rows_count_each_row_by_its_weight(kernel):
    rng = np.random.default_rng(0)
    arguments, weights = ARGUMENTS[kernel](rng, np.float64), rng.uniform(0, 3, 40)
    M, M_plainly = (np.zeros_like(arguments[1].features) for _ in range(2))
    found = kernel(*copied(arguments), M=M, row_weights=weights)
    assert_close(found, np.asarray(TWINS[kernel](*copied(arguments), M=M_plainly, row_weights=weights)), np.float64)
    assert_close(M, M_plainly, np.float64)
    assert not np.allclose(found, kernel(*copied(arguments)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [1, 2, 3, 5, 8, 31])
@pytest.mark.parametrize("tol", [0.0, 1e-3])
def test_descent_gives_a_row_the_same_bits_with_any_other_rows(order, dtype, tol):
    H, G, F = quadratic(np.random.default_rng(order), 120, order, dtype)
    together, _ = descend_rows(H, G, F, 30, tol)
    for size in (1, 3, 16, 17, 95, 97):
        for first in range(0, 120, size):
            rows = slice(first, first + size)
            assert np.array_equal(descend_rows(H[rows], G, F[rows], 30, tol)[0], together[rows])


@pytest.mark.parametrize("far", [0.0, 1.0])
def test_polishing_is_exact_and_gives_a_row_the_same_bits_with_any_other_rows(far):
    rng = np.random.default_rng(0)
    _, G, F = quadratic(rng, 40, 50)
    near = descend_rows(np.zeros_like(F), G, F, 20)[0]
    starts = near + far * np.maximum(rng.standard_normal(F.shape), 0)  # starts that are far free and fix many entries
    starts[20:] = starts[:20] * (rng.random((20, 50)) < 0.98)  # rows that begin with the same free entries
    together, expected = starts.copy(), starts.copy()
    assert polish_rows(together, G, F, 1e-10).all()
    assert TWINS[polish_rows](expected, G, F, 1e-10).all()
    assert_close(together, expected, np.float64)
    for i in range(len(F)):
        alone = starts[i : i + 1].copy()
        polish_rows(alone, G, F[i : i + 1], 1e-10)
        assert np.array_equal(alone[0], together[i])


@pytest.mark.parametrize("tol", [0.0, 1e-2])
def test_descent_stops_where_its_plain_twin_stops(tol):
    H, G, F = quadratic(np.random.default_rng(1))
    found, expected = descend_rows(H, G, F, 200, tol), TWINS[descend_rows](H, G, F, 200, tol)
    assert_close(found[0], expected[0], np.float64)
    assert found[1] == pytest.approx(expected[1])


def test_descent_sets_an_entry_without_curvature_to_zero_if_it_is_penalized():
    H, F = np.full((3, 3), 2.0), np.array([[1.0, -1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    G = np.diag([1.0, 0.0, 1.0])
    assert np.array_equal(descend_rows(H, G, F, 2)[0], [[1, 0, 1], [1, 2, 1], [1, 2, 1]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_descent_divides_by_curvatures_whose_reciprocals_overflow(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    G, F = np.full((1, 1), 8 * tiny, dtype), np.full((20, 1), 24 * tiny, dtype)
    assert np.array_equal(descend_rows(np.zeros((20, 1), dtype), G, F, 1)[0], np.full((20, 1), 3, dtype))


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed"])
@pytest.mark.parametrize("other", ["C", "F", "strided"])
def test_descent_accepts_any_memory_order_and_keeps_it(layout, other):
    laid_out = {
        "C": np.ascontiguousarray,
        "F": np.asfortranarray,
        "strided": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
        "reversed": lambda A: np.ascontiguousarray(A[::-1])[::-1],
    }
    H, G, F = quadratic(np.random.default_rng(2))
    given = laid_out[layout](H)
    found, violation = descend_rows(given, G, laid_out[other](F), 3)
    expected, expected_violation = descend_rows(H, G, F, 3)
    assert np.array_equal(found, expected)
    assert violation == expected_violation
    assert np.array_equal(given, H)  # the given rows are not changed
    assert found.flags.f_contiguous == (layout == "F")


def test_descent_of_an_empty_array_is_an_empty_array():
    rows, violation = descend_rows(np.empty((0, 3)), np.eye(3), np.empty((0, 3)), 2)
    assert rows.shape == (0, 3)
    assert violation == 0


def test_threads_that_compile_at_the_same_time_share_one_function():
    loop = CompiledLoop(quadratic_descent.descend_in_place.function)
    with ThreadPoolExecutor(4) as pool:
        dispatchers = list(pool.map(lambda _: loop.dispatcher, range(8)))
    assert all(dispatcher is dispatchers[0] for dispatcher in dispatchers)


def test_a_loop_runs_without_a_writable_cache():
    names = {}
    exec("def double(x): return 2 * x", names)  # it has no source file, so numba cannot cache it
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(names["double"])
    assert CompiledLoop(names["double"])(21) == 42


def test_numba_is_not_imported_before_a_kernel_runs():
    code = "import sys, deepnmf.models, deepnmf.kernels; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def compiled_loops():
    modules = [module for name, module in sys.modules.items() if name.startswith("deepnmf.kernels.")]
    return {
        id(value): value for module in modules for value in vars(module).values() if isinstance(value, CompiledLoop)
    }


@pytest.mark.parametrize("loop", compiled_loops().values(), ids=lambda loop: loop.function.__qualname__)
def test_loops_that_others_call_are_inlined(loop):
    """A process that compiles and one that reads the cache would call different versions of them."""
    called = (loop.function.__globals__.get(name) for name in loop.function.__code__.co_names)
    assert all(other.inline for other in called if isinstance(other, CompiledLoop))
