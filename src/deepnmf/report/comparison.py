"""The HTML page that compares several models."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepnmf.arrays import Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.hierarchy import HEADINGS, cells
from deepnmf.plotting.hierarchy_plot import ImageShape
from deepnmf.plotting.sample_groups import ClassNames
from deepnmf.report.display import Display
from deepnmf.report.evaluation import Evaluation, check_model, display_for_model
from deepnmf.report.html_file import check_destination, settings, versions, write_html
from deepnmf.report.page_data import pack_top_features

SCRIPTS = ("elements.js", "drawing.js", "comparison.js")
MOST_COMPARED_FEATURES = 60  # per model


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
    path: str | os.PathLike[str],
    X: Matrix,
    y: Any = None,
    *,
    image_shape: ImageShape | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: ClassNames = None,
    axis: Any = None,
    groups: Any = None,
    title: str = "Models compared",
    command: str | None = None,
    seconds: Mapping[str, float] | None = None,
) -> None:
    """Write a page that compares models of the same data: a table of scores, and the top features of each model.

    Parameters
    ----------
    models : mapping of names to fitted estimators of deepnmf
    path : str or path
        The file, which is written completely or not at all.
    X, y, image_shape, feature_names, class_names, axis, groups, title, command : see `write_report`
    seconds : mapping of the same names to numbers, optional
        The duration of each fit.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from deepnmf import NMF, SemiNMF
    >>> from deepnmf.report import write_comparison
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"parts": NMF(2).fit(X), "centroids": SemiNMF(3).fit(X)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "iris.html"
    ...     write_comparison(models, page, X, y)
    ...     "centroids" in page.read_text(encoding="utf-8")
    True
    """
    check_destination(path)
    if not models:
        raise ValueError("models is empty: expected at least one fitted model by name.")
    durations = dict(seconds or {})
    for name in durations.keys() - models.keys():
        raise ValueError(f"seconds has the name {name!r}, which models does not have: expected names of models.")
    first, *_ = map(check_model, models.values())
    display = display_for_model(first, image_shape, feature_names, axis)
    compared = [
        ComparedModel(str(name), Evaluation.of(model, X, y, class_names, groups), durations.get(name))
        for name, model in models.items()
    ]
    write_compared_models(compared, path, display, title=str(title), command=command)


def write_compared_models(
    compared: Sequence[ComparedModel],
    path: str | os.PathLike[str],
    display: Display,
    *,
    title: str,
    command: str | None,
) -> None:
    """Write the page of models that have been evaluated; see `write_comparison`."""
    data = [
        {
            "name": model.name,
            "features": pack_top_features(
                model.evaluation.model, model.evaluation.codes[-1], display, MOST_COMPARED_FEATURES
            ),
        }
        for model in compared
    ]
    write_html(
        path,
        "comparison.html",
        SCRIPTS,
        {"models": data},
        title=title,
        compared=compared,
        deep=[model for model in compared if model.evaluation.hierarchy],
        headings=HEADINGS,
        cells=cells,
        labeled=compared[0].evaluation.labels is not None,
        losses=list(dict.fromkeys(model.evaluation.loss for model in compared)),
        timed=any(model.seconds is not None for model in compared),
        most=MOST_COMPARED_FEATURES,
        versions=versions(),
        reproduce=command,
    )
