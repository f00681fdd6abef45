"""The comparison of Leplat et al.: errors between neighboring layers relative to multi-layer NMF, with one loss."""

import numpy as np
from benchmarks.hierarchy.contenders import SEPARATE, build, contenders, fitted, has
from benchmarks.hierarchy.part import Part
from benchmarks.hierarchy.problems import Problem, count_file, image_file
from scipy import sparse

from deepnmf.metrics import sparseness
from deepnmf.objective.divergences import Divergence

BASELINE = "MultilayerNMF"
KL = "kullback-leibler"
ROWS_AT_ONCE = 500


def with_loss():
    """Return the deep models that support the loss of the comparison, the baseline first."""
    others = [name for name in contenders() if has(name, "beta_loss") and name not in (BASELINE, SEPARATE)]
    return [BASELINE, *others]


def layer_errors(X, model) -> list[float]:
    """Return d(H_{l-1} | H_l Z_l) for every layer, with H_0 = X; Z_l includes smoothing, and its rows sum to one."""
    below, scale, errors = X, 1.0, []
    for layer, H in enumerate(model.codes_):
        Z = model._learned.layer_decoder(layer) * scale
        sums = Z.sum(axis=1)
        Z, H = Z / np.where(sums > 0, sums, 1)[:, None], H * sums
        errors.append(divergence(below, H, Z))
        below, scale = H, sums
    return errors


def divergence(X, H, Z) -> float:
    """Return the Kullback-Leibler divergence of X and H Z, computed some rows at a time; X is dense or sparse."""
    parts = (slice(first, first + ROWS_AT_ONCE) for first in range(0, len(H), ROWS_AT_ONCE))
    return sum(Divergence.of(KL).value(_dense(X[part]), H[part] @ Z) for part in parts)


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X


def measure(problem, name, seed, limits):
    """Fit the model and multi-layer NMF with the same seed, and compare them layer by layer."""
    X = limits.of(problem.read())
    fits = {}
    for one in dict.fromkeys((BASELINE, name)):
        model = build(one, problem.sizes, seed, beta_loss=KL, keep_codes="all", **limits.params)
        fits[one], seconds = fitted(model, X)
    errors, baseline = layer_errors(X, fits[name]), layer_errors(X, fits[BASELINE])
    return {
        "ratio": [100 * error / other for error, other in zip(errors, baseline, strict=True)],
        "sparseness": [100 * sparseness(C) for C in fits[name].features_],
        "seconds": seconds,
    }


PART = Part(
    title="Leplat et al.'s comparison",
    text=(
        "All models use the Kullback-Leibler loss, on CBCL and on the word counts of TDT2. The error of a layer is d(H_{l-1} | H_l Z_l) with H_0 = X, "
        "in percent of the error of multi-layer NMF. It is computed from the codes of the fit, and from factors whose rows sum to one. "
        "The sparseness is Hoyer's sparseness of the features in input space, in percent. Leplat et al. (arXiv 2309.08249) published "
        "errors of 108.3 / 26.8 / 4.4 % and sparseness of 70.1 / 50.6 / 27.1 % for CBCL, and errors of "
        "107.5 / 30 / 22 % for TDT2. The error of a layer is our interpretation of their definition, and their selection of TDT2 may differ."
    ),
    cases={
        "cbcl (80, 40, 20)": Problem(image_file("cbcl_faces_19x19"), (80, 40, 20)),
        "tdt2 (20, 10, 5)": Problem(count_file("tdt2_30"), (20, 10, 5)),
    },
    contenders=with_loss,
    measure=measure,
    columns={"error, % of multi-layer": "ratio", "sparseness, %": "sparseness", "seconds": "seconds"},
    digits={"error, % of multi-layer": 1, "sparseness, %": 1, "seconds": 2},
)
