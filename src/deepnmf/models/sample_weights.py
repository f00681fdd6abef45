"""Models whose samples may count more or less than others."""

import os
from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.input_data import EntryWeight
from deepnmf.models.known_components import GUIDE_WEIGHT, GivenComponents, Guides
from deepnmf.models.parameters import complete
from deepnmf.models.run_control import RunControl
from deepnmf.solvers.loop import OnSweep


class WeighingFactorization(Factorization):
    """A linear factorization without graphs: rows have problems of their own, and may have weights."""

    def fit(
        self,
        X: Matrix,
        y: object = None,
        *,
        sample_weight: Any = None,
        entry_weight: EntryWeight = None,
        fixed_components: Array | None = None,
        guide: Guides = None,
        guide_weight: float = GUIDE_WEIGHT,
        factors: Sequence[Array] | None = None,
        codes: Array | None = None,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn the factors.

        Parameters
        ----------
        {X}
        y : ignored
        {sample_weight}
        {entry_weight}
        {fixed_components}
        {guide}
        {factors}
        {codes}
        {run_control}

        {returns_self}

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> model = NMF(2, random_state=0).fit(X)
        >>> model.components_.shape
        (2, 4)
        >>> holed = np.where(X > 7, np.nan, X)  # NaN is an entry that was not observed
        >>> NMF(2, random_state=0).fit(holed).components_.shape
        (2, 4)
        """
        given = (X, y, sample_weight, entry_weight, fixed_components, guide, guide_weight, factors, codes)
        control, start = RunControl(on_sweep, checkpoint, checkpoint_seconds, given), self._start(factors, codes)
        components = GivenComponents(fixed_components, guide, guide_weight)
        return self._fit(X, start, control, entry_weight, components, sample_weight, labels=y)

    def score(self, X: Matrix, y: object = None, entry_weight: EntryWeight = None, sample_weight: Any = None) -> float:
        """Share that the model explains beyond a baseline, 1 - d(X, X̂) / d(X, baseline), over the observed entries.

        {baseline}

        {rows}
        y : ignored
        entry_weight, sample_weight : see `fit`

        {returns_score}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deepnmf import NMF
        >>> X = load_iris().data
        >>> model = NMF(2, random_state=0).fit(X)
        >>> print(f"{model.score(X):.2f}")
        0.98
        """
        check_is_fitted(self)
        return self._compared(X, entry_weight, self._learned.explained, sample_weight)


complete(WeighingFactorization)
