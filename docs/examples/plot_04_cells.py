"""
Cells in an AnnData object
==========================

Counts of genes in single cells: a deep model finds programs of genes, and the types
of cells that use them together. The results are written to where single-cell tools
look for them.
"""

# %%
# Six types of cells, and twelve programs of genes, of which every type uses a few.
# The counts are Poisson variables around what the programs predict, and each cell
# was sequenced to a depth of its own.

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import sparse

import deepnmf
from deepnmf.datasets import make_hierarchy

truth = make_hierarchy(
    800, (12, 6), n_features=400, parts_per_whole=4, noise=None, random_state=0
)
rng = np.random.default_rng(0)
depths = rng.lognormal(np.log(1500), 0.4, (800, 1))
expected = depths * truth.data / truth.data.sum(axis=1, keepdims=True)
cells = anndata.AnnData(sparse.csr_matrix(rng.poisson(expected).astype(np.float32)))
cells.var_names = [f"gene {j}" for j in range(cells.n_vars)]
cells.obs["type"] = pd.Categorical(
    [f"type {k}" for k in truth.codes[1].argmax(axis=1)]
)
cells.layers["counts"] = cells.X.copy()
print(cells)

# %%
# One line fits the model to the counts and stores what it has learned: codes in
# ``obsm``, features in ``varm``, settings in ``uns``.

model = deepnmf.DeepNMF((12, 6), beta_loss="kullback-leibler", random_state=0)
deepnmf.fit_anndata(model, cells, layer="counts")
print(
    "obsm:",
    ", ".join(cells.obsm),
    "| varm:",
    ", ".join(cells.varm),
    "| uns:",
    ", ".join(cells.uns),
)

# %%
# The genes that weigh most in the first programs.

for number, program in enumerate(model.top_features(layer=0, n=5)[:3]):
    print(
        f"program {number}:",
        ", ".join(f"{gene} {weight:.2f}" for gene, weight in program),
    )

# %%
# Since the cells are synthetic, the programs can be compared with the true ones.

from deepnmf.metrics import matched_cosine

for layer, name in enumerate(("programs", "types")):
    cosine = matched_cosine(model.features_[layer], truth.features[layer])
    print(f"{name}: mean cosine with the true ones {cosine:.2f}")

# %%
# Shares of the features of the top layer in each cell, cells sorted by type. A cell
# may have a second and a third type besides its strongest one.

shares = cells.obsm["X_deepnmf"] * model.components_.sum(axis=1)
shares /= shares.sum(axis=1, keepdims=True)
order = np.lexsort((shares.max(axis=1), cells.obs["type"].cat.codes))
figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
axes.stackplot(range(len(order)), shares[order].T)
ends = np.cumsum(cells.obs["type"].value_counts(sort=False))
axes.set_xticks(ends - np.diff(ends, prepend=0) / 2, ends.index)
axes.set(xlim=(0, len(order)), ylim=(0, 1), ylabel="share")
plt.show()

# %%
# scanpy takes the codes by their name, ``sc.pp.neighbors(cells,
# use_rep="X_deepnmf")``, and ``model.report("cells.html", cells, "type",
# layer="counts")`` writes a page with the genes of every program.
