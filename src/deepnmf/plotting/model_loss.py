"""The loss of a model: its name in tables and pages, and errors of rows and of a whole data set by it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.divergences import NAMES, Divergence

TITLES = {2.0: "squared error", 1.0: "Kullback-Leibler divergence", 0.0: "Itakura-Saito divergence"}


@dataclass(frozen=True)
class ModelLoss:
    """The loss that a model minimizes beside its penalties.

    Parameters
    ----------
    divergence : Divergence

    Examples
    --------
    >>> from deepnmf import NMF
    >>> loss = ModelLoss.of(NMF(4, beta_loss=1))
    >>> loss.name, loss.title
    ('kullback-leibler', 'Kullback-Leibler divergence')
    """

    divergence: Divergence

    @classmethod
    def of(cls, model: Any) -> "ModelLoss":
        """Return the loss of an estimator; models without `beta_loss` have squared error."""
        return cls(Divergence.of(getattr(model, "beta_loss", "frobenius")))

    @property
    def name(self) -> str:
        """The value of `beta_loss`: a name of scikit-learn, or a number."""
        return self.divergence.name

    @property
    def title(self) -> str:
        """The name in a sentence."""
        return TITLES.get(self.divergence.beta, f"beta divergence with β = {self.divergence.beta:g}")

    @property
    def is_squared_error(self) -> bool:
        """Whether the loss is ½‖X - X̂‖²."""
        return self.divergence.beta == NAMES["frobenius"]

    @property
    def error_text(self) -> str:
        """What the error of a layer is."""
        if self.is_squared_error:
            return "Frobenius norm of the data minus the reconstruction"
        return f"√(2d), d is the {self.title} of the data from the reconstruction"

    # -------------------------------------------------------------------------------------- values

    def error(self, divergence: float) -> float:
        """Return √(2d), the Frobenius norm of the residual for squared error."""
        return self.divergence.reconstruction_error(divergence)

    def row_divergences(self, X: Array, rebuilt: Array) -> Array:
        """Return Σ d(x | x̂) of each row over the observed entries; NaN is unobserved."""
        if self.is_squared_error:
            return 0.5 * np.asarray(np.nansum(np.square(X - rebuilt), axis=1))
        observed = ~np.isnan(X)
        if self.divergence.is_kl:  # logarithms of the counts above 0 only
            rows, columns = np.nonzero(X > 0)
            x, y = X[rows, columns], np.asarray(rebuilt, dtype=np.float64)[rows, columns]
            above = np.bincount(rows, self.divergence.each(x, y) - y, minlength=len(X))
            return above + np.sum(rebuilt, axis=1, where=observed, dtype=np.float64)
        return np.asarray(np.sum(self.divergence.each(X, rebuilt), axis=1, where=observed))

    def baseline(self, blocks: Iterable[Array]) -> Callable[[Array], Array]:
        """Return the reconstruction by a model without features, which `score` compares with, as a function of rows.

        It is zero for squared error, row total times column share for Kullback-Leibler, otherwise the column means.
        """
        if self.is_squared_error:
            return np.zeros_like
        totals, weights = 0.0, 0.0
        for X in blocks:
            totals, weights = totals + np.nansum(X, axis=0), weights + np.count_nonzero(~np.isnan(X), axis=0)

        def reconstruction(X: Array) -> Array:
            rows, columns = self.divergence.baseline(np.nansum(X, axis=1), np.asarray(totals), np.asarray(weights))
            return np.broadcast_to(columns, X.shape) if rows is None else np.outer(rows, columns)

        return reconstruction
