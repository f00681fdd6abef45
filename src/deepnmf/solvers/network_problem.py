"""The problem of a network whose layers fit the pooled codes below, with labels on the top layer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import check_groups, check_output_layer, factor_shapes, layer_sizes, pool_sizes
from deepnmf.engines import Engine
from deepnmf.labels import UNKNOWN, KnownLabels, described_classes, one_hot, restored_classes
from deepnmf.layout import Arrays, Expected, Layout
from deepnmf.objective import Chain, Known
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.divergences import SQUARED_ERROR, Divergence
from deepnmf.objective.network_energy import Network, Pooling
from deepnmf.objective.penalties import weight_in_units
from deepnmf.objective.terms import Labels
from deepnmf.solvers.encoding import residual_norm
from deepnmf.solvers.loop import History, Run, minimize
from deepnmf.solvers.losses import FROBENIUS
from deepnmf.solvers.network_descent import NetworkDescent, NetworkState, encoded_layers, layerwise_start
from deepnmf.solvers.pretraining import LayerwisePlan
from deepnmf.solvers.problem import BoundProblem, Fit, Problem, Start
from deepnmf.solvers.readout import Readout


@dataclass(frozen=True)
class LearnedNetwork:
    """X_{l-1} ≈ H_l Z_l with X_0 = X and X_l = p(H_l), and the readout of labels from the top codes."""

    factors: Sequence[Array]  # Z_1..Z_m, with rows of unit norm
    pool_sizes: tuple[int, ...]
    head: Array  # B
    readout: Readout
    labels: KnownLabels  # of the training rows, with predictions for unknown labels
    training_codes: Sequence[Array] | None = None  # of every layer, if a later fit may continue from them
    unit: float = 1.0

    @cached_property
    def decoders(self) -> list[Array]:
        """Z_l ··· Z_1 of every layer."""
        return Chain.of(self.factors).features()

    def features(self) -> list[Array]:
        """Every layer's features in input space, with unit norm."""
        return [inverse_norms(C)[:, None].astype(C.dtype) * C for C in self.decoders]

    def encode(self, engine: Engine, layer: int, groups: object = None) -> Array:
        """Codes of the rows of an engine at a layer, with the factors fixed and without labels."""
        poolings = poolings_of(self.pool_sizes, groups, engine.n_samples)
        *_, codes = encoded_layers(engine, self.factors[: layer + 1], poolings)
        return codes

    def encode_layers(self, engine: Engine, groups: object = None) -> list[Array]:
        """Codes of the rows of an engine at every layer."""
        return list(encoded_layers(engine, self.factors, poolings_of(self.pool_sizes, groups, engine.n_samples)))

    def decode(self, H: Array, layer: int) -> Array:
        """Reconstruct data from codes of a layer."""
        return H @ self.decoders[layer].astype(H.dtype, copy=False)

    def residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """‖X - X̂‖_F for codes of a layer."""
        return residual_norm(engine, codes, self.decoders[layer])

    @property
    def divergence(self) -> Divergence:
        """Squared error."""
        return SQUARED_ERROR

    def explained(self, engine: Engine, error: float) -> float:
        """The share that a reconstruction with this error explains beyond the column means."""
        return FROBENIUS.explained(engine, error)

    def best_error(self, engine: Engine, layer: int) -> float:
        """The error of the features of a layer with their best codes."""
        return FROBENIUS.best_error(engine, self.decoders[layer])

    def part_norms(self, layer: int) -> Array:
        """The norms of a layer's features in the scale of the factor above."""
        return np.linalg.norm(self.decoders[layer], axis=1)

    @property
    def transduction(self) -> Array:
        """The labels of the training rows; -1 if there were no labels."""
        return self.labels.classes[self.labels.places] if len(self.labels.classes) else self.labels.places

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the content of a model file: a description, and lists of arrays."""
        arrays = {
            "factor": list(self.factors),
            "label_factor": [self.head],
            "readout": [self.readout.weights, self.readout.intercept],
            "transduction": [self.labels.places],
        }
        return described_classes(self.labels.classes), arrays


@dataclass(frozen=True, kw_only=True)
class NetworkProblem(Problem):
    """E = ½ Σ_l ‖W_l∘(X_{l-1} - H_l Z_l)‖² + (λ/2)‖L∘(Y - H_m B)‖² with X_0 = X and X_l = p(H_l).

    Parameters
    ----------
    sizes : int or sequence of int
        r_1..r_m.
    pool_size : int or sequence of int
        Widths of the windows between layers.
    feedback : bool
        Whether codes also fit the layer above.
    label_weight : float
        λ.
    readout : {"logistic", "head"}
        How labels are predicted from the top codes; it is learned after the fit.
    keeps_training_codes : bool
        Whether a later fit may continue from the codes of this one.
    **others
        See `Problem`.
    """

    sizes: Any
    pool_size: Any = 0
    feedback: bool = True
    label_weight: float
    readout: str
    keeps_training_codes: bool = False

    @property
    def masks_nan(self) -> bool:
        """Entries of X may be missing or weighted."""
        return True

    def check(self, X: Matrix, start: Start, whom: str) -> None:
        """Refuse an output layer or a start that does not match the data."""
        sizes = layer_sizes(self.sizes)
        check_output_layer(self.output_layer, len(sizes))
        start.check(X, sizes, self, whom)

    def bind(self, engine: Engine, known: Known, start: Start) -> "BoundNetwork":
        """Resolve labels, their weight in the units of the data, and windows within groups."""
        sizes, n_samples = layer_sizes(self.sizes), engine.n_samples
        widths = pool_sizes(self.pool_size, len(sizes))
        labels = KnownLabels.of(known.labels, n_samples)
        weight = float(self.label_weight) if len(labels.rows) else 0.0
        return BoundNetwork(
            problem=self,
            sizes=sizes,
            pool_sizes=widths,
            poolings=poolings_of(widths, known.groups, n_samples),
            labels=labels,
            label_weight=weight_in_units(weight, -2, engine.unit, "label_weight"),
        )

    def layout(self, n_features: int, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        """Return the expected layout of the arrays in a file, which is not trusted."""
        sizes, n_classes = layer_sizes(self.sizes), len(restored_classes(description))
        pool_sizes(self.pool_size, len(sizes))
        places = (0, n_classes - 1) if n_classes else (UNKNOWN, UNKNOWN)
        return {
            "factor": [Expected(shape, low=0) for shape in factor_shapes(n_features, sizes)],
            "label_factor": [Expected((sizes[-1], n_classes), low=0)],
            "readout": [Expected((sizes[-1], n_classes)), Expected((n_classes,))],
            "transduction": [Expected((n_samples,), *places, kind="i")],
        }

    def restored(self, description: dict[str, Any], arrays: Arrays, codes: Array) -> LearnedNetwork:
        """Restore the learned part from the output of its `state`."""
        (head,), (places,) = arrays["label_factor"], arrays["transduction"]
        widths = pool_sizes(self.pool_size, len(arrays["factor"]))
        labels = KnownLabels(restored_classes(description), places)
        return LearnedNetwork(arrays["factor"], widths, head, Readout(*arrays["readout"]), labels)


@dataclass(frozen=True)
class BoundNetwork(BoundProblem):
    """A network with the labels and windows for given data."""

    problem: NetworkProblem
    sizes: tuple[int, ...]
    pool_sizes: tuple[int, ...]
    poolings: Sequence[Pooling]
    labels: KnownLabels
    label_weight: float

    def fit(self, engine: Engine, start: Start, run: Run) -> Fit:
        """Fit layer by layer, then all layers together, then the readout."""
        problem, labels = self.problem, self.labels
        Y = one_hot(labels.places[labels.rows], len(labels.classes), np.float64)
        known = Labels(labels.rows, Y, self.label_weight)
        descent = NetworkDescent(engine, self.poolings, known, backprop=problem.feedback)
        state, history = minimize(
            descent.advance,
            self.begin(engine, descent, start, run),
            max_iter=problem.max_iter,
            tol=problem.tol,
            run=run,
            on_sweep=run.on_sweep,
        )
        return self.handed_out(engine, state.network, history)

    def begin(self, engine: Engine, descent: NetworkDescent, start: Start, run: Run) -> NetworkState:
        """Return the start, layer by layer, or the codes of the previous fit if their energy is lower.

        Codes found layer by layer include no feedback, and would need tens of sweeps to reach the previous fit.
        """
        problem, layerwise = self.problem, self.problem.pretraining
        init = "nndsvd" if problem.init in (None, "custom") else str(problem.init)
        rng = check_random_state(problem.random_state)
        plan = LayerwisePlan.of_nonnegative_layers(init, rng, layerwise.max_iter, layerwise.tol, run)
        factors = start.before.factors if start.warm else start.factors
        given = [np.asarray(Z, dtype=np.float64) for Z in factors]
        first = descent.start(*layerwise_start(engine, self.sizes, self.poolings, plan, given))
        before = start.before.training_codes if start.warm else None
        if before is None or len(before[0]) != engine.n_samples:
            return first
        again = descent.start([(H / engine.unit).astype(engine.dtype, copy=False) for H in before], given)
        return again if descent.energy.value(again.network) < descent.energy.value(first.network) else first

    def handed_out(self, engine: Engine, network: Network, history: History) -> Fit:
        """Return the network in the units of the data, with the readout of labels."""
        problem, labels, unit = self.problem, self.labels, engine.unit
        factors = [np.ascontiguousarray(Z, engine.dtype) for Z in network.factors]
        top = network.codes[-1]
        readout = self._readout(engine, factors, network.head)
        if len(labels.rows):
            labels = replace(labels, places=labels.completed(readout.winners(top)))
        learned = LearnedNetwork(factors, self.pool_sizes, network.head, readout, labels)
        error = learned.residual(engine, top, network.depth - 1)
        if unit != 1:
            network = replace(network, codes=tuple(H * unit for H in network.codes))
            scaled = replace(readout, weights=readout.weights / unit)
            learned = replace(learned, head=network.head / unit, readout=scaled, unit=unit)
        if problem.keeps_training_codes:
            learned = replace(learned, training_codes=network.codes)
        codes = list(network.codes) if problem.keep_codes == "all" else [network.codes[-1]]
        return Fit(learned, codes, error * unit, history)

    def _readout(self, engine: Engine, factors: Sequence[Array], head: Array) -> Readout:
        """Return B itself, or a regression on codes found without labels, as for the rows to be predicted."""
        labels = self.labels
        if self.problem.readout == "head" or not len(labels.rows):
            return Readout.of_head(head)
        *_, codes = encoded_layers(engine, factors, self.poolings)
        return Readout.logistic(codes[labels.rows], labels.places[labels.rows], len(labels.classes))


def poolings_of(widths: Sequence[int], groups: object, n_samples: int) -> list[Pooling]:
    """Return the windows between layers, each within a group of rows."""
    groups = check_groups(groups, n_samples)
    return [Pooling.centered(width, groups) for width in widths]
