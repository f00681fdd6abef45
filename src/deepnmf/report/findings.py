"""What a fit has found, in three plain sentences: what layers explain, which features are strongest, what to try next.

Features are numbered from 1 here, as on pages, in files and in the terminal.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from deepnmf.arrays import Array
from deepnmf.plotting.hierarchy_plot import strengths
from deepnmf.plotting.sample_groups import Groups
from deepnmf.report.display import Curves, Display, Words
from deepnmf.report.evaluation import Evaluation

MOST_NAMED_FEATURES = 3
MOST_NAMED_INPUTS = 3
RELEVANCE = 0.6  # pyLDAvis's λ: an input is named by its weight, and by its weight beside that in other features
SEPARATING = 0.8  # the least area under the curve of a feature that is said to separate a class
WEAK, WEAK_TOP = 0.1, 0.5  # explained by the lowest layer, and by the top layer beside the lowest one


class Findings(NamedTuple):
    """Three sentences about a fitted model."""

    explained: str
    strongest: str
    advice: str


class Separation(NamedTuple):
    """The feature whose codes separate a class best: the share of pairs of samples that it orders correctly."""

    feature: int
    group: str
    auc: float


def findings(evaluation: Evaluation, display: Display) -> Findings:
    """Return the findings of a model that was evaluated on data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deepnmf import NMF
    >>> from deepnmf.report.display import Words
    >>> iris = load_iris()
    >>> model = NMF(2, random_state=0).fit(iris.data)
    >>> found = findings(Evaluation.of(model, iris.data, iris.target, iris.target_names), Words(iris.feature_names))
    >>> found.explained
    'The 2 features explain 97.7 % beyond the column means.'
    """
    return Findings(explained_text(evaluation), strongest_text(evaluation, display), advice_text(evaluation))


# ------------------------------------------------------------------------------------ what is explained


def explained_text(evaluation: Evaluation) -> str:
    """Say how much each layer explains, beyond what."""
    shares = [f"{100 * score.explained:.1f} %" for score in evaluation.scores]
    beyond = "beyond the column means" if evaluation.loss.is_squared_error else "of the deviance"
    first, *above = evaluation.scores
    if not above:
        return f"The {_features(first.size)} {'explains' if first.size == 1 else 'explain'} {shares[0]} {beyond}."
    others = [f"layer {one.layer} ({one.size}) {share}" for one, share in zip(above, shares[1:], strict=True)]
    return f"Layer 1 ({_features(first.size)}) explains {shares[0]} {beyond}, {_joined(others)}."


def _features(size: int) -> str:
    return "1 feature" if size == 1 else f"{size} features"


# --------------------------------------------------------------------------------- the strongest features


def strongest_text(evaluation: Evaluation, display: Display) -> str:
    """Name the strongest features of the top layer by their inputs, and the classes that features separate."""
    C, H = evaluation.model.features_[-1], evaluation.codes[-1]
    strength = strengths(C, H)
    total = float(strength.sum())
    if total == 0:
        return "No feature of the top layer is used."
    order = np.argsort(-strength, kind="stable")[:MOST_NAMED_FEATURES]
    order = order[strength[order] > 0]
    named = [f"{j + 1}{_in_brackets(input_names(C, strength, j, display))}" for j in order.tolist()]
    share = f": {100 * float(strength[order].sum()) / total:.0f} % of the reconstruction" if len(order) < len(C) else ""
    top = f" of layer {evaluation.depth}" if evaluation.depth > 1 else ""
    subject, verb = ("feature", "is") if len(order) == 1 else ("features", "are")
    text = f"The strongest {subject}{top} {verb} {_joined(named)}{share}."
    if evaluation.labels is None:
        return text
    return f"{text} {_separation_text(separations(H, evaluation.labels))}"


def input_names(features: Array, strength: Array, j: int, display: Display) -> list[str]:
    """Name the most relevant inputs of a feature, or the peak of its curve; pictures have no names."""
    if isinstance(display, Curves):
        return [f"peak at {display.axis[np.abs(features[j]).argmax()]:g}"]
    if not isinstance(display, Words):
        return []
    order = np.argsort(-relevance(features, strength)[j], kind="stable")[:MOST_NAMED_INPUTS]
    return [str(display.names[i]) for i in order if features[j, i]]


def relevance(features: Array, strength: Array) -> Array:
    """φ^λ (φ/p)^(1-λ), by which pyLDAvis orders words; φ are the shares of inputs in a feature, p those in all.

    Examples
    --------
    >>> import numpy as np
    >>> relevance(np.array([[0.6, 0.4, 0.0], [0.6, 0.0, 0.4]]), np.ones(2)).argmax(axis=1)
    array([1, 2])
    """
    sizes = np.abs(np.asarray(features, dtype=np.float64))
    totals = sizes.sum(axis=1, keepdims=True)
    shares = sizes / np.where(totals > 0, totals, 1)
    common = strength @ shares / (float(strength.sum()) or 1.0)
    return np.asarray(shares * np.where(common > 0, common, 1) ** (RELEVANCE - 1))


def separations(codes: Array, labels: Groups) -> list[Separation]:
    """Return the feature that separates each class from the others best, the clearest first.

    The area under the curve of a feature and a class is the share of pairs, of a sample of the class and another one,
    in which the sample of the class has the larger code; it follows from the ranks of the codes.
    """
    places = labels.places[labels.known]
    ranks = rankdata(codes[labels.known], axis=0)
    members = places[None] == np.arange(len(labels.names))[:, None]
    inside = members.sum(axis=1, keepdims=True)
    outside = members.shape[1] - inside
    pairs = np.where(inside * outside > 0, inside * outside, 1)
    areas = np.where(inside * outside > 0, (members @ ranks - inside * (inside + 1) / 2) / pairs, 0.0)
    best = areas.argmax(axis=1).tolist()
    found = [Separation(*one) for one in zip(best, labels.names, areas.max(axis=1).tolist(), strict=True)]
    return sorted(found, key=lambda one: -one.auc)


def _separation_text(found: Sequence[Separation]) -> str:
    clear = [one for one in found if one.auc >= SEPARATING]
    if not clear:
        return "No feature separates a class from the others by itself."
    shown = clear[:MOST_NAMED_FEATURES]
    pairs = _joined([f"feature {one.feature + 1} separates {_class_name(one.group)}" for one in shown])
    areas = ", ".join(f"{one.auc:.2f}" for one in shown)
    return f"F{pairs[1:]} from the other classes (AUC {areas})."


def _class_name(name: str) -> str:
    return f"class {name}" if name.lstrip("-").isdigit() else name


# ----------------------------------------------------------------------------------------- what to try next


def advice_text(evaluation: Evaluation) -> str:
    """Say what is dead or copied, and what to try next."""
    return f"{_waste_text(evaluation)} {_next_step(evaluation)}"


def _waste_text(evaluation: Evaluation) -> str:
    dead = sum(evaluation.model.n_dead_)
    copies = sum(one.copies for one in evaluation.hierarchy)
    if not dead and not copies:
        return "No feature is dead or a copy." if evaluation.hierarchy else "No feature is dead."
    found = [f"{dead} dead" if dead else "", f"{copies} copied from one feature below" if copies else ""]
    size = sum(score.size for score in evaluation.scores)
    return f"Of {_features(size)}, {_joined([text for text in found if text])}."


def _next_step(evaluation: Evaluation) -> str:
    """Return the advice for the first trouble that is found."""
    model, scores = evaluation.model, evaluation.scores
    if model.stop_reason_ == "max_iter":
        return f"The fit ended at max_iter={model.max_iter}: try max_iter={10 * model.max_iter}."
    poor = [one for one in evaluation.hierarchy if one.is_poor]
    if poor:
        useful = max(1, poor[0].size - poor[0].dead - poor[0].copies)
        return f"Try a smaller layer {poor[0].layer}, such as {useful} instead of {poor[0].size}."
    if scores[0].explained < WEAK:
        return "The data vary mostly in ways that these features do not have: try more features, or another scale."
    if len(scores) > 1 and scores[-1].explained < WEAK_TOP * scores[0].explained:
        size = scores[-1].size
        return f"Much is lost on the way to the top: try a larger top layer, such as {2 * size} instead of {size}."
    return "To compare other sizes, use select_layers or deepnmf choose."


# ------------------------------------------------------------------------------------------------ words


def _in_brackets(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _joined(parts: Sequence[str]) -> str:
    """Join with commas, and with "and" before the last."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
