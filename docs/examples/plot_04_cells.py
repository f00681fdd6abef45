"""
Cells in an AnnData object
==========================

The data are counts of genes in single cells. A deep model finds programs of genes,
and types of cells, which combine several programs. The results are stored in the
places in which single-cell tools expect them.
"""

# %%
# There are six types of cells and twelve programs of genes. Each type uses a few of
# the programs. The counts have Poisson distributions, whose means are the sums of
# the programs. The sequencing depth differs from cell to cell.

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
# ``fit_anndata`` fits the model to the counts and stores the results: codes in
# ``obsm``, features in ``varm``, and settings in ``uns``.

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
# Print the genes with the largest weights in the first three programs.

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
# The figure shows the shares of the features of the top layer in each cell. The
# cells are sorted by type. A cell may have a second and a third type besides its
# strongest one.

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
# scanpy finds the codes by their name: ``sc.pp.neighbors(cells,
# use_rep="X_deepnmf")``. ``model.report("cells.html", cells, "type",
# layer="counts")`` writes a page with the genes of every program.
