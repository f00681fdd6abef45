from collections.abc import Sequence
from numbers import Real
from typing import ClassVar, Literal

from deepnmf.models.factorization import Factorization
from deepnmf.models.parameters import Constraints, Init, KeepCodes, RandomStateLike, SolverName, one_of
from deepnmf.objective import (
    LayerPenalty,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    UnitScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
)
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.divergence_loss import loss_of
from deepnmf.solvers.problem import Layerwise


class SparseDeepNMF(Factorization):
    """X ≈ H_m Z_m ··· Z_1, all nonnegative, with penalties that make parts or codes sparse (Guo & Zhang, 2019).

    DNMF (no penalty) and its four sparse variants: pre-training layer by layer without penalties, then updates of all
    factors and the codes in turn with penalties.

    Parameters
    ----------
    {layer_sizes}
    activation : {"identity", "square", "tanh", "sigmoid", "softplus"}, default="identity"
        f, the map between layers, X ≈ f(··· f(H_m Z_m) ···) Z_1. "square" is called root function in the paper, which
        names the inverse map.
    root_codes : bool, default=False
        With "square": whether the codes of the top layer are √H_m (the paper's Square2) instead of H_m (Square1).
    penalty : {None, "L", "R", "RL1", "RL2"}, default=None
        None is DNMF. "L" makes every layer's features sparse, ½ Σ μ_l Σ_j ‖Z_l[j, :]‖₁². "R" makes codes sparse,
        ½ λ Σ_i ‖H[i, :]‖₁². "RL1" does both. "RL2" makes features sparse and codes smooth, ½ λ ‖H‖².
        "L" and "R" keep the other side at unit norm, because otherwise the penalty would only change the scale.
    feature_penalty : float or sequence of float, default=0.03
        μ, one number for all layers or one per layer; for "L", "RL1", "RL2". A weight means the same on any data: after
        the pre-training, the penalty of a layer with features of unit norm is its weight times ½‖X‖². A continued fit
        (`warm_start`, `partial_fit`) keeps the units of the first fit.
    code_penalty : float or sequence of float, default=0.03
        λ, one number for all layers or one per layer, in the same units; for "R", "RL1", "RL2". Fine-tuning uses that
        of the top layer. With "R" the weights of lower layers apply to the lower codes; if there is an activation, they
        are the weights of ½ λ_l ‖Z_l‖², l < m. This term is not in the paper; without it Z_l would grow and the input
        of the activation would shrink.
    {layer_weights}
    {init}
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
        "apg" is the solver of the paper. With an activation, the solver updates Z_1; codes and upper factors are
        updated by gradient steps.
    {beta_loss}
    {max_iter}
    {tol}
    {pretraining}
    {output}
    {run}

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
        ‖X - X̂‖_F; under another loss d, √(2d).
    loss_curve_ : array of shape (n_iter_,)
        The loss (½‖X - X̂‖² for squared error) plus penalties, after each fine-tuning sweep.
    {history}
    {hierarchy}
    kkt_residual_ : float
        How far the result is from a stationary point: the largest relative projected gradient of the objective, as in
        `NMF`, among the codes of the top layer and the factors. Models with an activation do not have it.
    {fixed_attribute}
    {n_features}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import SparseDeepNMF
    >>> from deepnmf.metrics import sparseness
    >>> X = load_digits().data / 16
    >>> plain = SparseDeepNMF((40, 10), random_state=0).fit(X)
    >>> sparse = SparseDeepNMF((40, 10), penalty="L", random_state=0).fit(X)
    >>> bool(sparseness(sparse.components_) > sparseness(plain.components_))
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "activation": [one_of("identity", "square", "tanh", "sigmoid", "softplus")],
        "root_codes": ["boolean"],
        "penalty": [one_of("L", "R", "RL1", "RL2"), None],
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
        feature_penalty: float | Sequence[float] = 0.03,
        code_penalty: float | Sequence[float] = 0.03,
        layer_weights: Sequence[float] | None = None,
        init: Init = None,
        solver: SolverName = "hals",
        beta_loss: float | str = "frobenius",
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
        self.layer_weights = layer_weights
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> ChainProblem:
        lower_codes = self._penalties("R") if self.penalty == "R" and self.activation == "identity" else ()
        return ChainProblem(
            sizes=self.layer_sizes,
            loss=loss_of(self.beta_loss, self.solver),
            nonnegative=True,
            activation=self.activation,
            penalties=self._penalties(self.penalty),
            lower_code_penalties=lower_codes,  # (20)
            layer_weights=self.layer_weights,
            init=self.init,
            random_state=self.random_state,
            pretraining=Layerwise(self.pretrain_max_iter, self.pretrain_tol),
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            root_codes=self.root_codes,  # "Square2"
            output_layer=self.output_layer,
            keep_codes=self.keep_codes,
        )

    def _penalties(self, variant: str | None) -> Sequence[LayerPenalty]:
        mu, lam = self.feature_penalty, self.code_penalty
        variants: dict[str | None, Sequence[LayerPenalty]] = {
            None: (),
            "L": (UnitScaleSquaredL1Features(mu),),  # (14)
            "R": (UnitScaleSquaredL1Codes(lam),),  # (18), the top layer's term
            "RL1": (SquaredL1Features(mu), SquaredL1Codes(lam)),  # (21)
            "RL2": (SquaredL1Features(mu), RidgeCodes(lam)),  # (27)
        }
        return variants[variant]
