from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.models.activated_estimator import ActivatedEstimator
from deepnmf.models.base import Init, KeepCodes, RandomStateLike, SolverName
from deepnmf.models.checks import per_layer
from deepnmf.objective import (
    Chain,
    CodePenalty,
    Objective,
    Penalty,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    TopScaleSquaredL1Codes,
    UnitScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
)
from deepnmf.objective.penalties import weight_in_units
from deepnmf.solvers.learnt import LinearChain


class SparseDeepNMF(ActivatedEstimator):
    """X ≈ H_m Z_m ··· Z_1, all nonnegative, with penalties that make parts or codes sparse (Guo & Zhang, 2019).

    DNMF (no penalty) and its four sparse variants: layer by layer first, each with its own penalty, then all
    factors and the codes in turn.

    Parameters
    ----------
    layer_sizes : sequence of int, default=(100, 10)
        r_1..r_m, from the data upwards.
    activation : {"identity", "square", "tanh", "sigmoid", "softplus"}, default="identity"
        f, the map between layers, X ≈ f(··· f(H_m Z_m) ···) Z_1. "square" is the paper's root function, named there
        by the way up.
    root_codes : bool, default=False
        With "square": whether √H_m is handed out (the paper's Square2) instead of H_m (Square1).
    penalty : {None, "L", "R", "RL1", "RL2"}, default=None
        None is DNMF. "L" makes every layer's features sparse, ½ Σ μ_l Σ_j ‖Z_l[j, :]‖₁². "R" makes codes sparse,
        ½ λ Σ_i ‖H[i, :]‖₁². "RL1" does both. "RL2" makes features sparse and codes smooth, ½ λ ‖H‖².
        "L" and "R" alone hold the other side at unit norm, or the penalty would only move the scale.
    feature_penalty : float or sequence of float, default=0.01
        μ, one number or one a layer; for "L", "RL1", "RL2".
    code_penalty : float or sequence of float, default=0.01
        λ, one number or one a layer; for "R", "RL1", "RL2". Fine-tuning uses the top layer's; those below
        act in the pre-training and the lower codes of "R".
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Start of each layer. None is "nndsvd", with random components above the rank.
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
        "apg" is the paper's. Below an activation it updates Z_1; codes and upper factors make gradient steps there.
    max_iter : int, default=200
        Fine-tuning sweeps.
    tol : float, default=1e-4
        Stop when the loss falls by less than this part of itself a sweep, on average over five sweeps.
    pretrain_max_iter : int, default=50
        Sweeps of pre-training a layer.
    pretrain_tol : float, default=1e-4
        Tolerance of pre-training.
    output_layer : int, default=-1
        The layer whose codes `transform` gives.
    keep_codes : {"top", "all"}, default="top"
        Whether `codes_` holds the top layer's codes or every layer's.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the fit before instead of `init`, when there was one.

    Attributes
    ----------
    components_ : array of shape (r_m, n_features)
        Features of the top layer in input space, with unit norm.
    factors_ : list of arrays
        Z_1..Z_m.
    features_ : list of arrays
        C_1..C_m, every layer's features in input space, C_l = Z_l C_{l-1}.
    codes_ : list of arrays
        Codes of the training rows; the last is the top layer's.
    reconstruction_err_ : float
        ‖X - X̂‖_F.
    loss_curve_ : array of shape (n_iter_,)
        ½‖X - X̂‖² plus penalties after each fine-tuning sweep.
    n_iter_ : int
    stop_reason_ : {"decrease", "optimality", "max_iter", "interrupted", "on_sweep"}
    kkt_residual_ : float
        How far from a stationary point the result is: the largest relative projected gradient of the objective, as in
        `NMF`, among the codes of the top layer and the factors; with an activation there is none.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import SparseDeepNMF
    >>> from deepnmf.metrics import sparseness
    >>> X = load_digits().data / 16
    >>> plain = SparseDeepNMF((40, 10), random_state=0).fit(X)
    >>> sparse = SparseDeepNMF((40, 10), penalty="L", feature_penalty=1, random_state=0).fit(X)
    >>> bool(sparseness(sparse.components_) > sparseness(plain.components_))
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ActivatedEstimator._parameter_constraints,
        "activation": [StrOptions({"identity", "square", "tanh", "sigmoid", "softplus"})],
        "root_codes": ["boolean"],
        "penalty": [StrOptions({"L", "R", "RL1", "RL2"}), None],
        "feature_penalty": [Real, "array-like"],
        "code_penalty": [Real, "array-like"],
    }

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 10),
        *,
        activation: Literal["identity", "square", "tanh", "sigmoid", "softplus"] = "identity",
        root_codes: bool = False,
        penalty: Literal["L", "R", "RL1", "RL2"] | None = None,
        feature_penalty: float | Sequence[float] = 0.01,
        code_penalty: float | Sequence[float] = 0.01,
        init: Init = None,
        solver: SolverName = "hals",
        max_iter: int = 200,
        tol: float = 1e-4,
        pretrain_max_iter: int = 50,
        pretrain_tol: float = 1e-4,
        output_layer: int = -1,
        keep_codes: KeepCodes = "top",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.layer_sizes = layer_sizes
        self.activation = activation
        self.root_codes = root_codes
        self.penalty = penalty
        self.feature_penalty = feature_penalty
        self.code_penalty = code_penalty
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _sizes(self, n_features: int, factors: Sequence[Array]) -> tuple[int, ...]:
        if self.root_codes and self.activation != "square":
            raise ValueError(f"root_codes=True needs activation='square', got activation={self.activation!r}.")
        return super()._sizes(n_features, factors)

    def _objective(self, depth: int, engine: Engine) -> Objective:
        mu, lam = self._weights_in_units(self.penalty, depth, engine)
        if self.penalty == "R" and self._between is not None:
            return Objective((TopScaleSquaredL1Codes(lam[-1]),))
        return Objective(self._penalties(self.penalty, mu, lam[-1]))

    def _layer_objectives(self, depth: int, engine: Engine) -> Sequence[Objective]:
        """Below the top, "RL1" and "RL2" have no penalty on the codes (22): what is left is "L"."""
        lower = "L" if self.penalty in ("RL1", "RL2") else self.penalty
        variants = [lower] * (depth - 1) + [self.penalty]
        weights = [self._weights_in_units(variant, 1, engine, depth) for variant in variants]
        each = zip(variants, weights, range(depth), strict=True)
        return [Objective(self._penalties(v, (mu[layer],), lam[layer])) for v, (mu, lam), layer in each]

    def _weights_in_units(
        self, variant: str | None, depth: int, engine: Engine, n_weights: int | None = None
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Weights for data divided by a unit, in a chain of so many layers.

        Each of the g parts whose size a penalty holds is divided by the g-th root of the unit, the objective by its
        square: "R" alone, and "L" of one layer, hold one part.
        """
        parts = {"L": depth, "RL1": depth + 1, "RL2": depth + 1}.get(variant or "", 1)
        power = (2 - 2 * parts) / parts
        mu, lam = self._weights(n_weights or depth)
        if self.penalty is None or power == 0:
            return mu, lam
        return (
            tuple(weight_in_units(weight, power, engine.unit, "feature_penalty") for weight in mu),
            tuple(weight_in_units(weight, power, engine.unit, "code_penalty") for weight in lam),
        )

    def _weights(self, depth: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        mu = per_layer(self.feature_penalty, depth, "feature_penalty", 0, np.inf)
        return mu, per_layer(self.code_penalty, depth, "code_penalty", 0, np.inf)

    @staticmethod
    def _penalties(variant: str | None, mu: tuple[float, ...], lam: float) -> tuple[Penalty, ...]:
        variants: dict[str | None, tuple[Penalty, ...]] = {
            None: (),
            "L": (UnitScaleSquaredL1Features(mu),),  # (14)
            "R": (UnitScaleSquaredL1Codes(lam),),  # (18), the top layer's term
            "RL1": (SquaredL1Features(mu), SquaredL1Codes(lam)),  # (21)
            "RL2": (SquaredL1Features(mu), RidgeCodes(lam)),  # (27)
        }
        return variants[variant]

    def _learnt_chain(self, *parts: Any) -> LinearChain:
        return replace(super()._learnt_chain(*parts), has_roots=bool(self.root_codes))  # "Square2"

    def _lower_code_penalties(self, chain: Chain) -> list[CodePenalty]:
        """Codes of lower layers are problems of their own (20), penalised in "R" alone."""
        if self.penalty != "R" or self._between is not None:
            return super()._lower_code_penalties(chain)
        _, lam = self._weights(chain.depth)
        chains = [Chain.of(chain.factors[: layer + 1]) for layer in range(chain.depth - 1)]
        return [UnitScaleSquaredL1Codes(w).on_codes(below) for w, below in zip(lam, chains, strict=False)]
