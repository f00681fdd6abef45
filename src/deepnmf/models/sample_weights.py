"""The base class of models with sample weights."""

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
    """A factorization without graphs, in which the problems of rows are independent and may be weighted."""

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
        """
        given = (X, y, sample_weight, entry_weight, fixed_components, guide, guide_weight, factors, codes)
        control, start = RunControl(on_sweep, checkpoint, checkpoint_seconds, given), self._start(factors, codes)
        components = GivenComponents(fixed_components, guide, guide_weight)
        return self._fit(X, start, control, entry_weight, components, sample_weight, labels=y)

    def score(self, X: Matrix, y: object = None, entry_weight: EntryWeight = None, sample_weight: Any = None) -> float:
        """Return the share explained beyond a baseline, 1 - d(X, X̂) / d(X, baseline), over the observed entries.

        {baseline}

        {rows}
        y : ignored
        entry_weight, sample_weight : see `fit`

        {returns_score}
        """
        check_is_fitted(self)
        return self._compared(X, entry_weight, self._learned.explained, sample_weight)


complete(WeighingFactorization)
