"""Baselines of every clustering page: k-means on the data themselves, on PCA, and on whitened PCA."""

from dataclasses import dataclass, field
from typing import Any, Self

from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer

from reproduction.experiment import Matrix

__all__ = ["BASELINES", "Baseline", "baseline"]

BASELINES = ("the data", "PCA", "whitened PCA")


@dataclass
class Baseline:
    """A transformer with the `codes_` of a model that has one layer.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
    >>> baseline("the data", 1).fit(X).codes_[-1] is X
    True
    >>> baseline("whitened PCA", 1).fit(X).codes_[-1].std(ddof=1).round(6).item()
    1.0
    """

    transformer: Any
    codes_: list[Matrix] = field(default_factory=list)

    def fit(self, X: Matrix) -> Self:
        """Fit the transformer and store the codes of the rows."""
        self.codes_ = [self.transformer.fit_transform(X)]
        return self

    def transform(self, X: Matrix) -> Matrix:
        """Return the codes of new rows."""
        return self.transformer.transform(X)


def baseline(name: str, k: int) -> Baseline:
    """Return one of `BASELINES` by its name; PCA has k components."""
    if name == BASELINES[0]:
        return Baseline(FunctionTransformer(accept_sparse=True))
    return Baseline(PCA(k, whiten=name == BASELINES[2], random_state=0))
