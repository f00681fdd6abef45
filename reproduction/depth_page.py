"""The page of `depth`: three sentences that follow from the tables, and the tables."""

from collections.abc import Sequence

import numpy as np

from reproduction.experiment import Array, Results, Value
from reproduction.pages import table

__all__ = ["MEASURES", "PARTS", "page"]

NOTABLE = 0.02  # a change that is counted
MEASURES = {
    "blind_nmi": "NMI of k-means",
    "blind_accuracy": "accuracy of k-means",
    "probe": "accuracy of a linear probe",
    "hidden": "R² of hidden entries",
    "explained": "share of squares explained by the top layer",
    "stability": "stability",
    "recovery": "recovery of planted wholes",
}
PARTS = "parts"  # of planted data; one layer has none
RULES = """The rule was fixed before the first run. The top layer has as many features as there are classes (planted data: true wholes, 6), the lowest layer four times as many, but at most half
of the number of rows or columns, and the layers between form a geometric series; one layer is the top layer alone. All parameters have their defaults, and nothing is chosen by labels.
`MultilayerNMF` and `SparseDeepNMF` of one layer are NMF, `DeepSemiNMF` is Semi-NMF, `DeepNSNMF` is nsNMF with θ = 0.1, and `DeepNMF` is NMF.

- k-means: the restart with the lowest inertia of 20 on the top codes, with one cluster per class.
- linear probe: logistic regression on the standardized top codes, mean accuracy of five folds.
- hidden entries: a tenth of the entries is hidden from the fit, and the top layer predicts them; R² beyond the column means. Dense data only.
- stability: mean cosine of matched top features of fits to two halves of the rows.
- recovery: mean cosine of matched top features with the planted wholes, and of the features of the lowest layer with the planted parts. The data have two or three levels of the sizes of this rule.

Mean over seeds, which change the fit, k-means, the folds, the hidden entries, the halves and the planted data. Words are those of at least ten documents, by tf-idf; faces have 16 x 16 pixels, the means of 2 x 2. None of these settings was tuned, and the
sets were chosen by the time that a fit takes, before any result was seen. The defaults of `DeepNMF` were chosen on planted data of
other seeds ([decision 20](../decisions/0020-a-hierarchy-that-is-real.md))."""


def page(results: Results) -> str:
    """Verdict, rules, mean changes, and a table for each measure."""
    return "\n\n".join(
        [
            "## Verdict",
            _verdict(results),
            "## How it was measured",
            RULES,
            "## Change with depth, over all models and data sets",
            f"Change against one layer of the same model on the same data: the mean, and in how many pairs of model and data set it is above {NOTABLE} or below -{NOTABLE}.",
            _change_table(results),
            *(
                part
                for name, title in MEASURES.items()
                if _with(results, name)
                for part in _measure_table(results, name, title)
            ),
            *_measure_table(results, PARTS, "recovery of planted parts by the lowest layer"),
            "## Share of squares explained by each layer",
            "The lowest layer first; the first seed.",
            _layer_table(results),
        ]
    )


def _with(results: Results, measure: str) -> Results:
    """The rows that have a measure."""
    return Results([row for row in results.rows if measure in row])


def _changes(results: Results, measure: str, depth: Value) -> Array:
    """The change of the mean against one layer, for every pair of data set and model."""
    some = _with(results, measure)
    pairs = dict.fromkeys((row["data"], row["model"]) for row in some.rows)
    found = []
    for name, model in pairs:
        mine = some.where(data=name, model=model)
        found.append(mine.where(depth=depth).mean(measure) - mine.where(depth=1).mean(measure))
    return np.array(found)


def _deeper(results: Results) -> list[Value]:
    return [depth for depth in results.distinct("depth") if depth != 1]


def _change_table(results: Results) -> str:
    rows = []
    for measure, title in MEASURES.items():
        if not _with(results, measure):
            continue
        changes = [_changes(results, measure, depth) for depth in _deeper(results)]
        cells = [f"{c.mean():+.3f} ({np.sum(c > NOTABLE)} up, {np.sum(c < -NOTABLE)} down)" for c in changes]
        rows.append([title, len(changes[0]), *cells])
    return table(["measure", "pairs", *(f"{depth} layers" for depth in _deeper(results))], rows)


def _measure_table(results: Results, measure: str, title: str) -> list[str]:
    some = _with(results, measure)
    depths = some.distinct("depth")
    pairs = dict.fromkeys((row["data"], row["model"]) for row in some.rows)
    rows = [
        [name, model, *(some.where(data=name, model=model, depth=depth).spread(measure) for depth in depths)]
        for name, model in pairs
    ]
    return [f"## {title[0].upper()}{title[1:]}", table(["data", "model", *_counted(depths)], rows)]


def _layer_table(results: Results) -> str:
    first = results.where(seed=0)
    depths = first.distinct("depth")
    pairs = dict.fromkeys((row["data"], row["model"]) for row in first.rows)
    rows = [
        [name, model, *(first.where(data=name, model=model, depth=depth).rows[0]["by_layer"] for depth in depths)]
        for name, model in pairs
    ]
    return table(["data", "model", *_counted(depths)], rows)


def _counted(depths: Sequence[Value]) -> list[str]:
    return [f"{depth} layer{'' if depth == 1 else 's'}" for depth in depths]


# ----------------------------------------------------------------------------------------------------------- verdict


def _verdict(results: Results) -> str:
    return "\n".join([_on_labels(results), _on_data(results), _on_planted(results)])


def _on_labels(results: Results) -> str:
    """k-means and the linear probe."""
    changes = _all_changes(results, "blind_nmi")
    up, down = np.sum(changes > NOTABLE), np.sum(changes < -NOTABLE)
    probes = {m: _all_changes(results.where(model=m), "probe").mean() for m in results.distinct("model")}
    worst = min(probes, key=lambda model: probes[model])
    return (
        f"Against one layer of the same top size, {_numbered(results)} layers change the NMI of k-means on the top codes by {_mean_changes(results, 'blind_nmi')} on average, {_judged(changes)} "
        f"({up} of {len(changes)} comparisons gain more than {NOTABLE}, {down} lose more than that), and the accuracy of a linear probe by {_mean_changes(results, 'probe')}, {_judged(_all_changes(results, 'probe'))} "
        f"(worst for `{worst}`, {probes[worst]:+.3f})."
    )


def _on_data(results: Results) -> str:
    """What the top layer still says about the data, and whether it is found again."""
    return (
        f"The share of squares that the top layer explains changes by {_mean_changes(results, 'explained')}, {_judged(_all_changes(results, 'explained'))}, R² of hidden entries by {_mean_changes(results, 'hidden')}, "
        f"{_judged(_all_changes(results, 'hidden'))}, and the stability of its features by {_mean_changes(results, 'stability')}, {_judged(_all_changes(results, 'stability'))}."
    )


def _on_planted(results: Results) -> str:
    """Whether the wholes and the parts that were planted are found."""
    some, parts = _with(results, "recovery"), _with(results, PARTS)
    ours = some.where(model="DeepNMF")
    chains = [model for model in some.distinct("model") if model != "DeepNMF"]
    best = max(some.where(model=model, depth=depth).mean("recovery") for model in chains for depth in _deeper(some))
    found = max(parts.where(model=model, depth=depth).mean(PARTS) for model in chains for depth in _deeper(parts))
    deep = ", ".join(f"{ours.where(depth=depth).mean('recovery'):.3f}" for depth in _deeper(some))
    return (
        f"On planted hierarchies, the wholes are found with a cosine of {ours.where(depth=1).mean('recovery'):.3f} by one layer of NMF and of {deep} by `DeepNMF` with {_numbered(some)} layers ({best:.3f} by the best published chain "
        f"at its best depth), and depth adds the parts that these are made of, with a cosine of {parts.where(model='DeepNMF').mean(PARTS):.3f} by `DeepNMF` and of at most {found:.3f} by a published chain."
    )


def _mean_changes(results: Results, measure: str) -> str:
    return ", ".join(f"{_changes(results, measure, depth).mean():+.3f}" for depth in _deeper(results))


def _all_changes(results: Results, measure: str) -> Array:
    """The changes at all depths beyond the first."""
    return np.concatenate([_changes(results, measure, depth) for depth in _deeper(results)])


def _numbered(results: Results) -> str:
    *first, last = map(str, _deeper(results))
    return f"{', '.join(first)} and {last}" if first else last


def _judged(changes: Array) -> str:
    """What changes at all depths say on average."""
    mean = float(changes.mean())
    if abs(mean) < NOTABLE / 2:
        return "neither a gain nor a loss"
    return "a gain" if mean > 0 else "a loss"
