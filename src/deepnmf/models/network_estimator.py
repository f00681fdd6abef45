"""What `DeepNMFNetwork` and its one-layer case `SSNMF` share: everything but their parameters."""

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Workers
from deepnmf.masks import check_unmasked
from deepnmf.models.checks import (
    as_matrices,
    check_groups,
    check_output_layer,
    check_start,
    check_warm_start,
    factor_shapes,
)
from deepnmf.models.entry_weights import EntryWeight
from deepnmf.models.factorization import Factorization
from deepnmf.models.labels import UNKNOWN, described_classes, one_hot, restored_classes, split_labels
from deepnmf.models.layout import Arrays, Expected, Layout
from deepnmf.models.readout import Readout
from deepnmf.models.resuming import Keeping
from deepnmf.objective import Chain
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.network_energy import Network, Pooling
from deepnmf.objective.penalties import weight_in_units
from deepnmf.objective.terms import Labels
from deepnmf.solvers import NNDSVD, History, LayerwisePlan, OnSweep, Run, minimise, residual_norm
from deepnmf.solvers.network_descent import NetworkDescent, NetworkState, encoded_layers, layerwise_start

ReadoutName = Literal["logistic", "head"]


@dataclass(frozen=True)
class KnownLabels:
    """The classes, sorted, and each sample's place among them, -1 where its label is unknown."""

    classes: Array
    places: Array

    @property
    def rows(self) -> Array:
        """The samples whose label is known."""
        return np.flatnonzero(self.places != UNKNOWN)

    def weighted(self, weight: float) -> Labels:
        """The label term of the energy."""
        return Labels(self.rows, one_hot(self.places[self.rows], len(self.classes), np.float64), weight)


class NetworkEstimator(ClassifierMixin, Factorization):
    """Layers that each fit the pooled codes below, and labels on the top one (Flenner & Hunter)."""

    _masks_nan = True
    _keeps_lower_codes = False
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Factorization._parameter_constraints,
        "label_weight": [Interval(Real, 0, None, closed="left")],
        "readout": [StrOptions({"logistic", "head"})],
        "init": [StrOptions({*NNDSVD, "random", "custom"}), None],
        "pretrain_max_iter": [Interval(Integral, 0, None, closed="left")],
        "pretrain_tol": [Interval(Real, 0, None, closed="left")],
    }

    # ------------------------------------------------------------------ what a model says of itself

    @abstractmethod
    def _sizes(self) -> tuple[int, ...]:
        """Return the layer sizes r_1..r_m."""

    def _pool_sizes(self) -> tuple[int, ...]:
        """Return the widths of the m - 1 poolings."""
        return ()

    _feeds_back = True

    # ------------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: Matrix,
        y: object = None,
        *,
        groups: object = None,
        entry_weight: EntryWeight = None,
        factors: Sequence[Array] | None = None,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn the factors and, from whatever labels there are, how to predict the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative; NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed.
        y : array-like of shape (n_samples,), optional
            Labels, -1, None or NaN where unknown. Without labels the fit is unsupervised.
        groups : array-like of shape (n_samples,), optional
            The sequence each row belongs to, such as its document or recording; rows of a sequence follow each
            other in order, and nothing is pooled across its ends. None is one sequence.
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            What each entry counts, from 0 to 1, the largest at least 0.001. "stored" leaves out what a sparse X does
            not store, as in ratings, and so do sparse weights with what they do not store; None reads it as zero.
        factors : sequence of arrays, optional
            Z_1..Z_k to start from whatever `init` says, k at most the number of layers; layers above are
            pre-trained. Required by ``init="custom"``.
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)``, called after each fine-tuning sweep; returning True stops.
        checkpoint : path, optional
            A file that keeps where the fit is, every `checkpoint_seconds` and when it is interrupted. The same call
            goes on from it, to the same bits; it is removed when the fit is over.
        checkpoint_seconds : float, default=30

        Returns
        -------
        self
        """
        keeping = Keeping(checkpoint, checkpoint_seconds, (X, y, groups, entry_weight, factors))
        with self._fitting(keeping) as run:
            run.history = self._learn(X, y, groups, entry_weight, factors, run, on_sweep)
        return self

    def _learn(
        self,
        X: Matrix,
        y: object,
        groups: object,
        entry_weight: EntryWeight,
        factors: Sequence[Array] | None,
        run: Run,
        on_sweep: OnSweep | None,
    ) -> History:
        """Check, optimise, and keep the result."""
        data = self._observed(X, entry_weight, reset=True)
        X = data.X
        before = self._codes_before(X.shape[0]) if self._begins_warm(factors) else None
        factors = self._checked_start(X, factors)
        poolings = self._poolings(groups, X.shape[0])
        labels = KnownLabels(*split_labels(y, X.shape[0]))
        with Workers() as workers:
            engine = self._rows(data, workers)
            run.unit = engine.unit
            known = float(self.label_weight) if len(labels.rows) else 0.0
            weight = weight_in_units(known, -2, engine.unit, "label_weight")
            descent = NetworkDescent(engine, poolings, labels.weighted(weight), backprop=self._feeds_back)
            state, history = minimise(
                descent.advance,
                self._start(engine, descent, poolings, factors, before, run),
                max_iter=self.max_iter,
                tol=self.tol,
                run=run,
                on_sweep=on_sweep,
            )
            self._keep(engine, state.network, poolings, labels)
        return history

    def _checked_start(self, X: Matrix, factors: Sequence[Array] | None) -> Sequence[Array]:
        """Return the factors to start from: given ones, those of the fit before, or none."""
        sizes = self._sizes()
        check_output_layer(self._output_layer_index, len(sizes))
        if self._begins_warm(factors):
            check_warm_start(self.factors_, factor_shapes(X.shape[1], sizes))
            return self.factors_
        given = as_matrices(factors) or []
        check_start(self.init, given, X.shape, sizes, type(self).__name__, nonnegative=True)
        return given

    def _start(
        self,
        engine: Engine,
        descent: NetworkDescent,
        poolings: Sequence[Pooling],
        factors: Sequence[Array],
        before: Sequence[Array] | None,
        run: Run,
    ) -> NetworkState:
        """Layer upon layer; only what they start from is random. With the codes of the fit before where they are lower.

        Codes found layer by layer know of no feedback: it takes tens of sweeps to be where the fit before was.
        """
        rng = check_random_state(self.random_state)
        init = "nndsvd" if self.init in (None, "custom") else str(self.init)
        plan = LayerwisePlan.of_nonnegative_layers(init, rng, self.pretrain_max_iter, self.pretrain_tol, run)
        given = [np.asarray(Z, dtype=np.float64) for Z in factors]
        start = descent.start(*layerwise_start(engine, self._sizes(), poolings, plan, given))
        if before is None:
            return start
        again = descent.start([(H / engine.unit).astype(engine.dtype, copy=False) for H in before], given)
        return min(start, again, key=lambda state: descent.energy.value(state.network))

    def _keep(self, engine: Engine, network: Network, poolings: Sequence[Pooling], labels: KnownLabels) -> None:
        """Set the fitted attributes."""
        self._set_factors([np.ascontiguousarray(Z, engine.dtype) for Z in network.factors])
        self.codes_ = list(network.codes) if self._keeps_lower_codes else [network.codes[-1]]
        self._codes_to_go_on_from = network.codes if self.warm_start else None
        self.reconstruction_err_ = self._residual(engine, network.codes[-1], network.depth - 1)
        self.classes_ = labels.classes
        self.label_factor_ = network.head
        self._readout = self._learnt_readout(engine, poolings, labels)
        self.transduction_ = self._labels_at(self._transduced_places(labels))

    def _give_back(self, unit: float) -> None:
        super()._give_back(unit)
        if unit != 1:
            self.label_factor_ = self.label_factor_ / unit
            self._readout = replace(self._readout, weights=self._readout.weights / unit)
            if self._codes_to_go_on_from is not None:
                self._codes_to_go_on_from = tuple(H * unit for H in self._codes_to_go_on_from)

    def _codes_before(self, n_samples: int) -> Sequence[Array] | None:
        """Codes of every layer in the fit before, where they were kept and there are as many rows again."""
        codes: Sequence[Array] | None = self._codes_to_go_on_from
        return codes if codes is not None and len(codes[0]) == n_samples else None

    def _set_factors(self, factors: list[Array]) -> None:
        self.factors_ = factors
        self._decoders = Chain.of(factors).features()
        self.features_ = [inverse_norms(C)[:, None].astype(C.dtype) * C for C in self._decoders]
        self.components_ = self.features_[-1]

    def _learnt_readout(self, engine: Engine, poolings: Sequence[Pooling], labels: KnownLabels) -> Readout:
        """B itself, or better a regression on codes that have seen no label: a row to predict has seen none either."""
        if self.readout == "head" or not len(labels.rows):
            return Readout.of_head(self.label_factor_)
        *_, codes = encoded_layers(engine, self.factors_, poolings)
        return Readout.logistic(codes[labels.rows], labels.places[labels.rows], len(labels.classes))

    def _transduced_places(self, labels: KnownLabels) -> Array:
        if not len(labels.rows):
            return labels.places
        return np.where(labels.places == UNKNOWN, self._readout.winners(self.codes_[-1]), labels.places)

    def _labels_at(self, places: Array) -> Array:
        """Without labels every place is -1, and that is the answer."""
        return self.classes_[places] if len(self.classes_) else places

    # ------------------------------------------------------------------------------------- at work

    def fit_transform(
        self, X: Matrix, y: object = None, *, groups: object = None, entry_weight: EntryWeight = None, **fit_params: Any
    ) -> Array:
        """Fit, then return what `transform` gives for the same rows.

        Codes as the optimisation left them, shaped by labels and feedback, are in `codes_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y, groups, entry_weight, **fit_params : see `fit`

        Returns
        -------
        array of shape (n_samples, n_features_out)
        """
        fitted = self.fit(X, y, groups=groups, entry_weight=entry_weight, **fit_params)
        return fitted.transform(X, groups=groups, entry_weight=entry_weight)

    def transform(  # type: ignore[override]
        self, X: Matrix, groups: object = None, entry_weight: EntryWeight = None
    ) -> Array:
        """Codes of the rows of X at `output_layer`, with the factors fixed and without labels.

        Layer by layer: nonnegative least squares, each row to its own optimum over its observed entries, then
        pooling within its group. Without pooling a row's codes do not depend on the other rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        groups, entry_weight : see `fit`

        Returns
        -------
        array of shape (n_samples, n_features_out)
        """
        return self.encode(X, self._output_layer_index, groups, entry_weight)

    def encode(  # type: ignore[override]
        self, X: Matrix, layer: int = -1, groups: object = None, entry_weight: EntryWeight = None
    ) -> Array:
        """Codes of the rows of X at any layer.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        layer : int
            Index into `features_`; -1 is the top layer.
        groups, entry_weight : see `fit`

        Returns
        -------
        array of shape (n_samples, size of the layer)
        """
        check_is_fitted(self)
        layer = self._layer(layer)
        data = self._observed(X, entry_weight, reset=False)
        with Workers() as workers:
            return self._encoded(self._rows(data, workers, unit=1.0), layer, groups)

    def predict(self, X: Matrix, groups: object = None, entry_weight: EntryWeight = None) -> Array:
        """The class with the largest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        groups, entry_weight : see `fit`

        Returns
        -------
        array of shape (n_samples,)
        """
        codes = self._readable_codes(X, groups, entry_weight)
        return self.classes_[self._readout.winners(codes)]

    def _reads_probabilities(self) -> bool:
        return bool(self.readout == "logistic")

    def _reads_head(self) -> bool:
        return bool(self.readout == "head")

    @available_if(_reads_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Matrix, groups: object = None, entry_weight: EntryWeight = None) -> Array:
        """Probabilities of the classes by the logistic regression on the top codes; only with ``readout="logistic"``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        groups, entry_weight : see `fit`

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        codes = self._readable_codes(X, groups, entry_weight)
        return self._readout.probabilities(codes)

    @available_if(_reads_head)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Matrix, groups: object = None, entry_weight: EntryWeight = None) -> Array:
        """H_m B, least-squares estimates of the one-hot labels; only with ``readout="head"``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        groups, entry_weight : see `fit`

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the second's score minus the first's.
        """
        codes = self._readable_codes(X, groups, entry_weight)
        scores = self._readout.scores(codes)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Matrix, y: Any = None, groups: object = None, sample_weight: Any = None) -> float:
        """Share of rows whose label is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        groups : array-like of shape (n_samples,), optional
            See `fit`.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        check_unmasked(y, "y")
        return float(accuracy_score(y, self.predict(X, groups), sample_weight=sample_weight))

    def _readable_codes(self, X: Matrix, groups: object, entry_weight: EntryWeight) -> Array:
        check_is_fitted(self)
        self._check_labelled()
        return self.encode(X, -1, groups, entry_weight)

    def _check_labelled(self) -> None:
        if not len(self.classes_):
            raise ValueError(
                f"This {type(self).__name__} was fitted without labels and cannot predict: "
                "pass y to fit, with -1 where a label is unknown."
            )

    # ------------------------------------------------------------------------------- layers and files

    def _poolings(self, groups: object, n_samples: int) -> list[Pooling]:
        groups = check_groups(groups, n_samples)
        return [Pooling.centered(width, groups) for width in self._pool_sizes()]

    def _encoded(self, engine: Engine, layer: int, groups: object = None) -> Array:
        *_, codes = encoded_layers(engine, self.factors_[: layer + 1], self._poolings(groups, engine.n_samples))
        return codes

    def _decoded(self, H: Array, layer: int) -> Array:
        return H @ self._decoders[layer].astype(H.dtype, copy=False)

    def _residual(self, engine: Engine, codes: Array, layer: int) -> float:
        return residual_norm(engine, codes, self._decoders[layer])

    def _state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        places = np.searchsorted(self.classes_, self.transduction_) if len(self.classes_) else self.transduction_
        arrays = {
            "factor": self.factors_,
            "label_factor": [self.label_factor_],
            "readout": [self._readout.weights, self._readout.intercept],
            "transduction": [places],
        }
        return described_classes(self.classes_), arrays

    def _layout(self, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        self._pool_sizes()
        sizes, n_classes = self._sizes(), len(restored_classes(description))
        places = (0, n_classes - 1) if n_classes else (UNKNOWN, UNKNOWN)
        return {
            "factor": [Expected(shape, low=0) for shape in factor_shapes(self.n_features_in_, sizes)],
            "label_factor": [Expected((sizes[-1], n_classes), low=0)],
            "readout": [Expected((sizes[-1], n_classes)), Expected((n_classes,))],
            "transduction": [Expected((n_samples,), *places, kind="i")],
        }

    def _restore(self, description: dict[str, Any], arrays: dict[str, list[Array]]) -> None:
        self._set_factors(arrays["factor"])
        self._codes_to_go_on_from = None
        self.classes_ = restored_classes(description)
        (self.label_factor_,) = arrays["label_factor"]
        self._readout = Readout(*arrays["readout"])
        self.transduction_ = self._labels_at(*arrays["transduction"])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
