from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Workers
from deepnmf.models.checks import factor_shapes
from deepnmf.models.entry_weights import Observed
from deepnmf.models.factorization import Factorization
from deepnmf.models.layout import Arrays, Expected, Layout, listed_numbers
from deepnmf.objective import Chain, CodePenalty
from deepnmf.solvers.learnt import LinearChain

SCALES = 1e-150, 1e150  # of codes: their squares, and what is divided by these, are numbers


class FittedChain(Factorization):
    """A linear chain once it has been learnt."""

    @abstractmethod
    def _sizes(self, n_features: int, factors: Sequence[Array]) -> tuple[int, ...]:
        """Return the layer sizes r_1..r_m; factors to start from may decide them."""

    def project(self, X: Matrix, layer: int = -1) -> Array:
        """Codes of the rows of X by the pseudo-inverse of a layer's features, X C_l⁺.

        One product and nothing to solve, but codes may be negative, and penalties do not count: `encode` gives the
        codes the model is about.

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
        inverse = np.linalg.pinv(self._linear_decoder(layer))
        X = self._validated(X, reset=False)
        with Workers() as workers:
            rows = self._rows(Observed(X), workers, unit=1.0)
            if not rows.is_complete:
                raise ValueError("X has NaN, and project multiplies whole rows; encode leaves out what is missing.")
            return rows.project(inverse.T)

    def _linear_decoder(self, layer: int) -> Array:
        return self._learnt.decoder(layer)

    def _learnt_chain(self, *parts: Any) -> LinearChain:
        """What was learnt, of its parts."""
        return LinearChain(*parts)

    def _set_learnt(self, learnt: LinearChain) -> None:
        self._learnt = learnt
        self.factors_ = list(learnt.chain.factors)
        self.features_ = learnt.features()
        self.components_ = self.features_[-1]

    def _factor_unit(self, unit: float) -> float:
        """What factors are divided by where data are divided by `unit`: nothing where the codes carry the scale."""
        return 1.0

    def _give_back(self, unit: float) -> None:
        own = self._factor_unit(unit)
        super()._give_back(unit)
        if own != 1:
            self.codes_ = [codes / own for codes in self.codes_]
            self._set_learnt(self._learnt.in_units(unit, own))

    def _encoded(self, engine: Engine, layer: int) -> Array:
        return self._learnt.encode(engine, layer, self.codes_[-1])

    def _decoded(self, H: Array, layer: int) -> Array:
        return self._learnt.decode(H, layer)

    def _residual(self, engine: Engine, codes: Array, layer: int) -> float:
        return self._learnt.residual(engine, codes, layer)

    def _state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        return self._learnt.state()

    def _layout(self, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        sizes = self._sizes(self.n_features_in_, arrays["factor"])
        listed_numbers(description, "theta", len(sizes), 0, 1)
        listed_numbers(description, "l1", len(sizes), 0, np.inf)
        low = 0 if self._nonnegative else -np.inf
        return {
            "factor": [Expected(shape, low) for shape in factor_shapes(self.n_features_in_, sizes)],
            "scale": [Expected((size,), *SCALES) for size in sizes],
            "penalty": [Expected((size, size), low=0) for size in sizes],
            "norm": [Expected((size,), low=0) for size in sizes] if "norm" in arrays else [],
        }

    def _restore(self, description: dict[str, Any], arrays: dict[str, list[Array]]) -> None:
        penalties = [CodePenalty(P, l1) for P, l1 in zip(arrays["penalty"], description["l1"], strict=True)]
        chain = Chain.of(arrays["factor"], description["theta"], self._nonnegative)
        norms = arrays["norm"] or chain.row_norms()
        self._set_learnt(self._learnt_chain(chain, arrays["scale"], penalties, norms))
