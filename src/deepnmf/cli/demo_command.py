"""``deepnmf demo``: fit five models to the digits of scikit-learn, and compare them."""

from __future__ import annotations  # so that --help does not wait for numpy

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepnmf.cli.exits import CommandError, ExitCode, error_handling
from deepnmf.cli.output import Messages, TerminalMessages, print_findings, print_layers
from deepnmf.cli.results import REPORT, TimedFit, evaluate, findings_of, fit_model, write_report_page

if TYPE_CHECKING:
    from deepnmf.models.factorization import Factorization
    from deepnmf.reading import Dataset

DEMO_FOLDER = Path("deepnmf-demo")
DIGIT_SHAPE = (8, 8)
MAX_ITER = 2000  # large enough for all fits of the demo to converge
DPI = 200
SHOWN = "deep-nmf"  # the model of the report


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for the pictures; it is created if it does not exist.")
    ] = DEMO_FOLDER,
) -> None:
    """Fit five models to the digits of scikit-learn, compare their layers and draw their features."""
    messages = TerminalMessages()
    with error_handling(messages, debug=False), _writing_errors(output):
        output.mkdir(parents=True, exist_ok=True)
        _compare(_models(), _digits(), output, messages)


@contextmanager
def _writing_errors(output: Path) -> Iterator[None]:
    """Give errors of the folder for the pictures a sentence and an exit code."""
    try:
        yield
    except (FileExistsError, NotADirectoryError) as error:
        sentence = f"--output is {output}, which is a file: expected a folder for the pictures."
        raise CommandError(sentence, ExitCode.UNWRITABLE) from error
    except OSError as error:
        sentence = f"--output is {output}, but a picture cannot be written there: {error.strerror or error}."
        raise CommandError(sentence, ExitCode.UNWRITABLE) from error


def _models() -> list[Factorization]:
    from deepnmf import NMF, DeepNMF, DeepNSNMF, DeepSemiNMF, SparseDeepNMF

    deep = (DeepNMF, DeepNSNMF, SparseDeepNMF, DeepSemiNMF)
    shallow = NMF(n_components=10, max_iter=MAX_ITER, random_state=0)
    return [shallow, *(model((40, 10), max_iter=MAX_ITER, random_state=0) for model in deep)]


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    from deepnmf.reading import Dataset

    digits = load_digits()
    X, y = digits.data / 16, digits.target
    return Dataset(X, "images", "1797 digits of 8 x 8 pixels.", y=y, image_shape=DIGIT_SHAPE)


def _compare(models: Sequence[Factorization], data: Dataset, output: Path, messages: Messages) -> None:
    """Fit, score and draw each model, then print their layers, and the report and the findings of the default model."""
    messages.info(data.description)
    fits, evaluations, pictures = [], {}, []
    for model in models:
        with messages.activity("compiling kernels"):
            _compile_kernels(model, data)
        fit = _complete_fit(model, data, messages)
        with messages.activity("scoring"):
            evaluations[fit.name] = evaluate(model, data)
        fits.append(fit)
        pictures.append(_draw(model, output))
    print_layers(messages, fits, evaluations)
    shown = next(fit for fit in fits if fit.name == SHOWN)
    with messages.activity("writing"):
        write_report_page(output / REPORT, evaluations[SHOWN], data, "DeepNMF on digits", shown.seconds)
    messages.info(f"Findings of {SHOWN}:")
    print_findings(messages, findings_of(evaluations[SHOWN], data))
    messages.info(f"The features are drawn in {output}: {', '.join(pictures)}.")
    messages.info(f"Open {output / REPORT} in a browser. Next, fit your own data: deepnmf fit FILE.")


def _compile_kernels(model: Factorization, data: Dataset) -> None:
    """Run one short fit, so that the seconds in the table do not include the compilation of the kernels."""
    from sklearn.base import clone

    with warnings.catch_warnings(action="ignore"):  # nobody sees the result
        clone(model).set_params(max_iter=1, tol=0).fit(data.X[:100])


def _complete_fit(model: Factorization, data: Dataset, messages: Messages) -> TimedFit:
    """Fit the model; an interrupted fit ends the demo."""
    fit = fit_model(model, data, messages)
    if fit.interrupted:
        raise CommandError("Interrupted: the demo is not complete.", ExitCode.INTERRUPTED)
    return fit


def _draw(model: Factorization, output: Path) -> str:
    """Draw the features of a model to a file, and return the name of the file."""
    from deepnmf.plotting import plot_hierarchy

    name = f"{type(model).__name__}.png"
    plot_hierarchy(model, DIGIT_SHAPE).savefig(output / name, dpi=DPI)
    return name
