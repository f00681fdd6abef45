"""The HTML report of one model."""

import base64
import io
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deepnmf.arrays import Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.hierarchy import HEADINGS, STOP_REASONS, cells
from deepnmf.persistence import check_destination
from deepnmf.plotting.image_shapes import ImageShape, is_positive_integer
from deepnmf.plotting.sample_groups import ClassNames
from deepnmf.report.display_choice import ShownAs, check_names
from deepnmf.report.document import Report
from deepnmf.report.evaluation import Evaluation, check_model
from deepnmf.report.figures import pack_loss, pack_profiles
from deepnmf.report.findings import findings, layer_noun
from deepnmf.report.html_file import python_code, rendered, settings, versions
from deepnmf.report.layer_data import pack_layers
from deepnmf.report.left_out import left_out
from deepnmf.report.sample_data import pack_samples
from deepnmf.report.sample_map import pack_map
from deepnmf.report.tree_table import LEAST_SHARE, MOST_PARTS, tree_tables

if TYPE_CHECKING:
    from deepnmf.selection import Selection

SCRIPTS = ("elements.js", "drawing.js", "state.js", "tree.js", "map.js", "charts.js", "views.js", "report.js")


def write_report(
    model: Factorization,
    path: str | os.PathLike[str] | None,
    X: Matrix,
    y: Any = None,
    *,
    image_shape: ImageShape | None = None,
    feature_names: Sequence[str] | None = None,
    sample_names: Sequence[str] | None = None,
    class_names: ClassNames = None,
    axis: Any = None,
    axis_label: str | None = None,
    sample_shape: tuple[int, int] | None = None,
    texts: Sequence[str] | None = None,
    groups: Any = None,
    selection: "Selection | None" = None,
    title: str | None = None,
    command: str | None = None,
    seconds: float | None = None,
) -> Report:
    """Create an HTML page about a fitted model, in one file that needs no network.

    The first screen contains findings, a drawing of the hierarchy (wholes above, parts below, line widths by share) and
    a map of the samples, colored by label, by any feature or by a column of the data. Below, the page shows each
    feature with its parts and the samples in which it is strongest, samples with their codes and reconstructions, the
    mean codes of each class, the loss, the scores of each layer, the settings, and how to reproduce the page.

    Features are shown as pictures if `image_shape` is given, as curves if `axis` is given, otherwise by the names of
    the inputs (`feature_names`, or the columns of the data frame of the fit): the deviations of up to 60 columns of a
    table from their means, or lists of words. Without names they are curves.

    Parameters
    ----------
    model : fitted estimator of deepnmf
    path : str or path, or None
        The file, which is written completely or not at all; None only returns the page.
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
    axis_label : str, optional
        The quantity on the x axis and its unit, such as ``"wavelength (nm)"``.
    sample_shape : (int, int), optional
        Height and width of a scene whose pixels are the samples, row by row: codes are then shown as pictures of it
        (abundance maps).
    texts : sequence of str, optional
        The text of each sample, in which the words of features are marked.
    groups : array-like of shape (n_samples,), optional
        The recording of each row, by number or name. Models that pool the codes of neighboring rows do so within it;
        without labels, samples are grouped by recording if there are at most 100.
    selection : Selection, optional
        The result of `select_layers`, to be plotted.
    title : str, optional
        The title; by default the name of the model's class.
    command : str, optional
        The command that reproduces the page; by default the page shows Python code.
    seconds : float, optional
        The duration of the fit; by default as it was measured, if the model was fitted in this process.

    Returns
    -------
    Report
        The page, which is displayed in a notebook.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DeepNSNMF
    >>> from deepnmf.report import write_report
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DeepNSNMF((20, 10), random_state=0, tol=1e-2).fit(X[:90])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "digits.html"
    ...     page = write_report(model, path, X[:90], y[:90], image_shape=(8, 8))
    ...     path.stat().st_size < 500_000
    True
    """
    if path is not None:
        check_destination(path)
    shown_as = ShownAs(image_shape, feature_names, axis, axis_label)
    shown_as.check(check_model(model))
    evaluation = Evaluation.of(model, X, y, class_names, groups)
    options = [
        ("image_shape", image_shape),
        ("feature_names", feature_names),
        ("sample_names", sample_names),
        ("class_names", class_names),
        ("axis", axis),
        ("axis_label", axis_label),
        ("sample_shape", sample_shape),
        ("texts", texts),
        ("groups", groups),
        ("title", title),
    ]
    return write_evaluation(
        evaluation,
        path,
        shown_as,
        sample_names=sample_names,
        sample_shape=sample_shape,
        texts=texts,
        grouped=groups is not None,
        selection=selection,
        title=type(model).__name__ if title is None else str(title),
        reproduce=command or python_code(model, None if path is None else os.fspath(path), y is not None, options),
        seconds=seconds,
    )


def write_evaluation(
    evaluation: Evaluation,
    path: str | os.PathLike[str] | None,
    shown_as: ShownAs,
    *,
    sample_names: Sequence[str] | None,
    grouped: bool,
    title: str,
    reproduce: str,
    seconds: float | None,
    sample_shape: tuple[int, int] | None = None,
    texts: Sequence[str] | None = None,
    selection: "Selection | None" = None,
) -> Report:
    """Create the page of an evaluated model; see `write_report`."""
    model, n_samples, depth = evaluation.model, evaluation.rows.n_samples, evaluation.depth
    names = None if sample_names is None else check_names(sample_names, n_samples, "sample_names", "sample")
    texts = None if texts is None else check_names(texts, n_samples, "texts", "sample")
    _check_sample_shape(sample_shape, n_samples)
    display = shown_as.display(evaluation)
    layers = pack_layers(evaluation, display, sample_shape)
    samples = pack_samples(evaluation, display, layers, texts)
    originals, column_names = np.asarray(samples["originals"], dtype=int), shown_as.column_names(model)
    data = {
        "signed": any(bool(np.any(Z < 0)) for Z in model.factors_),
        "nouns": [layer_noun(layer, depth) for layer in range(depth)],
        "drawn": {"least_share": LEAST_SHARE, "most_parts": MOST_PARTS},
        "layers": layers,
        "samples": samples,
        "groups": {"kind": evaluation.groups.kind, "names": evaluation.groups.names},
        "map": pack_map(evaluation, display, layers, originals, column_names, names),
        "profile": pack_profiles(evaluation),
        "loss": pack_loss(model.loss_curve_),
    }
    page = rendered(
        "report.html",
        SCRIPTS,
        data,
        title=title,
        name=type(model).__name__,
        evaluation=evaluation,
        findings=findings(evaluation, display),
        tables=tree_tables(evaluation, layers),
        left_out=left_out(data),
        headings=HEADINGS,
        cells=cells,
        sizes=[len(C) for C in model.features_],
        ending=STOP_REASONS.get(model.stop_reason_, model.stop_reason_),
        seconds=model._seconds if seconds is None else seconds,
        selection=None if selection is None else selection_svg(selection),
        settings=settings(model),
        versions=versions(),
        pools=_pools(model),
        grouped=grouped,
        random=model.get_params()["random_state"] is None,
        reproduce=reproduce,
    )
    if path is not None:
        page.save(path)
    return page


def _pools(model: Factorization) -> bool:
    """Whether codes depend on neighboring rows."""
    return bool(np.max(np.asarray(getattr(model, "pool_size", 0)), initial=0) > 1)


def _check_sample_shape(shape: Any, n_samples: int) -> None:
    """Raise an error unless the shape is None or has one pixel per sample."""
    if shape is None:
        return
    valid = isinstance(shape, Sequence) and len(shape) == 2 and all(map(is_positive_integer, shape))
    if not valid or math.prod(shape) != n_samples:
        raise ValueError(
            f"sample_shape is {shape!r}: expected (height, width) with a product of {n_samples}, the number of samples."
        )


def selection_svg(selection: "Selection") -> str:
    """Return the plot of a selection as a data URL."""
    file = io.BytesIO()
    selection.plot().savefig(file, format="svg", transparent=True)
    return "data:image/svg+xml;base64," + base64.b64encode(file.getvalue()).decode("ascii")
