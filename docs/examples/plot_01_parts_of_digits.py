"""
Parts, and wholes made of them
==============================

A deep model of handwritten digits learns small strokes on the first layer, and
digits that are made of strokes on the second one.
"""

# %%
# The model has two layers: 24 parts, which are made of pixels, and ten wholes,
# which are made of parts.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from deepnmf import DeepNMF, plot_hierarchy

digits = load_digits()
X = digits.data / 16
model = DeepNMF(layer_sizes=(24, 10), random_state=0).fit(X)

# %%
# What is a whole made of? Its row of the factor contains the weight of each part.
# Parts have unit norm, so that the weights can be compared. Each row of the figure
# shows a whole and the seven parts with the largest weights, with their shares.

figure, rows = plt.subplots(5, 8, figsize=(8, 6), layout="constrained")
for axes_row, whole, weights in zip(
    rows, model.components_, model.factors_[1], strict=False
):
    heaviest = weights.argsort()[::-1][:7]
    pictures = [whole, *model.features_[0][heaviest]]
    titles = [
        "whole",
        *(f"{share:.0%}" for share in weights[heaviest] / weights.sum()),
    ]
    for axes, picture, title in zip(axes_row, pictures, titles, strict=True):
        axes.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0)
        axes.set_title(title, fontsize=9)
        axes.set(xticks=[], yticks=[])
plt.show()

# %%
# ``hierarchy_`` describes each layer: the share of the data that it explains, the
# number of features that are dead, the number of features that are copies of a
# single feature below, and the number of parts that a feature is made of.

for layer in model.hierarchy_:
    print(
        f"layer {layer.layer}: {layer.explained:.1%} explained, {layer.dead} dead,",
        end=" ",
    )
    print(f"{layer.copies} copies, {layer.parts:.1f} parts a feature")

# %%
# ``plot_hierarchy`` draws the strongest features of the second layer, and the
# features of the first layer that they are made of.

drawing = plot_hierarchy(model, image_shape=(8, 8))
