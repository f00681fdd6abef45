"""
Topics of texts
===============

Texts that everybody has who has deepnmf: the documentation of SciPy's functions. A
deep model of their words has topics on its first layer, and groups of topics above.
"""

# %%
# Each function or class is a text. The subpackage that it belongs to is its label,
# which the model does not see.

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
# Counts of words. Words of few texts and of most texts are left out.

from sklearn.feature_extraction.text import CountVectorizer

vectorizer = CountVectorizer(
    stop_words="english", min_df=5, max_df=0.3, token_pattern=r"[a-z]{4,}"
)
counts = vectorizer.fit_transform(texts).astype(float)
words = vectorizer.get_feature_names_out()
print(len(words), "words")

# %%
# Counts are fitted by the Kullback-Leibler loss. The matrix stays sparse.

from deepnmf import DeepNMF

model = DeepNMF((30, 8), beta_loss="kullback-leibler", random_state=0).fit(counts)
for layer in model.hierarchy_:
    print(f"{layer.size} features explain {layer.explained:.0%} of the deviance")

# %%
# The words that weigh most in each group of topics, and in the two topics that are
# its largest part.


def heaviest(feature, n):
    """The n words that weigh most."""
    return ", ".join(words[feature.argsort()[::-1][:n]])


topics, groups = model.features_
for group, weights in zip(groups, model.factors_[1], strict=True):
    print(heaviest(group, 7))
    for topic in weights.argsort()[::-1][:2]:
        print(
            f"    {weights[topic] / weights.sum():.0%}", heaviest(topics[topic], 5)
        )

# %%
# A long text has large codes. Shares, codes times the sums of their features
# divided by the total of the text, do not depend on its length. Their mean over the
# texts of a subpackage shows that many groups belong to one or two of them.

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
# ``deepnmf fit`` reads a folder of texts or a ``.jsonl`` file. With a network,
# ``sklearn.datasets.fetch_20newsgroups(remove=("headers", "footers",
# "quotes")).data`` are texts to try it with.
