"""
Hierarchies and their truth
===========================

Does a deep model find the parts and the wholes that its data were made of? Measured
data cannot answer this question, because their true features are not known. Here we
use synthetic data, whose true features are known.
"""

# %%
# ``make_hierarchy`` combines rectangular parts to wholes, and wholes to images. In
# each image, the parts of a whole are randomly stronger or weaker. The models are
# fitted to the images only.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from deepnmf import DeepNMF, DeepNSNMF, HierarchyWarning
from deepnmf.datasets import make_hierarchy
from deepnmf.metrics import matched_cosine

SIZES = (24, 6)
truth = make_hierarchy(
    n_samples=1000, layer_sizes=SIZES, variation=0.5, random_state=0
)

# %%
# Fit two models with the true layer sizes and otherwise default settings. Both
# explain most of the data.

warnings.simplefilter(
    "ignore", HierarchyWarning
)  # the pictures below show what it says
models = [
    model(SIZES, random_state=0).fit(truth.data) for model in (DeepNMF, DeepNSNMF)
]
for model in models:
    explained = model.hierarchy_[-1].explained
    print(f"{type(model).__name__}: {explained:.1%} explained by the top layer")

# %%
# The order of features is arbitrary. Each true feature is matched with one feature
# of the model such that the sum of the cosines is largest. The titles contain the
# mean cosine.


def matched(found, true):
    """Return the learned features in the order of the true ones."""
    return found[linear_sum_assignment(-true @ found.T)[1]]


def draw(layer, n_shown, title):
    """Draw the true features in the first row, and those of the models below."""
    true = truth.features[layer]
    panels = plt.figure(figsize=(8, 4), layout="constrained").subfigures(3, 1)
    named = [(f"planted {title}", true)]
    for model in models:
        cosine = matched_cosine(model.features_[layer], true)
        named.append(
            (
                f"{type(model).__name__}: mean cosine {cosine:.2f}",
                matched(model.features_[layer], true),
            )
        )
    for panel, (name, features) in zip(panels, named, strict=True):
        panel.suptitle(name, fontsize=10)
        for axes, feature in zip(
            panel.subplots(1, n_shown), features, strict=False
        ):
            axes.imshow(feature.reshape(truth.image_shape), cmap="gray_r", vmin=0)
            axes.set(xticks=[], yticks=[])
    plt.show()


draw(layer=0, n_shown=8, title="parts (8 of 24)")

# %%
# The models differ in the parts. In ``DeepNSNMF``, only the top layer has to
# explain the data, and nothing makes the layer below learn the parts that vary
# independently.

draw(layer=1, n_shown=6, title="wholes")

# %%
# A model with the right wholes has found the hierarchy only if its wholes are made
# of the right parts. The figure shows the weights of the parts in each whole.

figure, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="constrained")
factors = {"planted": truth.factors[1]}
for model in models:
    wholes = linear_sum_assignment(-truth.features[1] @ model.features_[1].T)[1]
    parts = linear_sum_assignment(-truth.features[0] @ model.features_[0].T)[1]
    factors[type(model).__name__] = model.factors_[1][np.ix_(wholes, parts)]
for panel, (name, Z) in zip(axes, factors.items(), strict=True):
    panel.imshow(
        Z / Z.max(axis=1, keepdims=True), cmap="gray_r", vmin=0, aspect="auto"
    )
    panel.set(title=name, xlabel="part", ylabel="whole")
plt.show()
