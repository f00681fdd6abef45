"""
Parts, and parts of parts
=========================

A deep model of digits: small strokes on the first layer, and above it digits made of strokes.
"""

# %%
# Two layers: forty features next to the pixels, ten on top.

from sklearn.datasets import load_digits

from deepnmf import DeepNSNMF, plot_hierarchy

digits = load_digits()
X = digits.data / 16
model = DeepNSNMF(layer_sizes=(40, 10), random_state=0).fit(X)

# %%
# Every feature is a picture.

hierarchy = plot_hierarchy(model, image_shape=(8, 8))

# %%
# What is the first of the top features made of? Its row of the factor says how much of each feature below is in it.

weights = model.factors_[1][0]
strongest = weights.argsort()[::-1][:5]
for part in strongest:
    print(f"feature {part} of the layer below: {weights[part]:.2f}")
