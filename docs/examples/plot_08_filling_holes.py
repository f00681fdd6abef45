"""
Filling holes
=============

NaN marks an entry that was not observed. The model learns from the other entries,
and predicts the missing ones.
"""

# %%
# Half of the pixels are hidden. The sixteen codes of an image are then computed
# from about thirty pixels. A small ``alpha_W`` prevents large codes that only a few
# pixels support.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from deepnmf import NMF

X = load_digits().data / 16
rng = np.random.default_rng(0)
hidden = rng.random(X.shape) < 0.5
seen = np.where(hidden, np.nan, X)
model = NMF(16, alpha_W=0.01, random_state=0).fit(seen)
filled = np.where(hidden, model.inverse_transform(model.transform(seen)), X)


def rms(guess):
    """Return the root mean square error over the hidden pixels."""
    return np.sqrt(np.mean((guess - X)[hidden] ** 2))


means = np.broadcast_to(np.nanmean(np.where(hidden, np.nan, X), axis=0), X.shape)
print(f"error of column means {rms(means):.3f}, of the model {rms(filled):.3f}")

# %%
# The rows show the original images, the images with hidden pixels, and the images
# whose hidden pixels were predicted.

figure, rows = plt.subplots(3, 8, figsize=(8, 3), layout="constrained")
for axes_row, pictures in zip(rows, (X, seen, filled), strict=True):
    for axes, picture in zip(axes_row, pictures, strict=False):
        axes.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        axes.set_axis_off()
plt.show()
