"""Rows of a dask array: the same factors as in memory, on threads and on a cluster, even if workers die."""

import logging
import os
import signal
from contextlib import suppress

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from catalogue import data
from deepnmf import GDNMF, GNMF, NMF, NSNMF, WSF, DeepNSNMF, DeepSemiNMF, SemiNMF, SparseDeepNMF
from deepnmf.engines import Workers, cluster, memory

NONNEGATIVE, MIXED = (
    model((8, 4), pretrain_max_iter=6, pretrain_tol=0, random_state=0) for model in (DeepNSNMF, DeepSemiNMF)
)
MODELS = [
    NMF(4, random_state=0),
    NMF(4, alpha_W=0.01, random_state=0),
    NSNMF(4, random_state=0),
    SemiNMF(4, random_state=0),
    NONNEGATIVE,
    MIXED,
    SparseDeepNMF((8, 4), penalty="RL1", random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m)[:40])


def short(model):
    return clone(model).set_params(max_iter=7, tol=0)


def same(found, expected, tolerance=1e-8):
    return all(np.allclose(a, b, atol=tolerance) for a, b in zip(found.factors_, expected.factors_, strict=True))


@every_model
@pytest.mark.parametrize("chunks", [(17, -1), (25, 5), (1000, -1)])
def test_threads_give_the_same_factors_as_in_memory(model, chunks):
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


def test_transform_of_a_dask_array_is_lazy():
    X = data()
    model = short(NMF(4, random_state=0)).fit(X)
    computed = []

    def recorded(block):
        computed.append(len(block))
        return block

    lazy = model.transform(da.from_array(X, chunks=(20, -1)).map_blocks(recorded, dtype=X.dtype, meta=X[:0]))
    before = len(computed)
    assert isinstance(lazy, da.Array)
    assert np.allclose(lazy[:20].compute(), model.transform(X[:20]))
    assert before <= 6  # the pass that computes the sizes of X; no codes are computed


def test_precision_is_kept():
    X = data().astype(np.float32)
    found = short(NMF(4, random_state=0)).fit(da.from_array(X, chunks=(20, -1)))
    assert found.components_.dtype == found.codes_[-1].dtype == np.float32


def test_the_number_of_tasks_of_a_pass_does_not_grow():
    X = da.from_array(data(), chunks=(20, -1))
    counts = []

    def counting(graph, keys, **settings):
        graph = graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph
        counts.append(len(graph))
        return dask.get(graph, keys, **settings)

    with dask.config.set(scheduler=counting):
        NMF(4, random_state=0, tol=0, max_iter=40).fit(X)
    # A sweep that is undone has a few tasks less or more; tasks that are remembered would add up over the passes.
    assert max(counts[-20:]) <= 1.5 * max(counts[:20])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X: X[X[:, 0] > 0.5], "chunks of unknown size"),
        (lambda X: da.where(X.max() == X, np.nan, X), "contains NaN or infinity"),
        (lambda X: X - 2, "Negative values in data"),
        (lambda X: X[0], "Expected 2D array"),
        (lambda X: X.astype(complex), "expected real numbers"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(spoil, words):
    with pytest.raises(ValueError, match=words):
        NMF(4).fit(spoil(da.from_array(data(), chunks=(20, -1))))


def test_other_collections_of_dask_are_refused():
    with pytest.raises(TypeError, match="expected a dask array"):
        NMF(4).fit(dask.delayed(data)())


@pytest.mark.parametrize("model", [GNMF(4), WSF(4), GDNMF((8, 4)), DeepSemiNMF((8, 4), activation="stanh")], ids=repr)
def test_models_whose_rows_depend_on_each_other_refuse_dask_arrays(model):
    with pytest.raises(ValueError, match="X is a dask array, which"):
        model.fit(da.from_array(data(), chunks=(20, -1)))


def test_a_pass_uses_each_block_once():
    seen = []

    def step(X_b, _):
        seen.append(X_b.shape[0])
        return (X_b @ np.eye(X_b.shape[1], 2),), (np.ones((1, X_b.shape[0])) @ X_b,)

    with Workers() as workers:
        engine = cluster.RowsOnCluster(da.from_array(data(), chunks=(20, -1)), workers)
        engine.sweep((), step)
    assert sorted(seen, reverse=True) == [*[20] * (len(data()) // 20), 1]  # and one row, for the shapes of the results


@pytest.fixture(scope="module")
def two_workers():
    """A cluster of two processes, which are restarted whenever they are killed."""
    distributed = pytest.importorskip("distributed")
    settings = {"distributed.worker.daemon": False, "distributed.deploy.lost-worker-timeout": "1 hour"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture
def log(two_workers):
    """The log messages of the cluster about its workers."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("distributed").addHandler(handler)
    two_workers.wait_for_workers(2)
    yield lines
    logging.getLogger("distributed").removeHandler(handler)


@pytest.fixture
def kill_in(monkeypatch, tmp_path):
    """Return a function that lets one worker die in the nth pass of a step over data of a given width."""
    marker = tmp_path / "die"

    def prepare(width, step_name, nth):
        passes = []
        undisturbed = cluster.RowsOnCluster.sweep

        def sweep(engine, rows, step, out=None):
            if engine.n_features == width and step_name in str(step):
                passes.append(step)
                if len(passes) == nth:
                    marker.touch()
                    step = dying_once(step, marker, os.getpid())
            return undisturbed(engine, rows, step, out)

        monkeypatch.setattr(cluster.RowsOnCluster, "sweep", sweep)
        return marker

    return prepare


def dying_once(step, marker, caller):
    """The step, but the first worker that removes the marker file kills itself."""

    def on_block(X_b, rows):
        if os.getpid() != caller:
            with suppress(FileNotFoundError):  # another worker has removed it
                marker.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return step(X_b, rows)

    return on_block


@pytest.mark.filterwarnings("ignore")  # warnings of distributed when it closes
@pytest.mark.parametrize("model", [MODELS[0], NONNEGATIVE, MIXED], ids=lambda m: type(m).__name__)
def test_a_cluster_gives_the_same_factors_as_in_memory(model, two_workers):
    X = data()
    assert same(short(model).fit(da.from_array(X, chunks=(20, -1))), short(model).fit(X))


MOMENTS = {  # width of the data, step, and which of its passes
    "sweep": (NMF(4, random_state=0), 24, "CodesStep", 6),
    "start of the upper layer": (NONNEGATIVE, 8, "Projection", 1),
    "sweep of the upper layer": (MIXED, 8, "CodesStep", 6),
    "first sweep of all layers": (NONNEGATIVE, 24, "CodesStep", 7),
    "residual": (MIXED, 24, "ResidualStep", 1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_a_fit_survives_a_worker_that_dies(moment, two_workers, log, kill_in):
    model, *when = moment
    blocks = da.from_array(data(), chunks=(15, -1))
    with dask.config.set(scheduler="threads"):
        expected = short(model).fit(blocks)
    X = blocks.persist()
    marker = kill_in(*when)
    marker.touch()  # only a worker that dies removes it
    found = short(model).fit(X)
    assert not marker.exists()
    assert any("killed by signal 9" in line for line in log), log
    assert any("lose already computed task(s), which will be recomputed" in line for line in log), log
    assert all((a == b).all() for a, b in zip(found.factors_, expected.factors_, strict=True))
    assert (found.codes_[-1].compute() == expected.codes_[-1].compute()).all()
    assert found.reconstruction_err_ == expected.reconstruction_err_


@pytest.mark.filterwarnings("ignore")
def test_lazy_codes_are_computed_after_a_worker_with_their_data_died(two_workers, log):
    X = data()
    model = short(NMF(4, random_state=0)).fit(X)
    codes = model.transform(da.from_array(X, chunks=(15, -1)).persist())
    os.kill(next(iter(two_workers.run(os.getpid).values())), signal.SIGKILL)
    assert np.allclose(codes.compute(), model.transform(X))


@pytest.mark.filterwarnings("ignore")
def test_data_that_cannot_be_computed_again_are_reported(two_workers, log, kill_in):
    scattered = two_workers.scatter(np.split(data(seed=2), 4), hash=False)
    X = da.concatenate([da.from_delayed(dask.delayed(part), (15, 24), float) for part in scattered])
    kill_in(24, "CodesStep", 2)
    with pytest.raises(RuntimeError, match="dask cannot compute their data again"):
        NMF(4, random_state=0).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_a_block_that_kills_its_workers_ends_the_fit_with_an_error(two_workers, log, kill_in):
    two_workers.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    kill_in(24, "CodesStep", 2)
    try:
        with pytest.raises(RuntimeError, match="a block is too large for the memory of a worker"):
            NMF(4, random_state=0).fit(
                da.from_array(data(seed=1), chunks=(15, -1))
            )  # other data, since dask remembers the failure of a task by its name
    finally:
        two_workers.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))


@pytest.mark.filterwarnings("error:Sending large graph")
def test_rows_in_a_graph_do_not_cause_a_warning(two_workers):
    X = da.from_array(data(), chunks=(15, -1)).persist()
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": 8 * data().size}):
        NMF(24, init="random", random_state=0, tol=0, max_iter=6).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_the_number_of_tasks_on_the_scheduler_does_not_grow(two_workers):
    X = da.from_array(data(), chunks=(15, -1))
    counts = []

    def tasks(dask_scheduler):
        return len(dask_scheduler.tasks)

    NMF(4, random_state=0, tol=0, max_iter=40).fit(
        X, on_sweep=lambda *_: counts.append(two_workers.run_on_scheduler(tasks)) and None
    )
    assert cluster.PASSES_BETWEEN_FETCHES < 10
    assert max(counts[-10:]) <= 1.5 * max(counts[5:20])


@pytest.fixture
def client(two_workers):
    """Another client of the cluster, which a test may close."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(two_workers.scheduler.address) as client:
        yield client


CLOSED = "the dask client is closed: keep it open until the fit ends"


def test_a_client_closed_before_a_pass_is_reported(client):
    X = da.from_array(data(), chunks=(20, -1)).persist()
    with pytest.raises(RuntimeError, match=CLOSED):
        NMF(4, random_state=0, tol=0).fit(X, on_sweep=lambda *_: client.close())
    with pytest.raises(RuntimeError, match=CLOSED):
        NMF(4, random_state=0, tol=0).fit(X)


def test_a_client_closed_during_a_pass_is_reported(client, monkeypatch):
    persisted = cluster._persisted

    def persisted_then_closed(*collections):
        result = persisted(*collections)
        if len(collections) > 1:  # new rows and sums, so this is a sweep
            client.close()
        return result

    monkeypatch.setattr(cluster, "_persisted", persisted_then_closed)
    with pytest.raises(RuntimeError, match=CLOSED):
        NMF(4, random_state=0).fit(da.from_array(data(), chunks=(20, -1)))
