"""The HTML page that compares several models."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.hierarchy import HEADINGS, cells
from deepnmf.persistence import check_destination
from deepnmf.plotting.image_shapes import ImageShape
from deepnmf.plotting.sample_groups import ClassNames
from deepnmf.report.display import Display
from deepnmf.report.display_choice import ShownAs
from deepnmf.report.document import Report
from deepnmf.report.evaluation import Evaluation, check_model
from deepnmf.report.findings import layer_noun, percent
from deepnmf.report.html_file import rendered, settings, versions
from deepnmf.report.layer_data import LayerFeatures, pack_features
from deepnmf.report.numbers import Pack, all_rounded, largest_magnitudes
from deepnmf.report.sample_data import balanced_rows

SCRIPTS = ("elements.js", "drawing.js", "comparison.js")
MOST_COMPARED_FEATURES = 32  # per layer
MOST_COMPARED_SAMPLES = 12
FEATURE_BUDGET = 300_000  # values of the features of one model
SAMPLE_BUDGET = 300_000  # values of the samples and of the reconstructions by one model


@dataclass(frozen=True)
class ComparedModel:
    """One model of a comparison."""

    name: str
    evaluation: Evaluation
    seconds: float | None

    @property
    def kind(self) -> str:
        """The name of the class."""
        return type(self.evaluation.model).__name__

    @property
    def settings(self) -> dict[str, str]:
        """The parameters of the model."""
        return settings(self.evaluation.model)


def write_comparison(
    models: Mapping[str, Factorization],
    path: str | os.PathLike[str] | None,
    X: Matrix,
    y: Any = None,
    *,
    image_shape: ImageShape | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: ClassNames = None,
    axis: Any = None,
    axis_label: str | None = None,
    groups: Any = None,
    title: str = "Models compared",
    command: str | None = None,
    seconds: Mapping[str, float] | None = None,
) -> Report:
    """Create a page that compares models of the same data: their scores, the features of every layer, and samples.

    Parameters
    ----------
    models : mapping of names to fitted estimators of deepnmf
    path : str or path, or None
        The file, which is written completely or not at all; None only returns the page.
    X, y, image_shape, feature_names, class_names, axis, axis_label, groups, title, command : see `write_report`
    seconds : mapping of the same names to numbers, optional
        The duration of each fit.

    Returns
    -------
    Report
        The page, which is displayed in a notebook.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from deepnmf import NMF, SemiNMF
    >>> from deepnmf.report import write_comparison
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"parts": NMF(2).fit(X), "centroids": SemiNMF(3).fit(X)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "iris.html"
    ...     page = write_comparison(models, path, X, y)
    ...     "centroids" in path.read_text(encoding="utf-8")
    True
    """
    if path is not None:
        check_destination(path)
    if not models:
        raise ValueError("models is empty: expected at least one fitted model by name.")
    durations = dict(seconds or {})
    for name in durations.keys() - models.keys():
        raise ValueError(f"seconds has the name {name!r}, which is not in models: expected names of models.")
    shown_as = ShownAs(image_shape, feature_names, axis, axis_label)
    for model in models.values():
        shown_as.check(check_model(model))
    compared = [
        ComparedModel(str(name), Evaluation.of(model, X, y, class_names, groups), durations.get(name))
        for name, model in models.items()
    ]
    return write_compared_models(compared, path, shown_as, title=str(title), command=command)


def write_compared_models(
    compared: Sequence[ComparedModel],
    path: str | os.PathLike[str] | None,
    shown_as: ShownAs,
    *,
    title: str,
    command: str | None,
) -> Report:
    """Create the page of evaluated models; see `write_comparison`."""
    first = compared[0].evaluation
    display = shown_as.display(first)
    data = {
        "models": [{"name": one.name, "layers": _layers(one.evaluation, display)} for one in compared],
        "samples": _samples(compared, display),
    }
    page = rendered(
        "comparison.html",
        SCRIPTS,
        data,
        title=title,
        compared=compared,
        best=_best(compared),
        deep=[model for model in compared if model.evaluation.hierarchy],
        headings=HEADINGS,
        cells=cells,
        labeled=first.labels is not None,
        losses=list(dict.fromkeys(model.evaluation.loss for model in compared)),
        timed=any(model.seconds is not None for model in compared),
        noun=layer_noun,
        most=MOST_COMPARED_FEATURES,
        verdict=_verdict(compared),
        versions=versions(),
        reproduce=command,
    )
    if path is not None:
        page.save(path)
    return page


def _layers(evaluation: Evaluation, display: Display) -> list[Pack]:
    """Pack the strongest features of every layer, the lowest layer first."""
    model = evaluation.model
    ranked = [
        LayerFeatures.of(C, H, MOST_COMPARED_FEATURES) for C, H in zip(model.features_, evaluation.codes, strict=True)
    ]
    display = display.within_budget(sum(len(layer.shown) for layer in ranked), FEATURE_BUDGET)
    signed = any(bool(np.any(C < 0)) for C in model.features_)
    return [pack_features(model, layer, one, display, signed) for layer, one in enumerate(ranked)]


def _samples(compared: Sequence[ComparedModel], display: Display) -> Pack:
    """Pack some samples, and their reconstructions from the top layer of every model."""
    first = compared[0].evaluation
    rows = balanced_rows(first.groups, min(MOST_COMPARED_SAMPLES, first.rows.n_samples))
    X = first.rows[rows]
    display = display.within_budget(len(rows), SAMPLE_BUDGET)
    rebuilt = [np.asarray(one.evaluation.model.decode(one.evaluation.codes[-1][rows]), np.float64) for one in compared]
    signed, scales = bool(min(np.nanmin(vectors) for vectors in (X, *rebuilt)) < 0), largest_magnitudes(X)
    errors = [one.evaluation.divergences.unexplained(X, Y) for one, Y in zip(compared, rebuilt, strict=True)]
    return {
        "rows": rows.tolist(),
        "groups": [first.groups.names[place] if place >= 0 else "unknown" for place in first.groups.places[rows]],
        "errors": [all_rounded(error, 3) for error in errors],
        "error_name": "error" if first.loss.is_squared_error else "unexplained deviance",
        "original": display.pack_samples(X, scales, signed),
        "rebuilt": [display.pack_samples(Y, scales, signed) for Y in rebuilt],
    }


# -------------------------------------------------------------------------------------------- the best


def _best(compared: Sequence[ComparedModel]) -> dict[str, float | None]:
    """Return the best value of each score over all layers of all models; errors only if all have the same loss."""
    scores = [score for model in compared for score in model.evaluation.scores]
    same_loss = len({score.loss for score in scores}) == 1
    return {
        "explained": max(score.explained for score in scores) if same_loss else None,
        "error": min(score.error for score in scores) if same_loss else None,
        "accuracy": max((score.accuracy for score in scores if score.accuracy is not None), default=None),
        "nmi": max((score.nmi for score in scores if score.nmi is not None), default=None),
    }


def _verdict(compared: Sequence[ComparedModel]) -> str:
    """Return a sentence about the top layers: which explains most, and which agrees best with the labels."""
    best = max(compared, key=lambda model: model.evaluation.scores[-1].explained)
    text = f"The top layer of {best.name} explains most: {percent(best.evaluation.scores[-1].explained)}."
    scored = [model for model in compared if model.evaluation.scores[-1].nmi is not None]
    if not scored:
        return text
    nearest = max(scored, key=lambda model: model.evaluation.scores[-1].nmi or 0.0)
    agreement = nearest.evaluation.scores[-1].nmi or 0.0
    return f"{text} Clusters of the codes of {nearest.name} agree best with the classes: NMI {agreement:.2f}."
