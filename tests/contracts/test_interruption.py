"""Ctrl-C ends a fit with the best factors so far, a warning and a stop reason."""

import signal

import numpy as np
import pytest
from sklearn.base import clone

from catalogue import data
from deepnmf import CNMF, GDNMF, GNMF, NMF, SSNMF, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SemiNMF
from deepnmf.solvers import free_starts, starts


def interrupt_after(calls, monkeypatch):
    """Raise KeyboardInterrupt in the middle of a pass over X, `calls` passes from now."""
    from deepnmf.solvers import descent, small_descent

    seen = []

    def interrupted(original):
        def call(*arguments):
            seen.append(1)
            if len(seen) == calls:
                raise KeyboardInterrupt
            return original(*arguments)

        return call

    monkeypatch.setattr(descent.CodesStep, "__call__", interrupted(descent.CodesStep.__call__))
    monkeypatch.setattr(small_descent, "SWEEPS_AT_ONCE", 1)
    monkeypatch.setattr(small_descent, "sweeps_at_once", interrupted(small_descent.sweeps_at_once))


@pytest.mark.parametrize("model", [NMF(4, random_state=0, tol=0), NMF(4, random_state=0, tol=0, solver="mu")], ids=repr)
def test_a_fit_keeps_the_state_before_the_interrupted_sweep(model, monkeypatch):
    X = data()
    expected = clone(model).set_params(max_iter=11).fit(X)
    interrupt_after(12, monkeypatch)
    with pytest.warns(UserWarning, match="Interrupted: the fit ends with the best factors found so far"):
        model.fit(X)
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ == 11
    assert np.array_equal(model.components_, expected.components_)
    assert np.array_equal(model.codes_[-1], expected.codes_[-1])


@pytest.mark.parametrize("passes", [1, 3, 12])
@pytest.mark.parametrize(
    "model",
    [
        DeepNSNMF((8, 6, 4), pretrain_max_iter=10, pretrain_tol=0),
        DeepSemiNMF((8, 4)),
        MultilayerNMF((8, 4), tol=0),
        GDNMF((8, 4), pretrain_tol=0),
    ],
    ids=repr,
)
def test_an_interrupted_pretraining_gives_a_complete_model(model, passes, monkeypatch):
    X = data()
    interrupt_after(passes, monkeypatch)
    model = clone(model).set_params(random_state=0)
    with pytest.warns(UserWarning, match="Interrupted"):
        model.fit(X)
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ == len(model.loss_curve_)
    assert np.isfinite(model.transform(X)).all()
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - model.decode(model.codes_[-1])))


def test_running_blocks_do_not_change_the_state_that_is_kept(monkeypatch):
    X = data(n=6000, p=300)
    model = NMF(4, random_state=0, tol=0)
    expected = clone(model).set_params(max_iter=3).fit(X)
    interrupt_after(3 * 4 + 2, monkeypatch)  # four blocks per pass
    with pytest.warns(UserWarning, match="Interrupted"):
        model.fit(X)
    assert model.n_iter_ == 3
    assert np.array_equal(model.codes_[-1], expected.codes_[-1])


def test_stopping_greedy_layers_from_on_sweep_stops_all_of_them():
    calls = []
    model = MultilayerNMF((8, 4), random_state=0).fit(data(), on_sweep=lambda *call: calls.append(call) or True)
    assert len(calls) == 1
    assert model.stop_reason_ == "on_sweep"


def test_an_interruption_from_on_sweep_counts_the_sweep():
    def stop(sweep, loss):
        if sweep == 5:
            raise KeyboardInterrupt

    model = NMF(4, random_state=0, tol=0)
    with pytest.warns(UserWarning, match="Interrupted"):
        model.fit(data(), on_sweep=stop)
    assert model.n_iter_ == 5


def test_verbose_prints_progress_without_other_packages(capsys):
    DeepNSNMF((8, 4), random_state=0, max_iter=20, tol=0, verbose=1).fit(data())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("layer 1: sweep 1, loss ")
    assert any(line.startswith("fit: sweep 20, loss ") for line in lines)


def test_reaching_max_iter_warns_in_scikit_learns_words():
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="Maximum number of iterations 2 reached. Increase it"):
        NMF(4, max_iter=2, random_state=0).fit(data())


@pytest.fixture
def ctrl_c():
    """Send Ctrl-C as in a terminal, also in a worker of pytest that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def at_the_end_of(monkeypatch, module, name, action, nth=1):
    """Call `action` at the end of the nth call of a function."""
    original, calls = getattr(module, name), []

    def interrupted(*arguments, **named):
        result = original(*arguments, **named)
        calls.append(name)
        if len(calls) == nth:
            action()
        return result

    monkeypatch.setattr(module, name, interrupted)


STARTED = [
    NMF(4),
    CNMF(4),
    GNMF(4),
    SemiNMF(4),
    SSNMF(4),
    MultilayerNMF((8, 4)),
    DeepNSNMF((8, 4)),
    DeepSemiNMF((8, 4), activation="square"),
    GDNMF((8, 4)),
]


@pytest.mark.parametrize("model", STARTED, ids=repr)
def test_ctrl_c_during_the_initialization_ends_the_fit_with_its_result(model, ctrl_c, monkeypatch):
    X = data()
    for module in (starts, free_starts):
        at_the_end_of(monkeypatch, module, "truncated_svd", ctrl_c)
    model = clone(model).set_params(random_state=0)
    with pytest.warns(UserWarning, match="Interrupted: the fit ends with the best factors found so far"):
        model.fit(X)
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", 0)
    assert model.codes_[-1].shape == (60, 4)
    assert np.isfinite(model.transform(X)).all()
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - model.decode(model.codes_[-1])))


def test_ctrl_c_during_the_initialization_of_an_upper_layer_keeps_the_lower_one(ctrl_c, monkeypatch):
    X = data()
    at_the_end_of(monkeypatch, starts, "truncated_svd", ctrl_c, nth=2)
    model = MultilayerNMF((8, 4), random_state=0, tol=1e-3)
    with pytest.warns(UserWarning, match="Interrupted"):
        model.fit(X)
    assert model.stop_reason_ == "interrupted"
    monkeypatch.undo()
    undisturbed = MultilayerNMF((8, 4), random_state=0, tol=1e-3).fit(X)
    assert np.allclose(model.features_[0], undisturbed.features_[0])


def test_ctrl_c_in_the_last_pass_of_a_fit_loses_nothing(ctrl_c, monkeypatch):
    from deepnmf.solvers.chain_fit import BoundChain

    X, model = data(), NMF(4, random_state=0)
    expected = clone(model).fit(X)
    at_the_end_of(monkeypatch, BoundChain, "optimized", ctrl_c)
    with pytest.warns(UserWarning, match="Interrupted"):
        model.fit(X)
    assert model.stop_reason_ == expected.stop_reason_
    assert np.array_equal(model.codes_[-1], expected.codes_[-1])


def test_a_second_ctrl_c_ends_the_fit_and_leaves_the_model_as_it_was(ctrl_c, monkeypatch):
    X, model = data(), NMF(4, random_state=0)
    model.fit(X)
    components = model.components_
    at_the_end_of(monkeypatch, starts, "truncated_svd", lambda: [ctrl_c(), ctrl_c()])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:30])
    assert model.components_ is components


def test_ctrl_c_after_a_sweep_counts_the_sweep(ctrl_c, monkeypatch):
    from deepnmf.solvers import loop, small_descent

    monkeypatch.setattr(small_descent, "SWEEPS_AT_ONCE", 1)
    model = NMF(4, random_state=0, tol=0)
    at_the_end_of(monkeypatch, loop, "_reason_to_stop", ctrl_c, nth=9)  # two tests per sweep
    with pytest.warns(UserWarning, match="Interrupted"):
        model.fit(data())
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", 5)


def test_the_users_own_signal_handler_is_not_replaced(ctrl_c, monkeypatch):
    received = []
    before = signal.signal(signal.SIGINT, lambda *_: received.append("Ctrl-C"))
    at_the_end_of(monkeypatch, starts, "truncated_svd", ctrl_c)
    try:
        model = NMF(4, random_state=0).fit(data())
    finally:
        signal.signal(signal.SIGINT, before)
    assert received == ["Ctrl-C"]
    assert model.stop_reason_ != "interrupted"
