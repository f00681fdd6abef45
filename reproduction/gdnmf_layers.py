"""GD²NMF (supplement): Fig. R3, how far the layers tell classes apart."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from sklearn.metrics import silhouette_score

from deepnmf import GDNMF, plot_codes, plot_loss
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial
from reproduction.gdnmf_labels import at_unit_norm, few_sweeps
from reproduction.pages import table
from reproduction.protocols import RESTARTS, described, scores

__all__ = ["EXPERIMENTS"]

COIL = "coil20_32x32"
DRAWS = 5


def _fitted(seed: int, X: Array, plan: Plan) -> GDNMF:
    """GDNMF, the model without labels."""
    return GDNMF(random_state=seed, **few_sweeps(plan)).fit(X)


def _trials(plan: Plan) -> list[Trial]:
    return [{"draw": draw} for draw in plan.repeats(DRAWS)]


def _run(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """The pixels, and the codes of each layer."""
    X, y = at_unit_norm(data[COIL])
    draw = int(trial["draw"])
    model = _fitted(draw, X, plan)
    layers = {f"layer {layer + 1}": model.encode(X, layer) for layer in range(len(model.features_))}
    for said, codes in ({"the pixels": X} | layers).items():
        found = scores(codes, y, draw, plan.size(RESTARTS, 2))
        yield found | {"rows": said, "size": codes.shape[1], "silhouette": float(silhouette_score(codes, y))}


def _page(results: Results) -> str:
    measures = {f"{said}, `{p}`": f"{p}_{said.lower()}" for said, p in product(("accuracy", "NMI"), results.protocols)}
    rows = []
    for said in results.distinct("rows"):
        some = results.where(rows=said)
        cells = [some.spread(measure, 1, 100) for measure in measures.values()]
        rows.append([said, some.rows[0]["size"], some.spread("silhouette"), *cells])
    return "\n\n".join(
        [
            f"`GDNMF` of COIL-20 (1440 pictures of 20 objects, samples at unit norm) without labels, {len(results.distinct('draw'))} starts. The silhouette says how much nearer samples are to those of their own object than to those of the next\n"
            f"one, from -1 to 1. k-means with as many clusters as objects, {RESTARTS} restarts, per cent. The settings are the defaults: the protocols differ by the\n"
            "restart only. The supplement shows maps by t-SNE and no numbers; it says that samples are better separated in the second layer than in the first.",
            described(results),
            table(["codes", "size", "silhouette of the objects", *measures], rows),
        ]
    )


def _draw(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    """Maps of both layers, and the loss of the fit."""
    X, y = at_unit_norm(data[COIL])
    model = _fitted(0, X, plan)
    figures = {f"Codes of layer {layer + 1}": plot_codes(model, X, y, layer=layer) for layer in range(2)}
    lines = []
    for said, figure in (figures | {"Loss after each sweep": plot_loss(model)}).items():
        file = f"gdnmf-layers-{said.lower().replace(' ', '-')}.svg"
        figure.savefig(folder / file, metadata={"Date": None})
        lines.append(f"![{said}]({file})")
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
    ),
)
