"""Graphs as operators, graph penalties in every model that has them, and labels of every type."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from catalogue import data, is_linear, name_of
from deepnmf import GNMF, NMF, WSF, WSFMA, DeepSemiNMF, DeepWSF, DiscriminantNMF, SemiNMF
from deepnmf.objective import ACTIVATIONS, ActivatedObjective, Chain, GraphPenalty, Statistics
from deepnmf.objective.graphs import ClassMeans, EdgeGraph, FisherScatter, LabelGraph, label_graph, symmetric

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

KINDS = ("binary", "rbf", "dot")
DEEP = {"layer_sizes": (8, 6, 4), "random_state": 0, "max_iter": 60}
LABELED = [
    WSF(4, graph_weights=0.1, random_state=0),
    *(WSF(4, graph_weights=0.1, label_graph=kind, random_state=0) for kind in KINDS[1:]),
    WSF(4, graph_weights=3.0, init="random", random_state=0),
    WSFMA(4, graph_weights=(0.1, 0.01, 0.1), random_state=0),
    DeepWSF(graph_weights=0.1, **DEEP),
    DeepWSF(graph_weights=(0.1, 0, 1.0), label_graph="rbf", **DEEP),
    *(DeepWSF(graph_weights=0.01, activation=activation, **DEEP) for activation in ("square", "stanh", "relu")),
    DiscriminantNMF(4, within_weight=0.5, between_weight=0.5, random_state=0),
    DiscriminantNMF(4, within_weight=0.0, between_weight=0.9, random_state=0),
]


def places(n, n_classes=4, seed=0, unknown=0.4):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < unknown, -1, rng.integers(0, n_classes, n))


def attributes(n):
    return np.column_stack([places(n, 2, seed=1), places(n, 3, seed=2), places(n, 4, seed=3)])


def labels_for(model, n):
    return attributes(n) if isinstance(model, WSFMA | DeepWSF) else places(n)


def laplacian(W):
    W = W - np.diag(np.diag(W))
    return np.diag(W.sum(axis=1)) - W


def same_class(y):
    return ((y[:, None] == y) & (y >= 0)).astype(float)


def dense_laplacian(kind, X, y):
    same = same_class(y)
    if kind == "dot":
        return laplacian(same * (X @ X.T))
    if kind == "binary":
        return laplacian(same)
    squares = cdist(X, X, "sqeuclidean")
    return laplacian(same * np.exp(-squares / (2 * squares[(same > 0) & ~np.eye(len(y), dtype=bool)].mean())))


def dense_scatter(y, within, between):
    """γ (I - P_c) - δ (P_c - P_1) on the labeled rows."""
    known = (y >= 0).astype(float)
    same = same_class(y)
    P_c = same / np.maximum(same.sum(axis=1, keepdims=True), 1)
    P_1 = np.outer(known, known) / known.sum()
    return within * (np.diag(known) - P_c) - between * (P_c - P_1)


def all_graphs(n=300):
    X, y = data(n=n), places(n)
    graphs = {kind: (label_graph(kind, X, y), dense_laplacian(kind, X, y)) for kind in KINDS}
    graphs["sparse dot"] = (label_graph("dot", sparse.csr_array(X), y), graphs["dot"][1])
    graphs["Fisher"] = (FisherScatter(ClassMeans(y), 0.7, 0.4), dense_scatter(y, 0.7, 0.4))
    W = symmetric(kneighbors_graph(X, 5))
    graphs["neighbors"] = (EdgeGraph(W), laplacian(W.toarray()))
    return graphs


@pytest.mark.parametrize("name", all_graphs(20))
def test_products_agree_with_those_of_the_dense_laplacian(name):
    graph, L = all_graphs()[name]
    H = np.random.default_rng(0).random((300, 7))
    assert np.allclose(graph.product(H), L @ H, rtol=0, atol=1e-12 * np.abs(L @ H).max())


@pytest.mark.parametrize("name", all_graphs(20))
def test_the_curvature_is_an_upper_bound_of_the_laplacian(name):
    graph, L = all_graphs()[name]
    assert np.linalg.eigvalsh(np.diag(graph.curvature) - L)[0] >= -1e-10 * np.abs(L).max()


def test_a_label_graph_of_many_samples_needs_little_memory():
    n, r = 200_000, 40
    H, graph = np.random.default_rng(0).random((n, r)), LabelGraph(ClassMeans(places(n, 50)))
    tracemalloc.start()
    product = graph.product(H)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6
    members = graph.means.places == 7
    assert np.allclose(product[members], members.sum() * (H[members] - H[members].mean(axis=0)))
    assert not product[graph.means.places < 0].any()


@pytest.mark.parametrize("model", LABELED, ids=name_of)
def test_the_loss_never_rises_and_labels_change_the_fit(model):
    X = data()
    labeled = clone(model).fit(X, labels_for(model, len(X)))
    curve = labeled.loss_curve_
    assert (np.diff(curve) <= 1e-12 * np.abs(curve[:-1])).all()
    assert not np.allclose(labeled.components_, clone(model).fit(X).components_)


@pytest.mark.parametrize("model", [m for m in LABELED if isinstance(m, WSF | DeepWSF) and is_linear(m)], ids=name_of)
def test_the_loss_is_the_documented_objective(model):
    X = data()
    y = labels_for(model, len(X))
    model = clone(model).fit(X, y)
    shallow = len(model.factors_) == 1
    columns = [y] if y.ndim == 1 else list(y.T)
    weights = np.broadcast_to(model.graph_weights, len(columns))
    value = 0.5 * np.sum((X - model.codes_[-1] @ model.components_) ** 2)
    for layer, (column, weight) in enumerate(zip(columns, weights, strict=True)):
        H = model.codes_[-1]
        for Z in reversed([] if shallow else model.factors_[layer + 1 :]):
            H = H @ Z
        value += 0.5 * weight * np.trace(H.T @ dense_laplacian(model.label_graph, X, column) @ H)
    assert np.isclose(value, model.loss_curve_[-1], rtol=1e-9)


def test_the_loss_of_gnmf_is_the_documented_objective():
    X = data()
    model = GNMF(4, graph_weights=0.3, random_state=0).fit(X)
    L = laplacian(symmetric(kneighbors_graph(X, 5)).toarray())
    H = model.codes_[-1]
    value = 0.5 * np.sum((X - H @ model.components_) ** 2) + 0.15 * np.trace(H.T @ L @ H)
    assert np.isclose(value, model.loss_curve_[-1], rtol=1e-9)
    assert (np.diff(model.loss_curve_) <= 0).all()


@pytest.mark.parametrize("unknown", ["none given", "all unknown", "weight 0"])
@pytest.mark.parametrize(
    ("model", "plain"),
    [
        (WSF(4, random_state=0), SemiNMF(4, random_state=0)),
        (WSFMA(4, random_state=0), SemiNMF(4, random_state=0)),
        (DeepWSF(**DEEP), DeepSemiNMF(**DEEP)),
        (DeepWSF(activation="stanh", **DEEP), DeepSemiNMF(activation="stanh", **DEEP)),
        (DiscriminantNMF(4, random_state=0), NMF(4, random_state=0)),
        (GNMF(4, random_state=0), NMF(4, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_without_labels_or_weight_is_its_unsupervised_model(model, plain, unknown):
    X = data()
    y = None if unknown == "none given" else labels_for(model, len(X))
    y = np.full_like(y, -1) if unknown == "all unknown" else y
    weights = ("within_weight", "between_weight") if isinstance(model, DiscriminantNMF) else ("graph_weights",)
    if unknown == "weight 0" or isinstance(model, GNMF):
        model = clone(model).set_params(**dict.fromkeys(weights, 0.0))
    model, plain = (
        clone(each).set_params(tol=0, max_iter=30) for each in (model, plain)
    )  # NMF has an additional stopping criterion
    assert np.array_equal(model.fit(X, y).components_, plain.fit(X).components_)


def test_labels_of_every_type_give_the_same_fit():
    X = data()
    Y = attributes(len(X))
    names = np.array(["a", "b", "c", "d", None], dtype=object)
    forms = [Y, Y.tolist(), names[Y], pd.DataFrame(names[Y]), np.where(Y < 0, np.nan, Y)]
    first, *others = [DeepWSF(**DEEP).fit(X, form).components_ for form in forms]
    for other in others:
        assert np.array_equal(first, other)


def test_a_single_column_of_labels_belongs_to_the_top_layer():
    X, y = data(), places(60)
    unknown = np.full_like(y, -1)
    flat = DeepWSF(**DEEP).fit(X, y)
    assert np.array_equal(flat.components_, DeepWSF(**DEEP).fit(X, np.column_stack([unknown, unknown, y])).components_)


def test_a_larger_graph_weight_reduces_the_spread_within_classes():
    X, y = data(), places(60)
    spread = []
    for weight in (0.01, 0.1, 1.0):
        H = WSF(4, graph_weights=weight, random_state=0, max_iter=2000).fit(X, y).codes_[-1]
        within = H - ClassMeans(y).of_samples(H)
        spread.append(np.linalg.norm(within[y >= 0]) / np.linalg.norm(H[y >= 0]))
    assert spread[0] > spread[1] > spread[2]


def test_a_given_graph_is_used():
    X = data()
    W = kneighbors_graph(X, 5)
    from_neighbors = GNMF(4, random_state=0).fit(X)
    for graph in (W, W.toarray(), symmetric(W)):
        assert np.array_equal(from_neighbors.components_, GNMF(4, random_state=0).fit(X, graph=graph).components_)


@pytest.mark.parametrize("X", [data(seed=1), data(seed=1).astype(np.float32), sparse.csr_array(data(seed=1))])
@pytest.mark.parametrize("model", LABELED[:6], ids=name_of)
def test_labels_can_be_used_with_every_form_of_data(model, X):
    model = clone(model).fit(X, labels_for(model, X.shape[0]))
    assert model.transform(X).dtype == X.dtype
    assert np.isfinite(model.loss_curve_).all()


WRONG = [
    (WSF(4), {"y": np.zeros(7)}, ValueError, "y has 7 labels, but X has 60 samples"),
    (WSF(4), {"y": np.linspace(0.1, 1.3, 60)}, ValueError, "Unknown label type"),
    (WSF(4), {"y": np.zeros(60)}, ValueError, "y contains one class only, 0: expected labels of two or more"),
    (WSF(4), {"y": [*"ab" * 29, 1, 2.5]}, ValueError, "y must contain labels of one type"),
    (WSF(4), {"y": np.zeros((60, 2))}, ValueError, "y has 2 columns"),
    (WSF(4, graph_weights=-1.0), {"y": places(60)}, ValueError, "graph_weights must be a finite number of at least 0"),
    (WSF(4, label_graph="dot"), {"y": places(60), "X": data() - 1}, ValueError, 'label_graph="dot".*needs X >= 0'),
    (WSFMA(4, graph_weights=(1, 2)), {"y": attributes(60)}, ValueError, "graph_weights has 2 values for 3"),
    (WSFMA(4), {"y": attributes(50)}, ValueError, "y has 50 labels, but X has 60 samples"),
    (DeepWSF((8, 4)), {"y": attributes(60)}, ValueError, "y has 3 columns, but the model has 2 layers"),
    (DeepWSF(**DEEP), {"y": attributes(60) * 0}, ValueError, r"y\[:, 0\] contains one class only"),
    (DeepWSF((8, 4), graph_weights=(1, -1)), {"y": places(60)}, ValueError, "graph_weights must be a finite number"),
    (DiscriminantNMF(4, within_weight=-1), {"y": places(60)}, ValueError, "within_weight"),
    (DiscriminantNMF(4, between_weight=1.0), {"y": places(60)}, ValueError, "between_weight"),
    (GNMF(4, graph_weights=-1), {}, ValueError, "graph_weights"),
    (GNMF(4, n_neighbors=60), {}, ValueError, "n_neighbors is 60, but X has 60 samples"),
    (GNMF(4), {"graph": np.ones((3, 3))}, ValueError, r"graph has shape \(3, 3\), but X has 60 samples"),
    (GNMF(4), {"graph": -np.ones((60, 60))}, ValueError, "graph has a negative weight, -1"),
    (GNMF(4), {"graph": np.full((60, 60), np.nan)}, ValueError, "graph contains NaN"),
]


@pytest.mark.parametrize(("model", "given", "kind", "sentence"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_labels_graphs_and_weights_are_refused(model, given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        model.fit(**({"X": data()} | given))
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("activation", ["square", "relu"])
def test_a_graph_below_a_homogeneous_activation_does_not_see_scale_that_moves_between_layers(activation, layer):
    rng, f = np.random.default_rng(0), ACTIVATIONS[activation]
    chain = Chain.of([rng.standard_normal(shape) for shape in ((6, 8), (5, 6), (4, 5))], nonnegative=False)
    scales = [rng.uniform(0.1, 10, len(Z)) for Z in chain.factors[:-1]]
    X, H = rng.random((20, 8)), rng.random((20, 4))
    graph = GraphPenalty(LabelGraph(ClassMeans(np.arange(20) % 3)), 0.5, layer)
    objective = ActivatedObjective(f, (graph,))

    def value(chain):
        V = objective.rows(chain, X.dtype).values_below(H)
        lowest = Statistics(V[0].T @ X, V[0].T @ V[0], V[0].sum(axis=0), np.sum(X**2))
        roughness = np.einsum("ij,ij->j", V[layer], graph.graph.product(V[layer]))
        return objective.value(chain, lowest, lowest, [roughness])

    assert value(chain.with_row_norms(scales, f.degree)) == pytest.approx(value(chain), rel=1e-9)
