"""What a fit leaves in its folder, and how it is found again."""

import json
import platform
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.failing import Exit, Failure, failing_as
from deepnmf.cli.fitting import Fit
from deepnmf.cli.writing import write_codes, write_json, write_table
from deepnmf.version import __version__

if TYPE_CHECKING:
    from deepnmf.reading import Dataset, Recipe, Scaling
    from deepnmf.report import LayerScore
    from deepnmf.report.display import Display
    from deepnmf.report.subject import Subject

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
    from deepnmf.report.subject import Subject

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
    from deepnmf.report.subject import display_of

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
