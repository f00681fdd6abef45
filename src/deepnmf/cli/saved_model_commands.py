"""``deepnmf transform`` and ``deepnmf report``: a saved model applied to other data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from deepnmf.cli.destinations import check_file
from deepnmf.cli.exits import Exit, Failure, answering, failing_as
from deepnmf.cli.options import Debug, Fitted, Input, Json, Key, Labels, Names, Overwrite, QuietFlag, Source
from deepnmf.cli.output import voice_for
from deepnmf.cli.result_writer import whole_file, write_codes
from deepnmf.cli.results import Saved, encoded, subject_of, write_page

CODE_SUFFIXES = (".csv", ".parquet")


def transform(
    model: Fitted,
    input: Input,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of codes, .csv or .parquet.")] = Path(
        "codes.csv"
    ),
    layer: Annotated[int | None, typer.Option(min=1, help="The layer, from 1 upwards; by default the top one.")] = None,
    names: Names = None,
    key: Key = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: QuietFlag = False,
    debug: Debug = False,
) -> None:
    """Write the codes of other data, read and scaled as the data of the fit were."""
    voice = voice_for(json, quiet)
    with answering(voice, debug):
        _check_suffix(output)
        check_file(output, overwrite)
        saved = Saved.at(model)
        index = _index(layer, saved.model)
        data = Source(input, names=names, key=key).read_like(saved.recipe, saved.scaling, voice)
        with voice.working("encoding"):
            codes = encoded(saved.model, data, index)
        with whole_file(output) as beside:
            write_codes(beside, codes, data.sample_names)
        voice.said(f"Codes of layer {index + 1}, {codes.shape[0]} x {codes.shape[1]}, are in {output}.")
        voice.told("result", output=str(output), layer=index + 1, shape=list(codes.shape), exit_code=int(Exit.DONE))


def _check_suffix(output: Path) -> None:
    if output.suffix.lower() not in CODE_SUFFIXES:
        raise Failure(f"--output is {output}: expected a file ending in {' or '.join(CODE_SUFFIXES)}.", Exit.USAGE)


def _index(layer: int | None, model: Any) -> int:
    depth = len(model.features_)
    if layer is not None and layer > depth:
        raise Failure(f"--layer is {layer}, but the model has {depth} layers: expected 1 to {depth}.", Exit.USAGE)
    return (layer or depth) - 1


# -------------------------------------------------------------------------------------------- report


def report(
    model: Fitted,
    input: Input,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    labels: Labels = None,
    names: Names = None,
    key: Key = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: QuietFlag = False,
    debug: Debug = False,
) -> None:
    """Write the page of a fitted model at work on data, read and scaled as the data of the fit were."""
    voice = voice_for(json, quiet)
    with answering(voice, debug):
        check_file(output, overwrite)
        saved = Saved.at(model)
        data = Source(input, labels, names, key).read_like(saved.recipe, saved.scaling, voice)
        title = f"{type(saved.model).__name__} on {input.name}"
        with voice.working("writing"), whole_file(output) as beside, failing_as(Exit.UNSUITABLE, ValueError):
            write_page(beside, subject_of(saved.model, data), data, title)
        voice.said(f"The page is {output}.")
        voice.told("result", output=str(output), exit_code=int(Exit.DONE))
