"""A fit with its progress, the files it leaves in its folder, and how these are loaded again."""

import json
import platform
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.exits import Exit, Failure, failing_as, in_one_line
from deepnmf.cli.model_choice import is_about_parameters, name_of
from deepnmf.cli.result_writer import write_codes, write_json, write_table
from deepnmf.version import __version__

if TYPE_CHECKING:
    from deepnmf.arrays import Array
    from deepnmf.cli.output import Voice
    from deepnmf.reading import Dataset, Recipe, Scaling
    from deepnmf.report import LayerScore
    from deepnmf.report.display import Display
    from deepnmf.report.evaluation import Subject


@dataclass(frozen=True)
class Fit:
    """A model and the seconds that it took."""

    model: Any
    seconds: float

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return bool(self.model.stop_reason_ == "interrupted")

    @property
    def name(self) -> str:
        """The model's name as it is typed."""
        return name_of(type(self.model))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the layers, from the data upwards."""
        return tuple(len(features) for features in self.model.features_)

    def in_words(self) -> str:
        """One sentence."""
        ending = {"max_iter": "max_iter was reached", "interrupted": "interrupted"}.get(
            self.model.stop_reason_, "converged"
        )
        layers = ",".join(map(str, self.sizes))
        n_iter = self.model.n_iter_
        sweeps = "1 sweep" if n_iter == 1 else f"{n_iter} sweeps"
        return f"{self.name} with layers {layers}: {sweeps} in {self.seconds:.1f} s, {ending}.{self._dead()}"

    def _dead(self) -> str:
        """Say how many features nothing was left for, where there are any."""
        dead = self.model.n_dead_
        return f" Features that nothing was left for, by layer: {','.join(map(str, dead))}." if any(dead) else ""


def fitted(model: Any, data: "Dataset", voice: "Voice", checkpoint: Path | None = None) -> Fit:
    """Fit and tell of it; go on from a checkpoint where there is one."""
    began = time.perf_counter()
    with _suiting(model), voice.fitting(name_of(type(model)), model.max_iter) as on_sweep:
        model.fit(data.X, data.y, on_sweep=on_sweep, checkpoint=checkpoint, **_groups(model.fit, data))
    return Fit(model, time.perf_counter() - began)


def encoded(model: Any, data: "Dataset", layer: int) -> "Array":
    """Codes of a layer, pooled within the recordings where the model pools."""
    with _suiting(model):
        return model.encode(data.X, layer, **_groups(model.encode, data))


@contextmanager
def _suiting(model: Any) -> Iterator[None]:
    """Errors of the library are about its parameters, which is wrong usage, or else about the data."""
    try:
        yield
    except (ValueError, TypeError) as error:
        code = Exit.USAGE if is_about_parameters(error, model) else Exit.UNSUITABLE
        raise Failure(in_one_line(error), code) from error
    except MemoryError as error:
        raise Failure(f"The data need more memory than there is: {in_one_line(error)}.", Exit.UNSUITABLE) from error


def _groups(method: Any, data: "Dataset") -> dict[str, Any]:
    return {"groups": data.groups} if "groups" in signature(method).parameters else {}


# --------------------------------------------------------------------------------- files of a result


MODEL, READING, SETTINGS, LOSS, REPORT = "model.safetensors", "reading.json", "settings.json", "loss.csv", "report.html"


@dataclass(frozen=True)
class Saved:
    """A model that a fit has left, and how its data were read."""

    model: Any
    recipe: "Recipe | None"
    scaling: "Scaling"

    @classmethod
    def at(cls, path: Path) -> "Saved":
        """The model of a folder or a file; a file alone knows nothing of how its data were read."""
        from deepnmf import load
        from deepnmf.reading import Recipe, Scaling

        file = path / MODEL if path.is_dir() else path
        if not file.exists():
            raise Failure(f"There is no model {file}: expected a folder that fit has made.", Exit.UNREADABLE)
        with failing_as(Exit.UNREADABLE, ValueError, TypeError, KeyError, OSError):
            model = load(file)
        reading = file.parent / READING
        if not reading.exists():
            return cls(model, None, Scaling("none"))
        try:
            content = json.loads(reading.read_text(encoding="utf-8"))
            return cls(model, Recipe.from_json(content["recipe"]), Scaling.from_json(content["scaling"]))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise Failure(f"{reading} does not say how the data were read: {error!r}.", Exit.UNREADABLE) from error


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["deepnmf", *sys.argv[1:]])


def subject_of(model: Any, data: "Dataset") -> "Subject":
    """The model at work on the data: the codes and scores of every layer, for tables, files and pages alike."""
    from deepnmf.report.evaluation import Subject

    with failing_as(Exit.UNSUITABLE, ValueError):
        return Subject.of(model, data.X, data.y, data.class_names, _recordings(data))


def _recordings(data: "Dataset") -> Any:
    """The name of each frame's recording."""
    import numpy as np

    return None if data.groups is None else np.array(data.group_names)[data.groups]


def write_results(
    folder: Path, fit: Fit, data: "Dataset", scaling: "Scaling", subject: "Subject", codes_suffix: str
) -> None:
    """Model, codes of every layer, losses, settings, and how to read more data alike."""
    fit.model.save(folder / MODEL)
    for layer, codes in enumerate(subject.codes):
        write_codes(folder / f"codes_{layer + 1}{codes_suffix}", codes, data.sample_names)
    losses = fit.model.loss_curve_
    write_table(folder / LOSS, {"sweep": range(1, len(losses) + 1), "loss": losses})
    write_json(folder / SETTINGS, settings_of(fit, data, subject.scores))
    write_reading(folder, data, scaling)


def write_reading(folder: Path, data: "Dataset", scaling: "Scaling") -> None:
    """How the data were read, for `Saved`."""
    write_json(folder / READING, {"recipe": data.recipe.to_json(), "scaling": scaling.to_json()})


def settings_of(fit: Fit, data: "Dataset", scores: list["LayerScore"]) -> dict[str, Any]:
    """All that made the result, and what it is worth."""
    return {
        "command": command_line(),
        "input": data.description,
        "shape": list(data.X.shape),
        "model": fit.name,
        "layers": list(fit.sizes),
        "parameters": fit.model.get_params(),
        "versions": versions(),
        "seconds": fit.seconds,
        "sweeps": fit.model.n_iter_,
        "stop_reason": fit.model.stop_reason_,
        "reconstruction_error": fit.model.reconstruction_err_,
        "scores": [asdict(score) for score in scores],
    }


def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    import numpy as np
    import scipy
    import sklearn

    found = {"deepnmf": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    return found | {"scikit-learn": sklearn.__version__, "python": platform.python_version()}


def display_for(model: Any, data: "Dataset") -> "Display":
    """How features and samples are to be drawn and called."""
    from deepnmf.report.evaluation import display_of

    return display_of(model, data.image_shape, data.feature_names, data.axis)


def write_page(path: Path, subject: "Subject", data: "Dataset", title: str, seconds: float | None = None) -> None:
    """The page on which one sees what was learnt."""
    from deepnmf.report.page import write_subject

    write_subject(
        subject,
        path,
        display_for(subject.model, data),
        sample_names=data.sample_names,
        grouped=data.groups is not None,
        title=title,
        reproduce=command_line(),
        seconds=seconds,
    )
