"""The base class of `DeepNMFNetwork` and `SSNMF`, its case with one layer: labels, groups and predictions."""

import os
from collections.abc import Sequence
from typing import Any, Literal, Self

from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.masks import check_unmasked
from deepnmf.models.factorization import Factorization
from deepnmf.models.input_data import EntryWeight
from deepnmf.models.methods import offered_if
from deepnmf.models.run_control import RunControl
from deepnmf.solvers.loop import OnSweep
from deepnmf.solvers.network_problem import LearnedNetwork

ReadoutName = Literal["logistic", "head"]


class NetworkClassifier(ClassifierMixin, Factorization):
    """A network whose layers fit the pooled codes below, with labels on the top layer (Flenner & Hunter)."""

    _learned: LearnedNetwork

    def fit(  # type: ignore[override]
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
        """Learn the factors and, if there are labels, a classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative; NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed.
        y : array-like of shape (n_samples,), optional
            Labels; -1, None and NaN mark unknown ones. Without labels the fit is unsupervised.
        groups : array-like of shape (n_samples,), optional
            The sequence that each row belongs to, such as its document or recording. The rows of a sequence must be
            consecutive and in order; pooling does not cross the ends of a sequence. None is one sequence.
        {entry_weight}
        {factors}
        {run_control}

        {returns_self}

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import SSNMF
        >>> X, digits = load_digits(return_X_y=True)
        >>> y = np.where(np.arange(len(digits)) < 500, digits, -1)  # the other labels are unknown
        >>> model = SSNMF(20, random_state=0).fit(X, y)
        >>> model.transduction_.shape
        (1797,)
        """
        control = RunControl(on_sweep, checkpoint, checkpoint_seconds, (X, y, groups, entry_weight, factors))
        return self._fit(X, self._start(factors), control, entry_weight, labels=y, groups=groups)

    def _set_learned(self, learned: LearnedNetwork) -> None:
        super()._set_learned(learned)
        self.classes_, self.transduction_ = learned.labels.classes, learned.transduction
        self.label_factor_ = learned.head

    def fit_transform(
        self, X: Matrix, y: object = None, *, groups: object = None, entry_weight: EntryWeight = None, **fit_params: Any
    ) -> Array:
        """Fit, then return what `transform` gives for the same rows.

        The codes at the end of the optimization, shaped by labels and feedback, are in `codes_`.

        {rows}
        y, groups, entry_weight, **fit_params : see `fit`

        {returns_codes}

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import DeepNMFNetwork
        >>> X, y = load_digits(return_X_y=True)
        >>> DeepNMFNetwork((20, 10), random_state=0).fit_transform(X, y).shape
        (1797, 10)
        """
        fitted = self.fit(X, y, groups=groups, entry_weight=entry_weight, **fit_params)
        return fitted.transform(X, groups=groups, entry_weight=entry_weight)

    def transform(  # type: ignore[override]
        self, X: Matrix, groups: object = None, entry_weight: EntryWeight = None
    ) -> Array:
        """Return the codes of the rows of X at `output_layer`, with the factors fixed and without labels.

        Each layer solves nonnegative least squares over the observed entries of each row, then pools within groups.
        Without pooling, the codes of a row do not depend on the other rows.

        {rows}
        groups, entry_weight : see `fit`

        {returns_codes}

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import DeepNMFNetwork
        >>> X, y = load_digits(return_X_y=True)
        >>> model = DeepNMFNetwork((20, 10), random_state=0).fit(X[:1000], y[:1000])
        >>> model.transform(X[1000:]).shape
        (797, 10)
        """
        return self.encode(X, self._problem().output_layer, groups, entry_weight)

    def encode(  # type: ignore[override]
        self, X: Matrix, layer: int = -1, groups: object = None, entry_weight: EntryWeight = None
    ) -> Array:
        """Return the codes of the rows of X at any layer.

        {rows}
        {layer}
        groups, entry_weight : see `fit`

        {returns_layer_codes}

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import DeepNMFNetwork
        >>> X, y = load_digits(return_X_y=True)
        >>> model = DeepNMFNetwork((20, 10), random_state=0).fit(X[:1000], y[:1000])
        >>> model.encode(X[1000:], layer=0).shape
        (797, 20)
        """
        return self._encoded(X, layer, entry_weight, groups=groups)

    def predict(self, X: Matrix, groups: object = None, entry_weight: EntryWeight = None) -> Array:
        """Predict the class with the largest score.

        {rows}
        groups, entry_weight : see `fit`

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import SSNMF
        >>> X, y = load_digits(return_X_y=True)
        >>> model = SSNMF(20, random_state=0).fit(X[:1000], y[:1000])
        >>> model.predict(X[1000:]).shape
        (797,)
        """
        codes = self._readable_codes(X, groups, entry_weight)
        return self.classes_[self._learned.readout.winners(codes)]

    def _reads_probabilities(self) -> bool:
        return bool(self.readout == "logistic")

    def _reads_head(self) -> bool:
        return bool(self.readout == "head")

    @offered_if(_reads_probabilities)
    def predict_proba(self, X: Matrix, groups: object = None, entry_weight: EntryWeight = None) -> Array:
        """Return class probabilities by logistic regression on the top codes; only with ``readout="logistic"``.

        {rows}
        groups, entry_weight : see `fit`

        Returns
        -------
        array of shape (n_samples, n_classes)

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import SSNMF
        >>> X, y = load_digits(return_X_y=True)
        >>> model = SSNMF(20, readout="logistic", random_state=0).fit(X[:1000], y[:1000])
        >>> model.predict_proba(X[1000:]).shape
        (797, 10)
        """
        codes = self._readable_codes(X, groups, entry_weight)
        return self._learned.readout.probabilities(codes)

    @offered_if(_reads_head)
    def decision_function(self, X: Matrix, groups: object = None, entry_weight: EntryWeight = None) -> Array:
        """Return H_m B, the least-squares estimates of the one-hot labels; only with ``readout="head"``.

        {rows}
        groups, entry_weight : see `fit`

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes, the score of the second class minus that of the first.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import SSNMF
        >>> X, y = load_digits(return_X_y=True)
        >>> model = SSNMF(20, readout="head", random_state=0).fit(X[:1000], y[:1000])
        >>> model.decision_function(X[1000:]).shape
        (797, 10)
        """
        codes = self._readable_codes(X, groups, entry_weight)
        scores = self._learned.readout.scores(codes)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Matrix, y: Any = None, groups: object = None, sample_weight: Any = None) -> float:
        """Return the accuracy, the share of rows with a correctly predicted label.

        {rows}
        y : array-like of shape (n_samples,)
        groups : array-like of shape (n_samples,), optional
            See `fit`.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import SSNMF
        >>> X, y = load_digits(return_X_y=True)
        >>> model = SSNMF(20, random_state=0).fit(X[:1000], y[:1000])
        >>> model.score(X[1000:], y[1000:]) > 0.5
        True
        """
        check_unmasked(y, "y")
        return float(accuracy_score(y, self.predict(X, groups), sample_weight=sample_weight))

    def _readable_codes(self, X: Matrix, groups: object, entry_weight: EntryWeight) -> Array:
        check_is_fitted(self)
        self._check_labeled()
        return self.encode(X, -1, groups, entry_weight)

    def _check_labeled(self) -> None:
        if not len(self.classes_):
            raise ValueError(
                f"This {type(self).__name__} was fitted without labels and cannot predict: "
                "pass y to fit, with -1 where a label is unknown."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
