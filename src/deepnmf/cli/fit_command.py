"""``deepnmf fit``: from a file to a fitted model and a page on which one sees what was learnt."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepnmf.cli import model_choice
from deepnmf.cli.destinations import check_checkpoint, check_folder
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
from deepnmf.cli.result_writer import whole_folder
from deepnmf.cli.results import REPORT, Fit, fitted, settings_of, subject_of, write_page, write_results

if TYPE_CHECKING:
    from deepnmf.reading import Dataset, Scaling

Codes = Annotated[
    str | None, typer.Option(metavar="csv|parquet", help="Form of the codes; by default the input's or csv.")
]


def fit(
    input: Input,
    model: Annotated[str | None, typer.Option(help="A name out of: deepnmf models. By default one that suits.")] = None,
    layers: Annotated[str | None, typer.Option(metavar="SIZES", help="Sizes of the layers upwards: 300,40.")] = None,
    settings: Settings = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the results; by default deepnmf- and the input's name."),
    ] = None,
    labels: Labels = None,
    names: Names = None,
    key: Key = None,
    size: Size = None,
    scale: Scale = "none",
    seed: Seed = 0,
    codes: Codes = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file that keeps where the fit is; the same command goes on from it.")
    ] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Whether to write report.html.")] = True,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: QuietFlag = False,
    debug: Debug = False,
) -> None:
    """Fit a model to a file or folder; write model, codes of every layer, losses and a report into a folder."""
    voice = voice_for(json, quiet)
    folder = output or Path(f"deepnmf-{input.resolve().stem}")
    with answering(voice, debug):
        check_folder(folder, overwrite)
        if checkpoint is not None:
            check_checkpoint(checkpoint, folder)
        suffix = _suffix(codes, input)
        choice = _Choice(model, model_choice.parsed_layers(layers), model_choice.parsed_settings(settings or []), seed)
        data, scaling = Source(input, labels, names, key, size, scale).read(voice)
        fit = _fit(choice.made(data, voice), data, voice, checkpoint)
        _write(folder, fit, data, scaling, suffix, report, voice)
    if fit.interrupted:
        raise typer.Exit(Exit.INTERRUPTED)


class _Choice:
    """The model that is asked for; what was left open is decided when the data are known."""

    def __init__(self, name: str | None, layers: tuple[int, ...] | None, settings: dict[str, Any], seed: int) -> None:
        self.name, self.layers, self.settings, self.seed = name, layers, settings, seed
        if name is not None:
            model_choice.check_one_layer(model_choice.model_class(name), layers)
            self._built(name, layers or (1,))

    def made(self, data: "Dataset", voice: Voice) -> Any:
        name = self.name or model_choice.usual_model(data)
        model = self._built(name, self.layers or model_choice.usual_layers(data))
        self._say_what_was_decided(name, model_choice.sizes_of(model), voice)
        return model

    def _built(self, name: str, layers: tuple[int, ...]) -> Any:
        return model_choice.built(model_choice.model_class(name), layers, self.settings, self.seed)

    def _say_what_was_decided(self, name: str, sizes: str, voice: Voice) -> None:
        missing = [option for option, given in {"--model": self.name, "--layers": self.layers}.items() if given is None]
        if missing:
            voice.said(f"Without {' and '.join(missing)}: {name} with layers {sizes}, chosen from the data.")


def _suffix(codes: str | None, path: Path) -> str:
    if codes not in (None, "csv", "parquet"):
        raise Failure(f"--codes is {codes!r}: expected csv or parquet.", Exit.USAGE)
    return f".{codes}" if codes else ".parquet" if path.suffix.lower() == ".parquet" else ".csv"


def _fit(model: Any, data: "Dataset", voice: Voice, checkpoint: Path | None) -> Fit:
    voice.told(
        "start",
        input=data.description,
        shape=list(data.X.shape),
        model=model_choice.name_of(type(model)),
        parameters=model.get_params(),
    )
    return fitted(model, data, voice, checkpoint)


def _write(
    folder: Path, fit: Fit, data: "Dataset", scaling: "Scaling", suffix: str, report: bool, voice: Voice
) -> None:
    with voice.working("scoring"):
        subject = subject_of(fit.model, data)
    with voice.working("writing"), whole_folder(folder) as beside:
        write_results(beside, fit, data, scaling, subject, suffix)
        if report:
            write_page(beside / REPORT, subject, data, _title(fit, data), fit.seconds)
    voice.said(fit.in_words())
    show_scores(voice, [fit], {fit.name: subject.scores})
    voice.told("result", output=str(folder), exit_code=_code(fit), **settings_of(fit, data, subject.scores))
    kept = "Interrupted: the best so far is kept. " if fit.interrupted else ""
    seen = f": open {folder / REPORT} to see what was learnt" if report else ""
    voice.said(f"{kept}Results are in {folder}{seen}.")


def _title(fit: Fit, data: "Dataset") -> str:
    return f"{type(fit.model).__name__} on {data.description.partition(':')[0]}"


def _code(fit: Fit) -> int:
    return int(Exit.INTERRUPTED if fit.interrupted else Exit.DONE)
