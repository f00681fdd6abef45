"""Planted hierarchies: how similar the features of each layer are to the true ones."""

from benchmarks.hierarchy.contenders import build, contenders, explained, explained_by, fitted
from benchmarks.hierarchy.part import Part

from deepnmf.datasets import make_hierarchy
from deepnmf.metrics import matched_cosine

FROM_TRUTH = ", from the truth"
CEILING = "DeepNMF" + FROM_TRUTH
TRUTH = "the true features"


def with_ceiling():
    """Return all contenders, a fit that starts at the truth, and the true features."""
    return [*contenders(), CEILING, TRUTH]


def measure(case, name, seed, limits):
    """Fit a model to the data of this seed, and compare its features with the true ones."""
    truth = make_hierarchy(**{"n_samples": 1000, **case, "random_state": seed})
    X = limits.of(truth.data)
    if name == TRUTH:
        return {"explained": explained_by(truth.features, X)}
    sizes = tuple(len(C) for C in truth.features)
    model = build(name.removesuffix(FROM_TRUTH), sizes, seed, **limits.params)
    options = {"factors": truth.factors} if name.endswith(FROM_TRUTH) else {}
    model, seconds = fitted(model, X, **options)
    return {
        "cosine": [matched_cosine(found, true) for found, true in zip(model.features_, truth.features, strict=True)],
        "explained": explained(model, X),
        "seconds": seconds,
    }


PART = Part(
    title="Planted hierarchies",
    text=(
        "The data are made by `deepnmf.datasets.make_hierarchy`: 1000 images of 20 x 20 pixels, made of 24 patches of 3 to 6 pixels per side and 6 wholes "
        "of 7 parts, with Gaussian noise of 5 % of the standard deviation. There are three strengths of the part-wise variation, "
        "one case with Poisson noise, and one case with three levels of 24, 8 and 4 features. These settings were fixed before the first run. Each "
        "seed gives another problem. Models have the true sizes, and default values of all other parameters. `cosine` is the mean "
        "cosine of the true features and the features that they are matched with (`deepnmf.metrics.matched_cosine`); "
        "`explained` is the share of ‖X‖² that the features of a layer alone explain. A fit that starts at the truth shows "
        "the best possible result."
    ),
    cases={
        "variation 0.2": {"variation": 0.2},
        "variation 0.5": {"variation": 0.5},
        "variation 1": {"variation": 1.0},
        "Poisson noise": {"variation": 0.5, "noise": "poisson"},
        "three levels": {"variation": 0.5, "layer_sizes": (24, 8, 4)},
    },
    contenders=with_ceiling,
    measure=measure,
    columns={"cosine": "cosine", "explained": "explained", "seconds": "seconds"},
    digits={"seconds": 2},
)
