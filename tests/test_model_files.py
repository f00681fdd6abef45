"""Untrusted model files: no data are lost or silently wrong, and an invalid file is refused with an error."""

import io
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import deepnmf
from catalogue import SMALL, data, name_of
from deepnmf import GDNMF, GNMF, NMF, SSNMF, DeepNMFNetwork, DeepNSNMF, ModelFileError
from earlier.make import data as earlier_data
from fuzz.files import Parts, joined

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
EARLIER = Path(__file__).parent / "earlier"
LABELS = np.array(["ape", "bee", "cat"])[np.arange(60) % 3]


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """The file of a small model with labels and more than one layer."""
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    DeepNMFNetwork((8, 4), max_iter=5, pretrain_max_iter=5, random_state=0).fit(data(), LABELS).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The file of the smallest model."""
    path = tmp_path_factory.mktemp("tiny") / "model.safetensors"
    NMF(2, max_iter=3, random_state=0).fit(data(6, 4)).save(path)
    return path.read_bytes()


# ----------------------------------------------------------------------------------- nothing is lost


def through_a_file(model, path):
    model.save(path)
    return deepnmf.load(path)


def through_pickle(model, path):
    return pickle.loads(pickle.dumps(model))


def through_joblib(model, path):
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    return joblib.load(stream)


def labels_for(model):
    return None if isinstance(model, GNMF) else LABELS


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_every_model_is_restored_with_the_same_bits_from_a_file_pickle_and_joblib(model, tmp_path):
    X = data()
    fitted = clone(model).set_params(max_iter=5, tol=0).fit(X, labels_for(model))
    for way in (through_a_file, through_pickle, through_joblib):
        again = way(fitted, tmp_path / "model")
        assert np.array_equal(again.transform(X), fitted.transform(X))
        if hasattr(fitted, "predict"):
            assert np.array_equal(again.predict(X), fitted.predict(X))
        for name in ("classes_", "transduction_", "loss_curve_"):
            ours, theirs = getattr(again, name, None), getattr(fitted, name, None)
            assert np.array_equal(ours, theirs)
            assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
        fresh = clone(again)
        assert repr(fresh) == repr(fitted)
        with pytest.raises(NotFittedError):
            check_is_fitted(fresh)


@pytest.mark.parametrize("path", sorted(EARLIER.glob("*.safetensors")), ids=lambda path: path.stem)
def test_files_of_an_earlier_format_are_read(path):
    model = deepnmf.load(path)
    expected = np.load(path.with_suffix(".npy"))
    codes = model.transform(earlier_data().astype(model.components_.dtype))
    assert codes.dtype == expected.dtype
    # Another BLAS may give other last bits.
    np.testing.assert_allclose(codes, expected, rtol=1e-5, atol=1e-6 * expected.max())


def test_safetensors_itself_reads_the_arrays(network, tmp_path):
    from safetensors.numpy import load

    (tmp_path / "model").write_bytes(network)
    arrays, model = load(network), deepnmf.load(tmp_path / "model")
    assert np.array_equal(arrays["factor.1"], model.factors_[1])
    assert np.array_equal(arrays["codes.0"], model.codes_[0])


@pytest.mark.parametrize("labels", [np.arange(60, dtype=np.int16) % 3, LABELS.astype("<U9"), LABELS == "ape"])
@pytest.mark.parametrize("model", [SSNMF(3, random_state=0, max_iter=3), GDNMF((6, 3), random_state=0, max_iter=3)])
def test_classes_keep_their_type(model, labels, tmp_path):
    model = clone(model).fit(data(), labels)
    assert through_a_file(model, tmp_path / "model").classes_.dtype == model.classes_.dtype


def test_a_loaded_model_continues_with_batches_where_it_stopped(tmp_path):
    first, second, third = np.array_split(data(), 3)
    model = NMF(3, random_state=0, max_iter=5).partial_fit(first).partial_fit(second)
    loaded = through_a_file(model, tmp_path / "model")
    assert loaded.n_samples_seen_ == 40
    assert np.array_equal(loaded.partial_fit(third).components_, model.partial_fit(third).components_)


def test_any_text_may_name_a_feature(tmp_path):
    import pandas as pd

    names = ["", "a\0b", "\n", "é", "𝔘", "\ud800", '"', "x" * 1000, *(f"{j}" for j in range(16))]
    columns = pd.Index(names, dtype=object)  # pandas 3 stores text as UTF-8, which has no lone surrogates
    model = NMF(3, random_state=0).fit(pd.DataFrame(data(), columns=columns))
    assert list(through_a_file(model, tmp_path / "model").feature_names_in_) == names


# --------------------------------------------------------------------------------- what is not saved


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"random_state": np.random.RandomState(0)}, r"random_state=.*set_params\(random_state=...\) with an integer"),
        ({"solver": print}, r"solver=<built-in function print> cannot be saved"),
        ({"tol": float("nan")}, "tol=nan cannot be saved"),
        ({"n_components": 5}, r"cannot be saved, .* has shape \(3, 24\), but the model needs \(5, 24\)"),
        ({"max_iter": -1}, "cannot be saved, .* 'max_iter' parameter of NMF must be"),
    ],
    ids=["RandomState", "callable", "NaN", "other size", "not valid"],
)
def test_a_model_that_could_not_be_loaded_again_is_not_saved(changes, sentence, tmp_path):
    model = NMF(3, random_state=0).fit(data()).set_params(**changes)
    with pytest.raises((TypeError, ValueError), match=sentence):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------- crashes

CRASHES = """
import os, sys
import numpy as np
from deepnmf import persistence

def write(number):
    persistence.write(sys.argv[1], persistence.as_json({"number": number}), {"array": np.full(1000, number)})

def crash(*_, **__):
    os._exit(9)

write(1)
crashing, after = sys.argv[2], sys.argv[3] == "after"
original = getattr(os, crashing)
setattr(os, crashing, (lambda *args: (original(*args), crash())) if after else crash)
write(2)
"""


@pytest.mark.parametrize(
    ("function", "when", "survivor"),
    [("fsync", "before", 1), ("fsync", "after", 1), ("replace", "before", 1), ("replace", "after", 2)],
)
def test_a_crash_while_saving_leaves_the_old_file_or_the_new_one(function, when, survivor, tmp_path):
    from safetensors.numpy import load

    path = tmp_path / "model"
    environment = os.environ | {"PYTHONPATH": str(Path(deepnmf.__file__).parents[1])}
    command = [sys.executable, "-c", CRASHES, str(path), function, when]
    assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == 9
    assert np.array_equal(load(path.read_bytes())["array"], np.full(1000, survivor))


def test_an_interrupted_save_leaves_no_other_file(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    model = NMF(3, random_state=0).fit(data())
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_link_and_the_permissions_of_a_file_are_kept(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    model = NMF(3, random_state=0).fit(data())
    model.save(target)
    target.chmod(0o600)
    link.symlink_to(target)
    model.save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600


# ------------------------------------------------------------------------------------------- refusals


def test_every_changed_byte_is_detected(tiny, tmp_path):
    path = tmp_path / "model"
    for place in range(len(tiny)):
        path.write_bytes(tiny[:place] + bytes([tiny[place] ^ 1 << place % 8]) + tiny[place + 1 :])
        with pytest.raises(ModelFileError):
            deepnmf.load(path)


def test_every_truncated_file_is_detected(tiny, tmp_path):
    path = tmp_path / "model"
    for length in range(0, len(tiny), 7):
        path.write_bytes(tiny[:length])
        with pytest.raises(ModelFileError):
            deepnmf.load(path)


def with_array(parts, name, **fields):
    entries = parts.entries
    entries[name] |= fields
    return parts.with_entries(entries)


def with_parameter(parts, **parameters):
    description = parts.description
    return parts.with_description(description | {"parameters": description["parameters"] | parameters})


def with_number(parts, name, number):
    begin, _ = parts.entries[name]["data_offsets"]
    return replace(parts, data=parts.data[:begin] + np.float64(number).tobytes() + parts.data[begin + 8 :])


def with_fields(parts, **fields):
    return parts.with_description(parts.description | fields)


def inserted(parts, text):
    return replace(parts, header=parts.header.rstrip()[:-1] + text + "}")


FORGED = {
    "terabytes": (
        lambda p: with_array(p, "factor.0", shape=[2**40, 1], data_offsets=[0, 2**43]),
        "without gaps",
    ),
    "overflow": (lambda p: with_array(p, "factor.0", shape=[2**32, 2**32]), "cannot be 1536 bytes long"),
    "empty but wide": (
        lambda p: inserted(p, ',"x":{"dtype":"F64","shape":[0,9],"data_offsets":[0,0]}'),
        "not numbered",
    ),
    "negative shape": (lambda p: with_array(p, "factor.0", shape=[-8, -24]), "expected integers of at least 0"),
    "overlap": (lambda p: with_array(p, "factor.0", data_offsets=p.entries["codes.0"]["data_offsets"]), "cannot be"),
    "gap": (lambda p: replace(p, data=p.data + b"\0" * 8), "without gaps"),
    "unknown dtype": (lambda p: with_array(p, "factor.0", dtype="F16"), "which is not an array of a model"),
    "duplicate key": (lambda p: inserted(p, ',"factor.0":1'), "has a duplicate key"),
    "NaN in JSON": (lambda p: with_fields(p, reconstruction_err=float("nan")), "contains NaN: expected finite numbers"),
    "infinity in JSON": (lambda p: inserted(p, ',"x":1e999'), "contains 1e999: expected finite numbers"),
    "long integer": (lambda p: with_parameter(p, max_iter=10**400), "expected integers of at most 64 bits"),
    "nested": (lambda p: inserted(p, ',"x":' + "[" * 50_000 + "]" * 50_000), "nested too deeply"),
    "brackets": (lambda p: inserted(p, ',"x":[' + "[]," * 100_000 + "0]"), "more than 100000 brackets"),
    "no chain": (
        lambda p: with_array(p, "factor.1", shape=[8, 4]),
        r"has shape \(8, 4\), but the model needs \(4, 8\)",
    ),
    "other sizes": (lambda p: with_parameter(p, layer_sizes=[8, 5]), r"but the model needs \(5, 8\)"),
    "missing array": (
        lambda p: with_parameter(p, layer_sizes=[8, 4, 2]),
        "contains 2 arrays of factor, but .* needs 3",
    ),
    "other features": (lambda p: with_fields(p, n_features_in=25), r"but the model needs \(8, 25\)"),
    "foreign parameter": (lambda p: with_parameter(p, shell="rm"), "DeepNMFNetwork has no parameter 'shell'"),
    "bad parameter": (lambda p: with_parameter(p, max_iter=0), "'max_iter' parameter of DeepNMFNetwork must be"),
    "bad layer": (lambda p: with_parameter(p, output_layer=7), "output_layer is 7, but the model has 2 layers"),
    "bad pooling": (lambda p: with_parameter(p, pool_size=[1, 2, 3]), "pool_size has 3 values"),
    "foreign class": (lambda p: with_fields(p, **{"class": "os.system"}), "its class is 'os.system'"),
    "later format": (lambda p: with_fields(p, format="deepnmf-3"), "its format is 'deepnmf-3', but this version reads"),
    "negative factor": (lambda p: with_number(p, "factor.0", -1), "its factor.0 has entries from -1.0 to"),
    "NaN": (lambda p: with_number(p, "factor.0", np.nan), "its factor.0 has entries from nan"),
    "infinite": (lambda p: with_number(p, "codes.0", np.inf), "to inf: expected finite entries"),
    "product overflows": (
        lambda p: with_number(with_number(p, "factor.0", 1e300), "factor.1", 1e300),
        "features of layer",
    ),
    "foreign label": (lambda p: with_fields(p, classes=["ape", "bee"]), "label_factor.0 has shape"),
    "unsorted labels": (lambda p: with_fields(p, classes=["cat", "bee", "ape"]), "are not sorted labels of one type"),
    "cut labels": (lambda p: with_fields(p, type_of_classes="<U1"), "are not sorted labels of one type"),
    "objects as labels": (lambda p: with_fields(p, type_of_classes="|O8"), "expected numbers or text"),
    "wide labels": (lambda p: with_fields(p, type_of_classes="<U99999999"), "is too wide for 3 classes"),
}


@pytest.mark.parametrize(("forge", "sentence"), FORGED.values(), ids=FORGED)
def test_a_forged_file_is_refused_with_the_reason(forge, sentence, network, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(forge(Parts.of(network)).sealed())
    with pytest.raises(ModelFileError, match=sentence) as refusal:
        deepnmf.load(path)
    assert str(refusal.value).startswith(f"{path} is not a valid deepnmf model: ")
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


def test_a_scale_whose_square_overflows_is_refused(tiny, tmp_path):
    """Found by the fuzzer: codes of such a model were NaN."""
    path = tmp_path / "model"
    path.write_bytes(with_number(Parts.of(tiny), "scale.0", 1e308).sealed())
    with pytest.raises(ModelFileError, match=r"to 1e\+308: expected finite entries from 1e-150 to 1e\+150"):
        deepnmf.load(path)


def test_a_memory_of_batches_without_factors_is_refused(tmp_path):
    path = tmp_path / "model"
    NMF(3, random_state=0, max_iter=3).partial_fit(data()).partial_fit(data()).save(path)
    parts = Parts.of(path.read_bytes())
    path.write_bytes(replace(parts, header=parts.header.replace('"factor.0"', '"x.0"')).sealed())
    with pytest.raises(ModelFileError, match="it contains 0 arrays of factor, but the model needs 1"):
        deepnmf.load(path)


def test_a_file_whose_header_declares_terabytes_is_refused(tmp_path):
    (tmp_path / "model").write_bytes((2**42).to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelFileError, match="its header would be 4398046511104 bytes long, but the file has 10 bytes"):
        deepnmf.load(tmp_path / "model")


def test_a_long_header_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "model").write_bytes(joined(b" " * (2**24 + 1), b""))
    with pytest.raises(ModelFileError, match="expected at most 16777216"):
        deepnmf.load(tmp_path / "model")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model")
    with pytest.raises(ModelFileError, match="it is not a regular file"):
        deepnmf.load(tmp_path / "model")


def test_a_file_marked_with_an_earlier_format_must_match_its_digest(network, tmp_path):
    parts = Parts.of(network)
    entries = parts.entries
    entries["__metadata__"]["deepnmf"] = entries["__metadata__"]["deepnmf"].replace("deepnmf-2", "deepnmf-1")
    (tmp_path / "model").write_bytes(joined(parts.with_entries(entries).header.encode(), parts.data))
    with pytest.raises(ModelFileError, match="its content does not match its digest"):
        deepnmf.load(tmp_path / "model")


def test_a_file_without_its_digest_is_refused(network, tmp_path):
    parts = Parts.of(network)
    entries = parts.entries
    del entries["__metadata__"]["sha256"]
    (tmp_path / "model").write_bytes(joined(parts.with_entries(entries).header.encode(), parts.data))
    with pytest.raises(ModelFileError, match="its digest is missing"):
        deepnmf.load(tmp_path / "model")


def test_a_saved_model_keeps_its_smoothing(tmp_path):
    model = DeepNSNMF((8, 4), theta=0.4, max_iter=5, random_state=0).fit(data())
    assert np.array_equal(through_a_file(model, tmp_path / "model").decode(np.eye(4)), model.decode(np.eye(4)))
