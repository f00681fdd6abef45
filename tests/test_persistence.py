import pickle

import numpy as np
import pytest
from sklearn.base import clone

import deepnmf
from catalogue import VARIANTS, data, name_of
from deepnmf import NMF, DeepNSNMF

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", VARIANTS, ids=name_of)
def test_a_saved_model_is_restored_completely(model, dtype, tmp_path):
    X = data().astype(dtype)
    model = clone(model).set_params(max_iter=8).fit(X)
    model.save(tmp_path / "model.safetensors")
    loaded = deepnmf.load(tmp_path / "model.safetensors")
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.transform(X), model.transform(X))
    for name in ("factors_", "features_", "codes_"):
        assert all(np.array_equal(a, b) for a, b in zip(getattr(loaded, name), getattr(model, name), strict=True))
    for name in ("n_iter_", "stop_reason_", "reconstruction_err_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(model, name)
    assert np.array_equal(loaded.loss_curve_, model.loss_curve_)
    assert loaded.fit(X).reconstruction_err_ == model.reconstruction_err_


@pytest.mark.parametrize("model", VARIANTS, ids=name_of)
def test_every_model_can_be_pickled(model):
    model = clone(model).set_params(max_iter=3).fit(data())
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(data()), model.transform(data()))


def test_feature_names_are_restored(tmp_path):
    import pandas as pd

    X = pd.DataFrame(data(), columns=[f"gene{j}" for j in range(24)])
    NMF(3, random_state=0).fit(X).save(tmp_path / "model")
    assert list(deepnmf.load(tmp_path / "model").feature_names_in_) == list(X.columns)


def test_parameters_of_numpys_types_are_saved(tmp_path):
    model = DeepNSNMF(np.array([8, 4]), theta=np.array([0.1, 0.2]), random_state=np.int64(3)).fit(data())
    model.save(tmp_path / "model")
    assert deepnmf.load(tmp_path / "model").get_params()["theta"] == (0.1, 0.2)


def test_what_cannot_be_saved_is_named_and_nothing_is_written(tmp_path):
    model = NMF(3, random_state=np.random.RandomState(0)).fit(data())
    with pytest.raises(TypeError, match="random_state=.* cannot be saved"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_model_file_can_be_read_by_whoever_may_read_new_files(tmp_path):
    (tmp_path / "other").touch()
    NMF(3, random_state=0).fit(data()).save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_model_of_a_users_own_class_is_not_saved(tmp_path):
    class Mine(NMF):
        pass

    with pytest.raises(TypeError, match="Mine cannot be saved"):
        Mine(3, random_state=0).fit(data()).save(tmp_path / "model")


def test_a_folder_is_refused_as_a_model(tmp_path):
    with pytest.raises(ValueError, match="is not a valid deepnmf model"):
        deepnmf.load(tmp_path)


def test_an_unfitted_model_is_not_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        NMF(3).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"not a model", pickle.dumps({"a": 1}), b"\xff" * 100])
def test_a_file_that_is_not_a_model_is_refused(content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a valid deepnmf model"):
        deepnmf.load(path)


def test_a_foreign_safetensors_file_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"weights": np.ones(3)}, tmp_path / "model")
    with pytest.raises(ValueError, match="it holds no description of a model"):
        deepnmf.load(tmp_path / "model")


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError):
        deepnmf.load(tmp_path / "nothing")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    import os

    path = tmp_path / "model"
    NMF(3, random_state=0).fit(data()).save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        NMF(4, random_state=0).fit(data()).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_a_model_that_cannot_be_saved_says_which_folder_is_missing(tmp_path):
    model = NMF(2, random_state=0).fit(data())
    with pytest.raises(FileNotFoundError, match=r"path is .*, but there is no folder '.*missing': expected an"):
        model.save(tmp_path / "missing" / "model.safetensors")
    with pytest.raises(IsADirectoryError, match=r"path is .*, which is a folder"):
        model.save(tmp_path)
