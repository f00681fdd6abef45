"""The result of a search for layer sizes: the choice, the fitted model, and all that was tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepnmf.plotting.fit_plots import ACCENT, FAINT, LABEL_SIZE, TITLE_SIZE, WIDE_RANGE
from deepnmf.selection.comparison import Candidate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADINGS = ("layer", "size", "error", "±", "excess", "±", "dead", "seconds", "")  # ± is a standard error
TICK_RATIO = 1.3  # of neighboring ticks, at least


@dataclass(frozen=True, repr=False)
class Selection:
    """What `select_layers` has chosen and tried.

    Parameters
    ----------
    best_sizes_ : tuple of int
        The sizes of the layers, from the data upwards.
    best_estimator_ : estimator
        A copy of the model with these sizes, fitted to all of X.
    table_ : list of Candidate
        All sizes that were tried, layer by layer. A layer above those of `best_sizes_` was tried and judged not to
        exist.
    interrupted_ : bool
        Whether the search was interrupted, and the choice is one among the sizes that had been tried.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnmf import NMF, select_layers
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3)) @ rng.random((3, 20))
    >>> selection = select_layers(NMF(), X, sizes=[2, 3, 4], random_state=0)
    >>> selection.best_estimator_.components_.shape
    (3, 20)
    """

    best_sizes_: tuple[int, ...]
    best_estimator_: Any
    table_: list[Candidate]
    interrupted_: bool = False

    def plot(self) -> "Figure":
        """Plot the error over the size, one panel for each layer that was tried.

        Bars are the standard errors of the differences from the smallest error. A vertical line marks the chosen size.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``figure.savefig``; it is not registered with pyplot.
        """
        from matplotlib.figure import Figure  # noqa: PLC0415 - so that importing deepnmf is fast

        layers = sorted({candidate.layer for candidate in self.table_})
        figure = Figure(figsize=(3.6 * len(layers), 3.0), layout="constrained")
        for panel, layer in zip(figure.subplots(1, len(layers), squeeze=False)[0], layers, strict=True):
            self._draw(panel, layer)
        return figure

    def _draw(self, panel: "Axes", layer: int) -> None:
        tried = [candidate for candidate in self.table_ if candidate.layer == layer]
        sizes, errors = [one.size for one in tried], [one.error for one in tried]
        bars = [one.excess_error for one in tried]
        panel.errorbar(sizes, errors, bars, color=ACCENT, ecolor=FAINT, marker=".", linewidth=1.2)
        chosen = self.best_sizes_[layer - 1] if layer <= len(self.best_sizes_) else None
        if chosen is not None:
            panel.axvline(chosen, color=ACCENT, linewidth=0.8, linestyle=":")
        panel.set_xscale("log")
        panel.set_xticks(spread_out(sizes), labels=map(str, spread_out(sizes)))
        panel.minorticks_off()
        if min(errors) > 0 and max(errors) > WIDE_RANGE * min(errors):
            panel.set_yscale("log")
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=LABEL_SIZE)
        panel.set_xlabel("size", fontsize=LABEL_SIZE)
        panel.set_ylabel(f"error at hidden {'entries of X' if layer == 1 else 'codes'}", fontsize=LABEL_SIZE)
        verdict = "no such layer" if chosen is None else f"{chosen} features"
        panel.set_title(f"layer {layer}: {verdict}", loc="left", fontsize=TITLE_SIZE)

    def __repr__(self) -> str:
        """Return the choice, and the table in columns."""
        rows = [HEADINGS, *(cells(candidate) for candidate in self.table_)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([f"Selection of the layer sizes {self.best_sizes_}", *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{heading}</th>' for heading in HEADINGS)
        body = "".join(f"<tr>{_html_cells(cells(candidate))}</tr>" for candidate in self.table_)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>Selected layer sizes: {self.best_sizes_}</p>{table}"


def spread_out(sizes: Sequence[int]) -> list[int]:
    """Sizes whose numbers have room side by side on a logarithmic axis.

    Examples
    --------
    >>> spread_out([1, 2, 10, 11, 12, 16])
    [1, 2, 10, 16]
    """
    kept: list[int] = []
    for size in sizes:
        if not kept or size >= TICK_RATIO * kept[-1]:
            kept.append(size)
    return kept


def cells(candidate: Candidate) -> tuple[str, ...]:
    """The figures of a candidate as text, in the order of `HEADINGS`, and what it is by the three rules."""
    marks = {
        "min": candidate.is_smallest_error,
        "usual": candidate.is_within_standard_error,
        "best": candidate.is_best,
    }
    return (
        str(candidate.layer),
        str(candidate.size),
        f"{candidate.error:.3g}",
        f"{candidate.standard_error:.2g}",
        f"{candidate.excess:.3g}",
        f"{candidate.excess_error:.2g}",
        f"{candidate.dead:.1f}",
        f"{candidate.seconds:.2f}",
        " ".join(mark for mark, holds in marks.items() if holds),
    )


def _html_cells(texts: Sequence[str]) -> str:
    return "".join(f"<td>{text}</td>" for text in texts)
