"""The models that are compared: all deep models of the package with default parameters, variants, and separate NMFs."""

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
    """Fit a model, and return it with its processor seconds, which hardly depend on other programs."""
    began = time.process_time()
    model.fit(X, **options)
    return model, time.process_time() - began


class SeparateNMFs:
    """One separate `NMF` for each size, which shows how much a layer of this size can explain at most."""

    def __init__(self, layer_sizes, **params):
        self.models = [NMF(size, **params) for size in layer_sizes]

    def fit(self, X):
        """Fit all models, and store the seconds of the widest one."""
        self.seconds_of_widest_ = 0.0
        for model in self.models:
            _, seconds = fitted(model, X)
            self.seconds_of_widest_ = max(self.seconds_of_widest_, seconds)
        self.features_ = [model.components_ for model in self.models]
        return self

    def encode(self, X, layer):
        """Return the codes of one of the models."""
        return self.models[layer].transform(X)

    @property
    def hierarchy_(self):
        """Summaries of the layers; the copies of separate fits, which are similar by chance, are a lower limit."""
        copies = [0, *(n_copies(above, below) for below, above in pairwise(self.features_))]
        return [
            LayerSummary(layer, len(C), nan, nan, model.n_dead_[0], n, nan)
            for layer, (C, model, n) in enumerate(zip(self.features_, self.models, copies, strict=True), start=1)
        ]


def each_layer(sizes):
    """Return layer weights with which every layer explains the data."""
    return {"layer_weights": (1.0,) * len(sizes)}


def of_data(sizes):  # noqa: ARG001
    """Return the parameter of `DeepNMF` with which every layer explains the data."""
    return {"explains": "data"}


def weighing(weight: float):
    """Return a function of the sizes that weights each layer of `DeepNMF` relative to the layer that it explains."""

    def params(sizes):
        return {"layer_weights": falling_weights(sizes, weight)}

    return params


# For each variant, the class, and the parameters that differ from its defaults.
VARIANTS = {
    'DeepNMF, explains="data"': ("DeepNMF", of_data),
    "DeepNMF, weight 0.1": ("DeepNMF", weighing(0.1)),
    "DeepNMF, weight 1": ("DeepNMF", weighing(1.0)),
    "DeepNSNMF, layer_weights": ("DeepNSNMF", each_layer),
    "SparseDeepNMF, layer_weights": ("SparseDeepNMF", each_layer),
}


def contenders() -> list[str]:
    """Return the names of all models that are compared."""
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
    """Return whether a contender has a parameter."""
    return parameter in _params("NMF" if name == SEPARATE else VARIANTS.get(name, (name,))[0])


def _params(base: str):
    return signature(getattr(deepnmf, base)).parameters.keys()


def _taken(base: str, params):
    return {name: value for name, value in params.items() if name in _params(base)}


def explained(model, X) -> list[float]:
    """Return the share of ‖X‖² that each layer explains with its best codes.

    The share is that of all rows. If the model has an activation, it is that of some of the rows.
    """
    if isinstance(model, SeparateNMFs) or model._problem().is_linear:
        return explained_by(model.features_, X)
    return [one.share_of_squares for one in model.hierarchy_]


def explained_by(features, X) -> list[float]:
    """Return the share of ‖X‖² that nonnegative combinations of the features of each layer explain."""
    with Workers() as workers:
        engine = make_engine(X, workers=workers, nonnegative=False)
        return [1 - FROBENIUS.best_error(engine, C) ** 2 / engine.sqnorm for C in features]
