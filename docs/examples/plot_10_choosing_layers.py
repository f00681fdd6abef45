"""
Choosing the layers
===================

``select_layers`` finds how many features and how many layers the data support. It
compares how well models predict entries that were hidden during the fit. It needs
no labels.
"""

# %%
# The images are made of four wholes, which combine twelve parts. The search does
# not know these numbers.

import matplotlib.pyplot as plt

from deepnmf import DeepNMF, select_layers
from deepnmf.datasets import make_hierarchy

planted = make_hierarchy(500, (12, 4), image_shape=(16, 16), random_state=0)
selection = select_layers(DeepNMF(), planted.data, random_state=0)
print("layer sizes:", selection.best_sizes_)

# %%
# The error of the hidden entries decreases up to the true size and increases above
# it. The gray line is the stability of the features: how similar they are if the
# model is fitted to two halves of the data. It is highest at the true size. There
# is one panel for each search. In the last panel, the best size of a third layer is
# 1, so that no third layer is chosen.

drawing = selection.plot()

# %%
# The table of the search has a row for each size that was tried.

for row in selection.table_:
    if row.layer == 1:
        mark = "<- chosen" if row.size == selection.best_sizes_[0] else ""
        print(f"{row.size:3} features: error {row.error:.5f},", end=" ")
        print(f"stability {row.stability:.2f} {mark}")

# %%
# ``best_estimator_`` is the model with these sizes, fitted to all data. The figure
# shows its four wholes, and eight of its twelve parts.

model = selection.best_estimator_
figure, rows = plt.subplots(2, 8, figsize=(8, 2.2), layout="constrained")
for axes_row, features, name in zip(
    rows, model.features_[::-1], ("wholes", "parts"), strict=True
):
    axes_row[0].set_ylabel(name)
    for axes, feature in zip(axes_row, features, strict=False):
        axes.imshow(feature.reshape(16, 16), cmap="gray_r", vmin=0)
        axes.set(xticks=[], yticks=[])
    for axes in axes_row[len(features) :]:
        axes.set_axis_off()
plt.show()

# %%
# Measured data have no true sizes, and more samples support more features.
# :doc:`/choosing_the_layers` explains what the search can find and what it cannot.
# ``deepnmf choose data.csv`` runs the same search on the command line.
