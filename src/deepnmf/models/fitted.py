from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, RowsWithHoles, Workers
from deepnmf.models.checks import factor_shapes
from deepnmf.models.factorization import Factorization
from deepnmf.models.layout import Arrays, Expected, Layout, listed_numbers
from deepnmf.models.observed import Observed
from deepnmf.objective import Chain, CodePenalty
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers import encode_rows, residual_norm

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
            if isinstance(rows, RowsWithHoles):
                raise ValueError("X has NaN, and project multiplies whole rows; encode leaves out what is missing.")
            return rows.project(inverse.T)

    def _linear_decoder(self, layer: int) -> Array:
        return self._decoder(layer)

    def _set_chain(
        self, chain: Chain, scales: list[Array], penalties: list[CodePenalty], norms: list[Array], dtype: Any
    ) -> None:
        self._chain = Chain.of([np.ascontiguousarray(Z, dtype) for Z in chain.factors], chain.theta, chain.nonnegative)
        self._code_scales = scales
        self._code_penalties = penalties
        self._optimised_norms = norms
        self.factors_ = list(self._chain.factors)
        self.features_ = self._features()
        self.components_ = self.features_[-1]

    def _factor_unit(self, unit: float) -> float:
        """What factors are divided by where data are divided by `unit`: nothing where the codes carry the scale."""
        return 1.0

    def _give_back(self, unit: float) -> None:
        own = self._factor_unit(unit)
        super()._give_back(unit)
        if own == 1:
            return
        self.codes_ = [codes / own for codes in self.codes_]
        chain = replace(self._chain, factors=tuple(own * Z for Z in self._chain.factors))
        penalties = [CodePenalty(penalty.gram * own**2, penalty.l1 * unit * own) for penalty in self._code_penalties]
        norms = [own * norm for norm in self._optimised_norms]
        self._set_chain(chain, self._code_scales, penalties, norms, chain.factors[0].dtype)

    def _features(self) -> list[Array]:
        features = self._chain.features()
        return [inverse_norms(C)[:, None] * C for C in features] if any(self._chain.theta) else features

    def _decoder(self, layer: int) -> Array:
        """What codes of a layer, in the scale that is handed out, are multiplied by."""
        D = self._chain.decoder(layer)
        return (self._code_scales[layer][:, None] * D).astype(D.dtype, copy=False)

    def _encoded(self, engine: Engine, layer: int) -> Array:
        penalty = self._code_penalties[layer]
        return encode_rows(engine, self._decoder(layer), replace(penalty, l1=penalty.l1 / engine.unit))

    def _decoded(self, H: Array, layer: int) -> Array:
        return H @ self._decoder(layer).astype(H.dtype, copy=False)

    def _residual(self, engine: Engine, codes: Array, layer: int) -> float:
        return residual_norm(engine, codes, self._decoder(layer))

    def _state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        description = {"theta": self._chain.theta, "l1": [penalty.l1 for penalty in self._code_penalties]}
        grams = [penalty.gram for penalty in self._code_penalties]
        arrays = {"factor": self.factors_, "scale": self._code_scales, "penalty": grams}
        return description, arrays | {"norm": self._optimised_norms}

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
        factors = arrays["factor"]
        penalties = [CodePenalty(P, l1) for P, l1 in zip(arrays["penalty"], description["l1"], strict=True)]
        chain = Chain.of(factors, description["theta"], self._nonnegative)
        self._set_chain(chain, arrays["scale"], penalties, arrays["norm"] or chain.row_norms(), factors[0].dtype)
