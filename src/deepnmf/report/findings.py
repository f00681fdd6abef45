"""Findings of a fit in plain words: what layers explain, which features mark classes, and what to try next.

Features are numbered from 1 here, as on pages, in files and in the terminal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from deepnmf.arrays import Array
from deepnmf.models.factorization import Factorization
from deepnmf.models.hierarchy import LARGE_SHARE
from deepnmf.plotting.sample_groups import Groups
from deepnmf.report.display import Display
from deepnmf.report.evaluation import Evaluation
from deepnmf.report.layer_data import LayerFeatures, ranked_layers

MARKED = 0.9  # above this area under the ROC curve, a feature is enough for a class
LEAST_AREA = 0.75  # from this area on, a feature marks a class
MOST_NAMED = 3
FEW_CLASSES = 12
WEAK, WEAK_TOP = 0.1, 0.5  # share explained by the lowest layer; by the top layer, relative to the lowest


class Piece(NamedTuple):
    """A piece of a sentence: text, the address of its evidence in the page if it is a link, or code."""

    text: str
    link: str | None = None
    is_code: bool = False


@dataclass(frozen=True)
class Finding:
    """One finding: a heading of a few words, and its sentences in pieces."""

    heading: str
    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        """The sentences without links."""
        return "".join(piece.text for piece in self.pieces)


class Findings(NamedTuple):
    """Three findings about a fitted model."""

    explained: Finding
    strongest: Finding
    advice: Finding


def findings(evaluation: Evaluation, display: Display) -> Findings:
    """Return the findings of a model that was evaluated on data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deepnmf import NMF
    >>> from deepnmf.report.display_choice import ShownAs
    >>> iris = load_iris()
    >>> model = NMF(2, random_state=0).fit(iris.data)
    >>> evaluation = Evaluation.of(model, iris.data, iris.target, iris.target_names)
    >>> found = findings(evaluation, ShownAs(feature_names=iris.feature_names).display(evaluation))
    >>> str(found.explained)
    '2 features explain 98 % of the variation in the data.'
    """
    top = ranked_layers(evaluation)[-1]
    titles = display.titles(np.asarray(evaluation.model.features_[-1], dtype=np.float64))
    features = _Named(evaluation.depth, titles)
    return Findings(
        Finding("How much is explained", tuple(_explained(evaluation))),
        Finding("What stands out", tuple(_outstanding(evaluation, top, features))),
        Finding("What to try next", tuple(_advice(evaluation))),
    )


def layer_noun(layer: int, depth: int) -> str:
    """Return what a feature of a layer is called: features of the top layer are wholes, those of the lowest parts."""
    if depth == 1:
        return "feature"
    return "whole" if layer == depth - 1 else "part" if layer == 0 else f"layer-{layer + 1} feature"


def counted(count: int, noun: str) -> str:
    """Return a number and a noun, in the plural where needed."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    """Return a share in percent, without insignificant digits."""
    return f"{100 * share:.0f} %" if 0.1 <= abs(share) < 0.99 else f"{100 * share:.1f} %"


class _Named(NamedTuple):
    """The features of the top layer, with their titles."""

    depth: int
    titles: list[str]

    def pieces(self, feature: int, capital: bool = False) -> Iterator[Piece]:
        noun = layer_noun(self.depth - 1, self.depth)
        name = f"{noun.capitalize() if capital else noun} {feature + 1}"
        yield Piece(name, f"#/{self.depth}.{feature + 1}")
        if self.titles[feature]:
            yield Piece(f" ({self.titles[feature]})")


# --------------------------------------------------------------------------------- how much is explained


def _explained(evaluation: Evaluation) -> Iterator[Piece]:
    depth = evaluation.depth
    what = "variation in the data" if evaluation.loss.is_squared_error else "deviance"
    *lower, top = (score.explained for score in evaluation.scores)
    noun, size = layer_noun(depth - 1, depth), evaluation.scores[-1].size
    yield Piece(f"{counted(size, noun)} explain{'s' if size == 1 else ''} ")
    yield Piece(percent(top), "#training")
    yield Piece(f" of the {what}")
    for layer in reversed(range(len(lower))):
        yield Piece(
            f"{',' if layer else ', and'} the {counted(evaluation.scores[layer].size, layer_noun(layer, depth))} "
        )
        yield Piece("below " if layer == depth - 2 else "")
        yield Piece(percent(lower[layer]), "#training")
    yield Piece(".")


# ------------------------------------------------------------------------------------- what stands out


def class_areas(codes: Array, groups: Groups) -> Array:
    """Return the area under the ROC curve of each feature (rows) for each class (columns) against the others.

    It is the probability that a sample of the class has a larger code than a sample of another class.
    """
    known = groups.known
    ranks = rankdata(codes[known], axis=0)
    members = np.equal.outer(groups.places[known], np.arange(len(groups.names))).astype(np.float64)
    n_in = members.sum(axis=0)
    n_out = len(known) - n_in
    above = ranks.T @ members - n_in * (n_in + 1) / 2
    return np.divide(above, n_in * n_out, out=np.full(above.shape, 0.5), where=n_in * n_out > 0)


def _outstanding(evaluation: Evaluation, top: LayerFeatures, features: _Named) -> Iterator[Piece]:
    if evaluation.labels is None or len(evaluation.labels.names) < 2:
        yield from _strongest(top, features)
        return
    areas = class_areas(evaluation.codes[-1], evaluation.labels)
    yield from _marked_classes(areas, evaluation.labels.names, features)
    nmi = evaluation.scores[-1].nmi
    yield Piece(" Clusters of the codes agree with the classes at NMI ")
    yield Piece(f"{nmi:.2f}" if nmi is not None else "–", "#training")
    yield Piece(".")


def _marked_classes(areas: Array, names: Sequence[str], features: _Named) -> Iterator[Piece]:
    """Name the classes that single features mark best, and one that no feature marks."""
    best, winners = areas.max(axis=0), areas.argmax(axis=0)
    order = np.argsort(-best, kind="stable")
    shown = [label for label in order[:MOST_NAMED].tolist() if best[label] >= LEAST_AREA]
    for place, label in enumerate(shown):
        yield Piece("" if place == 0 else " and " if place == len(shown) - 1 else ", ")
        yield from features.pieces(int(winners[label]), capital=place == 0)
        yield Piece(f" marks {_class_name(names[label])} (AUC {best[label]:.2f})")
    if not shown:
        yield Piece("No feature marks a class by itself")
    yield Piece(".")
    if len(names) > FEW_CLASSES:
        n_marked = int(np.count_nonzero(best > MARKED))
        yield Piece(f" One feature is enough for {n_marked} of {len(names)} classes (AUC above {MARKED}).")
    elif shown and best.min() < LEAST_AREA:
        yield Piece(f" No feature marks {_class_name(names[int(best.argmin())])} (at best {best.min():.2f}).")


def _class_name(name: str) -> str:
    return f"class {name}" if name.lstrip("-").isdigit() else name


def _strongest(top: LayerFeatures, features: _Named) -> Iterator[Piece]:
    """Name the strongest features and their shares."""
    shown = top.shown[:MOST_NAMED]
    for place, feature in enumerate(shown):
        yield Piece("" if place == 0 else " and " if place == len(shown) - 1 else ", ")
        yield from features.pieces(int(feature), capital=place == 0)
    yield Piece(
        f" {'carries' if len(shown) == 1 else 'carry'} {percent(float(top.shares[shown].sum()))} of the weight."
    )


# ------------------------------------------------------------------------------------ what to try next


def _advice(evaluation: Evaluation) -> Iterator[Piece]:
    sizes, dead = [score.size for score in evaluation.scores], evaluation.model.n_dead_
    copies = [summary.copies for summary in evaluation.hierarchy] or [0] * len(sizes)
    yield from _unused(dead, copies, sizes)
    text, code = _next_step(evaluation, sizes, [d + c for d, c in zip(dead, copies, strict=True)])
    yield Piece(f" {text}: ")
    yield Piece(code, None, True)
    yield Piece(".")


def _next_step(evaluation: Evaluation, sizes: Sequence[int], wasted: Sequence[int]) -> tuple[str, str]:
    """Return the advice for the first problem found, and the code that applies it."""
    model, shares = evaluation.model, [score.explained for score in evaluation.scores]
    if model.stop_reason_ == "max_iter":
        return "The fit did not converge; let it run longer", f"max_iter={10 * model.max_iter}"
    smaller = tuple(size - count for size, count in zip(sizes, wasted, strict=True))
    if any(count > LARGE_SHARE * size for count, size in zip(wasted, sizes, strict=True)):
        if len(sizes) > 1 and smaller[-1] < 2:
            return "One layer may be enough", f"deepnmf.NMF({sizes[-1]})"
        return "Try smaller layers", _sizes_text(model, smaller)
    if shares[0] < WEAK:
        larger = tuple(2 * size for size in sizes)
        return "Most of the variation is unexplained: try more features, or another scale of the data", _sizes_text(
            model, larger
        )
    if len(shares) > 1 and shares[-1] < WEAK_TOP * shares[0]:
        return "The top layer explains much less than the layers below: try a larger top layer", _sizes_text(
            model, (*sizes[:-1], 2 * sizes[-1])
        )
    return "To compare other sizes", "deepnmf.select_layers(model, X)"


def _sizes_text(model: Factorization, sizes: tuple[int, ...]) -> str:
    name = "layer_sizes" if "layer_sizes" in model.get_params(deep=False) else "n_components"
    return f"{name}={sizes if len(sizes) > 1 else sizes[0]}"


def _unused(dead: Sequence[int], copies: Sequence[int], sizes: Sequence[int]) -> Iterator[Piece]:
    depth = len(sizes)
    found = [
        f"{count} of {counted(sizes[layer], layer_noun(layer, depth))} {'is' if count == 1 else 'are'} {what}"
        for layer in reversed(range(depth))
        for count, what in ((dead[layer], "never used"), (copies[layer], "almost the same as one feature below"))
        if count
    ]
    if not found:
        yield Piece("Every feature is used" + (", and none is a copy of one below." if depth > 1 else "."))
        return
    yield Piece(f"{'; '.join(found)}.", "#hierarchy-table")
