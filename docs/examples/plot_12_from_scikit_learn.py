"""
From scikit-learn's NMF to ours
===============================

You only have to change the import. The error is the same or lower.
"""

# %%
# The calls of both are the same.

import sklearn.decomposition
from sklearn.datasets import load_digits

import deepnmf

X = load_digits().data
theirs = sklearn.decomposition.NMF(10, random_state=0, max_iter=1000).fit(X)
ours = deepnmf.NMF(10, random_state=0, max_iter=1000).fit(X)
print(f"scikit-learn's error {theirs.reconstruction_err_:.2f}")
print(f"ours                 {ours.reconstruction_err_:.2f}")

# %%
# The figure shows the loss after each sweep. A sweep is one iteration.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(layout="constrained")
axes.plot(range(1, ours.n_iter_ + 1), ours.loss_curve_)
axes.axhline(
    theirs.reconstruction_err_**2 / 2,
    color="grey",
    linestyle="--",
    label="where scikit-learn's ends",
)
axes.set(xlabel="sweep", ylabel="½‖X - WH‖²", xscale="log")
axes.legend(frameon=False)
plt.show()
