"""``deepnmf compare``: several models on the same data, as a table and a page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepnmf.cli import model_choice
from deepnmf.cli.destinations import check_folder
from deepnmf.cli.exits import Exit, Failure, answering
from deepnmf.cli.options import (
    Debug,
    Input,
    Json,
    Key,
    Labels,
    Names,
    Overwrite,
    QuietFlag,
    Scale,
    Seed,
    Settings,
    Size,
    Source,
)
from deepnmf.cli.output import Voice, show_scores, voice_for
from deepnmf.cli.result_writer import whole_folder, write_json, write_table
from deepnmf.cli.results import Fit, command_line, display_for, fitted, subject_of, versions, write_reading

if TYPE_CHECKING:
    from deepnmf.reading import Dataset, Scaling
    from deepnmf.report import LayerScore
    from deepnmf.report.evaluation import Subject

PAGE, SCORES, SETTINGS = "comparison.html", "scores.csv", "settings.json"


def compare(
    input: Input,
    models: Annotated[
        str, typer.Option(help="Names out of: deepnmf models, with commas.")
    ] = "nmf,deep-nsnmf,deep-semi-nmf",
    layers: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Sizes of the layers upwards: 40,10. A model of one layer takes the last."),
    ] = None,
    settings: Settings = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for the results; by default deepnmf-, the input's name and -compared."
        ),
    ] = None,
    labels: Labels = None,
    names: Names = None,
    key: Key = None,
    size: Size = None,
    scale: Scale = "none",
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: QuietFlag = False,
    debug: Debug = False,
) -> None:
    """Fit several models to the same data; compare their layers in a table and on one page."""
    voice = voice_for(json, quiet)
    folder = output or Path(f"deepnmf-{input.resolve().stem}-compared")
    with answering(voice, debug):
        check_folder(folder, overwrite)
        sizes, chosen = model_choice.parsed_layers(layers), model_choice.parsed_settings(settings or [])
        classes = _classes(models, chosen)
        data, scaling = Source(input, labels, names, key, size, scale).read(voice)
        sizes = sizes or model_choice.usual_layers(data)
        built = [model_choice.built(cls, sizes, _known(cls, chosen), seed) for cls in classes]
        fits = _fitted(built, data, voice)
        with voice.working("scoring"):
            subjects = {fit.name: subject_of(fit.model, data) for fit in fits}
        scores = {name: subject.scores for name, subject in subjects.items()}
        with voice.working("writing"):
            _write(folder, fits, subjects, data, scaling)
        show_scores(voice, fits, scores)
        voice.said(f"Results are in {folder}: open {folder / PAGE} to compare what was learnt.")
        voice.told("result", output=str(folder), exit_code=_code(fits), **_settings(fits, scores, data))
    if _code(fits):
        raise typer.Exit(_code(fits))


def _classes(names: str, settings: Mapping[str, Any]) -> list[type[Any]]:
    """The models; a setting must be known to one of them at least."""
    classes = [model_choice.model_class(name.strip()) for name in dict.fromkeys(names.split(","))]
    for name in settings:
        if not any(name in cls().get_params() for cls in classes):
            raise Failure(f"None of {names} has a parameter {name!r}.", Exit.USAGE)
    return classes


def _known(cls: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in cls().get_params()}


def _fitted(models: Sequence[Any], data: "Dataset", voice: Voice) -> list[Fit]:
    """Fit one after the other; an interrupted one is the last."""
    fits = []
    for model in models:
        voice.told(
            "start", model=model_choice.name_of(type(model)), shape=list(data.X.shape), parameters=model.get_params()
        )
        fits.append(fitted(model, data, voice))
        if fits[-1].interrupted:
            break
    return fits


def _code(fits: Sequence[Fit]) -> int:
    return int(Exit.INTERRUPTED if fits[-1].interrupted else Exit.DONE)


def _write(
    folder: Path,
    fits: Sequence[Fit],
    subjects: Mapping[str, "Subject"],
    data: "Dataset",
    scaling: "Scaling",
) -> None:
    from deepnmf.report.comparison import Entry, write_entries

    entries = [Entry(fit.name, subjects[fit.name], fit.seconds) for fit in fits]
    scores = {entry.name: entry.subject.scores for entry in entries}
    title = f"Models compared on {data.description.partition(':')[0]}"
    with whole_folder(folder) as beside:
        display = display_for(fits[0].model, data)
        write_entries(entries, beside / PAGE, display, title=title, command=command_line())
        rows = [{"model": name, **asdict(score)} for name, layers in scores.items() for score in layers]
        write_table(beside / SCORES, {heading: [row[heading] for row in rows] for heading in rows[0]})
        write_json(beside / SETTINGS, _settings(fits, scores, data))
        write_reading(beside, data, scaling)
        for fit in fits:
            fit.model.save(beside / f"{fit.name}.safetensors")


def _settings(fits: Sequence[Fit], scores: Mapping[str, list["LayerScore"]], data: "Dataset") -> dict[str, Any]:
    models = {
        fit.name: {
            "layers": fit.sizes,
            "parameters": fit.model.get_params(),
            "seconds": fit.seconds,
            "sweeps": fit.model.n_iter_,
            "stop_reason": fit.model.stop_reason_,
            "scores": [asdict(score) for score in scores[fit.name]],
        }
        for fit in fits
    }
    return {"command": command_line(), "input": data.description, "versions": versions(), "models": models}
