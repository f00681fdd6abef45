"""``deepnmf report``: the page of a model on any data it can read."""

from pathlib import Path
from typing import Annotated

import typer

from deepnmf.cli.failing import Exit, answering, failing_as
from deepnmf.cli.inputs import Source
from deepnmf.cli.options import Debug, Fitted, Input, Json, Key, Labels, Names, Overwrite, QuietFlag
from deepnmf.cli.places import check_file
from deepnmf.cli.results import Saved, subject_of, write_page
from deepnmf.cli.telling import voice_for
from deepnmf.cli.writing import whole_file


def command(
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
