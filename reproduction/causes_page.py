"""The page of `causes`: a part for each row of a published table that ours differ from."""

import numpy as np

from deepnmf import GNMF
from deepnmf.metrics import clustering_accuracy, nmi
from reproduction.dnsnmf_pages import published
from reproduction.dsnmf_errors import PUBLISHED_ERRORS
from reproduction.dsnmf_pie import COMPONENTS
from reproduction.experiment import Results, Value
from reproduction.pages import table
from reproduction.sdnmf_pie import PUBLISHED, SPLITS

__all__ = ["BASELINE", "CHAIN", "CHAIN_WIDTH", "GRAPH", "GRAPH_WEIGHT", "PAIRS", "ROOT", "SEMI", "page"]

SEMI, CHAIN, GRAPH, BASELINE, ROOT, PAIRS = "Deep Semi-NMF", "multi-layer NMF", "GNMF", "NMF", "root", "pairs"
CHAIN_WIDTH, GRAPH_WEIGHT = 200, 1.0


def page(results: Results) -> str:
    """All parts."""
    return "\n\n".join(
        [
            f"Each part explains rows of a published table that ours differ from ([all rows](verdicts.md)). {len(results.where(cause=SEMI).distinct('split'))} splits of the {SPLITS} of the paper for Deep Semi-NMF, one for the other fits. `paper` takes the restart of k-means that is best by the labels, `blind` the one\n"
            "with the lowest inertia.",
            *_semi_part(results.where(cause=SEMI)),
            *_sparse_parts(results),
            *_chain_part(results.where(cause=CHAIN)),
            *_graph_part(results.where(cause=GRAPH)),
            *_pair_part(results.where(cause=PAIRS)),
        ]
    )


def _semi_part(some: Results) -> list[str]:
    rows = [
        [
            n,
            f"{found.mean('error'):.2f}",
            f"{found.mean('times'):.1f}",
            *(found.spread(f"{p}_nmi") for p in some.protocols),
        ]
        for n, found in _by(some, "sweeps")
    ]
    return [
        "## Sparse Deep NMF, Table III: the row of Deep Semi-NMF",
        f"Deep Semi-NMF by the published multiplicative updates from a random start, so many iterations for each layer and for the chain, on the splits of the table; the codes of the test faces by the pseudo-inverse of the features. The published\n"
        f"NMI is {PUBLISHED['Deep Semi-NMF'][0]:.3f}. The error is compared with that of the truncated SVD, the optimum. The fewer the iterations, the more the features are random projections of the faces, which keep what tells people apart.",
        table(["iterations", "error", "times the optimum", *(f"NMI, `{p}`" for p in some.protocols)], rows),
    ]


def _sparse_parts(results: Results) -> list[str]:
    return [
        "## Sparse Deep NMF, Table III: PgNMF and NeNMF",
        "NMF by projected and by accelerated gradient, stopped after so many sweeps: how far the paper's runs have converged decides this row.",
        _sweeps_table(results.where(cause=BASELINE), "{}"),
        "## Sparse Deep NMF, Table III: Square2",
        "k-means on the roots of the top codes below the root function, after so many sweeps of each stage, with the default weights.",
        _sweeps_table(results.where(cause=ROOT), "{} (Square2)"),
    ]


def _sweeps_table(some: Results, title: str) -> str:
    rows = [
        [
            model,
            n,
            f"{found.mean('error'):.2f}",
            *(found.spread(f"{p}_nmi") for p in some.protocols),
            f"{PUBLISHED[title.format(model)][0]:.3f}",
        ]
        for model, mine in _by(some, "model")
        for n, found in _by(mine, "sweeps")
    ]
    return table(["method", "sweeps", "error", *(f"NMI, `{p}`" for p in some.protocols), "paper"], rows)


def _chain_part(some: Results) -> list[str]:
    theirs = dict(zip(COMPONENTS, PUBLISHED_ERRORS["Multi-layer NMF"], strict=True))
    rows = [
        [k, *(f"{found.where(sweeps=n).mean('error'):.2f}" for n in some.distinct("sweeps")), f"{theirs[int(k)]:.2f}"]
        for k, found in _by(some, "k")
    ]
    return [
        "## Deep Semi-NMF, Table 1: the column of multi-layer NMF",
        f"‖X - X̂‖_F of multi-layer NMF with layers ({CHAIN_WIDTH}, k), by so many multiplicative updates for each layer from a random start. The second layer factorizes the codes of the first. A first layer that has converged has\n"
        "sparse codes, which k features describe badly: the errors of [converged layers](dsnmf-errors.md) are much larger than these.",
        table(["k", *(f"{n} sweeps" for n in some.distinct("sweeps")), "paper"], rows),
    ]


def _graph_part(some: Results) -> list[str]:
    theirs = dict(zip(COMPONENTS, PUBLISHED_ERRORS["GNMF"], strict=True))
    rows = [[k, f"{found.mean('error'):.2f}", f"{theirs[int(k)]:.2f}"] for k, found in _by(some, "k")]
    return [
        "## Deep Semi-NMF, Table 1: the column of GNMF",
        f"The error of GNMF grows with the weight λ of its graph, which the paper does not give. [Table 1](dsnmf-errors.md) has the default, λ = {GNMF().graph_weights:g}; here it is λ = {GRAPH_WEIGHT:g}.",
        table(["k", f"λ = {GRAPH_WEIGHT:g}", "paper"], rows),
    ]


def _pair_part(some: Results) -> list[str]:
    rows = []
    for model, found in _by(some, "model"):
        cells: list[object] = [model, len(found.rows)]
        for grid in ("frozen", "widened"):
            perfect = float(np.mean(np.array(found.column(grid)) == 1))
            cells += [f"{100 * found.mean(grid):.1f}", f"{perfect:.0%}", f"{perfect**10:.1g}"]
        rows.append(cells)
    head = ["method", "pairs"]
    for grid in ("codes as they are", "all scalings of codes"):
        head += [f"best accuracy, {grid}", "pairs without a mistake", "probability of ten such draws"]
    return [
        "## Deep nsNMF, Tables I and III: one draw of people, or ten",
        "Our tables have ten draws of k people for each k. The published numbers seem to be of ten runs on one draw. On ORL at k = 2, the published accuracy and NMI of Deep nsNMF are exactly those of one mistake in 20 faces, and those of NMF and nsNMF nearly those of\n"
        "three: every run made the same mistakes, which ten pairs of people would not give.",
        table(["ORL, k = 2", "accuracy", "NMI"], _one_draw()),
        "On Yale at k = 2 the paper reports ten runs without a mistake. Here is every 15th pair of the 15 people, with the best of all settings and of all restarts of k-means for each pair, both by the labels: the most that the protocol can\n"
        "reach. The last column of each grid is the probability that ten random pairs are all without a mistake.",
        table(head, rows),
    ]


def _one_draw() -> list[list[object]]:
    """Published numbers beside those of one and of three mistakes, all in one person."""
    theirs = published("orl_32x32")
    rows: list[list[object]] = [
        [f"{model}, published", *(f"{theirs[model, 2][measure]:.2f}" for measure in ("accuracy", "nmi"))]
        for model in ("Deep nsNMF", "NMF", "nsNMF")
    ]
    people = np.repeat([0, 1], 10)
    for n in (1, 3):
        clusters = np.repeat([0, 1], [10 + n, 10 - n])
        numbers = (100 * measure(people, clusters) for measure in (clustering_accuracy, nmi))
        rows.append([f"mistakes: {n} of 20", *(f"{number:.2f}" for number in numbers)])
    return rows


def _by(some: Results, column: str) -> list[tuple[Value, Results]]:
    return [(value, some.where(**{column: value})) for value in some.distinct(column)]
