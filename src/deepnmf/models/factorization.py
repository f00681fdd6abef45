"""What every model has in common: fitting wholly or not at all, encoding, decoding, scoring, naming, saving."""

import os
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_n_features, check_array, check_is_fitted, validate_data

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Workers, is_on_cluster, is_streamed, make_engine, row_source
from deepnmf.engines.choice import check_magnitude
from deepnmf.masks import check_unmasked, mask_of, with_holes
from deepnmf.models.checks import FLOATS, check_any_observed, check_observed_non_negative
from deepnmf.models.entry_weights import EntryWeight, Observed, observed
from deepnmf.models.layout import Arrays, Layout
from deepnmf.models.resuming import Keeping
from deepnmf.models.saving import save
from deepnmf.solvers import Run, decoded_residual_norm


class Factorization(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Any factorization of X, once the model says how it learns and how its layers encode and decode."""

    _nonnegative = True
    _masks_nan = False
    _streams = True  # whether rows that are not in memory will do
    _distributes = False  # whether rows of a dask array will do
    _has_units = True  # whether data in other units have the same model in other units
    _output_layer_index = -1
    _unit = 1.0  # what the data of the last fit were divided by
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's name and form
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    # ------------------------------------------------------------------ what a model says of itself

    @abstractmethod
    def _encoded(self, engine: Engine, layer: int) -> Array:
        """Codes of the engine's rows at a layer, with the factors fixed."""

    @abstractmethod
    def _decoded(self, H: Array, layer: int) -> Array:
        """Data that codes of a layer stand for."""

    def _residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """‖X - X̂‖_F for codes of a layer."""
        return decoded_residual_norm(engine, codes, partial(self._decoded, layer=layer))

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        """What a file must hold beside parameters, codes and history: a description, and lists of arrays."""

    @abstractmethod
    def _layout(self, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        """What the arrays of `_state` must be like, from a file that may say anything."""

    @abstractmethod
    def _restore(self, description: dict[str, Any], arrays: dict[str, list[Array]]) -> None:
        """Take up what `_state` gave."""

    # ------------------------------------------------------------------------------------- fitting

    @contextmanager
    def _fitting(self, keeping: Keeping) -> Iterator[Run]:
        """Check the parameters and let a fit set `run.history`; one that fails leaves the model as it was.

        The first Ctrl-C ends the sweeps, and the fit with what they have reached: during the start, with the start
        itself. The second one ends the fit by a KeyboardInterrupt, as one that fails.
        """
        before = dict(self.__dict__)
        try:
            self._validate_params()
            run = Run(int(self.verbose), keeping.checkpoints(self))
            with run.heeding_interrupts():
                yield run
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        if run.checkpoints is not None and not run.ended:
            run.checkpoints.finish()
        history = run.history
        self._give_back(run.unit)
        self.loss_curve_ = np.array([run.shown(loss) for loss in history.losses])
        self.n_iter_ = len(history.losses)
        self.stop_reason_ = history.stop_reason
        # As in scikit-learn, a fit that converges in its last sweep warns too: which one that is may hang on rounding.
        if self.tol > 0 and (history.stop_reason == "max_iter" or self.n_iter_ == self.max_iter):
            message = f"Maximum number of iterations {self.max_iter} reached. Increase it to improve convergence."
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def _begins_warm(self, *given: object) -> bool:
        """Whether a fit starts from the one before: where there was one, and no start is given."""
        return bool(self.warm_start) and hasattr(self, "factors_") and all(part is None for part in given)

    def _give_back(self, unit: float) -> None:
        """Bring what was learnt from data divided by `unit` into the units of the data."""
        self._unit = unit
        if unit != 1:
            self.codes_: list[Array] = [codes * unit for codes in self.codes_]
            self.reconstruction_err_ *= unit

    # ------------------------------------------------------------------------------------- at work

    @property
    def n_dead_(self) -> list[int]:
        """How many features of each layer add nothing: they are zero or, on top, in no sample's codes."""
        alive = [np.any(C, axis=1) for C in self.features_]
        alive[-1] = alive[-1] & np.asarray(self.codes_[-1].any(axis=0))
        return [int(np.count_nonzero(~layer)) for layer in alive]

    def fit_transform(
        self, X: Matrix, y: object = None, *, entry_weight: EntryWeight = None, **fit_params: Any
    ) -> Array:
        """Fit, then return what `transform` gives for the same rows.

        Codes as the optimisation left them are in `codes_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y, entry_weight, **fit_params : see `fit`

        Returns
        -------
        array of shape (n_samples, n_features_out)
        """
        weights = {} if entry_weight is None else {"entry_weight": entry_weight}
        return self.fit(X, y, **weights, **fit_params).transform(X, **weights)

    def transform(self, X: Matrix, entry_weight: EntryWeight = None) -> Array:
        """Codes of the rows of X at `output_layer`, by nonnegative least squares with the factors fixed.

        Each row is solved on its own to its optimum, in double precision, with no gradient pointing down by
        more than 1e-10 of the row's largest: its codes do not depend on the other rows. Of equally good codes, as
        there are with more features than columns, it is the smallest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            See `fit`.

        Returns
        -------
        array of shape (n_samples, n_features_out)
        """
        return self.encode(X, self._output_layer_index, entry_weight)

    def inverse_transform(self, X: Array) -> Array:
        """Data that codes of `output_layer` stand for: what `transform` left out as unobserved is filled in.

        Parameters
        ----------
        X : array of shape (n_samples, n_features_out)

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        return self.decode(X, self._output_layer_index)

    def encode(self, X: Matrix, layer: int = -1, entry_weight: EntryWeight = None) -> Array:
        """Codes of the rows of X at any layer.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        layer : int
            Index into `features_`; -1 is the top layer.
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            See `fit`.

        Returns
        -------
        array of shape (n_samples, size of the layer)
        """
        check_is_fitted(self)
        layer = self._layer(layer)
        data = self._observed(X, entry_weight, reset=False)
        with Workers() as workers:
            return self._encoded(self._rows(data, workers, unit=1.0), layer)

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
        check_unmasked(H, "codes")
        H = check_array(H, dtype=FLOATS, order="C", input_name="codes")
        size = len(self.factors_[layer])
        if H.shape[1] != size:
            raise ValueError(f"Codes have {H.shape[1]} columns, but layer {layer} of this model has {size} features.")
        return self._decoded(H, layer)

    def score(self, X: Matrix, y: object = None, entry_weight: EntryWeight = None) -> float:
        """Share of ‖X‖² that the model explains, 1 - ‖X - X̂‖² / ‖X‖², over the observed entries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            See `fit`.

        Returns
        -------
        float
            1 is a perfect reconstruction; 0 is as good as all zeros.
        """
        check_is_fitted(self)
        data = self._observed(X, entry_weight, reset=False)
        with Workers() as workers:
            engine = self._rows(data, workers)
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

    def report(self, path: str | os.PathLike[str], X: Matrix, y: Any = None, **content: Any) -> None:
        """Write what was learnt as one HTML page, to walk from wholes to their parts.

        Parameters
        ----------
        path : str or path
            The file; it is written beside and moved into place, so that it is never half there.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data to show the model at work on.
        y : array-like of shape (n_samples,), optional
            Labels, -1, None or NaN where unknown.
        **content
            How it is shown, such as ``image_shape=(8, 8)``: see `deepnmf.report.write_report`.
        """
        import deepnmf  # noqa: PLC0415 - models know nobody above them; the package hands its parts out by name

        deepnmf.report.write_report(self, path, X, y, **content)

    # ------------------------------------------------------------------------------- checking input

    def _rows(self, data: Observed, workers: Workers, unit: float | None = None) -> Engine:
        """Return what passes over the rows, divided by `unit`, or by what makes their size an ordinary one."""
        unit = unit if self._has_units else 1.0
        engine = make_engine(*data, workers=workers, nonnegative=self._nonnegative, unit=unit)
        if not self._has_units:
            check_magnitude(engine, type(self).__name__)
        return engine

    def _observed(self, X: Matrix, entry_weight: EntryWeight, *, reset: bool) -> Observed:
        """Check X and the weights of its entries."""
        X = self._validated(X, reset=reset)
        if entry_weight is not None and not self._masks_nan:
            raise ValueError(f"{type(self).__name__} as it is set cannot weigh entries: entry_weight must be None.")
        if is_streamed(X) or is_on_cluster(X):
            if entry_weight is not None:
                raise ValueError("entry_weight needs X in memory, got rows that are read block by block.")
            return Observed(X)
        data = observed(X, entry_weight)
        if reset:
            check_any_observed(*data)
        return data

    def _validated(self, X: Matrix, *, reset: bool) -> Matrix:
        if not self._masks_nan and mask_of(X) is not None:
            raise ValueError(
                f"X has masked entries, and {type(self).__name__} as it is set cannot leave any out: fill them first."
            )
        X = with_holes(X)
        elsewhere = self._elsewhere(X)
        return self._checked_in_memory(X, reset=reset) if elsewhere is None else self._checked_shape(elsewhere, reset)

    def _elsewhere(self, X: Matrix) -> Matrix | None:
        """X as rows to be read, or on a cluster; None where it is in memory."""
        if is_on_cluster(X):
            if not self._distributes:
                raise ValueError(f"{type(self).__name__} as it is set takes no dask arrays: rows depend on each other.")
            from deepnmf.engines.cluster import check_dask_array  # noqa: PLC0415 - dask is imported for its own arrays only

            return check_dask_array(X)
        if isinstance(X, np.memmap) and not self._streams:
            return None
        source = row_source(X)
        if source is not None and not self._streams:
            raise ValueError(f"{type(self).__name__} needs X in memory, got rows that are read block by block.")
        return source

    def _checked_shape(self, X: Matrix, reset: bool) -> Matrix:
        """Check what can be known of rows before they are read; the rest is checked in the first pass."""
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X holds {X.dtype}, and real numbers are expected.")
        fewest = 2 if reset else 1
        if X.shape[0] < fewest or X.shape[1] < 1:
            raise ValueError(f"X has shape {X.shape}, and at least {fewest} samples and a feature are expected.")
        _check_n_features(self, X, reset=reset)
        return X

    def _checked_in_memory(self, X: Matrix, *, reset: bool) -> Matrix:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_min_samples=2 if reset else 1,
            ensure_all_finite="allow-nan" if self._masks_nan and not sparse.issparse(X) else True,
        )
        if not sparse.issparse(X):
            X = np.require(X, requirements=["C", "A"])  # other layouts are multiplied in another order, to other bits
        elif not X.has_canonical_format:
            X = X.copy()  # the user's matrix is not ours to tidy up
            X.sum_duplicates()
        if self._nonnegative:
            check_observed_non_negative(X, f"{type(self).__name__} (input X)")
        return X

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
        tags.input_tags.allow_nan = self._masks_nan
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
