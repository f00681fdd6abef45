"""``deepnmf demo``: fit four models to the digits of scikit-learn, and compare them."""

from __future__ import annotations  # so that --help does not wait for numpy

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepnmf.cli.exits import ExitCode, fail
from deepnmf.cli.output import CAPTION, CLUSTERING_CAPTION, add_layers, score_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from deepnmf.arrays import Array
    from deepnmf.models.factorization import Factorization

DEMO_FOLDER = Path("deepnmf-demo")
DIGIT_SHAPE = (8, 8)
MAX_ITER = 2000  # large enough for all fits of the demo to converge
DPI = 200


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for the pictures; it is created if it does not exist.")
    ] = DEMO_FOLDER,
) -> None:
    """Fit four models to the digits of scikit-learn, compare their layers and draw their features."""
    from rich.console import Console

    from deepnmf.models.hierarchy import HierarchyWarning

    try:
        output.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings(category=HierarchyWarning, action="ignore"):  # the pictures show the hierarchies
            _compare(_models(), *_digits(), output, Console())
    except (FileExistsError, NotADirectoryError):
        fail(f"--output is {output}, which is a file: expected a folder for the pictures.", ExitCode.UNWRITABLE)
    except OSError as error:
        fail(
            f"--output is {output}, but a picture cannot be written there: {error.strerror or error}.",
            ExitCode.UNWRITABLE,
        )


# ------------------------------------------------------------------------------------- models and data


def _models() -> list[Factorization]:
    from deepnmf import NMF, DeepNSNMF, DeepSemiNMF, SparseDeepNMF

    deep = [model((40, 10), max_iter=MAX_ITER, random_state=0) for model in (DeepSemiNMF, DeepNSNMF, SparseDeepNMF)]
    return [NMF(n_components=10, max_iter=MAX_ITER, random_state=0), *deep]


def _digits() -> tuple[Array, Array]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.data / 16, digits.target


def _compare(models: Sequence[Factorization], X: Array, y: Array, output: Path, console: Console) -> None:
    """Fit, score and draw each model, then print the scores and the names of the pictures."""
    from deepnmf.report import layer_scores

    table, pictures = score_table(labeled=True, title=f"{X.shape[0]} digits of {X.shape[1]} pixels"), []
    with _progress(console) as progress:
        task = progress.add_task("deepnmf", total=len(models), status="compiling kernels")
        update = partial(progress.update, task)

        def on_sweep(sweep: int, loss: float) -> None:
            update(status=f"sweep {sweep}, loss {loss:.1f}")

        _compile_kernels(models[0], X)
        for model in models:
            update(description=type(model).__name__, status="pre-training")
            seconds = _fit(model, X, on_sweep)
            update(status="scoring")
            add_layers(table, type(model).__name__, layer_scores(model, X, y), seconds)
            pictures.append(_draw(model, output))
            progress.advance(task)
    console.print(table)
    console.print(CAPTION, CLUSTERING_CAPTION, sep="\n", highlight=False)
    typer.echo(f"The features are drawn in {output}: {', '.join(pictures)}.")


def _compile_kernels(model: Factorization, X: Array) -> None:
    """Run one short fit, so that the seconds in the table do not include the compilation of the kernels."""
    from sklearn.base import clone

    clone(model).set_params(max_iter=1, tol=0).fit_transform(X)


def _fit(model: Factorization, X: Array, on_sweep: Callable[[int, float], None]) -> float:
    """Fit the model and return the seconds that it took."""
    began = time.perf_counter()
    model.fit(X, on_sweep=on_sweep)
    if model.stop_reason_ == "interrupted":
        fail("Interrupted: the demo is not complete.", ExitCode.INTERRUPTED)
    return time.perf_counter() - began


def _draw(model: Factorization, output: Path) -> str:
    """Draw the features of a model to a file, and return the name of the file."""
    from deepnmf.plotting import plot_hierarchy

    name = f"{type(model).__name__}.png"
    plot_hierarchy(model, DIGIT_SHAPE).savefig(output / name, dpi=DPI)
    return name


# ------------------------------------------------------------------------------- progress bar


def _progress(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    name, status = TextColumn("{task.description:13}"), TextColumn("{task.fields[status]}", style="dim")
    return Progress(name, BarColumn(), MofNCompleteColumn(), status, console=console, transient=True)
