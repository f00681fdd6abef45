"""``deepnmf demo``: four models on scikit-learn's digits."""

from __future__ import annotations  # so that --help does not wait for numpy

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepnmf.cli.exits import Exit, fail
from deepnmf.cli.output import CAPTION, CLUSTERING_CAPTION, add_layers, score_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from deepnmf.arrays import Array
    from deepnmf.models.base import ChainEstimator

DEMO_FOLDER = Path("deepnmf-demo")
DIGIT_SHAPE = (8, 8)
MAX_ITER = 2000  # far above the sweeps the demo's fits need: they end by converging
DPI = 200


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the pictures, made if it is not there.")] = DEMO_FOLDER,
) -> None:
    """Fit four models to scikit-learn's digits, compare their layers and draw what they learnt."""
    from rich.console import Console

    try:
        output.mkdir(parents=True, exist_ok=True)
        _compare(_models(), *_digits(), output, Console())
    except (FileExistsError, NotADirectoryError):
        fail(f"--output is {output}, but a file is in the way: expected a folder for the pictures.", Exit.UNWRITABLE)
    except OSError as error:
        fail(
            f"--output is {output}, but a picture cannot be written there: {error.strerror or error}.", Exit.UNWRITABLE
        )


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
    from deepnmf.report import layer_scores

    table, pictures = score_table(labelled=True, title=f"{X.shape[0]} digits of {X.shape[1]} pixels"), []
    with _progress(console) as progress:
        task = progress.add_task("deepnmf", total=len(models), status="compiling kernels")
        say = partial(progress.update, task)
        _compile_kernels(models[0], X)
        for model in models:
            say(description=type(model).__name__, status="pre-training")
            seconds = _fit(model, X, lambda sweep, loss: say(status=f"sweep {sweep}, loss {loss:.1f}"))
            say(status="scoring")
            add_layers(table, type(model).__name__, layer_scores(model, X, y), seconds)
            pictures.append(_draw(model, output))
            progress.advance(task)
    console.print(table)
    console.print(CAPTION, CLUSTERING_CAPTION, sep="\n", highlight=False)
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
        fail("Interrupted: the demo ends here.", Exit.INTERRUPTED)
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
