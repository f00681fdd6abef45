"""The model of this package: parts, and wholes that are made of them."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from deepnmf.checks import layer_sizes
from deepnmf.models.factorization import Factorization
from deepnmf.models.parameters import Constraints, Init, KeepCodes, RandomStateLike, one_of
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.divergence_loss import loss_of
from deepnmf.solvers.hierarchy_problem import HierarchyProblem
from deepnmf.solvers.problem import Layerwise

SECOND_WEIGHT = 0.3  # of the second layer, beside the data: docs/decisions/0020
CODE_WEIGHT = 0.1  # of a code that an upper layer explains, relative to a code of the layer below


class DeepNMF(Factorization):
    """Parts, and wholes that are made of them: every layer is nonnegative and explains the codes of the layer below.

    The loss d(X | H_1 Z_1) + Σ_{l>1} λ_l d_l(H_{l-1} | H_l Z_l) is minimized over all codes and factors together, after
    layer-wise pre-training. The first layer describes the data as well as an `NMF` of its size. Each upper layer learns
    which features of the layer below occur together. In the published chains X ≈ H_m Z_m ··· Z_1, only the top layer
    describes the data, and the upper factors mostly select single features instead of combining them.

    Codes are measured in units of their root mean square after the pre-training, so that a part that is small in the
    data matters to its wholes as much as a large one. The default d_l, the Kullback-Leibler divergence, allows the code
    of a part to vary in proportion to the value that its wholes predict.

    Parameters
    ----------
    {layer_sizes}
    explains : {"codes", "data"}, default="codes"
        What the layers above the first one explain. "codes" is the loss above; it recovers the wholes that generated
        the data. "data" is Σ_l λ_l d(X | H_l Z_l ··· Z_1): every layer has its own codes and explains the data nearly
        as well as an `NMF` of its size, so that the wholes are the best summary of that size.
    layer_weights : sequence of float or None, default=None
        λ_1..λ_m, from the data upwards. With ``explains="codes"`` they are relative to λ_1, and in units of the ratio
        of the losses after the pre-training: with (1, 0.3), the loss of the second layer then is 0.3 times the loss of
        the first layer. (For this ratio, the loss of the first layer is limited to between 0.05 and 1 times what the
        first layer explains beyond the second.) None is 0.3 for the second layer; in each layer above it, a code costs
        0.1 times what a code costs in the layer below: 0.3 0.1^(l-2) r_{l-1}/r_1. With ``explains="data"``, None is 1
        for every layer.
    layer_loss : {"kullback-leibler", "frobenius"} or sequence of these, default="kullback-leibler"
        d_2..d_m, used with ``explains="codes"``: the loss between an upper layer and the codes below it, either one
        for all upper layers or one for each of them. "frobenius" is half the squared error.
    {beta_loss}
    {init}
    {max_iter}
    {tol}
    pretrain_max_iter : int, default=150
        Maximum number of pre-training sweeps per layer.
    pretrain_tol : float, default=1e-5
        Tolerance of the pre-training.
    {output}
    {run}

    Attributes
    ----------
    components_ : array of shape (r_m, n_features)
        Features of the top layer in input space, with unit norm.
    factors_ : list of arrays
        Z_1..Z_m: row j of Z_l has the weights of the features of the layer below that feature j is made of.
    features_ : list of arrays
        C_1..C_m, every layer's features in input space, C_l = Z_l C_{l-1}.
    codes_ : list of arrays
        Codes of the training rows; the last is the top layer's.
    reconstruction_err_ : float
        ‖X - X̂‖_F of the top layer; under another loss d, √(2d).
    loss_curve_ : array of shape (n_iter_,)
        The loss of all layers after each sweep.
    {history}
    {hierarchy}
    kkt_residual_ : float
        How far the result is from a stationary point, as in `NMF`: the largest relative projected gradient of the codes
        and factors of all layers. With ``explains="codes"`` every row of a factor keeps its norm (its sum for
        Kullback-Leibler), and the gradient in this direction is ignored.
    {fixed_attribute}
    {n_features}

    Notes
    -----
    With ``explains="codes"``, `transform` and `encode` solve for the codes of all layers of a row together, so that the
    codes of the top layer also fit those below. `score` uses these codes. ``hierarchy_`` measures how much the features
    of a layer explain with the best codes for the data alone, which is a little more.

    See Also
    --------
    DeepNSNMF, SparseDeepNMF, MultilayerNMF : published chains.
    deepnmf.datasets.make_hierarchy : data with a known hierarchy.

    Examples
    --------
    >>> from deepnmf import DeepNMF
    >>> from deepnmf.datasets import make_hierarchy
    >>> from deepnmf.metrics import matched_cosine
    >>> planted = make_hierarchy(layer_sizes=(24, 6), random_state=0)
    >>> model = DeepNMF((24, 6), random_state=0).fit(planted.data)
    >>> [round(matched_cosine(*pair), 1) for pair in zip(model.features_, planted.features)]
    [1.0, 1.0]
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "explains": [one_of("codes", "data")],
        "layer_loss": [one_of("kullback-leibler", "frobenius"), list, tuple],
    }

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 10),
        *,
        explains: Literal["codes", "data"] = "codes",
        layer_weights: Sequence[float] | None = None,
        layer_loss: str | Sequence[str] = "kullback-leibler",
        beta_loss: float | str = "frobenius",
        init: Init = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        pretrain_max_iter: int = 150,
        pretrain_tol: float = 1e-5,
        output_layer: int = -1,
        keep_codes: KeepCodes = "top",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.layer_sizes = layer_sizes
        self.explains = explains
        self.layer_weights = layer_weights
        self.layer_loss = layer_loss
        self.beta_loss = beta_loss
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> ChainProblem | HierarchyProblem:
        sizes = layer_sizes(self.layer_sizes)
        explains_data = self.explains == "data" or len(sizes) == 1
        default = (1.0,) * len(sizes) if explains_data else falling_weights(sizes, SECOND_WEIGHT)
        shared: dict[str, Any] = {
            "sizes": self.layer_sizes,
            "layer_weights": default if self.layer_weights is None else self.layer_weights,
            "loss": loss_of(self.beta_loss),
            "nonnegative": True,
            "init": self.init,
            "random_state": self.random_state,
            "pretraining": Layerwise(self.pretrain_max_iter, self.pretrain_tol),
            "max_iter": self.max_iter,
            "tol": self.tol,
            "output_layer": self.output_layer,
            "keep_codes": self.keep_codes,
        }
        return ChainProblem(**shared) if explains_data else HierarchyProblem(layer_loss=self.layer_loss, **shared)


def falling_weights(sizes: Sequence[int], second: float) -> tuple[float, ...]:
    """Return layer weights: `second` for the second layer; above it, a code weighs 0.1 times a code of the layer below.

    Examples
    --------
    >>> falling_weights((20, 10, 5), 0.2)
    (1.0, 0.2, 0.01)
    """
    above = (second * CODE_WEIGHT ** (layer - 1) * sizes[layer - 1] / sizes[0] for layer in range(1, len(sizes)))
    return (1.0, *above)
