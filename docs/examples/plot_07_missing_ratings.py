"""
Missing ratings
===============

Most people have rated only a few films. A missing rating is unknown, not zero: with
``entry_weight="stored"``, the model is fitted to the known ratings only, and
predicts the others.
"""

# %%
# There are five hundred people and a hundred films of four genres. A person likes
# some genres more than others, and has rated about one film in seven. Films that
# the person likes are rated more often. A fifth of the ratings is left out of the
# fit, for the test.

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
# The number of components is chosen by cross-validation over the ratings: some of
# them are hidden in turn, and the model predicts them.

selection = select_layers(
    NMF(alpha_W=0.01),
    ratings,
    entry_weight="stored",
    sizes=range(1, 9),
    random_state=0,
)
print("components:", selection.best_sizes_[0])

# %%
# These are the root mean square errors of the ratings that were left out, in stars.
# Ratings are rounded and contain noise, so that even the true tastes do not predict
# them exactly: the last line is their error. If missing ratings are treated as
# zeros, the model learns which films were rated, instead of how they were rated.

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
# The model does not know the genres, but films of one genre have similar weights.
# The figure shows the mean share of each component in the films that belong mostly
# to one genre.

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
# The model can recommend films: these are the highest predictions for one person,
# among the films that this person has not rated.

person = likes[:, 2].argmax()  # likes horror most
unrated = np.flatnonzero(~rated[person])
best = unrated[predicted[person, unrated].argsort()[::-1][:5]]
for film in best:
    print(f"film {film} ({genres[genre[film]]}):", end=" ")
    print(f"{predicted[person, film]:.1f} predicted, {true[person, film]:.1f} true")
