from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Literal

from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from deepnmf.engines import Engine
from deepnmf.models.activated_estimator import ActivatedEstimator
from deepnmf.models.base import Init, KeepCodes, RandomStateLike, SolverName, Task
from deepnmf.models.checks import per_layer
from deepnmf.objective import Chain
from deepnmf.solvers import History, State, pretrain
from deepnmf.solvers.learnt import GreedyChain


class MultilayerNMF(ActivatedEstimator):
    """Layers of NMF or nsNMF, each on the codes below, never tuned together (Cichocki & Zdunek; Song & Lee, 2013).

    The papers' greedy baseline. A row is encoded as the model was trained, layer by layer.

    Parameters
    ----------
    layer_sizes : sequence of int, default=(100, 10)
        r_1..r_m, from the data upwards.
    theta : float or sequence of float in [0, 1], default=0
        Smoothing of the layers, as in `NSNMF`.
    activation : {"identity", "square"}, default="identity"
        The map in the reconstruction, H_{l-1} = f(H_l S_l Z_l): with "square", codes are square-rooted
        before they feed the next layer.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Start of each layer. None is "nndsvd", with random components above the rank.
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
    max_iter : int, default=200
        Sweeps a layer.
    tol : float, default=1e-4
        Stop a layer when its loss falls by less than this part of itself a sweep, on average over five sweeps.
    output_layer : int, default=-1
        The layer whose codes `transform` gives.
    keep_codes : {"top", "all"}, default="top"
        Whether `codes_` holds the top layer's codes or every layer's.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether each layer starts from its factor of the fit before instead of `init`, when there was one. As the
        layers below move on, a layer has something else to fit, and its loss may begin above where it ended.

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, stop_reason_
        See `DeepNSNMF`. Features of a nonlinear model are what unit codes decode to.
    loss_curve_ : array of shape (n_iter_,)
        The top layer's own loss, after each of its sweeps.
    n_iter_ : int
        Sweeps of the top layer.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import MultilayerNMF
    >>> model = MultilayerNMF((40, 10), random_state=0).fit(load_digits().data)
    >>> model.components_.shape
    (10, 64)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ActivatedEstimator._parameter_constraints,
        "theta": [Real, "array-like"],
        "activation": [StrOptions({"identity", "square"})],
    }

    _learns_in_batches = False  # layers are fitted to codes, which are not kept

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 10),
        *,
        theta: float | Sequence[float] = 0.0,
        activation: Literal["identity", "square"] = "identity",
        init: Init = None,
        solver: SolverName = "hals",
        max_iter: int = 200,
        tol: float = 1e-4,
        output_layer: int = -1,
        keep_codes: KeepCodes = "top",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.layer_sizes = layer_sizes
        self.theta = theta
        self.activation = activation
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _smoothing(self, depth: int) -> tuple[float, ...]:
        return per_layer(self.theta, depth, "theta", 0, 1)

    def _optimise(self, engine: Engine, task: Task) -> tuple[State, History]:
        """Fit one layer after the other, and nothing else."""
        start, depth = task.start, len(task.sizes)
        if start.codes is not None:
            raise ValueError("codes cannot start a MultilayerNMF: its layers are fitted from the data upwards.")
        theta = self._smoothing(depth)
        plan = self._plan(check_random_state(self.random_state), task.run, self.max_iter, self.tol, task.on_sweep)
        given, begun = ((), start.factors) if start.warm else (start.factors, ())
        objectives = self._layer_objectives(depth, engine)
        stack = pretrain(
            engine, task.sizes, theta, objectives, plan, given=given, begun=begun, activation=self._between
        )
        history = replace(stack.history, stop_reason="max_iter") if stack.unfinished else stack.history
        return State(stack.codes, Chain.of(stack.factors, theta)), history

    def _learnt_chain(self, *parts: Any) -> GreedyChain:
        return GreedyChain(*parts, activation=self._between)
