"""``deepnmf demo``: four models on scikit-learn's digits."""

from __future__ import annotations  # so that --help does not wait for numpy

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepnmf.cli.failing import fail

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from deepnmf.arrays import Array
    from deepnmf.models.base import ChainEstimator

DEMO_FOLDER = Path("deepnmf-demo")
DIGIT_SHAPE = (8, 8)
MAX_ITER = 2000  # far above the sweeps the demo's fits need: they end by converging
DPI = 200
CAPTION = """error: Frobenius norm of data minus reconstruction from the layer's codes
accuracy, NMI: k-means on these codes; sparseness: Hoyer's, of the features"""


def command(
    output: Annotated[Path, typer.Option(help="Folder for the pictures, made if it is not there.")] = DEMO_FOLDER,
) -> None:
    """Fit four models to scikit-learn's digits, compare their layers and draw what they learnt."""
    from rich.console import Console

    try:
        output.mkdir(parents=True, exist_ok=True)
        _compare(_models(), *_digits(), output, Console())
    except (FileExistsError, NotADirectoryError):
        fail(f"--output is {output}, but a file is in the way: expected a folder for the pictures.")
    except OSError as error:
        fail(f"--output is {output}, but a picture cannot be written there: {error.strerror or error}.")


# ------------------------------------------------------------------------------------- the demo


def _models() -> list[ChainEstimator]:
    from deepnmf import NMF, DeepNSNMF, DeepSemiNMF, SparseDeepNMF

    deep = [model((40, 10), max_iter=MAX_ITER, random_state=0) for model in (DeepSemiNMF, DeepNSNMF, SparseDeepNMF)]
    return [NMF(n_components=10, max_iter=MAX_ITER, random_state=0), *deep]


def _digits() -> tuple[Array, Array]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.data / 16, digits.target


def _compare(models: Sequence[ChainEstimator], X: Array, y: Array, output: Path, console: Console) -> None:
    """Fit, score and draw each model; then print the scores and say where the pictures are."""
    table, pictures = _table(X), []
    with _progress(console) as progress:
        task = progress.add_task("deepnmf", total=len(models), status="compiling kernels")
        say = partial(progress.update, task)
        _compile_kernels(models[0], X)
        for model in models:
            say(description=type(model).__name__, status="pre-training")
            seconds = _fit(model, X, lambda sweep, loss: say(status=f"sweep {sweep}, loss {loss:.1f}"))
            say(status="scoring")
            _add_rows(table, model, X, y, seconds)
            pictures.append(_draw(model, output))
            progress.advance(task)
    console.print(table)
    typer.echo(f"Pictures of the features are in {output}: {', '.join(pictures)}.")


def _compile_kernels(model: ChainEstimator, X: Array) -> None:
    """What is used first after an installation is compiled first; the seconds in the table are without it."""
    from sklearn.base import clone

    clone(model).set_params(max_iter=1, tol=0).fit_transform(X)


def _fit(model: ChainEstimator, X: Array, on_sweep: Callable[[int, float], None]) -> float:
    """Fit and return the seconds it took."""
    began = time.perf_counter()
    model.fit(X, on_sweep=on_sweep)
    if model.stop_reason_ == "interrupted":
        raise typer.Abort
    return time.perf_counter() - began


def _draw(model: ChainEstimator, output: Path) -> str:
    """Draw the features into a file and return its name."""
    from deepnmf.plotting import plot_hierarchy

    name = f"{type(model).__name__}.png"
    plot_hierarchy(model, DIGIT_SHAPE).savefig(output / name, dpi=DPI)
    return name


# ------------------------------------------------------------------------------- what is printed


def _progress(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    name, status = TextColumn("{task.description:13}"), TextColumn("{task.fields[status]}", style="dim")
    return Progress(name, BarColumn(), MofNCompleteColumn(), status, console=console, transient=True)


def _table(X: Array) -> Table:
    from rich import box
    from rich.table import Table

    n_samples, n_pixels = X.shape
    table = Table(
        title=f"{n_samples} digits of {n_pixels} pixels",
        caption=CAPTION,
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("model", no_wrap=True)
    for heading in ("layer", "size", "error", "accuracy", "NMI", "sparseness", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _add_rows(table: Table, model: ChainEstimator, X: Array, y: Array, seconds: float) -> None:
    """One row a layer; name and seconds, which are the whole model's, in its first."""
    from deepnmf.report import layer_scores

    name, time_taken = type(model).__name__, f"{seconds:.2f}"
    for score in layer_scores(model, X, y):
        shares = (score.accuracy, score.nmi, score.sparseness)
        cells = [f"{score.layer}", f"{score.size}", f"{score.error:.2f}", *(f"{share:.3f}" for share in shares)]
        table.add_row(name, *cells, time_taken)
        name = time_taken = ""
    table.add_section()
