"""One look for every figure."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACCENT = "#0f6b8f"
FAINT = "0.8"
TITLE_SIZE, LABEL_SIZE = 9, 8
# Paul Tol's bright scheme, which colour-blind readers can tell apart; markers change when the colours begin again.
CATEGORIES = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377")
MARKERS = ("o", "s", "^", "D")


def axes_of(width: float, height: float) -> tuple["Figure", "Axes"]:
    """A figure of so many inches with one panel, without the lines that say nothing."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - importing deepnmf stays light

    figure = Figure(figsize=(width, height), layout="constrained")
    panel = figure.add_subplot()
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=LABEL_SIZE)
    return figure, panel
