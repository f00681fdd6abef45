"""The page of `depth`: a verdict of three sentences, computed from the tables, and the tables."""

from collections.abc import Sequence

import numpy as np

from reproduction.experiment import Array, Results, Value
from reproduction.pages import table

__all__ = ["MEASURES", "PARTS", "page"]

NOTABLE = 0.02  # smallest change that is counted as a gain or a loss
MEASURES = {
    "blind_nmi": "NMI of k-means",
    "blind_accuracy": "accuracy of k-means",
    "probe": "accuracy of a linear probe",
    "hidden": "R² of hidden entries",
    "explained": "share of squares explained by the top layer",
    "stability": "stability",
    "recovery": "recovery of planted wholes",
}
PARTS = "parts"  # recovery of the planted parts; models with one layer have none
RULES = """The rule for the layer sizes was fixed before the first run. The top layer has as many features as there are
classes (for planted data, as many as there are true wholes, 6). The lowest layer has four times as many, but at most
half of the number of rows or columns. The layers between them form a geometric series. A model with one layer has the
top layer only. All parameters have their defaults, and nothing is chosen by labels. With one layer, `MultilayerNMF`,
`SparseDeepNMF` and `DeepNMF` are NMF, `DeepSemiNMF` is Semi-NMF, and `DeepNSNMF` is nsNMF with θ = 0.1.

- k-means: on the top codes, with one cluster per class; of 20 restarts, the one with the lowest inertia.
- linear probe: logistic regression on the standardized top codes; mean accuracy over five folds.
- hidden entries: a tenth of the entries is hidden from the fit, and the top layer predicts them; R² relative to the
  column means. Dense data only.
- stability: mean cosine between the matched top features of two fits, each to one half of the rows.
- recovery: mean cosine between the matched top features and the planted wholes, and between the features of the
  lowest layer and the planted parts. Planted data are synthetic, with two or three levels of sizes by the same rule.

All numbers are means over seeds, which change the fit, k-means, the folds, the hidden entries, the halves and the
planted data. Texts are the tf-idf values of words that occur in at least ten documents. Faces have 16 x 16 pixels, each
the mean of 2 x 2 pixels. None of these settings was tuned, and the data sets were chosen by the time that a fit takes,
before any result was seen. The defaults of `DeepNMF` were chosen on planted data with other seeds
([decision 20](../decisions/0020-a-hierarchy-that-is-real.md))."""


def page(results: Results) -> str:
    """Return the body of the page: verdict, rules, mean changes, and a table for each measure."""
    return "\n\n".join(
        [
            "## Verdict",
            _verdict(results),
            "## How it was measured",
            RULES,
            "## Change with depth, over all models and data sets",
            "Change relative to one layer of the same model on the same data: the mean, and the number of pairs of\n"
            f"model and data set with a change above {NOTABLE} (up) or below -{NOTABLE} (down).",
            _change_table(results),
            *(
                part
                for name, title in MEASURES.items()
                if _with(results, name)
                for part in _measure_table(results, name, title)
            ),
            *_measure_table(results, PARTS, "recovery of planted parts by the lowest layer"),
            "## Share of squares explained by each layer",
            "Results of the first seed, lowest layer first.",
            _layer_table(results),
        ]
    )


def _with(results: Results, measure: str) -> Results:
    """Return the rows that have a measure."""
    return Results([row for row in results.rows if measure in row])


def _changes(results: Results, measure: str, depth: Value) -> Array:
    """Return the change of the mean relative to one layer, for every pair of data set and model."""
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
    """Return the sentence on k-means and the linear probe."""
    changes = _all_changes(results, "blind_nmi")
    up, down = np.sum(changes > NOTABLE), np.sum(changes < -NOTABLE)
    probes = {m: _all_changes(results.where(model=m), "probe").mean() for m in results.distinct("model")}
    worst = min(probes, key=lambda model: probes[model])
    return (
        f"Compared with a single layer of the same top size, {_numbered(results)} layers change the NMI of k-means on "
        f"the top codes by {_mean_changes(results, 'blind_nmi')} on average, {_judged(changes)} ({up} of "
        f"{len(changes)} comparisons gain more than {NOTABLE}, {down} lose more than that), and the accuracy of a "
        f"linear probe by {_mean_changes(results, 'probe')}, {_judged(_all_changes(results, 'probe'))} (worst for "
        f"`{worst}`, {probes[worst]:+.3f})."
    )


def _on_data(results: Results) -> str:
    """Return the sentence on explained squares, hidden entries and stability."""
    return (
        f"The share of squares that the top layer explains changes by {_mean_changes(results, 'explained')}, "
        f"{_judged(_all_changes(results, 'explained'))}, the R² of hidden entries by "
        f"{_mean_changes(results, 'hidden')}, {_judged(_all_changes(results, 'hidden'))}, and the stability of the "
        f"top features by {_mean_changes(results, 'stability')}, {_judged(_all_changes(results, 'stability'))}."
    )


def _on_planted(results: Results) -> str:
    """Return the sentence on the recovery of planted wholes and parts."""
    some, parts = _with(results, "recovery"), _with(results, PARTS)
    ours = some.where(model="DeepNMF")
    chains = [model for model in some.distinct("model") if model != "DeepNMF"]
    best = max(some.where(model=model, depth=depth).mean("recovery") for model in chains for depth in _deeper(some))
    found = max(parts.where(model=model, depth=depth).mean(PARTS) for model in chains for depth in _deeper(parts))
    deep = ", ".join(f"{ours.where(depth=depth).mean('recovery'):.3f}" for depth in _deeper(some))
    return (
        "On planted hierarchies, one layer of NMF recovers the wholes with a cosine of "
        f"{ours.where(depth=1).mean('recovery'):.3f}, and `DeepNMF` with {_numbered(some)} layers recovers them with "
        f"{deep} (the best published model at its best depth has {best:.3f}). Deep models also recover the parts of "
        f"these wholes, `DeepNMF` with a cosine of {parts.where(model='DeepNMF').mean(PARTS):.3f} and the published "
        f"models with at most {found:.3f}."
    )


def _mean_changes(results: Results, measure: str) -> str:
    return ", ".join(f"{_changes(results, measure, depth).mean():+.3f}" for depth in _deeper(results))


def _all_changes(results: Results, measure: str) -> Array:
    """Return the changes at all depths above one."""
    return np.concatenate([_changes(results, measure, depth) for depth in _deeper(results)])


def _numbered(results: Results) -> str:
    *first, last = map(str, _deeper(results))
    return f"{', '.join(first)} and {last}" if first else last


def _judged(changes: Array) -> str:
    """Return whether the changes at all depths are a gain or a loss on average."""
    mean = float(changes.mean())
    if abs(mean) < NOTABLE / 2:
        return "neither a gain nor a loss"
    return "a gain" if mean > 0 else "a loss"
