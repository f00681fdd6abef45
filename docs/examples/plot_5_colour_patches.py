"""
Parts of a photograph
=====================

Colour pictures: a feature is a small picture of shape (height, width, 3).
"""

# %%
# Patches of 8 x 8 pixels of a photograph that comes with scikit-learn.

from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from deepnmf import DeepNSNMF, plot_hierarchy

photograph = load_sample_image("flower.jpg") / 255
patches = extract_patches_2d(photograph, (8, 8), max_patches=3000, random_state=0)
X = patches.reshape(len(patches), -1)
model = DeepNSNMF(layer_sizes=(48, 12), tol=1e-3, random_state=0).fit(X)

# %%
# Colours and edges below, their combinations above.

hierarchy = plot_hierarchy(model, image_shape=(8, 8, 3))
