"""``deepnmf compare``: fit several models to the same data, and compare them in a table and on a page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepnmf.cli import model_choice
from deepnmf.cli.destinations import check_folder
from deepnmf.cli.exits import CommandError, ExitCode, error_handling
from deepnmf.cli.options import (
    DataSource,
    Debug,
    Json,
    Loss,
    Overwrite,
    Quiet,
    Seed,
    Settings,
    reads_data,
)
from deepnmf.cli.output import Messages, messages_for, print_layers
from deepnmf.cli.result_writer import atomic_folder, write_json, write_table
from deepnmf.cli.results import TimedFit, command_line, evaluate, fit_model, shown_as, versions, write_recipe

if TYPE_CHECKING:
    from deepnmf.reading import Dataset, Scaling
    from deepnmf.report import LayerScore
    from deepnmf.report.evaluation import Evaluation

PAGE, SCORES, SETTINGS = "comparison.html", "scores.csv", "settings.json"


@reads_data
def compare(
    models: Annotated[
        str, typer.Option(help="Models listed by: deepnmf models, separated by commas.")
    ] = "nmf,deep-nmf,deep-nsnmf,deep-semi-nmf",
    layers: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Sizes of the layers, the lowest first: 40,10. Models with one layer use the last size.",
        ),
    ] = None,
    loss: Loss = None,
    settings: Settings = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for the results; by default deepnmf-NAME-compared for an input NAME."
        ),
    ] = None,
    *,
    source: DataSource,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fit several models to the same data, and compare their layers in a table and on a page."""
    messages = messages_for(json, quiet)
    folder = output or Path(f"deepnmf-{source.stem}-compared")
    with error_handling(messages, debug):
        check_folder(folder, overwrite)
        sizes = model_choice.parse_layers(layers)
        chosen = model_choice.add_loss(model_choice.parse_settings(settings or []), loss)
        classes = _classes(models, chosen)
        data, scaling = source.read(messages)
        sizes = sizes or model_choice.default_layers(data)
        unfitted = [model_choice.build_model(cls, sizes, _own_settings(cls, chosen), seed) for cls in classes]
        _report_losses(unfitted, chosen, data, messages)
        fits = _fit_all(unfitted, data, messages)
        with messages.activity("scoring"):
            evaluations = {fit.name: evaluate(fit.model, data) for fit in fits}
        scores = {name: evaluation.scores for name, evaluation in evaluations.items()}
        with messages.activity("writing"):
            _write(folder, fits, evaluations, data, scaling)
        print_layers(messages, fits, evaluations)
        messages.info(f"The results are in {folder}. Open {folder / PAGE} in a browser.")
        messages.event("result", output=str(folder), exit_code=_code(fits), **_settings(fits, scores, data))
    if _code(fits):
        raise typer.Exit(_code(fits))


def _classes(names: str, settings: Mapping[str, Any]) -> list[type[Any]]:
    """Return the classes of the models; at least one of them must have each parameter."""
    classes = [model_choice.model_class(name.strip()) for name in dict.fromkeys(names.split(","))]
    if "beta_loss" in settings and not any(map(model_choice.has_loss, classes)):
        raise model_choice.loss_refusal(names)
    for name in settings:
        if not any(name in cls().get_params() for cls in classes):
            raise CommandError(f"None of {names} has a parameter {name!r}.", ExitCode.USAGE)
    return classes


def _own_settings(cls: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in cls().get_params()}


def _report_losses(models: Sequence[Any], settings: Mapping[str, Any], data: "Dataset", messages: Messages) -> None:
    """Say what a given loss does not apply to or implies, and if none is given, whether the data are counts."""
    others = [model_choice.command_name(type(model)) for model in models if not model_choice.has_loss(type(model))]
    if "beta_loss" in settings and others:
        messages.info(f"The loss of {', '.join(others)} cannot be chosen, and is squared error.")
    if any(model_choice.implies_explains(model, settings) for model in models):
        messages.info(model_choice.EXPLAINS_DATA)
    if any(model_choice.suggests_counts(model, settings, data) for model in models):
        messages.info(model_choice.COUNTS)


def _fit_all(models: Sequence[Any], data: "Dataset", messages: Messages) -> list[TimedFit]:
    """Fit the models one after the other, and stop after an interrupted fit."""
    fits = []
    for model in models:
        messages.event(
            "start",
            model=model_choice.command_name(type(model)),
            shape=list(data.X.shape),
            parameters=model.get_params(),
        )
        fits.append(fit_model(model, data, messages))
        if fits[-1].interrupted:
            break
    return fits


def _code(fits: Sequence[TimedFit]) -> int:
    return int(ExitCode.INTERRUPTED if fits[-1].interrupted else ExitCode.DONE)


def _write(
    folder: Path,
    fits: Sequence[TimedFit],
    evaluations: Mapping[str, "Evaluation"],
    data: "Dataset",
    scaling: "Scaling",
) -> None:
    from deepnmf.report.comparison import ComparedModel, write_compared_models

    compared = [ComparedModel(fit.name, evaluations[fit.name], fit.seconds) for fit in fits]
    scores = {model.name: model.evaluation.scores for model in compared}
    title = f"Models compared on {data.description.partition(':')[0]}"
    with atomic_folder(folder) as temporary:
        write_compared_models(compared, temporary / PAGE, shown_as(data), title=title, command=command_line())
        rows = [{"model": name, **asdict(score)} for name, layers in scores.items() for score in layers]
        write_table(temporary / SCORES, {heading: [row[heading] for row in rows] for heading in rows[0]})
        write_json(temporary / SETTINGS, _settings(fits, scores, data))
        write_recipe(temporary, data, scaling)
        for fit in fits:
            fit.model.save(temporary / f"{fit.name}.safetensors")


def _settings(fits: Sequence[TimedFit], scores: Mapping[str, list["LayerScore"]], data: "Dataset") -> dict[str, Any]:
    models = {
        fit.name: {
            "layers": fit.sizes,
            "loss": fit.loss.name,
            "parameters": fit.model.get_params(),
            "seconds": fit.seconds,
            "sweeps": fit.model.n_iter_,
            "stop_reason": fit.model.stop_reason_,
            "scores": [asdict(score) for score in scores[fit.name]],
            "hierarchy": [asdict(summary) for summary in fit.hierarchy],
        }
        for fit in fits
    }
    return {"command": command_line(), "input": data.description, "versions": versions(), "models": models}
