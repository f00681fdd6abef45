"""Rows of a dask array: the same factors as in memory, on threads and on a cluster, whatever happens to a worker."""

import os
import signal

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from catalogue import data
from deepnmf import GDNMF, GNMF, NMF, NSNMF, WSF, DeepNSNMF, DeepSemiNMF, SemiNMF, SparseDeepNMF
from deepnmf.engines import cluster, memory

MODELS = [
    NMF(4, random_state=0),
    NMF(4, alpha_W=0.01, random_state=0),
    NSNMF(4, random_state=0),
    SemiNMF(4, random_state=0),
    DeepNSNMF((8, 4), random_state=0),
    DeepSemiNMF((8, 4), random_state=0),
    SparseDeepNMF((8, 4), penalty="RL1", random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m)[:40])


def short(model):
    return clone(model).set_params(max_iter=7, tol=0)


def same(found, expected, tolerance=1e-8):
    return all(np.allclose(a, b, atol=tolerance) for a, b in zip(found.factors_, expected.factors_, strict=True))


@every_model
@pytest.mark.parametrize("chunks", [(17, -1), (25, 5), (1000, -1)])
def test_threads_give_the_factors_that_memory_gives(model, chunks):
    X = data()
    expected = short(model).fit(X)
    with dask.config.set(scheduler="threads"):
        found = short(model).fit(da.from_array(X, chunks=chunks))
        assert same(found, expected)
        assert np.allclose(found.codes_[-1].compute(), expected.codes_[-1], atol=1e-8)
        assert found.reconstruction_err_ == pytest.approx(expected.reconstruction_err_)


def test_the_same_blocks_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(memory, "SMALLEST_SPLIT", 0)
    monkeypatch.setattr(memory, "BLOCK_BYTES", 2**11)
    X = data()
    lengths = tuple(block.stop - block.start for block in memory.row_blocks(len(X), X.nbytes))
    expected = short(NMF(4, random_state=0)).fit(X)
    found = short(NMF(4, random_state=0)).fit(da.from_array(X, chunks=(lengths, -1)))
    assert len(lengths) > 2
    assert all((a == b).all() for a, b in zip(found.factors_, expected.factors_, strict=True))


def test_sparse_chunks_stay_sparse():
    X = sparse.random_array((80, 20), density=0.2, format="csr", rng=np.random.default_rng(0))
    blocks = da.from_array(X.toarray(), chunks=(30, -1)).map_blocks(sparse.csr_array)
    assert same(short(NMF(4, random_state=0)).fit(blocks), short(NMF(4, random_state=0)).fit(X))


def test_transform_is_lazy():
    X = data()
    model = short(NMF(4, random_state=0)).fit(X)
    asked = []

    def noted(block):
        asked.append(len(block))
        return block

    lazy = model.transform(da.from_array(X, chunks=(20, -1)).map_blocks(noted, dtype=X.dtype, meta=X[:0]))
    before = len(asked)
    assert isinstance(lazy, da.Array)
    assert np.allclose(lazy[:20].compute(), model.transform(X[:20]))
    assert before <= 6  # the pass that measures X, and nothing of the codes


def test_precision_is_kept():
    X = data().astype(np.float32)
    found = short(NMF(4, random_state=0)).fit(da.from_array(X, chunks=(20, -1)))
    assert found.components_.dtype == found.codes_[-1].dtype == np.float32


def test_a_pass_has_as_many_tasks_after_many_passes_as_before():
    X = da.from_array(data(), chunks=(20, -1))
    counts = []

    def counting(graph, keys, **settings):
        graph = graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph
        counts.append(len(graph))
        return dask.get(graph, keys, **settings)

    with dask.config.set(scheduler=counting):
        NMF(4, random_state=0, tol=0, max_iter=40).fit(X)
    assert max(counts[-20:]) <= max(counts[:20])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X: X[X[:, 0] > 0.5], "chunks of unknown size"),
        (lambda X: da.where(X.max() == X, np.nan, X), "contains NaN or infinity"),
        (lambda X: X - 2, "Negative values in data"),
        (lambda X: X[0], "Expected 2D array"),
        (lambda X: X.astype(complex), "real numbers are expected"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(spoil, words):
    with pytest.raises(ValueError, match=words):
        NMF(4).fit(spoil(da.from_array(data(), chunks=(20, -1))))


def test_other_collections_of_dask_are_refused():
    with pytest.raises(TypeError, match="a dask array is expected"):
        NMF(4).fit(dask.delayed(data)())


@pytest.mark.parametrize("model", [GNMF(4), WSF(4), GDNMF((8, 4)), DeepSemiNMF((8, 4), activation="stanh")], ids=repr)
def test_models_whose_rows_depend_on_each_other_say_so(model):
    with pytest.raises(ValueError, match="takes no dask arrays"):
        model.fit(da.from_array(data(), chunks=(20, -1)))


@pytest.fixture(scope="module")
def two_workers():
    """A cluster of two processes."""
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")  # distributed's own, on closing
@pytest.mark.parametrize("model", [MODELS[0], MODELS[4], MODELS[5]], ids=lambda m: type(m).__name__)
def test_a_cluster_gives_the_factors_that_memory_gives(model, two_workers):
    X = data()
    assert same(short(model).fit(da.from_array(X, chunks=(20, -1))), short(model).fit(X))


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dies_costs_its_blocks_and_not_the_fit(two_workers):
    X = data(n=200)
    killed = []

    def kill(sweep, loss):
        if sweep == 8 and not killed:
            killed.append(next(iter(two_workers.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    model = NMF(4, random_state=0, tol=0, max_iter=25)
    found = clone(model).fit(da.from_array(X, chunks=(40, -1)), on_sweep=kill)
    assert killed
    assert same(found, clone(model).fit(X))


@pytest.mark.filterwarnings("ignore")
def test_the_scheduler_does_not_remember_every_pass(two_workers):
    X = da.from_array(data(), chunks=(20, -1))
    counts = []

    def tasks(dask_scheduler):
        return len(dask_scheduler.tasks)

    NMF(4, random_state=0, tol=0, max_iter=60).fit(
        X, on_sweep=lambda *_: counts.append(two_workers.run_on_scheduler(tasks)) and None
    )
    assert cluster.PASSES_TOGETHER < 10
    assert max(counts[-20:]) <= 1.5 * max(counts[10:30])
