"""Scores as a table in the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from deepnmf.cli.fitting import Fit
    from deepnmf.cli.telling import Voice
    from deepnmf.report import LayerScore

CAPTION = "error: Frobenius norm of data minus reconstruction; sparseness: Hoyer's, of the features"
CLUSTERING_CAPTION = "accuracy, NMI: k-means on the codes against the labels"


def show_scores(voice: "Voice", fits: Sequence["Fit"], scores: Mapping[str, Sequence["LayerScore"]]) -> None:
    """One row a layer of every model, and what the columns are."""
    labelled = scores[fits[0].name][0].accuracy is not None
    table = score_table(labelled)
    for fit in fits:
        add_layers(table, fit.name, scores[fit.name], fit.seconds)
    voice.shown(table)
    voice.said(f"{CAPTION}\n{CLUSTERING_CAPTION}" if labelled else CAPTION)


def score_table(labelled: bool, title: str | None = None) -> "Table":
    """Headings; accuracy and NMI where there are labels."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True)
    measures = ("accuracy", "NMI") if labelled else ()
    for heading in ("layer", "size", "error", *measures, "sparseness", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def add_layers(table: "Table", name: str, scores: Sequence["LayerScore"], seconds: float) -> None:
    """One row a layer; name and seconds, which are the whole model's, in its first."""
    duration = f"{seconds:.2f}"
    for score in scores:
        shares = [share for share in (score.accuracy, score.nmi, score.sparseness) if share is not None]
        cells = [f"{score.layer}", f"{score.size}", _short(score.error), *(f"{share:.3f}" for share in shares)]
        table.add_row(name, *cells, duration)
        name = duration = ""
    table.add_section()


def _short(error: float) -> str:
    """Two decimals, or two digits of what is too small for them."""
    return f"{error:.2f}" if error >= 1 else f"{error:.2g}"
