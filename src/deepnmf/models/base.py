"""What every linear chain answers to, whichever paper it comes from."""

import os
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, check_non_negative, validate_data

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, RowsInMemory, Workers
from deepnmf.models.saving import save
from deepnmf.objective import Chain, CodePenalty, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers import (
    NNDSVD,
    SOLVERS,
    ChainDescent,
    History,
    LayerwisePlan,
    OnSweep,
    Run,
    State,
    encode_rows,
    minimise,
    nonnegative_start,
    pretrain,
    refitted,
    residual_norm,
)

FLOATS = [np.float64, np.float32]


class ChainEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """X ≈ H_m S_m Z_m ··· S_1 Z_1, fitted by layer-wise pre-training and block coordinate descent.

    A model says which sizes, smoothing, penalties and start it has; the rest is here.
    """

    _nonnegative = True
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's name and form
        "init": [StrOptions({*NNDSVD, "random", "custom"}), None],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # ------------------------------------------------------------------ what a model says of itself

    @abstractmethod
    def _sizes(self, n_features: int, factors: Sequence[Array] | None) -> tuple[int, ...]:
        """Return the layer sizes r_1..r_m; factors to start from may decide them."""

    def _smoothing(self, depth: int) -> tuple[float, ...]:
        """Return θ_1..θ_m."""
        return (0.0,) * depth

    def _objective(self, depth: int, shape: tuple[int, int]) -> Objective:
        """Return what fine-tuning minimises."""
        return Objective()

    def _layer_objectives(self, depth: int) -> Sequence[Objective]:
        """Return what pre-training minimises, layer by layer."""
        return [Objective()] * depth

    def _layer_start(self, engine: Engine, rank: int, rng: RandomState) -> tuple[Array, Array]:
        """Return initial codes and factor of one layer."""
        init = self._default_init if self.init in (None, "custom") else self.init
        return nonnegative_start(engine, rank, init, rng)

    _default_init = "nndsvd"

    def _scales(self, chain: Chain) -> list[Array]:
        """Return what codes of each layer are divided by: a code counts in units of what it adds to the data."""
        return [inverse_norms(chain.decoder(layer)) for layer in range(chain.depth)]

    def _lower_code_penalties(self, chain: Chain) -> list[CodePenalty]:
        """Return the penalties of the lower layers' codes, in the scale the chain was optimised in."""
        return [CodePenalty(np.zeros((len(Z), len(Z)))) for Z in chain.factors[:-1]]

    _output_layer_index = -1
    _keeps_lower_codes = False
    _pretrain_max_iter = 0
    _pretrain_tol = 0.0

    # ------------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: Matrix,
        y: object = None,
        *,
        factors: Sequence[Array] | None = None,
        codes: Array | None = None,
        on_sweep: OnSweep | None = None,
    ) -> Self:
        """Learn the factors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        factors : sequence of arrays, optional
            Z_1..Z_k to start from, k at most the number of layers; layers above are pre-trained.
            Required by ``init="custom"``.
        codes : array of shape (n_samples, r_m), optional
            Codes of the top layer to start from; by default they are solved for.
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)``, called after each fine-tuning sweep; returning True stops.

        Returns
        -------
        self
        """
        return self._fit(X, factors=factors, codes=codes, on_sweep=on_sweep)

    def _fit(
        self,
        X: Matrix,
        *,
        factors: Sequence[Array] | None = None,
        codes: Array | None = None,
        on_sweep: OnSweep | None = None,
    ) -> Self:
        self._validate_params()
        X = self._validated(X, reset=True)
        sizes = self._sizes(X.shape[1], factors)
        self._check_output_layer(len(sizes))
        self._check_start(X, sizes, factors, codes)
        run = Run(verbose=int(self.verbose))
        with Workers() as workers:
            engine = RowsInMemory(X, workers)
            state, history = self._optimise(engine, sizes, factors, codes, run, on_sweep)
            self._keep(engine, state, history)
        self._warn_if_unfinished(history)
        return self

    def _optimise(
        self,
        engine: Engine,
        sizes: tuple[int, ...],
        factors: Sequence[Array] | None,
        codes: Array | None,
        run: Run,
        on_sweep: OnSweep | None,
    ) -> tuple[State, History]:
        """Pre-train, then fine-tune."""
        objective = self._objective(len(sizes), (engine.n_samples, engine.n_features))
        descent = ChainDescent(engine, objective, SOLVERS[self._solver_name])
        return minimise(
            descent.advance,
            descent.start(*self._begin(engine, sizes, factors, codes, run)),
            max_iter=self.max_iter,
            tol=self.tol,
            run=run,
            on_sweep=on_sweep,
        )

    def _begin(
        self,
        engine: Engine,
        sizes: tuple[int, ...],
        factors: Sequence[Array] | None,
        codes: Array | None,
        run: Run,
    ) -> tuple[Array, Chain]:
        """Return the start: given factors first, pre-trained ones above them."""
        rng = check_random_state(self.random_state)
        theta = self._smoothing(len(sizes))
        plan = self._plan(rng, run, self._pretrain_max_iter if len(sizes) > 1 else 0, self._pretrain_tol)
        given = [np.asarray(Z, dtype=np.float64) for Z in factors or []]
        stack = pretrain(engine, sizes, theta, self._layer_objectives(len(sizes)), plan, given=given)
        chain = Chain.of(stack.factors, theta, self._nonnegative)
        if codes is None:
            return stack.codes, chain
        codes = np.array(codes, dtype=engine.dtype)
        return codes, chain if self._nonnegative else refitted(engine, codes, chain)

    def _plan(
        self, rng: RandomState, run: Run, max_iter: int, tol: float, on_sweep: OnSweep | None = None
    ) -> LayerwisePlan:
        return LayerwisePlan(
            start=lambda rows, rank: self._layer_start(rows, rank, rng),
            solver=SOLVERS[self._solver_name],
            max_iter=max_iter,
            tol=tol,
            nonnegative=self._nonnegative,
            run=run,
            on_sweep=on_sweep,
        )

    def _keep(self, engine: Engine, state: State, history: History) -> None:
        """Bring the result into the scale that is handed out and set the fitted attributes."""
        chain = state.chain
        objective = self._objective(chain.depth, (engine.n_samples, engine.n_features))
        penalties = [*self._lower_code_penalties(chain), objective.code_penalty(chain)]
        codes = state.codes
        scales = self._scales(chain)
        codes /= scales[-1].astype(codes.dtype)
        penalties = [_rescaled(penalty, scale) for penalty, scale in zip(penalties, scales, strict=True)]
        if not any(chain.theta):  # scaling commutes with the chain: let the factors have it
            chain, scales = chain.rescaled(scales), [np.ones_like(scale) for scale in scales]
        self._set_chain(chain, scales, penalties, engine.dtype)
        self.reconstruction_err_ = self._residual(engine, codes, len(self.factors_) - 1)
        self.codes_ = [codes]
        if self._keeps_lower_codes:
            lower = range(self._chain.depth - 1)
            self.codes_ = [*(self._encoded(engine, layer) for layer in lower), codes]
        self.loss_curve_ = np.array(history.losses)
        self.n_iter_ = len(history.losses)
        self.stop_reason_ = history.stop_reason

    def _set_chain(self, chain: Chain, scales: list[Array], penalties: list[CodePenalty], dtype: Any) -> None:
        self._chain = Chain.of([np.ascontiguousarray(Z, dtype) for Z in chain.factors], chain.theta, chain.nonnegative)
        self._code_scales = scales
        self._code_penalties = penalties
        self.factors_ = list(self._chain.factors)
        self.features_ = self._features()
        self.components_ = self.features_[-1]

    def _features(self) -> list[Array]:
        features = self._chain.features()
        return [inverse_norms(C)[:, None] * C for C in features] if any(self._chain.theta) else features

    def _decoder(self, layer: int) -> Array:
        """What codes of a layer, in the scale that is handed out, are multiplied by."""
        D = self._chain.decoder(layer)
        return (self._code_scales[layer][:, None] * D).astype(D.dtype, copy=False)

    def _warn_if_unfinished(self, history: History) -> None:
        if history.stop_reason == "max_iter" and self.tol > 0:
            message = f"Maximum number of iterations {self.max_iter} reached. Increase it to improve convergence."
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    @property
    def _solver_name(self) -> str:
        return str(self.solver)

    # ---------------------------------------------------------------------------------- using it

    def fit_transform(self, X: Matrix, y: object = None, **fit_params: Any) -> Array:
        """Fit, then return what `transform` gives for the same rows.

        Codes as the optimisation left them are in `codes_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        **fit_params : see `fit`

        Returns
        -------
        array of shape (n_samples, n_features_out)
        """
        return self.fit(X, y, **fit_params).transform(X)

    def transform(self, X: Matrix) -> Array:
        """Codes of the rows of X at `output_layer`, by nonnegative least squares with the factors fixed.

        Each row is solved on its own to its optimum, with no gradient pointing down by more than 1e-10
        (1e-5 in single precision) of the row's largest: its codes do not depend on the other rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_features_out)
        """
        return self.encode(X, self._output_layer_index)

    def inverse_transform(self, X: Array) -> Array:
        """Data that codes of `output_layer` stand for.

        Parameters
        ----------
        X : array of shape (n_samples, n_features_out)

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        return self.decode(X, self._output_layer_index)

    def encode(self, X: Matrix, layer: int = -1) -> Array:
        """Codes of the rows of X at any layer.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        layer : int
            Index into `features_`; -1 is the top layer.

        Returns
        -------
        array of shape (n_samples, size of the layer)
        """
        check_is_fitted(self)
        layer = self._layer(layer)
        X = self._validated(X, reset=False)
        with Workers() as workers:
            return self._encoded(RowsInMemory(X, workers), layer)

    def decode(self, H: Array, layer: int = -1) -> Array:
        """Data that codes of any layer stand for.

        Parameters
        ----------
        H : array of shape (n_samples, size of the layer)
        layer : int
            Index into `features_`; -1 is the top layer.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        layer = self._layer(layer)
        H = check_array(H, dtype=FLOATS, input_name="codes")
        size = len(self.factors_[layer])
        if H.shape[1] != size:
            raise ValueError(f"Codes have {H.shape[1]} columns, but layer {layer} of this model has {size} features.")
        return self._decoded(H, layer)

    def score(self, X: Matrix, y: object = None) -> float:
        """Share of ‖X‖² that the model explains, 1 - ‖X - X̂‖² / ‖X‖².

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
            1 is a perfect reconstruction; 0 is as good as all zeros.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        with Workers() as workers:
            engine = RowsInMemory(X, workers)
            layer = self._layer(self._output_layer_index)
            error = self._residual(engine, self._encoded(engine, layer), layer)
        return 1 - error**2 / engine.sqnorm if engine.sqnorm > 0 else 1.0

    def top_features(self, layer: int = -1, n: int = 10) -> list[list[tuple[str, float]]]:
        """The input features that weigh most in each feature of a layer.

        Parameters
        ----------
        layer : int
            Index into `features_`; -1 is the top layer.
        n : int
            How many to name.

        Returns
        -------
        list of lists of (name, weight)
            One list a feature, the heaviest first; names are the columns' where X had them.
        """
        check_is_fitted(self)
        C = self.features_[self._layer(layer)]
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(C.shape[1])] if names is None else names
        order = np.argsort(-np.abs(C), axis=1, kind="stable")[:, :n]
        return [[(str(names[j]), float(row[j])) for j in best] for row, best in zip(C, order, strict=True)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file; `deepnmf.load` reads it back.

        Parameters
        ----------
        path : str or path
            The file; it is written beside and moved into place, so that it is never half there.
        """
        save(self, path)

    def _encoded(self, engine: Engine, layer: int) -> Array:
        return encode_rows(engine, self._decoder(layer), self._code_penalties[layer])

    def _decoded(self, H: Array, layer: int) -> Array:
        return H @ self._decoder(layer).astype(H.dtype, copy=False)

    def _residual(self, engine: Engine, codes: Array, layer: int) -> float:
        return residual_norm(engine, codes, self._decoder(layer))

    # ------------------------------------------------------------------------------- checking input

    def _validated(self, X: Matrix, *, reset: bool) -> Matrix:
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2 if reset else 1)
        if self._nonnegative:
            check_non_negative(X, f"{type(self).__name__} (input X)")
        return X

    def _check_start(
        self, X: Matrix, sizes: tuple[int, ...], factors: Sequence[Array] | None, codes: Array | None
    ) -> None:
        if self.init == "custom" and factors is None:
            raise ValueError("init='custom' needs a start: pass factors=[Z_1, ...] to fit.")
        if self.init in NNDSVD:
            check_rank(self.init, X.shape, sizes)
        widths = (X.shape[1], *sizes)
        for layer, Z in enumerate(factors or []):
            if layer >= len(sizes):
                raise ValueError(f"factors has {len(factors or [])} matrices, but the model has {len(sizes)} layers.")
            self._check_start_array(Z, (sizes[layer], widths[layer]), f"factors[{layer}]", self._nonnegative)
        if codes is not None:
            self._check_start_array(codes, (X.shape[0], sizes[-1]), "codes", True)

    def _check_start_array(self, array: Array, shape: tuple[int, int], name: str, nonnegative: bool) -> None:
        array = check_array(array, dtype=FLOATS, input_name=name)
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, but the model needs {shape}.")
        if nonnegative:
            check_non_negative(array, f"{type(self).__name__} ({name})")

    def _check_output_layer(self, depth: int) -> None:
        if not -depth <= self._output_layer_index < depth:
            raise ValueError(
                f"output_layer is {self._output_layer_index}, but the model has {depth} layers: "
                f"expected {-depth} to {depth - 1}."
            )

    def _layer(self, layer: int) -> int:
        depth = len(self.factors_)
        if not isinstance(layer, Integral):
            raise TypeError(f"layer must be an integer, got {type(layer).__name__}.")
        if not -depth <= layer < depth:
            raise ValueError(f"layer is {layer}, but the model has {depth} layers: expected {-depth} to {depth - 1}.")
        return int(layer) % depth

    @property
    def _n_features_out(self) -> int:
        return len(self.factors_[self._output_layer_index])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._nonnegative
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ShallowEstimator(ChainEstimator):
    """A chain of one layer, sized by `n_components`."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ChainEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    def _sizes(self, n_features: int, factors: Sequence[Array] | None) -> tuple[int, ...]:
        return (int(self.n_components),)


class DeepEstimator(ChainEstimator):
    """A chain of several layers, sized by `layer_sizes`."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ChainEstimator._parameter_constraints,
        "layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "pretrain_max_iter": [Interval(Integral, 0, None, closed="left")],
        "pretrain_tol": [Interval(Real, 0, None, closed="left")],
        "output_layer": [Integral],
        "keep_codes": [StrOptions({"top", "all"})],
    }

    def _sizes(self, n_features: int, factors: Sequence[Array] | None) -> tuple[int, ...]:
        return layer_sizes(self.layer_sizes)

    @property
    def _output_layer_index(self) -> int:  # type: ignore[override]
        return int(self.output_layer)

    @property
    def _keeps_lower_codes(self) -> bool:  # type: ignore[override]
        return bool(self.keep_codes == "all")

    @property
    def _pretrain_max_iter(self) -> int:  # type: ignore[override]
        return int(self.pretrain_max_iter)

    @property
    def _pretrain_tol(self) -> float:  # type: ignore[override]
        return float(self.pretrain_tol)


def layer_sizes(sizes: object) -> tuple[int, ...]:
    """Check layer sizes; one integer is one layer."""
    sizes = (sizes,) if isinstance(sizes, Integral) else sizes
    try:
        values: tuple[Any, ...] = tuple(sizes)  # type: ignore[arg-type]
    except TypeError:
        values = ()
    if not values:
        raise ValueError(f"layer_sizes must hold one positive integer a layer, got {sizes!r}.")
    for size in values:
        if not isinstance(size, Integral) or isinstance(size, bool):
            raise TypeError(f"layer_sizes must hold integers, got {size!r} in {sizes!r}.")
        if size < 1:
            raise ValueError(f"layer_sizes must be positive, got {size!r} in {sizes!r}.")
    return tuple(int(size) for size in values)


def per_layer(value: float | Sequence[float], depth: int, name: str, low: float, high: float) -> tuple[float, ...]:
    """One number for all layers, or one a layer, within bounds."""
    values: tuple[Any, ...] = (value,) * depth if isinstance(value, Real) else tuple(value)  # type: ignore[arg-type]
    if len(values) != depth:
        raise ValueError(f"{name} has {len(values)} values, but the model has {depth} layers.")
    for one in values:
        if not isinstance(one, Real) or not low <= float(one) <= high:
            raise ValueError(f"{name} must be a number from {low:g} to {high:g}, or one a layer; got {one!r}.")
    return tuple(float(one) for one in values)


def check_rank(init: str, shape: tuple[int, int], sizes: tuple[int, ...]) -> None:
    """Refuse an explicit NNDSVD above the rank, in scikit-learn's words."""
    n_samples, width = shape
    for size in sizes:
        if size > min(n_samples, width):
            raise ValueError(
                f"init = '{init}' can only be used when n_components <= min(n_samples, n_features)"
                + ("" if len(sizes) == 1 else f", layer by layer; got {size} for ({n_samples}, {width})")
            )
        width = size


def _rescaled(penalty: CodePenalty, scale: Array) -> CodePenalty:
    """Codes are divided by `scale`, so their quadratic is multiplied by it on both sides."""
    return CodePenalty(scale[:, None] * penalty.gram * scale, penalty.l1)


KeepCodes = Literal["top", "all"]
Init = Literal["nndsvd", "nndsvda", "nndsvdar", "random", "custom"] | None
SolverName = Literal["hals", "apg", "pg", "mu"]
RandomStateLike = int | RandomState | None
