"""The result of a search for layer sizes: the choice, the fitted model, and the table of candidates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from deepnmf.plotting.fit_plots import ACCENT, FAINT, LABEL_SIZE, TITLE_SIZE, WIDE_RANGE
from deepnmf.selection.comparison import Candidate
from deepnmf.selection.consensus import Consensus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = ("splits", "error", "excess", "±", "stability", "silhouette", "explained", "dead", "copies", "seconds")
HEADINGS = ("layer", "size", *FIGURES, "")
TICK_RATIO = 1.3  # smallest ratio of neighboring ticks
PANELS_A_ROW = 2


@dataclass(frozen=True, repr=False)
class Selection:
    """The result of `select_layers`.

    Parameters
    ----------
    best_sizes_ : tuple of int
        The sizes of the layers, from the data upwards.
    best_estimator_ : estimator
        A copy of the model with these sizes, fitted to all of X unless ``refit=False``.
    table_ : list of Candidate
        All candidates, layer by layer. If it has a layer above those of `best_sizes_`, the search decided that this
        layer does not exist.
    ended_by_ : {"interrupt", "max_passes"} or None
        What ended the search early. The choice is then made among the sizes tried until then.
    consensus_ : Consensus or None
        Features of the first layer on which ten random starts agree, with ``consensus=True``.

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
    ended_by_: Literal["interrupt", "max_passes"] | None = None
    consensus_: Consensus | None = None

    def plot(self) -> "Figure":
        """Plot error and stability against the size, one panel for each layer in the table.

        Bars are the standard errors of the differences from the smallest error. The gray line is the stability, on the
        axis to the right. A vertical line marks the chosen size. For an intermediate layer, a horizontal line marks
        the error of the layers above without it.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``figure.savefig``; it is not registered with pyplot.

        Examples
        --------
        >>> import numpy as np
        >>> from deepnmf import NMF, select_layers
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((100, 3)) @ rng.random((3, 20))
        >>> figure = select_layers(NMF(), X, sizes=[2, 3, 4], random_state=0).plot()
        >>> figure.axes[0].get_xlabel()
        'size'
        """
        from matplotlib.figure import Figure  # noqa: PLC0415 - so that importing deepnmf is fast

        groups = self._groups()
        n_columns = min(len(groups), PANELS_A_ROW)
        n_rows = math.ceil(len(groups) / n_columns)
        figure = Figure(figsize=(4.2 * n_columns, 3.0 * n_rows), layout="constrained")
        panels = [figure.add_subplot(n_rows, n_columns, place) for place in range(1, len(groups) + 1)]
        for panel, rows in zip(panels, groups, strict=True):
            self._draw(panel, rows)
        return figure

    def _groups(self) -> list[list[Candidate]]:
        """Group the candidates by layer; an intermediate layer is grouped with its best layers above."""
        keys = {}
        for row in sorted(self.table_, key=lambda row: -row.error):
            keys[row.layer, row.above != ()] = row.layer, row.above
        shown = [row for row in self.table_ if (row.layer, row.above) in keys.values()]
        order = dict.fromkeys((row.layer, row.above) for row in shown)
        return [[row for row in shown if (row.layer, row.above) == key] for key in order]

    def _chosen(self, rows: Sequence[Candidate]) -> int | None:
        """Return the chosen size of a layer; None if the layer does not exist."""
        place, above = rows[0].layer - 1, rows[0].above
        chosen = self.best_sizes_[place : place + 1 + len(above)]
        return next((row.size for row in rows if chosen == (row.size, *above)), None)

    def _without(self, rows: Sequence[Candidate]) -> Candidate | None:
        """Return the candidate that consists only of the layers above these candidates; None without such layers."""
        same = [one for one in self.table_ if one.layer >= rows[0].layer and (one.size, *one.above) == rows[0].above]
        return min(same, key=lambda one: one.layer, default=None)

    def _draw(self, panel: "Axes", rows: Sequence[Candidate]) -> None:
        sizes, errors = [one.size for one in rows], [one.error for one in rows]
        panel.errorbar(sizes, errors, [one.excess_error for one in rows], color=ACCENT, marker=".", linewidth=1.2)
        chosen = self._chosen(rows)
        if chosen is not None:
            panel.axvline(chosen, color=ACCENT, linewidth=0.8, linestyle=":")
        if (alone := self._without(rows)) is not None:
            panel.axhline(alone.error, color=ACCENT, linewidth=0.8, linestyle="--")
        panel.set_xscale("log")
        ticks = spread_out(sizes, chosen)
        panel.set_xticks(ticks, labels=map(str, ticks))
        panel.minorticks_off()
        if min(errors) > 0 and max(errors) > WIDE_RANGE * min(errors):
            panel.set_yscale("log")
        panel.spines["top"].set_visible(False)
        panel.tick_params(labelsize=LABEL_SIZE)
        panel.set_xlabel("size", fontsize=LABEL_SIZE)
        panel.set_ylabel(f"error at hidden {'entries of X' if rows[0].layer == 1 else 'codes'}", fontsize=LABEL_SIZE)
        between = f" below {rows[0].above[0]}" if rows[0].above else ""
        verdict = "no such layer" if chosen is None else f"{chosen} features"
        panel.set_title(f"layer {rows[0].layer}{between}: {verdict}", loc="left", fontsize=TITLE_SIZE)
        self._draw_stability(panel, rows)

    def _draw_stability(self, panel: "Axes", rows: Sequence[Candidate]) -> None:
        if any(math.isnan(one.stability) for one in rows):
            panel.spines["right"].set_visible(False)
            return
        right = panel.twinx()
        right.plot([one.size for one in rows], [one.stability for one in rows], color=FAINT, marker=".", linewidth=1.2)
        right.set_ylim(0, 1.02)
        right.spines["top"].set_visible(False)
        right.tick_params(labelsize=LABEL_SIZE)
        right.set_ylabel("stability (gray)", fontsize=LABEL_SIZE)

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


def spread_out(sizes: Sequence[int], chosen: int | None = None) -> list[int]:
    """Return sizes whose tick labels do not overlap on a logarithmic axis, including the chosen one.

    Examples
    --------
    >>> spread_out([1, 2, 10, 11, 12, 16])
    [1, 2, 10, 16]
    >>> spread_out([1, 2, 10, 11, 12, 16], 12)
    [1, 2, 12, 16]
    """
    kept = [] if chosen is None else [chosen]
    for size in sizes:
        if all(max(size, other) >= TICK_RATIO * min(size, other) for other in kept):
            kept.append(size)
    return sorted(kept)


def cells(candidate: Candidate, headings: Sequence[str] = HEADINGS) -> tuple[str, ...]:
    """Return the figures of a candidate as text, by their headings; ± is the standard error of the excess.

    The last column marks the choices of three rules: the smallest error, the usual rule of one standard error, and the
    rule of `select_layers`.
    """
    marks = {
        "min": candidate.is_smallest_error,
        "1se": candidate.is_within_standard_error,
        "best": candidate.is_best,
    }
    texts = {
        "layer": str(candidate.layer),
        "size": " below ".join(map(str, (candidate.size, *candidate.above))),
        "splits": str(candidate.splits),
        "error": f"{candidate.error:.3g}",
        "excess": f"{candidate.excess:.3g}",
        "±": f"{candidate.excess_error:.2g}",
        "excess/±": f"{candidate.excess / (candidate.excess_error or 1):.1f}",
        "stability": _number(candidate.stability, ".2f"),
        "silhouette": _number(candidate.silhouette, ".2f"),
        "explained": _number(candidate.explained, ".1%"),
        "dead": str(candidate.dead),
        "copies": str(candidate.copies),
        "seconds": f"{candidate.seconds:.1f}",
        "": " ".join(mark for mark, holds in marks.items() if holds),
    }
    return tuple(texts[heading] for heading in headings)


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


def _html_cells(texts: Sequence[str]) -> str:
    return "".join(f"<td>{text}</td>" for text in texts)
