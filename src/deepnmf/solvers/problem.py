"""What every problem of a model is given and what its fit returns."""

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
    """What a fit has learned. It encodes rows and decodes codes."""

    @property
    def factors(self) -> Sequence[Array]:
        """Z_1..Z_m as they are handed out."""
        ...

    @property
    def unit(self) -> float:
        """What the data were divided by in the fit."""
        ...

    @property
    def divergence(self) -> Divergence:
        """What the fit has minimized beside its penalties."""
        ...

    def features(self) -> list[Array]:
        """Every layer's features in input space."""
        ...

    def encode(self, engine: Engine, layer: int) -> Array:
        """Codes of the engine's rows at a layer, with the factors fixed."""
        ...

    def encode_layers(self, engine: Engine) -> list[Array]:
        """Codes of the engine's rows at every layer, the lowest first."""
        ...

    def decode(self, H: Array, layer: int) -> Array:
        """Data that codes of a layer stand for."""
        ...

    def residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """The reconstruction error for codes of a layer, ‖X - X̂‖_F under squared error."""
        ...

    def explained(self, engine: Engine, error: float) -> float:
        """The share that a reconstruction with this error explains beyond the baseline of the loss."""
        ...

    def best_error(self, engine: Engine, layer: int) -> float:
        """The error that the features of a layer leave with their best codes, without penalties."""
        ...

    def part_norms(self, layer: int) -> Array:
        """The norms of what codes of a layer of size 1 add to the data, in the scale of the factor above."""
        ...

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a file must hold: a description, and lists of arrays."""
        ...


@dataclass(frozen=True)
class Fit:
    """The result of a fit, in the units of the data."""

    learned: Any
    codes: list[Array]  # of the training rows: those of the top layer, or of every layer
    error: float  # ‖X - X̂‖_F
    history: History
    certificate: float | None = None
    memory: Any = None  # what later batches go on from


@dataclass(frozen=True)
class Start:
    """What a fit begins from where that is not left to `init`: given factors and codes, or the fit before."""

    factors: Sequence[Array] = ()  # Z_1..Z_k
    codes: Array | None = None
    before: Any = None  # what the fit before has learned

    @property
    def warm(self) -> bool:
        """Whether the fit goes on from the one before."""
        return self.before is not None

    def check(self, X: Matrix, sizes: tuple[int, ...], problem: "Problem", whom: str) -> None:
        """Refuse a start that is missing, cannot be made for this X, or does not fit the layers."""
        if self.warm:
            return check_warm_start(self.before.factors, factor_shapes(X.shape[1], sizes))
        check_start(problem.init, self.factors, X.shape, sizes, whom, problem.nonnegative)
        if self.codes is not None:
            check_start_array(self.codes, (X.shape[0], sizes[-1]), whom, "codes", nonnegative=True)
        return None


@dataclass(frozen=True)
class Layerwise:
    """Pre-training: each layer is fitted to the codes of the layer below, with the graphs that are on it."""

    max_iter: int
    tol: float


class BoundProblem(ABC):
    """A problem once the data are known."""

    @abstractmethod
    def fit(self, engine: Engine, start: Start, run: Run) -> Fit:
        """Fit it."""

    def learn_batch(self, engine: Engine, before: Any, codes: Array, memory: Any) -> Fit:
        """Learn from one batch of rows after others; `codes` are those of the batch before."""
        raise TypeError(f"{type(self).__name__} does not learn in batches.")


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """What a model fits, by its parameters alone. It answers what data the model takes before there are any.

    Parameters
    ----------
    nonnegative : bool
        Whether X must be nonnegative.
    init : str or None
        How a layer starts.
    random_state : int, RandomState or None
    pretraining : Layerwise
        Without sweeps, a fit starts from `init` alone.
    max_iter, tol : int and float
        Of the fine-tuning: at most so many sweeps, until one lowers the loss by less than this part of itself.
    output_layer : int
        The layer whose codes `transform` gives.
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
        """Whether entries of X may be missing or weighed."""
        return False

    @property
    def streams(self) -> bool:
        """Whether rows that are not in memory will do."""
        return True

    @property
    def distributes(self) -> bool:
        """Whether rows of a dask array will do."""
        return False

    @property
    def learns_in_batches(self) -> bool:
        """Whether the factors can be learned from one batch of rows after the other."""
        return False

    @property
    def memory(self) -> Any:
        """The class of what later batches need to know of earlier ones."""
        return None

    @property
    def fixes_components(self) -> bool:
        """Whether components may be given that stay as they are."""
        return False

    @property
    def guides_components(self) -> bool:
        """Whether features may be pulled towards targets."""
        return False

    def n_components(self, n_features: int) -> tuple[int, ...]:
        """The numbers of components of the layers, where some may be given."""
        raise TypeError(f"{type(self).__name__} has no components that may be given.")

    @property
    def projects(self) -> bool:
        """Whether layers are linear maps of the data, so that a pseudo-inverse gives codes."""
        return False

    @property
    def has_units(self) -> bool:
        """Whether data in other units have the same model in other units."""
        return True

    @property
    def degree(self) -> float:
        """That of the loss: it changes by this power of the units; 2 for squared error."""
        return 2.0

    @abstractmethod
    def check(self, X: Matrix, start: Start, whom: str) -> None:
        """Refuse parameters and starts that do not fit the data."""

    @abstractmethod
    def bind(self, engine: Engine, known: Known, start: Start) -> BoundProblem:
        """Resolve what depends on the data: sizes, weights in their units, graphs, labels."""

    @abstractmethod
    def layout(self, n_features: int, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        """What the arrays of a file must be like, which may say anything."""

    @abstractmethod
    def restored(self, description: dict[str, Any], arrays: Arrays, codes: Array) -> Learned:
        """What was learned, from what its `state` gave."""
