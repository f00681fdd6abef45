"""
Spectra and programs with known components
==========================================

Often some of the components are known: the spectrum of a material, the program of a
type of cells, or the components of another data set. ``fixed_components`` keeps
such components unchanged, and the model learns the others.
"""

# %%
# A scene with one known material
# -------------------------------
# Pixels are mixtures of three spectra. Some pixels are pure tree or pure water, but
# soil is never more than 60 % of a pixel. Therefore no pixel shows the spectrum of
# soil alone.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import normalize

from deepnmf import NMF

rng = np.random.default_rng(0)
side, bands = 40, np.linspace(0.4, 2.5, 80)


def bump(center, width):
    """Return a smooth peak over the bands."""
    return np.exp(-0.5 * ((bands - center) / width) ** 2)


spectra = np.array(
    [
        0.25 + 0.35 * bands / 2.5 - 0.15 * bump(2.2, 0.12),  # soil
        0.05 + 0.15 * bump(0.55, 0.06) + 0.6 * bump(1.05, 0.35),  # tree
        0.02 + 0.35 * bump(0.45, 0.25),  # water
    ]
)
down, across = np.mgrid[0 : 1 : side * 1j, 0 : 1 : side * 1j]
covers = np.array(
    [
        0.6 * np.sin(np.pi * down) ** 2,
        np.maximum(1 - 1.6 * across, 0),
        np.maximum(1.6 * across - 0.6, 0),
    ]
)
shares = (covers / covers.sum(axis=0)).reshape(3, -1).T
X = np.maximum(
    shares @ spectra + 0.003 * rng.standard_normal((side**2, len(bands))), 0
)

# %%
# Without this knowledge, NMF finds three other spectra that explain the pixels
# equally well. If the spectrum of soil is fixed, the other two are closer to the
# truth. The fixed component comes first, and keeps the values that were given.

blind = NMF(3, random_state=0, tol=1e-6, max_iter=2000).fit(X)
helped = NMF(3, random_state=0, tol=1e-6, max_iter=2000).fit(
    X, fixed_components=spectra[:1]
)
print("kept to the bit:", np.array_equal(helped.components_[0], spectra[0]))


def matched(components):
    """Return the component that is closest to each true spectrum."""
    return normalize(components)[
        (normalize(spectra) @ normalize(components).T).argmax(axis=1)
    ]


def angles(components):
    """Return the angle in degrees between each true spectrum and that component."""
    return np.rad2deg(
        np.arccos(
            np.clip(np.sum(normalize(spectra) * matched(components), axis=1), -1, 1)
        )
    )


for name, model in (("nothing known", blind), ("soil fixed", helped)):
    print(
        f"{name}: angles of soil, tree, water", angles(model.components_).round(1)
    )

# %%
# The figure shows the spectra, scaled to a maximum of one. The true spectra are
# dashed.

figure, panels = plt.subplots(
    1, 2, figsize=(8, 3), layout="constrained", sharey=True
)
for axes, title, model in zip(
    panels, ("nothing known", "soil fixed"), (blind, helped), strict=True
):
    axes.plot(
        bands,
        normalize(matched(model.components_), "max").T,
        label=["soil", "tree", "water"],
    )
    axes.plot(bands, normalize(spectra, "max").T, "k--", linewidth=0.8)
    axes.set(title=title, xlabel="wavelength, µm")
panels[0].legend(loc="center right")
plt.show()

# %%
# If the known spectrum is not exactly that of the scene, it should not be fixed.
# Use it as a guide instead: the component is then a compromise between the guide
# and the data. With a larger ``guide_weight``, the component is closer to the
# guide, which is 7 degrees from the truth here.

measured = spectra[0] * (1 + 0.2 * np.sin(6 * bands))  # by another instrument
for weight in (0.001, 0.01, 0.1, 1):
    guided = NMF(3, random_state=0, tol=1e-6, max_iter=2000).fit(
        X, guide=measured[None], guide_weight=weight
    )
    print(
        f"weight {weight:g}: angles of soil, tree, water",
        angles(guided.components_).round(1),
    )

# %%
# Cells with known programs
# -------------------------
# Programs are learned from a reference with well-known cells, and one argument
# fixes them in the model of new cells. Two more programs are learned from the new
# cells.

n_genes = 300
programs = rng.gamma(0.15, 1, (5, n_genes))
programs /= programs.sum(axis=1, keepdims=True)


def cells(n, kinds):
    """Return the counts of cells, each mostly of one kind, and their kinds."""
    kind = rng.choice(kinds, n)
    mixture = (
        0.85 * np.eye(5)[kind]
        + 0.15 * rng.dirichlet(np.ones(len(kinds)), n) @ np.eye(5)[kinds]
    )
    return rng.poisson(1500 * mixture @ programs).astype(float), kind


old, _ = cells(400, [0, 1, 2])
new, kind = cells(200, [0, 1, 2, 3, 4])
reference = NMF(3, beta_loss="kullback-leibler", random_state=0).fit(old)
model = NMF(5, beta_loss="kullback-leibler", random_state=0).fit(
    new, fixed_components=reference.features_[0]
)

# %%
# The figure shows the mean shares of the programs in each kind of cells. The first
# three programs are those of the reference, and the two others describe the kinds
# of cells that are not in the reference.

codes = normalize(model.transform(new), "l1")
means = np.array([codes[kind == one].mean(axis=0) for one in range(5)])
figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
picture = axes.imshow(means, cmap="viridis", vmin=0, vmax=1)
axes.set(
    xlabel="program (0, 1, 2 are fixed)",
    ylabel="kind of cells",
    xticks=range(5),
    yticks=range(5),
)
figure.colorbar(picture, label="mean share")
plt.show()

# %%
# ``python -m benchmarks.known_components`` does the same for a real scene and real
# cells, see :doc:`/benchmarks/known_components`.
