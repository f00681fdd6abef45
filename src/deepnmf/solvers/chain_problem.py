"""The problem of a chain of factors, as given by the parameters of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import check_output_layer, factor_shapes, layer_sizes, per_layer
from deepnmf.engines import Engine
from deepnmf.labels import restored_classes
from deepnmf.layout import Arrays, Expected, Layout, listed_numbers
from deepnmf.objective import (
    ACTIVATIONS,
    Chain,
    CodePenalty,
    Guide,
    Known,
    LayerPenalty,
    Objective,
    Penalty,
    UnresolvedPenalty,
)
from deepnmf.solvers.chain_fit import BoundChain
from deepnmf.solvers.known_components import KnownComponents, balanced_norm, fixed_layout, restored_mask
from deepnmf.solvers.learned import (
    ActivatedChain,
    GreedyChain,
    GreedyNonlinearChain,
    LinearChain,
    TiedChain,
    some_rows,
)
from deepnmf.solvers.losses import FROBENIUS, Loss
from deepnmf.solvers.other_chains import BoundActivatedChain, BoundGreedyChain, BoundTiedChain
from deepnmf.solvers.problem import Problem, Start
from deepnmf.solvers.steps import SOLVERS
from deepnmf.solvers.weighted_layers import Layers
from deepnmf.untrusted import of_type

SCALES = 1e-150, 1e150  # of codes: their squares, and quotients by these, are finite
SMALLEST, LARGEST = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)


@dataclass(frozen=True, kw_only=True)
class ChainProblem(Problem):
    """X ≈ H_m S_m Z_m ··· S_1 Z_1, or with an activation X ≈ f(··· f(H_m Z_m) ···) Z_1.

    Parameters
    ----------
    sizes : int, sequence of int, "auto" or None
        r_1..r_m. None is one layer with as many features as X; "auto" is the same unless factors are given.
    theta : float or sequence of float
        Smoothing of the matrices S_l.
    layer_weights : sequence of float or None
        λ_1..λ_m in Σ_l λ_l loss(X, H_l S_l C_l), where every layer explains the data with its own codes; None is only
        the top layer.
    loss : Loss
        The loss between X and X̂.
    activation : str
        f; a chain of one layer has none.
    penalties : sequence of penalties
        Terms that are added to the loss.
    lower_code_penalties : sequence of penalties
        Penalties of the codes of lower layers, which are separate problems.
    ties_classes : bool
        Whether samples of one class share their code.
    default_init : str
        The meaning of `init=None`.
    solver : str
        The name of the solver.
    gradient_drop : float
        The fine-tuning also ends when the projected gradient is this fraction of the first one.
    fine_tuning : bool
        Whether all layers are finally fitted together.
    keeps_scale : bool
        Whether features and codes keep the scale of the optimization.
    code_scale : {"norm", "rms"}
        Whether features have unit norm, or codes unit root mean square; only without smoothing.
    root_codes : bool
        Whether the returned codes of the top layer are square roots.
    **others
        See `Problem`; `nonnegative` applies to the factors, too.
    """

    sizes: Any
    theta: float | Sequence[float] = 0.0
    layer_weights: Sequence[float] | None = None
    loss: Loss = FROBENIUS
    activation: str = "identity"
    penalties: Sequence[UnresolvedPenalty] = ()
    lower_code_penalties: Sequence[LayerPenalty] = ()
    ties_classes: bool = False
    default_init: str = "nndsvd"
    solver: str = "hals"
    gradient_drop: float = 0.0
    fine_tuning: bool = True
    keeps_scale: bool = False
    code_scale: str = "norm"
    root_codes: bool = False

    # ------------------------------------------------------------------------------------ capabilities

    @property
    def is_linear(self) -> bool:
        """Whether no activation lies between layers."""
        return self.activation == "identity" or len(layer_sizes(self.sizes)) == 1

    @property
    def degree(self) -> float:
        """The degree of the loss."""
        return self.loss.degree

    @property
    def joins_samples(self) -> bool:
        """Whether the codes of samples depend on each other."""
        return self.ties_classes or any(penalty.joins_samples for penalty in self.penalties)

    @property
    def masks_nan(self) -> bool:
        """Whether entries of X may be missing or weighted."""
        return self.is_linear

    @property
    def weighs_rows(self) -> bool:
        """Whether rows of X may have weights: not if codes depend on each other, or with an activation."""
        return self.distributes

    @property
    def streams(self) -> bool:
        """Whether rows may be outside of memory."""
        return not self.ties_classes and all(penalty.streams for penalty in self.penalties)

    @property
    def distributes(self) -> bool:
        """Whether X may be a dask array: not if codes depend on each other."""
        return self.is_linear and not self.joins_samples

    @property
    def learns_in_batches(self) -> bool:
        """Whether the factors can be learned from statistics of the codes; a greedy layer needs all codes."""
        return self.distributes and self.fine_tuning and self.loss.memory is not None and self.layer_weights is None

    @property
    def memory(self) -> Any:
        """The class of the statistics for learning in batches."""
        return self.loss.memory

    @property
    def projects(self) -> bool:
        """Whether layers are linear maps of the data; with an activation, only the first layer is."""
        return True

    @property
    def has_units(self) -> bool:
        """Whether a change of the units of the data only changes the units of the model: not with an activation."""
        return self.is_linear and all(penalty.has_units for penalty in self.penalties)

    @property
    def fixes_components(self) -> bool:
        """Whether entries of Z_1 may be fixed: not with an activation, nor with penalties if Z_1 may be negative."""
        return self.is_linear and (self.nonnegative or not self.penalties)

    @property
    def guides_components(self) -> bool:
        """Whether features may have targets: only if the problems of factors depend on sums over rows."""
        if self.ties_classes or not (self.is_linear and self.fine_tuning):
            return False
        if self.loss is FROBENIUS and self.layer_weights is None:
            return True
        return not np.any(self.theta) and not self.penalties and self.loss.degree in (1, 2)

    # ------------------------------------------------------------------------------ before a fit

    def layer_sizes(self, n_features: int, factors: Sequence[Array] = ()) -> tuple[int, ...]:
        """Return r_1..r_m."""
        if self.root_codes and self.activation != "square":
            raise ValueError(f"root_codes=True needs activation='square', got activation={self.activation!r}.")
        if isinstance(self.sizes, str) and factors:
            return (len(factors[0]),)
        return (n_features,) if self.sizes is None or isinstance(self.sizes, str) else layer_sizes(self.sizes)

    def n_components(self, n_features: int) -> tuple[int, ...]:
        """The numbers of components of the layers."""
        return self.layer_sizes(n_features)

    def check(self, X: Matrix, start: Start, whom: str) -> None:
        """Refuse an output layer or a start that does not match the data."""
        if not self.is_linear and self.loss is not FROBENIUS:
            raise ValueError(
                f"beta_loss={self.loss.name!r} needs a linear chain, but activation is {self.activation!r}: use "
                "beta_loss='frobenius', or activation='identity'."
            )
        sizes = self.layer_sizes(X.shape[1], start.factors)
        self.layers(len(sizes))
        check_output_layer(self.output_layer, len(sizes))
        start.check(X, sizes, self, whom)

    def layers(self, depth: int) -> Layers | None:
        """The layers that explain the data; None if only the top layer does."""
        if self.layer_weights is None:
            return None
        weights = per_layer(self.layer_weights, depth, "layer_weights", 0, np.inf)
        if weights[-1] == 0:
            raise ValueError(f"layer_weights must end with a weight above 0, that of the top layer, got {weights}.")
        if not self.is_linear:
            raise ValueError(
                "layer_weights needs a chain without activation: use layer_weights=None, or activation='identity'."
            )
        if self.penalties:
            raise ValueError("layer_weights needs a chain without penalties: use layer_weights=None, or penalty=None.")
        return Layers(weights) if weights != (0.0,) * (depth - 1) + (1.0,) else None

    def bind(self, engine: Engine, known: Known, start: Start) -> BoundChain:
        """Resolve sizes, smoothing, graphs, and the weights of penalties in the units of the data."""
        factors = start.before.factors if start.warm else start.factors
        sizes = self.layer_sizes(engine.n_features, factors)
        depth, unit = len(sizes), engine.unit
        penalties = resolved(self.penalties, known, depth)
        layers = [[share for penalty in penalties for share in penalty.of_layer(layer)] for layer in range(depth)]
        tuned = penalties if self.is_linear else [penalty.below_activation() for penalty in penalties]
        in_units = [penalty.in_units(unit, self.loss.degree) for penalty in tuned]
        guides = self.guides(known, engine)
        objective = Objective((*in_units, *(guides if self.loss is FROBENIUS else ())))
        self.loss.check(engine, objective)
        if not self.fine_tuning:
            bound_class: type[BoundChain] = BoundGreedyChain
        elif self.ties_classes:
            bound_class = BoundTiedChain
        else:
            bound_class = BoundChain if self.is_linear else BoundActivatedChain
        bound = bound_class(
            problem=self,
            sizes=sizes,
            theta=per_layer(self.theta, depth, "theta", 0, 1),
            objective=objective,
            layer_objectives=[Objective(tuple(own)) for own in layers],
            lower_code_penalties=[
                one for penalty in self.lower_code_penalties for one in penalty.resolved(known, depth)
            ],
            activation=None if self.is_linear else ACTIVATIONS[self.activation],
            solver=SOLVERS[self.solver],
            layers=self.layers(depth) or (Layers.top_of(depth) if guides and self.loss is not FROBENIUS else None),
            labels=known.labels,
            guides=guides,
            components=None if known.fixed is None else self.known_components(known.fixed, engine, start.before),
        )
        return bound.weighed(start.before.penalty_units) if start.warm and start.before.unit == unit else bound

    def known_components(self, fixed: Array, engine: Engine, before: LinearChain | None) -> KnownComponents:
        """Return the fixed components in the scale of the optimization.

        With penalties on codes it is the scale of the data; a continued fit has the scale of the previous fit.
        Otherwise it is about that of an initialization; penalties with their own units use features of unit norm.
        """
        if self.keeps_scale:
            return KnownComponents(fixed, np.full(len(fixed), np.sqrt(engine.unit)))
        same = None if before is None else before.fixed_components
        if before is not None and same is not None and np.array_equal(fixed, same, equal_nan=True):
            return KnownComponents.at_norms_of(fixed, before.optimized_chain().factors[0])
        norm = 1.0 if self.penalties else balanced_norm(engine, self.layer_sizes(engine.n_features)[0])
        return KnownComponents.at_norm(fixed, norm, smoothed=bool(np.any(self.theta)))

    def guides(self, known: Known, engine: Engine) -> list[Guide]:
        """Return the guides of features: a feature orthogonal to its target costs its weight times ½‖X‖².

        For counts, a target adds the weight times all counts as pseudo-counts.
        """
        size = 0.5 * engine.measured.sqnorm if self.loss is FROBENIUS else engine.measured.total
        weight, divergence = known.guide_weight * size, self.loss.divergence
        layers = enumerate(known.guides if weight > 0 else ())
        return [Guide.of(layer, targets, weight, divergence) for layer, targets in layers if targets is not None]

    # ------------------------------------------------------------------------------ from a file

    def layout(self, n_features: int, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        """Return the expected layout of the arrays in a file, which is not trusted."""
        sizes = self.layer_sizes(n_features, arrays["factor"])
        listed_numbers(description, "theta", len(sizes), 0, 1)
        listed_numbers(description, "l1", len(sizes), 0, np.inf)
        if "unit" in description:
            listed_numbers(description, "unit", 1, SMALLEST, LARGEST)
        units = of_type(description.get("penalty_units", {}), dict, "penalty_units")
        for name in units:
            listed_numbers(units, name, len(sizes), 0, LARGEST)
        low = 0 if self.nonnegative else -np.inf
        return {
            "factor": [Expected(shape, low) for shape in factor_shapes(n_features, sizes)],
            "scale": [Expected((size,), *SCALES) for size in sizes],
            "penalty": [Expected((size, size), low=0) for size in sizes],
            "norm": [Expected((size,), low=0) for size in sizes] if "norm" in arrays else [],
            "fixed": fixed_layout(arrays, n_features, sizes[0]),
        }

    def restored(self, description: dict[str, Any], arrays: Arrays, codes: Array) -> LinearChain:
        """Restore the learned part from the output of its `state`."""
        chain = Chain.of(arrays["factor"], description["theta"], self.nonnegative)
        penalties = [CodePenalty(P, l1) for P, l1 in zip(arrays["penalty"], description["l1"], strict=True)]
        (unit,) = description.get("unit", [1.0])
        norms = arrays["norm"] or chain.row_norms()
        units = {name: tuple(numbers) for name, numbers in description.get("penalty_units", {}).items()}
        parts = (chain, arrays["scale"], penalties, norms, self.loss, self.root_codes, unit, units)
        fixed = restored_mask(arrays)
        if self.ties_classes:
            return TiedChain(*parts, classes=restored_classes(description), fixed=fixed)
        if self.is_linear:
            return (LinearChain if self.fine_tuning else GreedyChain)(*parts, fixed=fixed)
        activation = ACTIVATIONS[self.activation]
        if not self.fine_tuning:
            return GreedyNonlinearChain(*parts, activation=activation)
        others = some_rows(np.square(codes) if self.root_codes else codes)
        return ActivatedChain(*parts, activation=activation, others=others)


def resolved(penalties: Sequence[UnresolvedPenalty], known: Known, depth: int) -> list[Penalty]:
    """Return the penalties of a chain with `depth` layers, resolved for the data."""
    return [one for penalty in penalties for one in penalty.resolved(known, depth)]
