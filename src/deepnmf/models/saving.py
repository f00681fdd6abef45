"""A fitted model as a description and arrays, and back."""

import json
import os
from collections import defaultdict
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from deepnmf.persistence import plain, write
from deepnmf.version import __version__

FORMAT = "deepnmf-1"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file."""
    check_is_fitted(model)
    if not type(model).__module__.startswith("deepnmf."):
        raise TypeError(f"{type(model).__name__} cannot be saved: deepnmf.load knows the models of deepnmf only.")
    state, arrays = model._state()
    arrays |= {"codes": model.codes_}
    tensors = {f"{kind}.{i}": array for kind, listed in arrays.items() for i, array in enumerate(listed)}
    write(path, _description(model) | state, tensors | {"loss_curve": model.loss_curve_})


def _description(model: Any) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    for name, value in parameters.items():
        try:
            json.dumps(value, default=plain)
        except TypeError:
            raise TypeError(f"{name}={value!r} cannot be saved: a model file holds numbers and text only.") from None
    names = getattr(model, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": parameters,
        "versions": {"deepnmf": __version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__},
        "n_features_in": model.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "reconstruction_err": model.reconstruction_err_,
        "stop_reason": model.stop_reason_,
    }


def restored(cls: type[Any], description: dict[str, Any], tensors: dict[str, Any]) -> Any:
    """Make the model again."""
    model = cls(**{name: _tupled(value) for name, value in description["parameters"].items()})
    kinds = {name.rpartition(".")[0] for name in tensors if "." in name}
    arrays = defaultdict(list, {kind: _listed(tensors, kind) for kind in kinds})  # no arrays is an empty list
    model.n_features_in_ = description["n_features_in"]
    if description["feature_names"] is not None:
        model.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    model._restore(description, arrays)
    model.codes_ = arrays["codes"]
    model.loss_curve_ = tensors["loss_curve"]
    model.n_iter_ = len(model.loss_curve_)
    model.reconstruction_err_ = description["reconstruction_err"]
    model.stop_reason_ = description["stop_reason"]
    return model


def _tupled(value: object) -> object:
    """JSON knows lists only."""
    return tuple(value) if isinstance(value, list) else value


def _listed(tensors: dict[str, Any], kind: str) -> list[Any]:
    count = sum(name.startswith(f"{kind}.") for name in tensors)
    return [tensors[f"{kind}.{i}"] for i in range(count)]
