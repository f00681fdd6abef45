from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.models.factorization import Factorization
from deepnmf.plotting.style import ACCENT, LABEL_SIZE, TITLE_SIZE, axes_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE_RANGE = 20  # a loss that falls by more is drawn in decades


def plot_loss(model: Factorization) -> "Figure":
    """Draw the objective after each sweep of the fine-tuning.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig``; pyplot does not hold it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import NMF, plot_loss
    >>> model = NMF(10, random_state=0, tol=1e-2).fit(load_digits().data)
    >>> (panel,) = plot_loss(model).axes
    >>> len(panel.lines[0].get_xdata()) == model.n_iter_
    True
    """
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - importing deepnmf stays light

    check_is_fitted(model)
    losses = np.asarray(model.loss_curve_)
    figure, panel = axes_of(6.0, 3.2)
    panel.plot(1 + np.arange(len(losses)), losses, color=ACCENT, linewidth=1.5, marker="." if len(losses) < 30 else "")
    if losses.size and losses.min() > 0 and losses.max() > WIDE_RANGE * losses.min():
        panel.set_yscale("log")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel("sweep", fontsize=LABEL_SIZE)
    panel.set_ylabel("loss", fontsize=LABEL_SIZE)
    title = f"{type(model).__name__}: {model.n_iter_} sweeps, ended by {model.stop_reason_}"
    panel.set_title(title, loc="left", fontsize=TITLE_SIZE)
    return figure
