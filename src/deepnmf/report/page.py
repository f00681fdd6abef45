"""The HTML report of one model."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from deepnmf.arrays import Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.hierarchy import HEADINGS, cells
from deepnmf.plotting.hierarchy_plot import ImageShape
from deepnmf.plotting.sample_groups import ClassNames
from deepnmf.report.display import Display
from deepnmf.report.evaluation import Evaluation, check_model, check_names, display_for_model
from deepnmf.report.html_file import check_destination, python_code, settings, versions, write_html
from deepnmf.report.page_data import pack_layers, pack_loss, pack_map, pack_profiles, pack_samples

SCRIPTS = ("elements.js", "drawing.js", "charts.js", "views.js", "report.js")
STOP_REASONS = {
    "decrease": "the loss no longer decreased",
    "optimality": "an optimum was reached",
    "max_iter": "max_iter was reached",
    "interrupted": "it was interrupted",
    "on_sweep": "on_sweep requested it",
}


def write_report(
    model: Factorization,
    path: str | os.PathLike[str],
    X: Matrix,
    y: Any = None,
    *,
    image_shape: ImageShape | None = None,
    feature_names: Sequence[str] | None = None,
    sample_names: Sequence[str] | None = None,
    class_names: ClassNames = None,
    axis: Any = None,
    groups: Any = None,
    title: str | None = None,
    command: str | None = None,
    seconds: float | None = None,
) -> None:
    """Write an HTML page about a fitted model, in one file that needs no network.

    The page links every feature to the features it is made of and to those it is part of, and samples to their codes
    and their reconstructions from every layer. It also shows the loss, a map of the codes, the mean codes of each
    class, the scores of each layer, the settings, and how to reproduce the page.

    Features are shown as pictures if `image_shape` is given, as curves if `axis` is given, otherwise as lists of words
    if inputs have names (`feature_names`, or the columns of the data frame of the fit), otherwise as curves.

    Parameters
    ----------
    model : fitted estimator of deepnmf
    path : str or path
        The file, which is written completely or not at all.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data of the page, in any form that `transform` accepts.
    y : array-like of shape (n_samples,), optional
        Labels; -1, None or NaN if unknown. Of several columns the last is used. Without labels, samples are grouped
        by `groups`, or by k-means on the codes of the top layer.
    image_shape : (int, int) or (int, int, 3), optional
        Height and width of a sample as a picture, stored row by row; with 3, each pixel has red, green and blue.
    feature_names, sample_names : sequences of str, optional
        One name per input feature, one name per sample.
    class_names : sequence or mapping, optional
        ``class_names[label]`` is shown instead of the label.
    axis : array-like of shape (n_features,), optional
        Positions of the input features on the x axis of curves, such as wavelengths.
    groups : array-like of shape (n_samples,), optional
        The recording of each row, by number or name. Models that pool the codes of neighboring rows do so within it;
        without labels, samples are grouped by recording if there are at most 100.
    title : str, optional
        The title; by default the name of the model's class.
    command : str, optional
        The command that reproduces the page; by default the page shows Python code.
    seconds : float, optional
        The duration of the fit, to be shown.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DeepNSNMF
    >>> from deepnmf.report import write_report
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DeepNSNMF((20, 10), random_state=0, tol=1e-2).fit(X[:90])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "digits.html"
    ...     write_report(model, page, X[:90], y[:90], image_shape=(8, 8))
    ...     page.stat().st_size < 500_000
    True
    """
    check_destination(path)
    display = display_for_model(check_model(model), image_shape, feature_names, axis)
    evaluation = Evaluation.of(model, X, y, class_names, groups)
    options = [
        ("image_shape", image_shape),
        ("feature_names", feature_names),
        ("sample_names", sample_names),
        ("class_names", class_names),
        ("axis", axis),
        ("groups", groups),
        ("title", title),
    ]
    write_evaluation(
        evaluation,
        path,
        display,
        sample_names=sample_names,
        grouped=groups is not None,
        title=type(model).__name__ if title is None else str(title),
        reproduce=command or python_code(model, os.fspath(path), y is not None, options),
        seconds=seconds,
    )


def write_evaluation(
    evaluation: Evaluation,
    path: str | os.PathLike[str],
    display: Display,
    *,
    sample_names: Sequence[str] | None,
    grouped: bool,
    title: str,
    reproduce: str,
    seconds: float | None,
) -> None:
    """Write the page of a model that has been evaluated; see `write_report`."""
    model, n_samples = evaluation.model, evaluation.rows.n_samples
    names = None if sample_names is None else check_names(sample_names, n_samples, "sample_names", "sample")
    samples = pack_samples(evaluation, display, names)
    data = {
        "signed": any(bool(np.any(Z < 0)) for Z in model.factors_),
        "layers": pack_layers(model, evaluation.codes, display),
        "samples": samples,
        "groups": {"kind": evaluation.groups.kind, "names": evaluation.groups.names},
        "map": pack_map(evaluation, samples["rows"]),
        "profile": pack_profiles(evaluation),
        "loss": pack_loss(model.loss_curve_),
    }
    write_html(
        path,
        "report.html",
        SCRIPTS,
        data,
        title=title,
        name=type(model).__name__,
        evaluation=evaluation,
        headings=HEADINGS,
        cells=cells,
        sizes=[len(C) for C in model.features_],
        ending=STOP_REASONS.get(model.stop_reason_, model.stop_reason_),
        seconds=seconds,
        settings=settings(model),
        versions=versions(),
        pools=_pools(model),
        grouped=grouped,
        random=model.get_params()["random_state"] is None,
        reproduce=reproduce,
    )


def _pools(model: Factorization) -> bool:
    """Whether codes depend on neighboring rows."""
    return bool(np.max(np.asarray(getattr(model, "pool_size", 0)), initial=0) > 1)
