"""``deepnmf transform`` and ``deepnmf report``: apply a saved model to other data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from deepnmf.cli.destinations import check_file
from deepnmf.cli.exits import CommandError, ExitCode, error_handling, errors_as
from deepnmf.cli.options import (
    DataSource,
    Debug,
    Input,
    Json,
    Key,
    Labels,
    ModelPath,
    Names,
    Overwrite,
    Quiet,
    SampleShape,
    parse_size,
)
from deepnmf.cli.output import messages_for
from deepnmf.cli.result_writer import atomic_file, write_codes
from deepnmf.cli.results import MODEL, SavedModel, check_scene, encode_layer, evaluate, write_report_page

CODE_SUFFIXES = (".csv", ".parquet")


def transform(
    model: ModelPath,
    input: Input,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File for the codes, .csv or .parquet; by default MODEL-codes-NAME.csv beside the model.",
        ),
    ] = None,
    layer: Annotated[
        int | None, typer.Option(min=1, help="Number of the layer, 1 for the lowest; by default the top layer.")
    ] = None,
    names: Names = None,
    key: Key = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the codes of other data, which are read and scaled in the same way as the data of the fit."""
    messages = messages_for(json, quiet)
    with error_handling(messages, debug):
        output = output or _beside(model, f"codes-{input.resolve().stem}.csv")
        _check_suffix(output)
        check_file(output, overwrite)
        saved = SavedModel.load(model)
        index = _index(layer, saved.model)
        data = DataSource(input, names=names, key=key).read_like(saved.recipe, saved.scaling, messages)
        with messages.activity("encoding"):
            codes = encode_layer(saved.model, data, index)
        with atomic_file(output) as temporary:
            write_codes(temporary, codes, data.sample_names)
        messages.info(f"The codes of layer {index + 1} ({codes.shape[0]} x {codes.shape[1]}) are in {output}.")
        messages.event(
            "result", output=str(output), layer=index + 1, shape=list(codes.shape), exit_code=int(ExitCode.DONE)
        )


def _beside(model: Path, name: str) -> Path:
    """Return a path beside a model; a result folder contains its own files only, and the new one is beside it."""
    place = model.parent if model.name == MODEL else model
    place = place if place.name not in ("", "..") else place.resolve()  # "." has no name
    base = place.stem if place.is_file() else place.name
    return place.with_name(f"{base}-{name}")


def _check_suffix(output: Path) -> None:
    if output.suffix.lower() not in CODE_SUFFIXES:
        raise CommandError(
            f"--output is {output}: expected a file ending in {' or '.join(CODE_SUFFIXES)}.", ExitCode.USAGE
        )


def _index(layer: int | None, model: Any) -> int:
    depth = len(model.features_)
    if layer is not None and layer > depth:
        raise CommandError(
            f"--layer is {layer}, but the model has {depth} layers: expected 1 to {depth}.", ExitCode.USAGE
        )
    return (layer or depth) - 1


# -------------------------------------------------------------------------------------------- report


def report(
    model: ModelPath,
    input: Input,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the page.")] = Path("report.html"),
    labels: Labels = None,
    names: Names = None,
    key: Key = None,
    sample_shape: SampleShape = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the report of a model on other data, which are read and scaled in the same way as the data of the fit."""
    messages = messages_for(json, quiet)
    with error_handling(messages, debug):
        check_file(output, overwrite)
        scene = parse_size(sample_shape, "--sample-shape")
        saved = SavedModel.load(model)
        data = DataSource(input, labels, names, key).read_like(saved.recipe, saved.scaling, messages)
        check_scene(scene, data)
        title = f"{type(saved.model).__name__} on {input.name}"
        with messages.activity("writing"), atomic_file(output) as temporary, errors_as(ExitCode.UNSUITABLE, ValueError):
            write_report_page(temporary, evaluate(saved.model, data), data, title, sample_shape=scene)
        messages.info(f"The report is {output}.")
        messages.event("result", output=str(output), exit_code=int(ExitCode.DONE))
