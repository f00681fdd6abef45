"""Deep Semi-NMF (Trigeorgis, Bousmalis, Zafeiriou & Schuller, 2017): Fig. 6, accuracy by depth."""

from collections.abc import Iterator
from itertools import product

from deepnmf import DeepSemiNMF
from reproduction.experiment import Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import STARTS, random_sizes, unit_samples
from reproduction.pages import table
from reproduction.protocols import RESTARTS, of_protocol, scores

__all__ = ["EXPERIMENTS"]

DEPTHS = (2, 3, 4, 5)
DRAWS, PUBLISHED_DRAWS = 10, 200
TOP, MEAN = 40, 400
SWEEPS = 60
PIE = "pie_pose27"


def _depth_trials(plan: Plan) -> list[Trial]:
    return [{"depth": d, "repetition": draw} for d, draw in product(plan.some(DEPTHS), plan.repeats(DRAWS))]


def _run_depth(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    """One draw of layer sizes, from the default start and from a random one."""
    repetition, depth = int(trial["repetition"]), int(trial["depth"])
    drawn = random_sizes(depth, TOP, MEAN, repetition)
    sizes = tuple(range(3 + depth, 3, -1)) if plan.quick else drawn
    X, y = unit_samples(data, PIE)
    for start in plan.tried(STARTS[:2]):
        model = DeepSemiNMF(sizes, init=start, random_state=repetition, max_iter=plan.size(SWEEPS, 3)).fit(X)
        found = scores(model.codes_[-1], y, repetition, plan.size(RESTARTS, 2))
        about: Row = {
            "sizes": ", ".join(map(str, drawn)),
            "setting": start,
            "default": int(start == STARTS[0]),
        }
        yield about | found | {"error": model.reconstruction_err_}


def _depth_page(results: Results) -> str:
    rows: list[list[Value]] = []
    for depth in results.distinct("depth"):
        row = [depth]
        for protocol in results.protocols:
            chosen = of_protocol(results.where(depth=depth), protocol, "accuracy")
            row += [chosen.spread(f"{protocol}_accuracy", 1, 100), chosen.rows[0]["setting"], chosen.spread("error")]
        rows.append(row)
    head = [f"{name}, `{p}`" for p in results.protocols for name in ("accuracy", "init", "‖X - X̂‖_F")]
    return "\n\n".join(
        [
            f"Linear `DeepSemiNMF` of all faces with {TOP} components on top. The sizes below are drawn from an exponential distribution with mean {MEAN} and\n"
            f"sorted; none is smaller than the top layer or larger than 1000. {len(results.distinct('repetition'))} draws for each depth (the paper has {PUBLISHED_DRAWS} in total). k-means on the top codes, {RESTARTS} restarts;\n"
            "accuracy in per cent. `paper`: the best restart and the better of two initializations (SVD, random), by the labels; `blind`: the lowest\n"
            "inertia and the default initialization (SVD). The paper shows the figure and gives no numbers. As long as no layer is narrower than\n"
            "the top one, the optimum of the linear model has the same error at every depth.",
            table(["layers", *head], rows),
        ]
    )


EXPERIMENTS = (
    Experiment(
        name="dsnmf-depth",
        title="Deep Semi-NMF, Fig. 6: accuracy by depth",
        data=(PIE,),
        trials=_depth_trials,
        run=_run_depth,
        page=_depth_page,
    ),
)
