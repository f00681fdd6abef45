"""Dead parts of `DeepNSNMF`: as published, with S over living rows only, and with unit rows below the top layer."""

import numpy as np
from benchmarks.corrections.problems import PROBLEMS, accuracy, explained, sqnorm
from benchmarks.page import table
from scipy.optimize import minimize

from deepnmf import DeepNSNMF
from deepnmf.objective import smooth

THETA, ROUNDS, STEPS = 0.5, 10, 150


def rows():
    """Yield one row for each form of the model."""
    for problem in PROBLEMS:
        X, y = problem.data()
        for name, (Z1, Z2), share, codes in forms(X, problem.sizes):
            n_dead = problem.sizes[0] - np.count_nonzero(np.any(Z1, axis=1))
            n_unused = problem.sizes[0] - np.count_nonzero(np.any(Z1, axis=1) & np.any(Z2, axis=0))
            figures = n_dead, n_unused, f"{share:.2f}", f"{accuracy(codes, y):.3f}"
            yield problem.name, "" if problem.chooses else "held out", name, *figures


def forms(X, sizes):
    """Yield the name, the factors, the explained share and the codes of each form."""
    common = {"layer_sizes": sizes, "random_state": 0}
    published = DeepNSNMF(theta=THETA, **common).fit(X)
    plain_below = DeepNSNMF(theta=(0, THETA), **common).fit(X)
    models = {"published": published, "S over living rows": over_living_rows(X, published), "θ_1 = 0": plain_below}
    for name, model in models.items():
        yield name, model.factors_, explained(model, X), model.codes_[-1]
    start = DeepNSNMF(theta=THETA, max_iter=1, tol=0, **common).fit(X)
    for name in ("published, by L-BFGS", "unit rows, by L-BFGS"):
        H, Z2, Z1, loss = by_lbfgs(X, start, has_unit_rows=name.startswith("unit"))
        codes = H * np.linalg.norm(smooth(Z2, THETA) @ smooth(Z1, THETA), axis=1)
        yield name, (Z1, Z2), 100 * (1 - 2 * loss / sqnorm(X)), codes


def over_living_rows(X, model):
    """Remove dead rows and continue the fit, until no row dies any more; S then contains only living rows."""
    for _ in range(ROUNDS):
        alive = np.any(model.factors_[0], axis=1)
        if alive.all() or not alive.any():
            return model
        Z1, Z2 = model.factors_[0][alive], model.factors_[1][:, alive]
        smaller = DeepNSNMF((len(Z1), len(Z2)), theta=THETA, init="custom", random_state=0)
        model = smaller.fit(X, factors=[Z1, Z2])
    return model


def by_lbfgs(X, start, has_unit_rows):
    """Minimize ½‖X - H S Z_2 S Z_1‖² over all matrices at once.

    With `has_unit_rows`, the rows of Z_1 are divided by their norms.
    """
    Z1, Z2 = (np.asarray(Z, float) for Z in start.factors_)
    codes = np.asarray(start.codes_[-1] * start._learned.code_scales[-1], float)
    norms = np.linalg.norm(Z1, axis=1)
    if has_unit_rows:
        Z1, Z2 = Z1 / np.where(norms > 0, norms, 1)[:, None], Z2 * norms
    shapes = [array.shape for array in (codes, Z2, Z1)]
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]

    def parts(vector):
        return [part.reshape(shape) for part, shape in zip(np.split(vector, ends), shapes, strict=True)]

    def objective(vector):
        H, A, B = parts(vector)
        lengths = np.maximum(np.linalg.norm(B, axis=1, keepdims=True), 1e-12) if has_unit_rows else 1.0
        U = B / lengths
        SU = smooth(U, THETA)
        SA = smooth(A, THETA)
        D = SA @ SU
        HD, XD = H @ (D @ D.T), np.asarray(X @ D.T)
        loss = 0.5 * sqnorm(X) - np.sum(H * XD) + 0.5 * np.sum(H * HD)
        G = (H.T @ H) @ D - np.asarray(X.T @ H).T
        of_A, of_U = smooth(G @ SU.T, THETA), smooth(SA.T @ G, THETA)
        if has_unit_rows:
            of_U = (of_U - np.sum(of_U * U, axis=1, keepdims=True) * U) / lengths
        return loss, np.concatenate([(HD - XD).ravel(), of_A.ravel(), of_U.ravel()])

    found = minimize(objective, np.concatenate([a.ravel() for a in (codes, Z2, Z1)]), jac=True, method="L-BFGS-B",
                     bounds=[(0, None)] * int(ends[-1] + Z1.size), options={"maxiter": STEPS, "maxfun": 2 * STEPS})  # fmt: skip
    H, A, B = parts(found.x)
    lengths = np.maximum(np.linalg.norm(B, axis=1, keepdims=True), 1e-12)
    return H, A, B / lengths if has_unit_rows else B, found.fun


def page() -> str:
    """Return the table."""
    return table(("data", "", f"model, θ = {THETA}", "dead parts", "dead or unused", "explained", "accuracy"), rows())
