import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_array

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import has_holes
from deepnmf.masks import check_unmasked
from deepnmf.models.factorization import Factorization
from deepnmf.models.input_data import EntryWeight
from deepnmf.models.known_components import GUIDE_WEIGHT, GivenComponents, Guides
from deepnmf.models.parameters import COUNT, WEIGHT, Constraints, Init, RandomStateLike
from deepnmf.models.run_control import RunControl
from deepnmf.objective import GraphPenalty, Known, Penalty, UnresolvedPenalty
from deepnmf.objective.graphs import EdgeGraph, symmetric
from deepnmf.objective.neighbors import neighbor_graph
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.loop import OnSweep


@dataclass(frozen=True)
class NeighborGraph(UnresolvedPenalty):
    """½ λ Tr(HᵀLH), with L the Laplacian of a given graph or of the graph of nearest neighbors."""

    weight: float
    n_neighbors: int
    joins_samples = True
    streams = False  # the search for neighbors needs all rows at once

    def resolved(self, known: Known, depth: int) -> Sequence[Penalty]:
        """Return the penalty for the graph of the samples."""
        X, graph = known.X, known.graph
        edges = self._nearest(X) if graph is None else _checked(graph, X.shape[0])
        return (GraphPenalty(EdgeGraph(edges), self.weight, 0),) if self.weight and edges.nnz else ()

    def _nearest(self, X: Matrix) -> Matrix:
        if self.n_neighbors >= X.shape[0]:
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but X has {X.shape[0]} samples: expected fewer than n_samples."
            )
        return symmetric(neighbor_graph(X, self.n_neighbors, holes=has_holes(X)))


class GNMF(Factorization, weighs_samples=False):
    """NMF with similar codes for neighboring samples (Cai, He, Han & Huang, 2011).

    ½‖X - HZ‖² + ½ λ Tr(HᵀLH) with H, Z >= 0: L is the Laplacian of the graph that joins each sample to its nearest
    neighbors. The penalty is evaluated with features of unit norm, because otherwise the codes would only shrink. With
    λ = 0 the model is `NMF`.

    Parameters
    ----------
    {n_components}
    graph_weights : float, default=100.0
        λ, by default that of the paper. A sample is drawn to the mean of its neighbors with weight λ times their
        number, and to its own data with weight 1.
    n_neighbors : int, default=5
        Number of nearest neighbors of each sample. Two samples are joined if one is a neighbor of the other. Among
        equally near samples, those that come first in X are chosen.
    init : {"nndsvd", "nndsvda", "nndsvdar", "random", "custom"} or None, default=None
        Initialization; None is "nndsvda".
    {max_iter}
    {tol}
    {run}

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, loss_curve_, n_iter_, stop_reason_, kkt_residual_
        See `DeepSemiNMF`. The graph shapes `codes_`; `transform` uses no graph.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import GNMF
    >>> X = load_digits().data / 16
    >>> model = GNMF(10, random_state=0).fit(X)
    >>> model.codes_[-1].shape
    (1797, 10)
    """

    _parameter_constraints: ClassVar[Constraints] = {"graph_weights": [WEIGHT], "n_neighbors": [COUNT]}

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

    def fit(  # type: ignore[override]
        self,
        X: Matrix,
        y: object = None,
        *,
        graph: Matrix | None = None,
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
        """Learn the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), nonnegative
            NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed; distances between samples
            use the entries that are observed in both.
        y : ignored
        graph : sparse matrix or array of shape (n_samples, n_samples), optional
            Weights >= 0 of the edges between samples, used instead of the nearest neighbors. An edge given in one
            direction counts in both; an edge from a sample to itself is ignored.
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            As in `NMF`. It requires `graph`, because the search for neighbors supports no weights.
        {fixed_components}
        {guide}
        factors : sequence of one array, optional
            [Z_1] to start from; it overrides `init`. Required by ``init="custom"``.
        codes : array of shape (n_samples, n_components), optional
            Codes to start from; by default they are computed from the factors.
        {run_control}

        {returns_self}

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.neighbors import kneighbors_graph
        >>> from deepnmf import GNMF
        >>> X = load_digits().data / 16
        >>> model = GNMF(10, random_state=0).fit(X, graph=kneighbors_graph(X, 5))
        >>> model.codes_[-1].shape
        (1797, 10)
        """
        if entry_weight is not None and graph is None:
            raise ValueError("entry_weight requires graph: the search for nearest neighbors supports no weights.")
        given = (X, graph, entry_weight, fixed_components, guide, guide_weight, factors, codes)
        control = RunControl(on_sweep, checkpoint, checkpoint_seconds, given)
        known = GivenComponents(fixed_components, guide, guide_weight)
        return self._fit(X, self._start(factors, codes), control, entry_weight, known, graph=graph)

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.n_components,
            penalties=(NeighborGraph(float(self.graph_weights), self.n_neighbors),),
            init=self.init,
            default_init="nndsvda",
            random_state=self.random_state,
            max_iter=self.max_iter,
            tol=self.tol,
        )


def _checked(graph: Matrix, n_samples: int) -> Matrix:
    check_unmasked(graph, "graph")
    graph = check_array(graph, accept_sparse="csr", dtype=np.float64, input_name="graph")
    if graph.shape != (n_samples, n_samples):
        raise ValueError(f"graph has shape {graph.shape}, but X has {n_samples} samples: expected {(n_samples,) * 2}.")
    if graph.min() < 0:
        raise ValueError(f"graph has a negative weight, {graph.min():g}: expected weights of at least 0.")
    return symmetric(graph)
