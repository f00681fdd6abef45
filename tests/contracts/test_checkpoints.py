"""A fit that was ended at any moment resumes from its checkpoint, with the same bits."""

import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import deepnmf
from catalogue import SMALL, data, name_of
from deepnmf import GDNMF, NMF, DeepNMFNetwork, DeepNSNMF, DeepSemiNMF
from deepnmf.solvers import checkpoints

pytestmark = pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")


CHECKPOINTED = [
    *SMALL,
    NMF(4, solver="mu", random_state=0),
    DeepSemiNMF((12, 8, 4), activation="square", init="kmeans", random_state=0),
    DeepNMFNetwork((8, 4), pool_size=3, backprop=False, init="random", random_state=0),
    GDNMF((8, 4), basis_sizes=8, paths="deep", activation="softplus", random_state=0),
]


class KilledError(BaseException):
    """Represents anything that ends a process."""


def end_after(writes, monkeypatch):
    """End the process after a number of checkpoints; return a list with an entry for each one written."""
    original, seen = checkpoints.write, []

    def write(*arguments):
        original(*arguments)
        seen.append(1)
        if len(seen) == writes:
            raise KilledError

    monkeypatch.setattr(checkpoints, "write", write)
    return seen


def fitted(model, path=None):
    X = data()
    return clone(model).set_params(max_iter=12).fit(X, np.arange(len(X)) % 3, checkpoint=path, checkpoint_seconds=0)


def assert_same(model, other):
    for name in ("factors_", "features_", "codes_"):
        for array, expected in zip(getattr(model, name), getattr(other, name), strict=True):
            assert np.array_equal(array, expected)
    assert np.array_equal(model.loss_curve_, other.loss_curve_)
    assert model.stop_reason_ == other.stop_reason_
    assert model.reconstruction_err_ == other.reconstruction_err_


@pytest.mark.parametrize("model", CHECKPOINTED, ids=name_of)
def test_a_killed_fit_resumes_with_the_bits_of_an_undisturbed_one(model, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    undisturbed = fitted(model)
    with monkeypatch.context() as patch:
        seen = end_after(0, patch)
        assert_same(fitted(model, path), undisturbed)
    n_writes = len(seen)
    assert n_writes >= 2
    assert not path.exists()
    for moment in sorted({1, n_writes // 2, n_writes - 1}):
        with monkeypatch.context() as patch:
            end_after(moment, patch)
            with pytest.raises(KilledError):
                fitted(model, path)
        assert path.exists()
        with monkeypatch.context() as patch:
            remaining = end_after(0, patch)
            assert_same(fitted(model, path), undisturbed)
        assert len(remaining) <= n_writes - moment + 1  # completed sweeps are not repeated
        assert not path.exists()


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (NMF(4, random_state=0), data() + 1e-9),
        (NMF(4, random_state=0), data().astype(np.float32)),
        (NMF(5, random_state=0), data()),
        (NMF(4, random_state=1), data()),
        (deepnmf.NSNMF(4, random_state=0), data()),
    ],
    ids=["data", "dtype", "size", "seed", "model"],
)
def test_a_checkpoint_of_another_fit_is_refused_and_not_changed(model, X, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    with monkeypatch.context() as patch:
        end_after(3, patch)
        with pytest.raises(KilledError):
            NMF(4, random_state=0).fit(data(), checkpoint=path, checkpoint_seconds=0)
    content = path.read_bytes()
    with pytest.raises(ValueError, match="belongs to a fit with other data or other parameters"):
        model.fit(X, checkpoint=path)
    assert path.read_bytes() == content


def test_an_interrupted_fit_leaves_a_checkpoint_to_resume_from(tmp_path):
    path, X = tmp_path / "fit.checkpoint", data()
    model = DeepNSNMF((8, 4), random_state=0, tol=0, max_iter=30)

    def interrupt(sweep, loss):
        if sweep == 7:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="Interrupted"):
        clone(model).fit(X, on_sweep=interrupt, checkpoint=path)
    resumed, sweeps = clone(model), []
    resumed.fit(X, on_sweep=lambda sweep, loss: sweeps.append(sweep), checkpoint=path)
    assert sweeps[0] in (7, 8)
    assert_same(resumed, clone(model).fit(X))


@pytest.mark.parametrize("content", [b"", b"something else", b"\x10\0\0\0\0\0\0\0{}"])
def test_a_file_that_is_not_a_checkpoint_is_refused_and_not_changed(content, tmp_path):
    path = tmp_path / "mine"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="mine"):
        NMF(3).fit(data(), checkpoint=path)
    assert path.read_bytes() == content


def test_a_model_file_is_refused_as_a_checkpoint(tmp_path):
    NMF(3, random_state=0).fit(data()).save(tmp_path / "model")
    with pytest.raises(ValueError, match="is not a checkpoint of a fit"):
        NMF(3, random_state=0).fit(data(), checkpoint=tmp_path / "model")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"checkpoint": "nowhere/fit"}, "checkpoint is 'nowhere/fit': expected a file in an existing folder"),
        ({"checkpoint": "fit", "checkpoint_seconds": -1}, "checkpoint_seconds is -1: expected a number of seconds"),
    ],
)
def test_an_invalid_checkpoint_argument_is_refused(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=sentence):
        NMF(3).fit(data(), **arguments)


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_checkpoint_that_cannot_be_written_gives_one_warning_and_the_fit_continues(tmp_path, monkeypatch):
    path, model = tmp_path / "fit.checkpoint", DeepNSNMF((8, 4), random_state=0)
    monkeypatch.setattr(checkpoints, "write", full_disk)
    with pytest.warns(
        UserWarning, match="fit.checkpoint' cannot be written, so the fit continues without it"
    ) as caught:
        kept = fitted(model, path)
    assert sum("No space left on device" in str(warning.message) for warning in caught) == 1
    assert_same(kept, fitted(model))


def test_a_checkpoint_is_written_again_after_a_failure(tmp_path, monkeypatch):
    path, original, calls = tmp_path / "fit.checkpoint", checkpoints.write, []

    def full_disk_at_first(*arguments):
        calls.append(path.exists())
        return original(*arguments) if len(calls) > 1 else full_disk()

    monkeypatch.setattr(checkpoints, "write", full_disk_at_first)
    with pytest.warns(UserWarning, match="cannot be written"):
        fitted(NMF(4, random_state=0, tol=0), path)
    assert calls[:3] == [False, False, True]
    assert not path.exists()


def test_a_checkpoint_that_cannot_be_removed_gives_a_warning(tmp_path, monkeypatch):
    model = NMF(4, random_state=0)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Path, "unlink", full_disk)
        with pytest.warns(UserWarning, match="cannot be removed, although the fit is over"):
            kept = fitted(model, tmp_path / "fit.checkpoint")
    assert_same(kept, fitted(model))


@pytest.mark.parametrize("exists", [True, False])
def test_a_checkpoint_that_is_a_link_stays_a_link(exists, tmp_path, monkeypatch):
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    if exists:
        end_after(1, monkeypatch)
        with pytest.raises(KilledError):
            fitted(NMF(4, random_state=0), target)
        monkeypatch.undo()
        assert target.exists()
    fitted(NMF(4, random_state=0), link)
    assert link.is_symlink()
    assert not target.exists()


def test_a_random_state_that_cannot_be_stored_is_refused(tmp_path):
    with pytest.raises(ValueError, match="random_state to be an integer or None"):
        NMF(3, random_state=np.random.RandomState(0)).fit(data(), checkpoint=tmp_path / "fit")


@pytest.mark.parametrize("name", ["os:system", "deepnmf.solvers.gone:State", "deepnmf.solvers.descent:gone"])
def test_a_checkpoint_that_names_a_foreign_class_is_refused(name):
    with pytest.raises(ValueError, match="which is not part of a fit"):
        checkpoints.unpacked({"class": name, "fields": {"command": "true"}}, {}, None)


KILLED = """
import sys, numpy as np, deepnmf
X = np.random.default_rng(0).random((300, 60))
model = deepnmf.DeepNSNMF((20, 5), random_state=0, tol=0, max_iter=60, pretrain_tol=0)
model.fit(X, checkpoint=sys.argv[1], checkpoint_seconds=0)
np.save(sys.argv[2], model.components_)
"""


def test_a_killed_process_resumes_with_the_same_bits(tmp_path):
    """The process gets signal 9 as soon as its first checkpoint exists."""
    path, result, undisturbed = (tmp_path / name for name in ("checkpoint", "components.npy", "undisturbed.npy"))
    command = [sys.executable, "-c", KILLED, str(path), str(result)]
    process = subprocess.Popen(command)
    while process.poll() is None and not path.exists():
        pass
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    subprocess.run(command, check=True)
    subprocess.run([*command[:-1], str(undisturbed)], check=True)
    assert np.array_equal(np.load(result), np.load(undisturbed))
