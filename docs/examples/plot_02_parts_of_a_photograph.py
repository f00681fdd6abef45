"""
Parts of a photograph
=====================

Color pictures: a feature is a small picture of shape (height, width, 3).
"""

# %%
# Patches of 8 x 8 pixels of a photograph that comes with scikit-learn.

import warnings

from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from deepnmf import DeepNMF, HierarchyWarning, plot_hierarchy

photograph = load_sample_image("flower.jpg") / 255
patches = extract_patches_2d(photograph, (8, 8), max_patches=3000, random_state=0)
X = patches.reshape(len(patches), -1)
warnings.simplefilter("ignore", HierarchyWarning)  # the numbers below say the same
model = DeepNMF(layer_sizes=(48, 8), tol=1e-3, random_state=0).fit(X)

# %%
# Colors, edges and spots below, their combinations above. Patches of a single color
# need no other part, so that some features of the top layer are copies of one
# below.

copies = model.hierarchy_[1].copies
print(
    f"{copies} of 8 features of the top layer are copies of a single feature below"
)

drawing = plot_hierarchy(model, image_shape=(8, 8, 3))
