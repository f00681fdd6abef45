"""The two losses of a hierarchy, written out: every layer explains the codes below it, or every layer explains X."""

import numpy as np
from scipy.optimize import minimize

FLOOR = 1e-6


def kullback_leibler(X, Y):
    """Σ x log(x/y) - x + y."""
    return float(np.sum(np.where(X > 0, X * np.log(np.where(X > 0, X, 1) / Y), 0) - X + Y))


def half_squared_error(X, Y):
    """½‖X - Y‖²."""
    return 0.5 * float(np.sum((X - Y) ** 2))


DIVERGENCES = {"frobenius": half_squared_error, "kullback-leibler": kullback_leibler}


def loss_of_codes(X, codes, factors, weights, loss="frobenius", layer_loss="kullback-leibler"):
    """d(X | H_1 Z_1) + Σ λ_l d_l(H_{l-1} | H_l Z_l + ε)."""
    fit = DIVERGENCES[loss](X, codes[0] @ factors[0] + (0 if loss == "frobenius" else 1e-12))
    names = (layer_loss,) * len(weights) if isinstance(layer_loss, str) else layer_loss
    upper = zip(names, codes[:-1], codes[1:], factors[1:], weights, strict=True)
    return fit + sum(weight * DIVERGENCES[name](below, H @ Z + FLOOR) for name, below, H, Z, weight in upper)


def best_codes(x, factors, weights, loss="frobenius", layer_loss="kullback-leibler"):
    """The codes of one row, all layers together, by L-BFGS in the logarithms of the codes."""
    edges = np.cumsum([len(Z) for Z in factors])[:-1]

    def value(logarithms):
        codes = [part[None] for part in np.split(np.exp(logarithms), edges)]
        return loss_of_codes(x[None], codes, factors, weights, loss, layer_loss)

    n_codes = sum(len(Z) for Z in factors)
    found = minimize(
        value, np.zeros(n_codes), method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15}
    )
    return np.split(np.exp(found.x), edges), float(found.fun)


def loss_of_data(X, codes, factors, weights):
    """Σ_l λ_l ½‖X - H_l Z_l ··· Z_1‖²."""
    features, total = np.eye(X.shape[1]), 0.0
    for H, Z, weight in zip(codes, factors, weights, strict=True):
        features = Z @ features
        total += weight * 0.5 * np.sum((X - H @ features) ** 2)
    return total
