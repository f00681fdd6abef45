import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import has_holes
from deepnmf.masks import check_unmasked
from deepnmf.models.base import Init, RandomStateLike, ShallowEstimator, without_solver
from deepnmf.models.entry_weights import EntryWeight
from deepnmf.models.resuming import Keeping
from deepnmf.objective import GraphPenalty, Penalty
from deepnmf.objective.graphs import EdgeGraph, symmetric
from deepnmf.objective.neighbors import neighbor_graph
from deepnmf.solvers import OnSweep


class GNMF(ShallowEstimator):
    """NMF whose codes are alike where samples are neighbours (Cai, He, Han & Huang, 2011).

    ½‖X - HZ‖² + ½ λ Tr(HᵀLH), all >= 0: L is the Laplacian of the graph that joins each sample to its nearest
    neighbours, and features count at unit norm, or the codes would only shrink. With λ = 0 it is `NMF`.

    Parameters
    ----------
    n_components : int, default=10
    graph_weights : float, default=100.0
        λ, the paper's default. A sample is drawn to the mean of its neighbours with λ times their number, against 1 to
        its own data.
    n_neighbors : int, default=5
        Neighbours of each sample in the graph; it also joins those whose neighbour it is. Of samples that are equally
        near, those that come first in X are neighbours.
    init : {"nndsvd", "nndsvda", "nndsvdar", "random", "custom"} or None, default=None
        Start; None is "nndsvda".
    max_iter : int, default=200
    tol : float, default=1e-4
        Stop when the loss falls by less than this part of itself a sweep, on average over five sweeps.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the fit before instead of `init`, when there was one.

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, loss_curve_, n_iter_, stop_reason_, kkt_residual_
        See `DeepSemiNMF`; `codes_` are shaped by the graph, `transform` uses none.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import GNMF
    >>> X = load_digits().data / 16
    >>> model = GNMF(10, random_state=0).fit(X)
    >>> model.codes_[-1].shape
    (1797, 10)
    """

    _default_init = "nndsvda"
    _joins_samples = True
    _streams = False  # neighbours are found among all rows at once
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **without_solver(ShallowEstimator._parameter_constraints),
        "graph_weights": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        graph_weights: float = 100.0,
        n_neighbors: int = 5,
        init: Init = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.graph_weights = graph_weights
        self.n_neighbors = n_neighbors
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(
        self,
        X: Matrix,
        y: object = None,
        *,
        graph: Matrix | None = None,
        entry_weight: EntryWeight = None,
        factors: Sequence[Array] | None = None,
        codes: Array | None = None,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), nonnegative
            NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed; neighbours are near
            in those that both samples have.
        y : ignored
        graph : sparse matrix or array of shape (n_samples, n_samples), optional
            Weights >= 0 of the edges between samples, in place of the nearest neighbours; an edge given in one
            direction counts in both, one of a sample to itself does not count.
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            As in `NMF`. It needs a graph: neighbours are found among values that count alike.
        factors : sequence of one array, optional
            Z_1 to start from whatever `init` says. Required by ``init="custom"``.
        codes : array of shape (n_samples, n_components), optional
            Codes to start from; by default they are solved for.
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)``, called after each sweep; returning True stops.
        checkpoint : path, optional
            A file that keeps where the fit is, every `checkpoint_seconds` and when it is interrupted. The same call
            goes on from it, to the same bits; it is removed when the fit is over.
        checkpoint_seconds : float, default=30

        Returns
        -------
        self
        """
        if entry_weight is not None and graph is None:
            raise ValueError("entry_weight needs a graph: neighbours are found only where all entries count alike.")
        keeping = Keeping(checkpoint, checkpoint_seconds, (X, graph, entry_weight, factors, codes))
        return self._fit(X, graph, keeping, entry_weight=entry_weight, factors=factors, codes=codes, on_sweep=on_sweep)

    def _graphs(self, X: Matrix, known: Matrix | None, depth: int) -> tuple[Penalty, ...]:
        weights = self._neighbours(X) if known is None else _checked(known, X.shape[0])
        if self.graph_weights == 0 or weights.nnz == 0:
            return ()
        return (GraphPenalty(EdgeGraph(weights), float(self.graph_weights), 0),)

    def _neighbours(self, X: Matrix) -> Matrix:
        if self.n_neighbors >= X.shape[0]:
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but X has {X.shape[0]} samples: each has fewer others than that."
            )
        return symmetric(neighbor_graph(X, self.n_neighbors, holes=has_holes(X)))


def _checked(graph: Matrix, n_samples: int) -> Matrix:
    check_unmasked(graph, "graph")
    graph = check_array(graph, accept_sparse="csr", dtype=np.float64, input_name="graph")
    if graph.shape != (n_samples, n_samples):
        raise ValueError(f"graph has shape {graph.shape}, but X has {n_samples} samples: expected {(n_samples,) * 2}.")
    if graph.min() < 0:
        raise ValueError(f"graph has a negative weight, {graph.min():g}: weights of at least 0 are expected.")
    return symmetric(graph)
