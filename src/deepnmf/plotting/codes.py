from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.labels import UNKNOWN
from deepnmf.plotting.embedding import chosen_rows, plane
from deepnmf.plotting.groups import ClassNames, Groups, groups_of
from deepnmf.plotting.style import CATEGORIES, FAINT, LABEL_SIZE, MARKERS, TITLE_SIZE, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST_LEGEND = 24  # as many groups as have a colour and a marker of their own


def plot_codes(
    model: Factorization, X: Matrix, y: Any = None, *, layer: int = -1, class_names: ClassNames = None
) -> "Figure":
    """Draw a map of the samples by their codes at a layer, coloured by label.

    The map is t-SNE's with a fixed seed, of 600 samples at most; PCA's below a hundred samples or three features.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Labels, -1, None or NaN where unknown. Without labels, colours are clusters by k-means on the codes.
    layer : int, default=-1
        Index into `features_`; -1 is the top layer.
    class_names : sequence or mapping, optional
        ``class_names[label]`` is shown in place of a label.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig``; pyplot does not hold it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deepnmf import NMF, plot_codes
    >>> iris = load_iris()
    >>> model = NMF(2, random_state=0).fit(iris.data)
    >>> (panel,) = plot_codes(model, iris.data, iris.target, class_names=iris.target_names).axes
    >>> [text.get_text() for text in panel.get_legend().get_texts()]
    ['setosa', 'versicolor', 'virginica']
    """
    check_is_fitted(model)
    codes = model.encode(X, layer)
    groups = groups_of(y, codes, class_names)
    rows = chosen_rows(len(codes))
    method, points = plane(codes[rows])
    figure, panel = axes_of(6.0, 4.4)
    _scatter(panel, points, groups, groups.places[rows])
    number = layer % len(model.features_) + 1
    title = f"{type(model).__name__}, codes of layer {number}: {method} of {len(rows)} samples by {groups.kind}"
    panel.set_title(title, loc="left", fontsize=TITLE_SIZE)
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
    return figure


def _scatter(panel: "Axes", points: Any, groups: Groups, places: Any) -> None:
    """Unknown ones first, below the others."""
    x, y = points.T
    unknown = places == UNKNOWN
    if unknown.any():
        panel.scatter(x[unknown], y[unknown], s=9, color=FAINT, label="unknown")
    for place, name in enumerate(groups.names):
        color = CATEGORIES[place % len(CATEGORIES)]
        marker = MARKERS[place // len(CATEGORIES) % len(MARKERS)]
        members = places == place
        panel.scatter(x[members], y[members], s=14, color=color, marker=marker, linewidth=0, label=name)
    if len(groups.names) <= LARGEST_LEGEND:
        panel.legend(fontsize=LABEL_SIZE, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
