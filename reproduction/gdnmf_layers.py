"""GD²NMF (supplement): Fig. R3, separation of classes by layer."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from sklearn.metrics import silhouette_score

from deepnmf import GDNMF, DeepNMF, plot_codes, plot_loss
from reproduction.baselines import BASELINES, baseline
from reproduction.comparisons import Claim, Evidence
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial
from reproduction.faces import unit_samples
from reproduction.gdnmf_labels import few_sweeps
from reproduction.pages import table
from reproduction.protocols import RESTARTS, described, scores

__all__ = ["EXPERIMENTS"]

COIL = "coil20_32x32"
DRAWS = 5


def _fitted(seed: int, X: Array, plan: Plan) -> GDNMF:
    """Return GDNMF, fitted without labels."""
    return GDNMF(random_state=seed, **few_sweeps(plan)).fit(X)


def _trials(plan: Plan) -> list[Trial]:
    return [{"draw": draw} for draw in plan.repeats(DRAWS)]


def _run(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """Yield the scores of the codes of each layer, of the baselines, and of the layers of `DeepNMF`."""
    X, y = unit_samples(data, COIL)
    draw = int(trial["draw"])
    model = _fitted(draw, X, plan)
    sizes = tuple(len(features) for features in model.features_)
    ours = DeepNMF(sizes, random_state=draw, **few_sweeps(plan)).fit(X)
    beside = {name: baseline(name, sizes[-1]).fit(X).codes_[-1] for name in BASELINES}
    layers = {f"layer {layer + 1}": model.encode(X, layer) for layer in range(len(sizes))}
    layers |= {f"layer {layer + 1} of `DeepNMF`": ours.encode(X, layer) for layer in range(len(sizes))}
    for title, codes in (beside | layers).items():
        found = scores(codes, y, draw, plan.size(RESTARTS, 2))
        yield found | {"rows": title, "size": codes.shape[1], "silhouette": float(silhouette_score(codes, y))}


def _page(results: Results) -> str:
    measures = {
        f"{title}, `{p}`": f"{p}_{title.lower()}" for title, p in product(("accuracy", "NMI"), results.protocols)
    }
    rows = []
    for title in results.distinct("rows"):
        some = results.where(rows=title)
        cells = [some.spread(measure, 1, 100) for measure in measures.values()]
        rows.append([title, some.rows[0]["size"], some.spread("silhouette"), *cells])
    return "\n\n".join(
        [
            "`GDNMF` is fitted to COIL-20 (1440 pictures of 20 objects, samples at unit norm) without labels, from\n"
            f"{len(results.distinct('draw'))} initializations. The silhouette, from -1 to 1, measures how much\n"
            "closer samples are to those of their own object than to those of the nearest other object. k-means has\n"
            f"as many clusters as there are objects, and {RESTARTS} restarts; scores are in percent. All settings\n"
            "are the defaults, so the protocols differ only in the restart. The supplement shows t-SNE maps and no\n"
            "numbers; it states that the second layer separates the samples better than the first.\n"
            "The baselines (k-means on the data, PCA and whitened PCA with as many components as the top layer) and\n"
            "`DeepNMF` with the same sizes are not in the supplement.",
            described(results),
            table(["codes", "size", "silhouette of the objects", *measures], rows),
        ]
    )


def _claims(results: Results) -> Iterator[Claim]:
    lower, upper = (results.where(rows=f"layer {layer}").mean("silhouette") for layer in (1, 2))
    evidence = Evidence(f"silhouette {lower:.3f} and {upper:.3f}", upper > lower)
    yield Claim("the second layer separates the objects better than the first", {"blind": evidence})


def _draw(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    """Draw maps of the codes of both layers, and the loss of the fit."""
    X, y = unit_samples(data, COIL)
    model = _fitted(0, X, plan)
    figures = {f"Codes of layer {layer + 1}": plot_codes(model, X, y, layer=layer) for layer in range(2)}
    lines = []
    for title, figure in (figures | {"Loss after each sweep": plot_loss(model)}).items():
        file = f"gdnmf-layers-{title.lower().replace(' ', '-')}.svg"
        figure.savefig(folder / file, metadata={"Date": None})
        lines.append(f"![{title}]({file})")
    return lines


EXPERIMENTS = (
    Experiment(
        name="gdnmf-layers",
        title="GD²NMF, Fig. R3: codes by layer",
        data=(COIL,),
        trials=_trials,
        run=_run,
        page=_page,
        draw=_draw,
        claims=_claims,
    ),
)
