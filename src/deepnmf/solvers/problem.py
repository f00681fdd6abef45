"""The interface of problems: their parameters, the start of a fit, and its result."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import check_start, check_start_array, check_warm_start, factor_shapes
from deepnmf.engines import Engine
from deepnmf.layout import Arrays, Layout
from deepnmf.objective import Known
from deepnmf.objective.divergences import Divergence
from deepnmf.solvers.loop import History, Run


class Learned(Protocol):
    """The learned part of a model, which encodes rows and decodes codes."""

    @property
    def factors(self) -> Sequence[Array]:
        """Z_1..Z_m in their final scale."""
        ...

    @property
    def unit(self) -> float:
        """The divisor of the data in the fit."""
        ...

    @property
    def divergence(self) -> Divergence:
        """The divergence that the fit minimized, without penalties."""
        ...

    def features(self) -> list[Array]:
        """Every layer's features in input space."""
        ...

    def encode(self, engine: Engine, layer: int) -> Array:
        """Codes of the rows of an engine at a layer, with the factors fixed."""
        ...

    def encode_layers(self, engine: Engine) -> list[Array]:
        """Codes of the rows of an engine at every layer, the lowest first."""
        ...

    def decode(self, H: Array, layer: int) -> Array:
        """Reconstruct data from codes of a layer."""
        ...

    def residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """The reconstruction error for codes of a layer, ‖X - X̂‖_F under squared error."""
        ...

    def explained(self, engine: Engine, error: float) -> float:
        """The share that a reconstruction with this error explains beyond the baseline of the loss."""
        ...

    def best_error(self, engine: Engine, layer: int) -> float:
        """The error of the features of a layer with their best codes, without penalties."""
        ...

    def part_norms(self, layer: int) -> Array:
        """The norms of the contributions of unit codes of a layer, in the scale of the factor above."""
        ...

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the content of a model file: a description, and lists of arrays."""
        ...


@dataclass(frozen=True)
class Fit:
    """The result of a fit, in the units of the data."""

    learned: Any
    codes: list[Array]  # of the training rows: those of the top layer, or of every layer
    error: float  # ‖X - X̂‖_F
    history: History
    certificate: float | None = None
    memory: Any = None  # the statistics from which later batches continue


@dataclass(frozen=True)
class Start:
    """The start of a fit other than `init`: given factors and codes, or the previous fit."""

    factors: Sequence[Array] = ()  # Z_1..Z_k
    codes: Array | None = None
    before: Any = None  # the learned part of the previous fit

    @property
    def warm(self) -> bool:
        """Whether the fit continues from the previous one."""
        return self.before is not None

    def check(self, X: Matrix, sizes: tuple[int, ...], problem: "Problem", whom: str) -> None:
        """Refuse a start that is missing, that is impossible for this X, or whose shapes do not match the layers."""
        if self.warm:
            return check_warm_start(self.before.factors, factor_shapes(X.shape[1], sizes))
        check_start(problem.init, self.factors, X.shape, sizes, whom, problem.nonnegative)
        if self.codes is not None:
            check_start_array(self.codes, (X.shape[0], sizes[-1]), whom, "codes", nonnegative=True)
        return None


@dataclass(frozen=True)
class Layerwise:
    """Pre-training: each layer is fitted to the codes of the layer below, with the graphs of the layer."""

    max_iter: int
    tol: float


class BoundProblem(ABC):
    """A problem for given data."""

    @abstractmethod
    def fit(self, engine: Engine, start: Start, run: Run) -> Fit:
        """Fit the problem."""

    def learn_batch(self, engine: Engine, before: Any, codes: Array, memory: Any) -> Fit:
        """Learn from a further batch of rows; `codes` are those of the previous batch."""
        raise TypeError(f"{type(self).__name__} does not support learning in batches.")


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """The problem that a model solves. It depends on the parameters only, so that capabilities are known without data.

    Parameters
    ----------
    nonnegative : bool
        Whether X must be nonnegative.
    init : str or None
        The initialization of a layer.
    random_state : int, RandomState or None
    pretraining : Layerwise
        With 0 sweeps, a fit starts from `init` directly.
    max_iter, tol : int and float
        Of the fine-tuning: the maximum number of sweeps, and the relative decrease of the loss at which they stop.
    output_layer : int
        The layer whose codes `transform` returns.
    keep_codes : {"top", "all"}
        Which codes of the training rows are kept.
    """

    nonnegative: bool = True
    init: str | None = None
    random_state: Any = None
    pretraining: Layerwise = Layerwise(0, 0.0)
    max_iter: int
    tol: float
    output_layer: int = -1
    keep_codes: str = "top"

    @property
    def is_linear(self) -> bool:
        """Whether no activation lies between layers."""
        return True

    @property
    def masks_nan(self) -> bool:
        """Whether entries of X may be missing or weighted."""
        return False

    @property
    def weighs_rows(self) -> bool:
        """Whether rows of X may have weights."""
        return False

    @property
    def streams(self) -> bool:
        """Whether rows may be outside of memory."""
        return True

    @property
    def distributes(self) -> bool:
        """Whether X may be a dask array."""
        return False

    @property
    def learns_in_batches(self) -> bool:
        """Whether the factors can be learned in batches of rows."""
        return False

    @property
    def memory(self) -> Any:
        """The class of the statistics for learning in batches."""
        return None

    @property
    def fixes_components(self) -> bool:
        """Whether components may be fixed."""
        return False

    @property
    def guides_components(self) -> bool:
        """Whether features may have targets."""
        return False

    def n_components(self, n_features: int) -> tuple[int, ...]:
        """The numbers of components of the layers, if components may be fixed or guided."""
        raise TypeError(f"{type(self).__name__} supports neither fixed nor guided components.")

    @property
    def projects(self) -> bool:
        """Whether layers are linear maps of the data, so that a pseudo-inverse gives codes."""
        return False

    @property
    def has_units(self) -> bool:
        """Whether a change of the units of the data only changes the units of the model."""
        return True

    @property
    def degree(self) -> float:
        """The degree of the loss, which is proportional to this power of the units; 2 for squared error."""
        return 2.0

    @abstractmethod
    def check(self, X: Matrix, start: Start, whom: str) -> None:
        """Refuse parameters and starts that do not match the data."""

    @abstractmethod
    def bind(self, engine: Engine, known: Known, start: Start) -> BoundProblem:
        """Resolve everything that depends on the data: sizes, weights in their units, graphs, labels."""

    @abstractmethod
    def layout(self, n_features: int, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        """Return the expected layout of the arrays in a file, which is not trusted."""

    @abstractmethod
    def restored(self, description: dict[str, Any], arrays: Arrays, codes: Array) -> Learned:
        """Restore the learned part from the output of its `state`."""
