"""Measure the benefit of known components.

`python -m benchmarks.known_components > docs/benchmarks/known_components.md` writes the page (needs DEEPNMF_DATA), and
`python -m benchmarks.known_components samson` prints one section.
"""

import sys
import warnings

import numpy as np
from benchmarks.hierarchy.problems import counts, stored
from benchmarks.page import described, spread, table
from scipy.optimize import linear_sum_assignment, nnls
from scipy.special import kl_div
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from deepnmf import NMF
from deepnmf.datasets import load
from deepnmf.engines import Workers, make_engine
from deepnmf.metrics import nmi
from deepnmf.objective import FixedEntries
from deepnmf.solvers.known_components import KnownComponents, balanced_norm, start_around
from deepnmf.solvers.starts import nonnegative_start
from reproduction.contenders import Layer
from reproduction.unmixing import unmixed

TOL, MOST = 1e-6, 2000
KL = "kullback-leibler"
WEIGHTS = (0.001, 0.01, 0.1, 1.0)
SPLITS, SEEDS, PROGRAMS = 3, 5, 10
ON_CELLS = {"beta_loss": KL, "random_state": 0, "tol": 1e-5, "max_iter": 500}
KNOWN_TYPES = ("CD19+ B", "CD56+ NK")


def nmf(size, **options):
    """Return an NMF with a small tolerance and a large limit of sweeps."""
    return NMF(size, random_state=0, tol=TOL, max_iter=MOST, **options)


# ------------------------------------------------------------------------------------------------- Samson


def samson():
    """Print how much a known spectrum improves the other two."""
    bunch = load("samson_95x95")
    X, names = bunch.data / float(bunch.scale), [str(name) for name in bunch.endmember_names]
    rows = []
    for loss in ("frobenius", KL):
        rows.append([loss, "none", *_unmixing(nmf(3, beta_loss=loss).fit(X), bunch)])
        for place, name in enumerate(names):
            model = nmf(3, beta_loss=loss).fit(X, fixed_components=bunch.endmembers[[place]])
            rows.append([loss, f"{name}, fixed", *_unmixing(model, bunch)])
    for weight in WEIGHTS:
        model = nmf(3).fit(X, guide=bunch.endmembers[:1], guide_weight=weight)
        rows.append(["frobenius", f"{names[0]}, guide of weight {weight:g}", *_unmixing(model, bunch)])
    print(table(["loss", "known", *(f"angle, {n}" for n in names), *(f"error, {n}" for n in names), "share"], rows))


def _unmixing(model, bunch):
    """Return angles in degrees, root mean square errors of the abundances, and the explained share of squares."""
    X = bunch.data / float(bunch.scale)
    codes = model.transform(X)
    _, angles, shares = unmixed(Layer(model.components_, codes), bunch.endmembers)
    errors = np.sqrt(np.mean((shares - bunch.abundances) ** 2, axis=0))
    left = np.sum((X - codes @ model.components_) ** 2) / np.sum(X**2)
    return *(f"{angle:.2f}" for angle in angles), *(f"{error:.3f}" for error in errors), f"{1 - left:.4f}"


# -------------------------------------------------------------------------------------------------- cells


def cells():
    """Print how much programs of one half of the cells improve a fit of the other half."""
    X, truth = counts("pbmc_facs"), stored("pbmc_facs")
    names = [str(name) for name in truth["class_names"]]
    places, rows, found = [names.index(name) for name in KNOWN_TYPES], [], []
    for split in range(SPLITS):
        reference, new = np.array_split(np.random.default_rng(split).permutation(X.shape[0]), 2)
        learned = NMF(PROGRAMS, **ON_CELLS).fit(X[reference])
        programs = _programs_of(learned, X[reference], truth["y"][reference], places)
        known, others = learned.components_[programs], np.delete(learned.components_, programs, axis=0)
        for name, fixed in (("none", None), ("B and NK", known)):
            model = NMF(PROGRAMS, **ON_CELLS).fit(X[new], fixed_components=fixed)
            shares = normalize(model.transform(X[new]), "l1")
            free = model.components_[0 if fixed is None else len(known) :]
            scores = [_clustered(shares, truth[key][new]) for key in ("y", "y_coarse")]
            rows.append((name, *scores, _recovered(free, others), _nearest(free, known), model.score(X[new])))
            if split == 0:
                about = _composition(shares, truth["y"][new], names)
                found += [(name, number, *cell) for number, cell in enumerate(about, start=1)]
    for_name = {name: np.array([row[1:] for row in rows if row[0] == name]) for name in ("none", "B and NK")}
    heads = ["fixed", "NMI, 10 types", "NMI, 5 populations", "other programs", "learned like B, NK", "explained"]
    print(table(heads, [[name, *map(spread, values.T)] for name, values in for_name.items()]))
    print(
        "\nThe next table shows the two types of cells with the largest mean shares of each component, in the first split.\n"
    )
    print(table(["fixed", "component", "largest share", "second"], found))


def _programs_of(model, X, y, places):
    """Return the components that best distinguish some types from the rest, by the difference of mean shares."""
    shares = normalize(model.transform(X), "l1")
    contrast = [shares[y == place].mean(axis=0) - shares[y != place].mean(axis=0) for place in places]
    _, programs = linear_sum_assignment(np.array(contrast), maximize=True)
    return programs


def _clustered(shares, y):
    """Return the mean NMI of k-means over some seeds."""
    clusters = [KMeans(y.max() + 1, n_init=10, random_state=seed).fit_predict(shares) for seed in range(SEEDS)]
    return np.mean([nmi(y, labels) for labels in clusters])


def _recovered(free, others):
    """Return the mean cosine of the programs of the other half with the components that match them best."""
    cosines = normalize(others) @ normalize(free).T
    return cosines[linear_sum_assignment(cosines, maximize=True)].mean()


def _nearest(free, known):
    """Return the largest cosine of a free component with a known program, averaged over the known programs."""
    return (normalize(known) @ normalize(free).T).max(axis=1).mean()


def _composition(shares, y, names):
    means = np.array([shares[y == place].mean(axis=0) for place in range(len(names))])
    for column in means.T:
        first, second = np.argsort(-column)[:2]
        yield f"{names[first]} {column[first]:.2f}", f"{names[second]} {column[second]:.2f}"


# ------------------------------------------------------------------------------------------------- starts


def starts():
    """Print the final losses for three initializations of the learned components."""
    bunch, digits = load("samson_95x95"), load_digits()
    scene, pictures = bunch.data / float(bunch.scale), digits.data
    means = np.array([pictures[digits.target == digit].mean(axis=0) for digit in range(3)])
    problems = {
        "Samson, 1 of 3": (scene, bunch.endmembers[:1], 3),
        "Samson, 1 of 6": (scene, bunch.endmembers[:1], 6),
        "digits, 3 of 10": (pictures, means, 10),
        "digits, 3 of 20": (pictures, means, 20),
    }
    rows = []
    for (name, (X, F, size)), loss in ((one, loss) for one in problems.items() for loss in ("frobenius", KL)):
        losses = {start: _loss(X, F, loss, *make(X, F, size)) for start, make in STARTS.items()}
        least = min(losses.values())
        rows.append([name, loss, *(f"{value / least - 1:.2%}" for value in losses.values())])
    print(table(["problem", "loss", *STARTS], rows))


def _loss(X, F, loss, codes, Z):
    model = NMF(len(Z), init="custom", beta_loss=loss, tol=1e-5, max_iter=500)
    return model.fit(X, W=codes, H=Z, fixed_components=F).loss_curve_[-1]


def _default(X, size):
    with Workers() as workers:
        engine = make_engine(X, workers=workers, nonnegative=True)
        codes, Z = nonnegative_start(engine, size, "nndsvda", np.random.RandomState(0))
        return codes, Z, balanced_norm(engine, size)


def _by_match(X, F, size):
    """Replace the components of the default start that are most similar to the fixed ones."""
    codes, Z, norm = _default(X, size)
    known = KnownComponents.at_norm(F, norm, smoothed=False)
    codes, Z = start_around(known.entries, codes, Z)
    return _in_scale_of(F, known, codes, Z)


def _by_place(X, F, size):
    """Replace the first components of the default start, which explain most."""
    codes, Z, norm = _default(X, size)
    known = KnownComponents.at_norm(F, norm, smoothed=False)
    return _in_scale_of(F, known, codes, known.entries.put_into(Z))


def _by_residual(X, F, size):
    """Initialize the other components from the residual of the fixed ones with their best codes, clipped at 0."""
    fixed_codes = np.array([nnls(F.T, x)[0] for x in X])
    codes, Z, _ = _default(np.maximum(X - fixed_codes @ F, 0), size - len(F))
    return np.hstack([fixed_codes, codes]), np.vstack([F, Z])


def _in_scale_of(F, known, codes, Z):
    codes = codes.copy()
    codes[:, : len(F)] /= known.scale
    return codes, FixedEntries(F).put_into(Z)


STARTS = {"by match (ours)": _by_match, "by place": _by_place, "by residual": _by_residual}


# ------------------------------------------------------------------------------------------ all components fixed


def all_fixed():
    """Print the differences between our codes and those of scikit-learn if all components are fixed."""
    X, rows = load_digits().data, []
    H = nmf(16).fit(X).components_
    for loss, options in (("frobenius", {"solver": "cd"}), (KL, {"solver": "mu", "init": "random"})):
        how = options | {"beta_loss": loss, "tol": 1e-16, "max_iter": 20_000, "random_state": 0}
        W, _, _ = non_negative_factorization(X, H=H, n_components=16, update_H=False, **how)
        codes = NMF(16, beta_loss=loss).fit(X, fixed_components=H).codes_[0]
        above = _losses(X, codes @ H, loss) - _losses(X, W @ H, loss)
        rows.append([loss, f"{np.abs(codes - W).max() / W.max():.1e}", f"{above.max():.1e}", f"{-above.min():.1e}"])
    print(table(["loss", "largest difference", "our loss above theirs", "theirs above ours"], rows))


def _losses(X, model, loss):
    """Return the loss of each row."""
    return np.sum(kl_div(X, model) if loss == KL else 0.5 * (X - model) ** 2, axis=1)


SECTIONS = {
    samson: (
        "Samson with one known spectrum",
        "The scene has 9025 pixels of 156 bands, and three materials. `NMF(3)` is fitted without known spectra, and with one of the true spectra fixed or used as a guide. The table shows the angles to the true spectra in\n"
        "degrees, the root mean square errors of the abundances, and the explained share of ‖X‖². A fixed spectrum has an angle of 0.",
    ),
    cells: (
        "Cells with two known programs",
        f"The data are counts of 16791 genes in 3774 sorted blood cells, and the model is `NMF({PROGRAMS}, beta_loss='kullback-leibler')`. Programs are learned on a random half of the cells. The programs of B\n"
        "and NK cells are the components that best distinguish these cells from the others in this half. In the other half, these two programs are either fixed or not. The table shows the NMI of k-means on the\n"
        "shares of the components (codes that sum to one, five seeds), the mean cosine of the other eight programs of the first half with the\n"
        f"components learned in the second half, and the largest cosine of a learned component with the programs of B and NK cells, as mean and standard deviation over {SPLITS} splits.",
    ),
    starts: (
        "Initialization of the learned components",
        "The table shows how far the final loss (tol=1e-5, at most 500 sweeps) is above that of the best of three initializations. The fixed components replace the most similar components of the default\n"
        "initialization (by match), or its first components (by place), or the other components are initialized from the residual of X after the fixed ones, clipped at 0 (by residual). The last method needs a copy of X.",
    ),
    all_fixed: (
        "All components fixed",
        "The codes of `NMF(16).fit(X, fixed_components=H)` are compared with those of scikit-learn's `non_negative_factorization(X, H=H, update_H=False)`, on digits. The table shows the largest\n"
        "difference relative to the largest code, and the largest difference of the losses of a row in each direction. scikit-learn's solver for the\n"
        "Kullback-Leibler divergence is multiplicative, and stops before it has converged.",
    ),
}  # fmt: skip


def main(names):
    """Print the page, or some of its sections, each with its commit."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    if not names:
        print(
            "# Known components\n\nMade by `python -m benchmarks.known_components`. Problems and settings were chosen before"
        )
        print("any of these figures was seen, except for the initialization of guided components (see decision 29).")
    for section, (title, text) in SECTIONS.items():
        if section.__name__ in names or not names:
            print(f"\n## {title}\n\n{text}\n\n{described()}\n", flush=True)
            section()


if __name__ == "__main__":
    main(sys.argv[1:])
