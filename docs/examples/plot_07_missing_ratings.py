"""
Missing ratings
===============

Most people have rated few films. An absent rating is unknown, and not zero:
``entry_weight="stored"`` fits the ratings that are there, and the model predicts
the others.
"""

# %%
# Five hundred people and a hundred films of four genres. A person likes some genres
# more than others, and has rated one film in seven, more often such that they like.
# A fifth of the ratings is left out for the test.

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from deepnmf import NMF, select_layers

rng = np.random.default_rng(0)
genres = np.array(["comedy", "drama", "horror", "science fiction"])
belongs = rng.dirichlet(np.full(4, 0.2), 100)
likes = rng.dirichlet(np.full(4, 0.4), 500)
quality = rng.normal(0, 0.4, 100)
true = np.clip(1.5 + 3.5 * likes @ belongs.T / belongs.max(axis=1) + quality, 1, 5)
rated = rng.random(true.shape) < 0.14 * true / true.mean()
stars = np.clip(np.round(true + rng.normal(0, 0.4, true.shape)), 1, 5)
test = rated & (rng.random(true.shape) < 0.2)
ratings = sparse.csr_array(np.where(rated & ~test, stars, 0))
print(f"{ratings.nnz} ratings to learn from, {test.sum()} to predict")

# %%
# The number of components is chosen by ratings that are hidden in turn.

selection = select_layers(
    NMF(alpha_W=0.01),
    ratings,
    entry_weight="stored",
    sizes=range(1, 9),
    random_state=0,
)
print("components:", selection.best_sizes_[0])

# %%
# Root mean square errors of the ratings that were left out, in stars. Rounding and
# mood make ratings vary: the true tastes themselves are not better than the last
# line. Where absent ratings are taken for zeros, the model learns which films were
# rated instead of how.

model = selection.best_estimator_
predicted = np.clip(
    model.inverse_transform(model.transform(ratings, entry_weight="stored")), 1, 5
)
zeros = NMF(model.n_components, random_state=0).fit(ratings)
seen = np.where(ratings.toarray() > 0, ratings.toarray(), np.nan)
guesses = {
    "mean of the film": np.broadcast_to(np.nanmean(seen, axis=0), true.shape),
    "absent as zero": zeros.inverse_transform(zeros.transform(ratings)),
    "model": predicted,
    "true tastes": true,
}
for name, guess in guesses.items():
    print(f"{name:17} {np.sqrt(np.mean((guess - stars)[test] ** 2)):.2f}")

# %%
# The model has not seen genres. Yet the films of a genre have similar features: the
# mean weight of each component over the films that belong mostly to one genre, as
# shares.

genre = belongs.argmax(axis=1)
weights = model.components_ / model.components_.sum(axis=0)
means = np.array([weights[:, genre == one].mean(axis=1) for one in range(4)])
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
picture = axes.imshow(means, cmap="viridis", vmin=0)
axes.set_yticks(range(4), genres)
axes.set(xlabel="component", xticks=range(len(weights)))
figure.colorbar(picture, label="mean share")
plt.show()

# %%
# What to watch next: the best predictions for one person among the films that they
# have not rated.

person = likes[:, 2].argmax()  # likes horror most
unrated = np.flatnonzero(~rated[person])
best = unrated[predicted[person, unrated].argsort()[::-1][:5]]
for film in best:
    print(f"film {film} ({genres[genre[film]]}):", end=" ")
    print(f"{predicted[person, film]:.1f} predicted, {true[person, film]:.1f} true")
