"""The model of a command: its name, its layers and its parameters, and their defaults."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from deepnmf.cli.exits import Exit, Failure, failing_as

if TYPE_CHECKING:
    from deepnmf.reading import Dataset

LARGEST_BOTTOM, USUAL_TOP = 100, 10  # layers where nothing is asked for
WORD_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def name_of(model: type) -> str:
    """A class's name as it is typed: DeepNSNMF is deep-nsnmf."""
    return WORD_BOUNDARY.sub("-", model.__name__).lower()


def catalogue() -> dict[str, type[Any]]:
    """Every model by its name."""
    from deepnmf.models.loading import MODELS

    return {name_of(model): model for model in MODELS}


def model_class(name: str) -> type[Any]:
    """The class of a name, or a sentence with those that may have been meant."""
    models = catalogue()
    if name not in models:
        raise Failure(f"There is no model {name!r}: expected {_meant(name, models)}.", Exit.USAGE)
    return models[name]


# --------------------------------------------------------------------------------------- parameters


def parsed_layers(text: str | None) -> tuple[int, ...] | None:
    """Sizes from the data upwards: "300,40"."""
    if text is None:
        return None
    try:
        sizes = tuple(int(size) for size in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise Failure(f"--layers is {text!r}: expected positive whole numbers, as in 300,40.", Exit.USAGE)
    return sizes


def parsed_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parameters from ``name=value``; values are Python's literals, commas make a tuple, all else is text."""
    found = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise Failure(f"--set is {setting!r}: expected name=value, as in theta=0.1,0.9.", Exit.USAGE)
        found[name.strip()] = _literal(text.strip())
    return found


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def is_shallow(model: Any) -> bool:
    """Whether a model has one layer."""
    return "n_components" in model.get_params()


def built(cls: type[Any], layers: Sequence[int], settings: Mapping[str, Any], seed: int | None) -> Any:
    """A model with its layers and parameters, checked as far as they can be without data."""
    model = cls(random_state=seed)
    known = model.get_params()
    for name in settings:
        if name not in known:
            raise Failure(f"{name_of(cls)} has no parameter {name!r}: expected {_meant(name, known)}.", Exit.USAGE)
    sizes = {"n_components": layers[-1]} if is_shallow(model) else {"layer_sizes": tuple(layers)}
    model.set_params(**{**sizes, **settings})
    with failing_as(Exit.USAGE, ValueError, TypeError):
        model._validate_params()
    return model


def sizes_of(model: Any) -> str:
    """The layers of a model that is not fitted yet, as they are typed."""
    sizes = model.n_components if is_shallow(model) else model.layer_sizes
    return ",".join(map(str, sizes)) if isinstance(sizes, tuple) else str(sizes)


def check_one_layer(cls: type[Any], layers: Sequence[int] | None) -> None:
    """Refuse several layers for a model of one."""
    if layers is not None and len(layers) > 1 and is_shallow(cls()):
        text = ",".join(map(str, layers))
        raise Failure(f"{name_of(cls)} has one layer, but --layers is {text}: expected one number.", Exit.USAGE)


def is_about_parameters(error: Exception, model: Any) -> bool:
    """Whether a sentence of the library begins with a parameter's name: then it is not the data that are wrong."""
    first = re.match(r"\W*(\w+)", str(error))
    return first is not None and first[1] in model.get_params()


def _meant(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = get_close_matches(name, known, n=3, cutoff=0.5) or known
    return " or ".join(near) if len(near) < 4 else ", ".join(near)


# ----------------------------------------------------------------------------------------- defaults


def usual_model(data: "Dataset") -> str:
    """Parts where nothing is negative, else features of both signs."""
    return "deep-nsnmf" if _least(data.X) >= 0 else "deep-semi-nmf"


def usual_layers(data: "Dataset") -> tuple[int, int]:
    """Half the rank, a hundred at most; on top as many as there are classes or else ten, half at most."""
    bottom = max(2, min(LARGEST_BOTTOM, min(data.X.shape) // 2))
    return bottom, max(1, min(_n_classes(data) or USUAL_TOP, bottom // 2))


def _n_classes(data: "Dataset") -> int:
    return 0 if data.y is None else len(set(data.y.tolist()) - {-1})


def _least(X: Any) -> float:
    import numpy as np
    from scipy import sparse

    entries = X.data if sparse.issparse(X) else X
    return float(np.fmin.reduce(entries, axis=None)) if entries.size else 0.0
