"""
Topics of texts
===============

The texts are the documentation of SciPy's functions, which is installed with
deepnmf. A deep model of their words learns topics on its first layer, and groups of
topics on the second one.
"""

# %%
# The documentation of each function or class is one text. The label of a text is
# its subpackage. The model does not use the labels.

import importlib
import inspect

subpackages = ["fft", "integrate", "interpolate", "linalg", "ndimage", "optimize"]
subpackages += ["signal", "sparse", "spatial", "special", "stats"]
texts, labels = [], []
for subpackage in subpackages:
    module = importlib.import_module(f"scipy.{subpackage}")
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name, None)) or ""
        if len(text) > 300 and text not in texts:
            texts.append(text)
            labels.append(subpackage)
print(len(texts), "texts")

# %%
# The words in each text are counted. Words that occur in very few texts or in many
# texts are left out.

from sklearn.feature_extraction.text import CountVectorizer

vectorizer = CountVectorizer(
    stop_words="english", min_df=5, max_df=0.3, token_pattern=r"[a-z]{4,}"
)
counts = vectorizer.fit_transform(texts).astype(float)
words = vectorizer.get_feature_names_out()
print(len(words), "words")

# %%
# The Kullback-Leibler loss is suited to counts. The matrix stays sparse.

from deepnmf import DeepNMF

model = DeepNMF((30, 8), beta_loss="kullback-leibler", random_state=0).fit(counts)
for layer in model.hierarchy_:
    print(f"{layer.size} features explain {layer.explained:.0%} of the deviance")

# %%
# For each group of topics, print the words with the largest weights, and below them
# the same for the two topics that have the largest shares of the group.


def heaviest(feature, n):
    """Return the n words with the largest weights."""
    return ", ".join(words[feature.argsort()[::-1][:n]])


topics, groups = model.features_
for group, weights in zip(groups, model.factors_[1], strict=True):
    print(heaviest(group, 7))
    for topic in weights.argsort()[::-1][:2]:
        print(
            f"    {weights[topic] / weights.sum():.0%}", heaviest(topics[topic], 5)
        )

# %%
# A long text has large codes. Therefore each code is multiplied by the sum of its
# feature, and divided by the total of these products for the text. The resulting
# shares do not depend on the length of the text. Their means over the texts of each
# subpackage show that many groups belong to one or two subpackages.

import matplotlib.pyplot as plt
import numpy as np

shares = model.transform(counts) * model.components_.sum(axis=1)
shares /= shares.sum(axis=1, keepdims=True)
means = np.array(
    [
        shares[np.array(labels) == subpackage].mean(axis=0)
        for subpackage in subpackages
    ]
)
order = means.argmax(axis=0).argsort(kind="stable")
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
picture = axes.imshow(means[:, order], cmap="viridis", vmin=0, aspect="auto")
axes.set_yticks(range(len(subpackages)), subpackages)
axes.set_xticks(
    range(len(order)),
    [heaviest(groups[i], 2) for i in order],
    rotation=30,
    ha="right",
)
figure.colorbar(picture, label="mean share")
plt.show()

# %%
# ``deepnmf fit`` reads a folder of texts or a ``.jsonl`` file. If you have an
# internet connection, you can try the texts of
# ``sklearn.datasets.fetch_20newsgroups(remove=("headers", "footers",
# "quotes")).data``.
