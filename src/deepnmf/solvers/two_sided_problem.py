"""The problem of a model that is deep in features and in basis, with a parallel shallow path."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import check_output_layer, check_rank, check_warm_start, factor_shapes, layer_sizes
from deepnmf.engines import Engine
from deepnmf.labels import UNKNOWN, KnownLabels, described_classes, one_hot, restored_classes
from deepnmf.layout import Arrays, Expected, Layout
from deepnmf.objective import ACTIVATIONS, Activation, CodePenalty, Known
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.divergences import SQUARED_ERROR, Divergence
from deepnmf.objective.layer_stack import LayerStack
from deepnmf.objective.two_sided_model import TwoSided
from deepnmf.solvers.activated_encoding import ActivatedEncoder
from deepnmf.solvers.encoding import decoded_residual_norm
from deepnmf.solvers.loop import History, Run, minimize
from deepnmf.solvers.losses import FROBENIUS
from deepnmf.solvers.pretraining import LayerwisePlan
from deepnmf.solvers.problem import BoundProblem, Fit, Problem, Start
from deepnmf.solvers.two_sided_descent import Labels, TwoSidedDescent
from deepnmf.solvers.two_sided_encoding import encode_two_sided
from deepnmf.solvers.two_sided_start import deep_start, shallow_start


@dataclass(frozen=True)
class LearnedTwoSided:
    """X ≈ Ĝ_1 S_1 F̂_1 + G_m W, or G_m W alone."""

    model: TwoSided
    is_shallow: bool
    labels: KnownLabels | None = None  # of the training rows, with predictions for unknown labels
    unit: float = 1.0

    @property
    def factors(self) -> Sequence[Array]:
        """S_1 F̂_1, S^R_2, ..., S^R_m; only W if the model is shallow."""
        model = self.model
        return [model.W] if self.is_shallow else [model.decoder[: model.n_deep], *model.features.factors]

    @property
    def basis_factors(self) -> list[Array]:
        """S_1, S^L_2, ..., F_m."""
        return [self.model.S, *(Z.T for Z in self.model.basis.factors), self.model.F]

    @property
    def label_factors(self) -> list[Array]:
        """U and V."""
        return np.split(self.model.head, [self.model.n_deep])

    @property
    def top(self) -> int:
        """The index of the top layer."""
        return 0 if self.is_shallow else len(self.model.features.factors)

    def features(self) -> list[Array]:
        """The reconstructions of unit codes of every layer."""
        return [self.decode(np.eye(len(Z), dtype=Z.dtype), layer) for layer, Z in enumerate(self.factors)]

    @cached_property
    def components(self) -> Array:
        """The reconstructions of unit codes of the top layer."""
        return self.features()[-1]

    def encode(self, engine: Engine, layer: int) -> Array:
        """Return the codes of the rows at a layer, with all factors fixed and without labels."""
        codes = encode_two_sided(engine, self.model, self.components)
        return codes if layer == self.top else self.with_lower_codes(codes)[layer]

    def encode_layers(self, engine: Engine) -> list[Array]:
        """Codes of the rows of an engine at every layer."""
        return self.with_lower_codes(encode_two_sided(engine, self.model, self.components))

    def with_lower_codes(self, codes: Array) -> list[Array]:
        """Codes of every layer, from those of the top one."""
        return [codes] if self.is_shallow else self.model.features.trace(codes).values[::-1]

    def decode(self, H: Array, layer: int) -> Array:
        """Reconstruct data from codes of a layer; lower layers are decoded by the deep path only."""
        model, E = self.model, self.model.decoder.astype(H.dtype, copy=False)
        if layer == self.top:
            return model.stacked(H) @ E
        below = LayerStack(model.features.factors[:layer], model.features.activation)
        return below.trace(H).bottom @ E[: model.n_deep]

    def residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """‖X - X̂‖_F for codes of a layer."""
        return decoded_residual_norm(engine, codes, lambda H: self.decode(H, layer))

    @property
    def divergence(self) -> Divergence:
        """Squared error."""
        return SQUARED_ERROR

    def explained(self, engine: Engine, error: float) -> float:
        """The share that a reconstruction with this error explains beyond the column means."""
        return FROBENIUS.explained(engine, error)

    def best_error(self, engine: Engine, layer: int) -> float:
        """The error of a layer with its own codes; below the top layer, only by the deep path."""
        if layer == self.top:
            return self.residual(engine, self.encode(engine, layer), layer)
        below, size = self.model.features, len(self.factors[layer])
        decoders = [Z.astype(np.float64) for Z in (self.factors[0], *below.factors[:layer])]
        if layer == 0:
            return FROBENIUS.best_error(engine, decoders[0])
        none, no_codes = CodePenalty.none(size), np.empty((0, size))
        encoder = ActivatedEncoder(tuple(decoders), below.activation, none, nonnegative=True, others=no_codes)
        return self.residual(engine, encoder.encode(engine), layer)

    def part_norms(self, layer: int) -> Array:
        """The norms of the contributions of unit codes of a layer."""
        return np.linalg.norm(self.decode(np.eye(len(self.factors[layer])), layer), axis=1)

    def scores(self, codes: Array) -> Array:
        """Scores of the classes, Ĝ_1 U + G_m V."""
        return self.model.stacked(codes) @ self.model.head

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the content of a model file: a description, and lists of arrays."""
        model = self.model
        arrays = {
            "feature_factor": [*model.features.factors],
            "basis_factor": [*model.basis.factors],
            "two_sided": [model.S, model.F, model.W, model.head],
        }
        if self.labels is None:
            return {}, arrays
        return described_classes(self.labels.classes), arrays | {"labels": [self.labels.places]}


@dataclass(frozen=True, kw_only=True)
class TwoSidedProblem(Problem):
    """½‖X - Ĝ_1 S_1 F̂_1 - G_m W‖² + (α/2)‖Q∘(Y - Ĝ_1 U - G_m V)‖², everything nonnegative.

    Parameters
    ----------
    sizes, basis_sizes : sequence of int or None
        Widths of Ĝ_1..G_m and of F̂_1..F_m; None takes them from `decay` and `depth`, and from `sizes`.
    decay, depth : float and int
        r_1 = decay · n_features, r_{l+1} = decay · r_l.
    paths : {"both", "deep", "shallow"}
        Which of the two terms the model has.
    activation : str
        g; it is shifted to pass through 0.
    label_weight : float
        α.
    **others
        See `Problem`.
    """

    sizes: Any
    basis_sizes: Any
    decay: float
    depth: int
    paths: str
    activation: str
    label_weight: float

    @property
    def is_linear(self) -> bool:
        """False, because both sides have an activation."""
        return False

    @property
    def has_units(self) -> bool:
        """False, because activations are not homogeneous."""
        return False

    @property
    def map(self) -> Activation:
        """g, shifted so that g(0) = 0, because some activations are positive at 0."""
        return ACTIVATIONS[self.activation].through_zero()

    def layer_sizes(self, n_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return r_1..r_m of features and basis."""
        sizes = self._decayed(n_features) if self.sizes is None else layer_sizes(self.sizes)
        sizes = sizes[-1:] if self.paths == "shallow" else sizes
        check_output_layer(self.output_layer, len(sizes))
        return sizes, sizes if self.basis_sizes is None else layer_sizes(self.basis_sizes, "basis_sizes")

    def _decayed(self, n_features: int) -> tuple[int, ...]:
        sizes = [n_features]
        for _ in range(self.depth):
            sizes.append(max(1, round(self.decay * sizes[-1])))
        return tuple(sizes[1:])

    def shapes(self, n_features: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]], tuple[int, int]]:
        """Shapes of the layers' factors, of S_1, S^L_2, ..., F_m, and of W."""
        sizes, basis_sizes = self.layer_sizes(n_features)
        across = (0, 0) if self.paths == "shallow" else (sizes[0], *basis_sizes)
        W = (0 if self.paths == "deep" else sizes[-1], n_features)
        return factor_shapes(n_features, sizes), list(pairwise((*across, n_features))), W

    def check(self, X: Matrix, start: Start, whom: str) -> None:
        """Refuse sizes or a start that do not match the data."""
        sizes, _ = self.layer_sizes(X.shape[1])
        if start.warm:
            before, (layers, basis, W) = start.before, self.shapes(X.shape[1])
            check_warm_start([*before.factors, *before.basis_factors, before.model.W], [*layers, *basis, W])
        elif self.init is not None and self.init != "random":
            check_rank(self.init, X.shape, sizes)

    def bind(self, engine: Engine, known: Known, start: Start) -> "BoundTwoSided":
        """Resolve sizes and labels."""
        sizes, basis_sizes = self.layer_sizes(engine.n_features)
        return BoundTwoSided(self, sizes, basis_sizes, KnownLabels.of(known.labels, engine.n_samples))

    def layout(self, n_features: int, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        """Return the expected layout of the arrays in a file, which is not trusted."""
        n_classes = len(restored_classes(description)) if "classes" in description else 0
        layers, (S, *lower, F), W = self.shapes(n_features)
        shapes = {
            "feature_factor": [(W[0], 0)] if self.paths == "shallow" else layers[1:],
            "basis_factor": [shape[::-1] for shape in lower],
            "two_sided": [S, F, W, (S[0] + W[0], n_classes)],
        }
        layout = {kind: [Expected(shape, low=0) for shape in listed] for kind, listed in shapes.items()}
        return layout | {"labels": [Expected((n_samples,), 0, n_classes - 1, "i")] if n_classes else []}

    def restored(self, description: dict[str, Any], arrays: Arrays, codes: Array) -> LearnedTwoSided:
        """Restore the learned part from the output of its `state`."""
        features, basis = (LayerStack(tuple(arrays[kind]), self.map) for kind in ("feature_factor", "basis_factor"))
        S, F, W, head = arrays["two_sided"]
        labels = None
        if "classes" in description:
            labels = KnownLabels(restored_classes(description), arrays["labels"][0])
        model = TwoSided(features, S, basis, F, W, head)
        return LearnedTwoSided(_cast(model, S.dtype), self.paths == "shallow", labels)


@dataclass(frozen=True)
class BoundTwoSided(BoundProblem):
    """A two-sided model with the sizes and labels for given data."""

    problem: TwoSidedProblem
    sizes: tuple[int, ...]
    basis_sizes: tuple[int, ...]
    labels: KnownLabels

    def fit(self, engine: Engine, start: Start, run: Run) -> Fit:
        """Pre-train, fine-tune, and convert the result to its final scale."""
        problem, places = self.problem, self.labels.places
        Y = one_hot(places, len(self.labels.classes), engine.dtype)
        known = Labels(Y, (places != UNKNOWN).astype(engine.dtype)[:, None])
        descent = TwoSidedDescent(engine, known, float(problem.label_weight))
        codes, model = self._continued(engine, start.before) if start.warm else self._pretrained(engine, run)
        state, history = minimize(
            descent.advance,
            descent.start(codes, model),
            max_iter=problem.max_iter,
            tol=problem.tol,
            run=run,
            on_sweep=run.on_sweep,
        )
        return self.handed_out(engine, state.codes, state.model, history)

    def _continued(self, engine: Engine, before: LearnedTwoSided) -> tuple[Array, TwoSided]:
        """Continue from the previous fit; its label factors are used only if the classes are the same."""
        model, g = before.model, self.problem.map
        features, basis = (replace(side, activation=g) for side in (model.features, model.basis))
        classes = self.labels.classes
        same_classes = np.array_equal(np.empty(0) if before.labels is None else before.labels.classes, classes)
        head = model.head if same_classes else np.zeros((len(model.head), len(classes)))
        model = _cast(replace(model, features=features, basis=basis, head=head), np.float64)
        return encode_two_sided(engine, model, before.components), model

    def _pretrained(self, engine: Engine, run: Run) -> tuple[Array, TwoSided]:
        """Fit NMF of X, then each side layer by layer."""
        problem, n_classes = self.problem, len(self.labels.classes)
        rng, layerwise = check_random_state(problem.random_state), problem.pretraining
        init = problem.init or "nndsvd"
        plan = LayerwisePlan.of_nonnegative_layers(init, rng, layerwise.max_iter, layerwise.tol, run)
        if problem.paths == "shallow":
            return shallow_start(engine, self.sizes[-1], plan, n_classes)
        shallow = problem.paths == "both"
        return deep_start(engine, self.sizes, self.basis_sizes, problem.map, plan, shallow=shallow, n_classes=n_classes)

    def handed_out(self, engine: Engine, codes: Array, model: TwoSided, history: History) -> Fit:
        """Return the model in its final scale, with its predicted labels."""
        is_shallow = self.problem.paths == "shallow"
        scale = inverse_norms(model.W) if is_shallow else _sizes_of(codes)
        codes = (codes / scale).astype(codes.dtype, copy=False)
        learned = LearnedTwoSided(_cast(model.rescaled(scale), engine.dtype), is_shallow)
        error = learned.residual(engine, codes, learned.top)
        if len(self.labels.classes):
            places = self.labels.completed(learned.scores(codes).argmax(axis=1))
            learned = replace(learned, labels=replace(self.labels, places=places))
        every = learned.with_lower_codes(codes) if self.problem.keep_codes == "all" else [codes]
        return Fit(learned, every, error, history)


def _sizes_of(codes: Array) -> Array:
    """The root mean square of each code over the rows; 1 for codes that are 0."""
    sizes = np.sqrt(np.mean(np.square(codes, dtype=np.float64), axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def _cast(model: TwoSided, dtype: Any) -> TwoSided:
    features, basis = (
        LayerStack(tuple(np.ascontiguousarray(Z, dtype) for Z in side.factors), side.activation)
        for side in (model.features, model.basis)
    )
    S, F, W, head = (np.ascontiguousarray(Z, dtype) for Z in (model.S, model.F, model.W, model.head))
    return TwoSided(features, S, basis, F, W, head)
