"""Conversion of a fitted model to a description and arrays, and back."""

import inspect
import os
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array
from deepnmf.checks import check_output_layer, per_layer
from deepnmf.layout import (
    Arrays,
    Expected,
    check_codes,
    check_layout,
    listed_numbers,
    n_samples,
    packed,
    unpacked,
)
from deepnmf.persistence import FORMAT, as_json, write
from deepnmf.untrusted import of_type, parsed
from deepnmf.version import __version__


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file, after a check that `restored` can read it."""
    check_is_fitted(model)
    if not type(model).__module__.startswith("deepnmf."):
        raise TypeError(f"{type(model).__name__} cannot be saved: deepnmf.load accepts only the models of deepnmf.")
    _check_parameters(model)
    state, arrays = _state(model)
    names = {"feature_names": "feature_names_in_", "input_names": "input_names_"}
    packed_names = {kind: _packed_names(model, attribute) for kind, attribute in names.items()}
    tensors = _named(arrays | {"codes": model.codes_} | packed_names)
    tensors["loss_curve"] = np.asarray(model.loss_curve_)
    try:
        description = as_json(_description(model) | state)
        restored(type(model), parsed(description), tensors)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"This {type(model).__name__} cannot be saved, because the file could not be loaded "
            f"({str(error).rstrip('.')}): were its parameters or attributes changed after the fit?"
        ) from error
    write(path, description, tensors)


def _state(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the learned state, and the statistics from which `partial_fit` continues."""
    description, arrays = model._learned.state()
    if hasattr(model, "n_samples_seen_"):
        description = description | {"n_samples_seen": model.n_samples_seen_}
    if model._memory is None:
        return description, arrays
    more, memory = model._memory.state()
    return description | more, arrays | memory


def _check_parameters(model: Any) -> None:
    for name, value in model.get_params(deep=False).items():
        try:
            as_json({name: value})
        except (TypeError, ValueError):
            raise TypeError(
                f"{name}={value!r} cannot be saved: a model file contains finite numbers and text only; call "
                f"set_params({name}=...) with {'an integer or None' if name == 'random_state' else 'one of these'} "
                "before save, or pickle the model."
            ) from None


def _description(model: Any) -> dict[str, Any]:
    certificate = {"kkt_residual": [float(model.kkt_residual_)]} if hasattr(model, "kkt_residual_") else {}
    return {
        **certificate,
        **_shares(model),
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "versions": {"deepnmf": __version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__},
        "n_features_in": model.n_features_in_,
        "reconstruction_err": float(model.reconstruction_err_),
        "stop_reason": model.stop_reason_,
    }


def _shares(model: Any) -> dict[str, list[float]]:
    """Return the share that each layer explains; earlier versions stored shares of ‖X‖² as "explained"."""
    shares = {"explained_beyond_baseline": model._explained, "share_of_squares": model._shares_of_squares}
    return {name: list(values) for name, values in shares.items() if values is not None}


def input_names(model: Any) -> Any:
    """Return the names of the input features, from a data frame or a data file; None if there are none."""
    return getattr(model, "feature_names_in_", getattr(model, "input_names_", None))


def _packed_names(model: Any, attribute: str) -> list[Array]:
    names = getattr(model, attribute, None)
    return [] if names is None else packed([str(name) for name in names])


def _named(arrays: Arrays) -> dict[str, Array]:
    return {
        f"{kind}.{i}": np.ascontiguousarray(array) for kind, listed in arrays.items() for i, array in enumerate(listed)
    }


def restored(cls: type[Any], description: dict[str, Any], tensors: dict[str, Array]) -> Any:
    """Rebuild the model; raise a ValueError or a TypeError if the content is inconsistent."""
    model = cls(**_parameters(cls, description))
    model._validate_params()
    model.n_features_in_ = of_type(description.get("n_features_in"), int, "n_features_in")
    tensors = dict(tensors)
    _take_history(model, description, tensors.pop("loss_curve", np.empty(0)))
    arrays = _by_kind(tensors)
    _take_names(model, "feature_names_in_", description.get("feature_names"), arrays.pop("feature_names", []))
    _take_names(model, "input_names_", None, arrays.pop("input_names", []))
    rows, codes = n_samples(arrays), arrays["codes"]
    problem, n_features = model._problem(), model.n_features_in_
    layout = problem.layout(n_features, description, arrays, rows)
    if "n_samples_seen" in description:
        model.n_samples_seen_ = of_type(description["n_samples_seen"], int, "n_samples_seen")
    remembers = "memory" in arrays and problem.learns_in_batches
    if remembers:
        of_type(description.get("n_samples_seen"), int, "n_samples_seen")
        layout |= problem.memory.layout(description, arrays, [one.shape for one in layout["factor"]])
    del arrays["codes"]
    check_layout(arrays, layout)
    with np.errstate(all="ignore"):
        model._set_learned(problem.restored(description, arrays, codes[-1]))
    if remembers:
        model._memory = problem.memory.restored(description, arrays, model.n_samples_seen_)
    for layer, C in enumerate(model.features_):
        Expected((len(model.factors_[layer]), model.n_features_in_)).check(C, f"features of layer {layer}")
    check_output_layer(problem.output_layer, len(model.factors_))
    depth = len(model.factors_)
    if "explained_beyond_baseline" in description:
        model._explained = listed_numbers(description, "explained_beyond_baseline", depth, -np.inf, 1)
    if "share_of_squares" in description:
        model._shares_of_squares = listed_numbers(description, "share_of_squares", depth, -np.inf, 1)
    check_codes(codes, [len(Z) for Z in model.factors_])
    model.codes_ = codes
    return model


def _parameters(cls: type[Any], description: dict[str, Any]) -> dict[str, Any]:
    parameters = of_type(description.get("parameters"), dict, "parameters")
    unknown = sorted(parameters.keys() - inspect.signature(cls).parameters.keys())
    if unknown:
        raise ValueError(f"{cls.__name__} has no parameter {unknown[0]!r}")
    return {name: _tupled(value) for name, value in parameters.items()}


def _tupled(value: object) -> object:
    """Convert a list to a tuple, because JSON has lists only."""
    return tuple(value) if isinstance(value, list) else value


def _take_history(model: Any, description: dict[str, Any], losses: Array) -> None:
    Expected((losses.size,)).check(losses, "loss_curve")
    model.loss_curve_, model.n_iter_ = losses, len(losses)
    error: Any = description.get("reconstruction_err")
    (model.reconstruction_err_,) = per_layer(error, 1, "reconstruction_err", 0, np.inf)
    if "kkt_residual" in description:
        (model.kkt_residual_,) = listed_numbers(description, "kkt_residual", 1, 0, np.inf)
    model.stop_reason_ = of_type(description.get("stop_reason"), str, "stop_reason")


def _take_names(model: Any, attribute: str, names: Any, arrays: list[Array]) -> None:
    """Set names of the input features, from arrays or from the list of the first file format."""
    if arrays:
        texts, ends = Expected((arrays[0].size,), kind="u"), Expected((model.n_features_in_,), kind="i")
        check_layout({"feature_names": arrays}, {"feature_names": [texts, ends]})
        names = unpacked(arrays, model.n_features_in_)
    if names is not None:
        names = [of_type(name, str, "feature name") for name in of_type(names, list, "feature names")]
        if len(names) != model.n_features_in_:
            raise ValueError(f"it has {len(names)} feature names for {model.n_features_in_} features")
        setattr(model, attribute, np.array(names, dtype=object))


def _by_kind(tensors: dict[str, Array]) -> defaultdict[str, list[Array]]:
    """Group arrays by the part of their name before the number; a missing kind gives an empty list."""
    counts = Counter(name.rpartition(".")[0] for name in tensors)
    expected = {f"{kind}.{i}" for kind, count in counts.items() for i in range(count)}
    if expected != tensors.keys():
        raise ValueError(f"its array {min(tensors.keys() - expected)[:50]!r} is not numbered consecutively from 0")
    return defaultdict(list, {kind: [tensors[f"{kind}.{i}"] for i in range(count)] for kind, count in counts.items()})
