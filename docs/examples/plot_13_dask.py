"""
Data on a dask cluster
======================

The rows of a dask array stay on the workers during a fit. The factors are sent to
the workers, and the workers return sums over their rows.
"""

# %%
# Start a cluster of two workers on this machine. To use another cluster, you only
# have to write ``Client("address")``.

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from deepnmf import NMF

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
)
client = Client(cluster)

# %%
# The array has 20 000 rows in ten chunks. Each chunk is created on a worker, and
# the fit never collects the chunks in one place.

rng = np.random.default_rng(0)
features = rng.gamma(0.3, 1, (8, 100))


def chunk(block_info=None):
    """Return the rows of one chunk: random codes times the features, plus noise."""
    rng = np.random.default_rng(block_info[None]["chunk-location"][0])
    codes = rng.gamma(0.5, 1, (2000, 8))
    return codes @ features + 0.1 * rng.random((2000, 100))


X = da.map_blocks(
    chunk, chunks=((2000,) * 10, (100,)), dtype=float, meta=np.empty((0, 0))
).persist()
print(X)

# %%
# The call is the same as for an array in memory. The models agree up to the
# tolerance of the fit.

model = NMF(8, random_state=0).fit(X)
local = NMF(8, random_state=0).fit(X.compute())
print(f"explained on the cluster: {model.score(X):.4f}")
print(f"explained in memory:      {local.score(X):.4f}")

# %%
# Codes are lazy: they are computed on the workers when they are needed, and can be
# written chunk by chunk.

codes = model.transform(X)
print(codes)
print("mean codes:", codes.mean(axis=0).compute().round(2))

# %%
# The figure compares the learned features with those that the data were made of.

import matplotlib.pyplot as plt
from scipy.optimize import linear_sum_assignment

true = features / np.linalg.norm(features, axis=1, keepdims=True)
order = linear_sum_assignment(-true @ model.components_.T)[1]
figure, panels = plt.subplots(
    2, 1, figsize=(8, 3.2), layout="constrained", sharex=True
)
for axes, rows, title in zip(
    panels, (true, model.components_[order]), ("planted", "found"), strict=True
):
    axes.imshow(rows, aspect="auto", cmap="gray_r", vmin=0)
    axes.set(ylabel=title, yticks=[])
panels[1].set_xlabel("column")
plt.show()

client.close()
cluster.close()
