"""
Parts of a photograph
=====================

If the data are color images, each feature is a small image of shape
(height, width, 3).
"""

# %%
# The data are patches of 8 x 8 pixels from a photograph that comes with
# scikit-learn.

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
# The first layer contains colors, edges and spots, and the second layer contains
# their combinations. A patch of a single color needs only one part. Therefore some
# features of the top layer are copies of a single feature below.

copies = model.hierarchy_[1].copies
print(
    f"{copies} of 8 features of the top layer are copies of a single feature below"
)

drawing = plot_hierarchy(model, image_shape=(8, 8, 3))
