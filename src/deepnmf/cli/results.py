"""Fits and their results: a fit with progress, the files of its result folder, and saved models."""

import json
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.exits import CommandError, ExitCode, errors_as, one_line
from deepnmf.cli.model_choice import command_name, is_about_parameters
from deepnmf.cli.result_writer import write_codes, write_json, write_table

if TYPE_CHECKING:
    from deepnmf.arrays import Array
    from deepnmf.cli.output import Messages
    from deepnmf.models.hierarchy import LayerSummary
    from deepnmf.objective.divergences import Divergence
    from deepnmf.reading import Dataset, Recipe, Scaling
    from deepnmf.report import LayerScore
    from deepnmf.report.display_choice import ShownAs
    from deepnmf.report.evaluation import Evaluation
    from deepnmf.selection import Selection


@dataclass(frozen=True)
class TimedFit:
    """A fitted model and the seconds that the fit took."""

    model: Any
    seconds: float

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted the fit."""
        return bool(self.model.stop_reason_ == "interrupted")

    @property
    def name(self) -> str:
        """The name of the model on the command line."""
        return command_name(type(self.model))

    @property
    def loss(self) -> "Divergence":
        """The loss of the model."""
        divergence: Divergence = self.model._learned.divergence
        return divergence

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the layers, the lowest layer first."""
        return tuple(len(features) for features in self.model.features_)

    @property
    def hierarchy(self) -> "list[LayerSummary]":
        """The summary of each layer of a deep model; empty for a single layer."""
        return getattr(self.model, "hierarchy_", [])

    def summary(self) -> str:
        """Return one sentence about the fit."""
        ending = {"max_iter": "max_iter was reached", "interrupted": "interrupted"}.get(
            self.model.stop_reason_, "converged"
        )
        layers = ",".join(map(str, self.sizes))
        if not self.loss.is_squared_error:
            layers += f" by {self.loss.title}"
        n_iter = self.model.n_iter_
        sweeps = "1 sweep" if n_iter == 1 else f"{n_iter} sweeps"
        return f"{self.name} with layers {layers}: {sweeps} in {self.seconds:.1f} s, {ending}.{self._unused_features()}"

    def _unused_features(self) -> str:
        """Return a sentence about features that became zero, if there are any."""
        n_unused = self.model.n_dead_
        return f" Unused features per layer: {', '.join(map(str, n_unused))}." if any(n_unused) else ""


def fit_model(
    model: Any,
    data: "Dataset",
    messages: "Messages",
    checkpoint: Path | None = None,
    known: "Array | None" = None,
) -> TimedFit:
    """Fit a model, with fixed components if there are any, and show the progress; resume from a checkpoint."""
    import numpy as np

    began = time.perf_counter()
    with _library_errors(model), messages.fit_progress(command_name(type(model)), model.max_iter) as on_sweep:
        fixed = {} if known is None else {"fixed_components": known}
        model.fit(data.X, data.y, on_sweep=on_sweep, checkpoint=checkpoint, **fixed, **_groups(model.fit, data))
    if data.feature_names is not None:
        model.input_names_ = np.array(data.feature_names, dtype=object)  # so that the model file has them
    return TimedFit(model, time.perf_counter() - began)


def choose_layers(model: Any, data: "Dataset", seed: int, **options: Any) -> "Selection":
    """Choose the layer sizes of a model by predictions of hidden entries; options are those of `select_layers`."""
    from deepnmf.selection import select_layers

    with _library_errors(model):
        groups = _groups(model.fit, data)
        return select_layers(model, data.X, data.y, random_state=seed, refit=False, **options, **groups)


def encode_layer(model: Any, data: "Dataset", layer: int) -> "Array":
    """Return the codes of a layer; models that pool do so within each recording."""
    with _library_errors(model):
        return model.encode(data.X, layer, **_groups(model.encode, data))


@contextmanager
def _library_errors(model: Any) -> Iterator[None]:
    """Give errors of the library an exit code: wrong usage for parameters, otherwise unsuitable data."""
    try:
        yield
    except (ValueError, TypeError) as error:
        code = ExitCode.USAGE if is_about_parameters(error, model) else ExitCode.UNSUITABLE
        raise CommandError(one_line(error), code) from error
    except MemoryError as error:
        raise CommandError(
            f"There is not enough memory for the data: {one_line(error)}.", ExitCode.UNSUITABLE
        ) from error


def _groups(method: Any, data: "Dataset") -> dict[str, Any]:
    return {"groups": data.groups} if "groups" in signature(method).parameters else {}


# --------------------------------------------------------------------------------- files of a result


MODEL, READING, SETTINGS, LOSS, REPORT = "model.safetensors", "reading.json", "settings.json", "loss.csv", "report.html"


@dataclass(frozen=True)
class SavedModel:
    """A saved model, and how its data were read and scaled."""

    model: Any
    recipe: "Recipe | None"
    scaling: "Scaling"

    @classmethod
    def load(cls, path: Path) -> "SavedModel":
        """Load the model of a folder or a file; without ``reading.json`` beside it, the recipe is unknown."""
        from deepnmf import load
        from deepnmf.reading import Recipe, Scaling

        file = path / MODEL if path.is_dir() else path
        if not file.exists():
            raise CommandError(
                f"There is no model {file}: expected a folder written by deepnmf fit.", ExitCode.UNREADABLE
            )
        with errors_as(ExitCode.UNREADABLE, ValueError, TypeError, KeyError, OSError):
            model = load(file)
        reading = file.parent / READING
        if not reading.exists():
            return cls(model, None, Scaling("none"))
        try:
            content = json.loads(reading.read_text(encoding="utf-8"))
            return cls(model, Recipe.from_json(content["recipe"]), Scaling.from_json(content["scaling"]))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise CommandError(
                f"{reading} does not describe how the data were read: {error!r}.", ExitCode.UNREADABLE
            ) from error


def command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["deepnmf", *sys.argv[1:]])


def evaluate(model: Any, data: "Dataset") -> "Evaluation":
    """Compute the codes and scores of every layer once, for tables, files and pages."""
    from deepnmf.report.evaluation import Evaluation

    with errors_as(ExitCode.UNSUITABLE, ValueError):
        return Evaluation.of(model, data.X, data.y, data.class_names, _recordings(data))


def findings_of(evaluation: "Evaluation", data: "Dataset") -> list[str]:
    """Return the findings of a fit: how much is explained, what stands out, and what to try next."""
    from deepnmf.report.findings import findings

    return [str(one) for one in findings(evaluation, shown_as(data).display(evaluation))]


def _recordings(data: "Dataset") -> Any:
    """Return the name of the recording of each row."""
    import numpy as np

    return None if data.groups is None else np.array(data.group_names)[data.groups]


def write_results(
    folder: Path, fit: TimedFit, data: "Dataset", scaling: "Scaling", evaluation: "Evaluation", codes_suffix: str
) -> None:
    """Write the model, the codes of every layer, the losses, the settings and the recipe of the data."""
    fit.model.save(folder / MODEL)
    for layer, codes in enumerate(evaluation.codes):
        write_codes(folder / f"codes_{layer + 1}{codes_suffix}", codes, data.sample_names)
    losses = fit.model.loss_curve_
    write_table(folder / LOSS, {"sweep": range(1, len(losses) + 1), "loss": losses})
    write_json(folder / SETTINGS, settings_summary(fit, data, evaluation.scores))
    write_recipe(folder, data, scaling)


def write_recipe(folder: Path, data: "Dataset", scaling: "Scaling") -> None:
    """Write how the data were read and scaled, for `SavedModel`."""
    write_json(folder / READING, {"recipe": data.recipe.to_json(), "scaling": scaling.to_json()})


def settings_summary(fit: TimedFit, data: "Dataset", scores: list["LayerScore"]) -> dict[str, Any]:
    """Return the settings of a fit and the scores of its layers."""
    return {
        "command": command_line(),
        "input": data.description,
        "shape": list(data.X.shape),
        "model": fit.name,
        "layers": list(fit.sizes),
        "loss": fit.loss.name,
        "parameters": fit.model.get_params(),
        "versions": versions(),
        "seconds": fit.seconds,
        "sweeps": fit.model.n_iter_,
        "stop_reason": fit.model.stop_reason_,
        "reconstruction_error": fit.model.reconstruction_err_,
        "scores": [asdict(score) for score in scores],
        "hierarchy": [asdict(summary) for summary in fit.hierarchy],
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages that the numbers depend on, by their names on PyPI."""
    from deepnmf.report import html_file

    return {package.lower(): version for package, version in html_file.versions().items()}


def shown_as(data: "Dataset") -> "ShownAs":
    """Return how features and samples of the data are drawn."""
    from deepnmf.report.display_choice import ShownAs

    label = "frequency (Hz)" if data.kind == "sounds" else None
    return ShownAs(data.image_shape, data.feature_names, data.axis, label)


def check_scene(shape: tuple[int, int] | None, data: "Dataset") -> None:
    """Raise an error unless the samples are the pixels of a scene of this shape."""
    n_samples = data.X.shape[0]
    if shape is not None and shape[0] * shape[1] != n_samples:
        raise CommandError(
            f"--sample-shape is {shape[0]}x{shape[1]}: expected a product of {n_samples}, the number of samples.",
            ExitCode.USAGE,
        )


def write_report_page(
    path: Path,
    evaluation: "Evaluation",
    data: "Dataset",
    title: str,
    seconds: float | None = None,
    sample_shape: tuple[int, int] | None = None,
) -> None:
    """Write the HTML report; samples may be the pixels of a scene of some shape."""
    from deepnmf.report.page import write_evaluation

    write_evaluation(
        evaluation,
        path,
        shown_as(data),
        sample_names=data.sample_names,
        texts=data.texts,
        grouped=data.groups is not None,
        sample_shape=sample_shape,
        title=title,
        reproduce=command_line(),
        seconds=seconds,
    )
