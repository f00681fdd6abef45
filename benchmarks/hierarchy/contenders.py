"""The models that are compared: all deep ones of the package at their defaults, variants of them, and separate NMFs."""

import time
from inspect import signature
from itertools import pairwise
from math import nan

import deepnmf
from deepnmf import NMF, LayerSummary
from deepnmf.engines import Workers, make_engine
from deepnmf.models import MODELS
from deepnmf.models.deep_nmf import falling_weights
from deepnmf.models.hierarchy import n_copies
from deepnmf.solvers.losses import FROBENIUS

SEPARATE = "separate NMFs"


def fitted(model, X, **options):
    """Fit, and return the processor seconds too: other programs hardly change these."""
    began = time.process_time()
    model.fit(X, **options)
    return model, time.process_time() - began


class SeparateNMFs:
    """An `NMF` of each size, which knows nothing of the others: the most that a layer can explain."""

    def __init__(self, layer_sizes, **params):
        self.models = [NMF(size, **params) for size in layer_sizes]

    def fit(self, X):
        """Fit each of them, and keep the seconds of the widest."""
        self.seconds_of_widest_ = 0.0
        for model in self.models:
            _, seconds = fitted(model, X)
            self.seconds_of_widest_ = max(self.seconds_of_widest_, seconds)
        self.features_ = [model.components_ for model in self.models]
        return self

    def encode(self, X, layer):
        """Return the codes of one of them."""
        return self.models[layer].transform(X)

    @property
    def hierarchy_(self):
        """The copies of separate fits, a lower limit: features that are similar by themselves."""
        copies = [0, *(n_copies(above, below) for below, above in pairwise(self.features_))]
        return [
            LayerSummary(layer, len(C), nan, nan, model.n_dead_[0], n, nan)
            for layer, (C, model, n) in enumerate(zip(self.features_, self.models, copies, strict=True), start=1)
        ]


def each_layer(sizes):
    """Every layer explains the data."""
    return {"layer_weights": (1.0,) * len(sizes)}


def of_data(sizes):  # noqa: ARG001
    """Every layer explains the data."""
    return {"explains": "data"}


def weighing(weight: float):
    """`DeepNMF` with a given weight of each layer relative to the layer that it explains."""

    def params(sizes):
        return {"layer_weights": falling_weights(sizes, weight)}

    return params


# A line each: the class, and the parameters that differ from its defaults.
VARIANTS = {
    'DeepNMF, explains="data"': ("DeepNMF", of_data),
    "DeepNMF, weight 0.1": ("DeepNMF", weighing(0.1)),
    "DeepNMF, weight 1": ("DeepNMF", weighing(1.0)),
    "DeepNSNMF, layer_weights": ("DeepNSNMF", each_layer),
    "SparseDeepNMF, layer_weights": ("SparseDeepNMF", each_layer),
}


def contenders() -> list[str]:
    """The names of all that are compared."""
    deep = [cls.__name__ for cls in MODELS if "layer_sizes" in signature(cls).parameters]
    return [*deep, *VARIANTS, SEPARATE]


def build(name: str, sizes, seed: int, **params):
    """Create a contender; parameters that it does not have are ignored."""
    if name == SEPARATE:
        return SeparateNMFs(sizes, random_state=seed, **_taken("NMF", params))
    base, own = VARIANTS.get(name, (name, None))
    return getattr(deepnmf, base)(
        layer_sizes=sizes, random_state=seed, **_taken(base, params), **(own(sizes) if own else {})
    )


def has(name: str, parameter: str) -> bool:
    """Whether a contender has a parameter."""
    return parameter in _params("NMF" if name == SEPARATE else VARIANTS.get(name, (name,))[0])


def _params(base: str):
    return signature(getattr(deepnmf, base)).parameters.keys()


def _taken(base: str, params):
    return {name: value for name, value in params.items() if name in _params(base)}


def explained(model, X) -> list[float]:
    """The share of ‖X‖² that each layer explains with its best codes; of all rows, or above an activation of some."""
    if isinstance(model, SeparateNMFs) or model._problem().is_linear:
        return explained_by(model.features_, X)
    return [one.share_of_squares for one in model.hierarchy_]


def explained_by(features, X) -> list[float]:
    """The share of ‖X‖² that nonnegative combinations of each layer's features explain."""
    with Workers() as workers:
        engine = make_engine(X, workers=workers, nonnegative=False)
        return [1 - FROBENIUS.best_error(engine, C) ** 2 / engine.sqnorm for C in features]
