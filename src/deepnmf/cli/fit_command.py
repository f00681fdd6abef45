"""``deepnmf fit``: fit a model to a file or folder, and write the model, its codes and a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepnmf.cli import model_choice
from deepnmf.cli.destinations import check_checkpoint, check_folder
from deepnmf.cli.exits import CommandError, ExitCode, error_handling
from deepnmf.cli.known_components import check_takes_components, read_known_components
from deepnmf.cli.options import (
    DataSource,
    Debug,
    Json,
    Loss,
    Overwrite,
    Quiet,
    SampleShape,
    Seed,
    Settings,
    parse_size,
    reads_data,
)
from deepnmf.cli.output import Messages, messages_for, print_findings, print_layers
from deepnmf.cli.result_writer import atomic_folder
from deepnmf.cli.results import (
    REPORT,
    TimedFit,
    check_scene,
    choose_layers,
    evaluate,
    findings_of,
    fit_model,
    settings_summary,
    write_report_page,
    write_results,
)

if TYPE_CHECKING:
    from deepnmf.arrays import Array
    from deepnmf.reading import Dataset, Scaling

Codes = Annotated[
    str | None,
    typer.Option(metavar="csv|parquet", help="File format of the codes; by default that of the input, or csv."),
]


@reads_data
def fit(
    model: Annotated[
        str | None, typer.Option(help="A model listed by: deepnmf models. By default chosen from the data.")
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="Sizes of the layers, the lowest first: 300,40. By default chosen from the data."
        ),
    ] = None,
    loss: Loss = None,
    settings: Settings = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the results; by default deepnmf-NAME for an input NAME."),
    ] = None,
    fixed: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Known components: a table with one row per component and the columns of the data. They stay fixed, "
            "and the other components are learned. An empty cell is an entry to be learned.",
        ),
    ] = None,
    *,
    source: DataSource,
    sample_shape: SampleShape = None,
    seed: Seed = 0,
    codes: Codes = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Checkpoint file; the same command resumes an interrupted fit from it.")
    ] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html or not.")] = True,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fit a model to a file or folder, and write the model, the codes of every layer, the losses and a report."""
    messages = messages_for(json, quiet)
    folder = output or Path(f"deepnmf-{source.stem}")
    with error_handling(messages, debug):
        check_folder(folder, overwrite)
        if checkpoint is not None:
            check_checkpoint(checkpoint, folder)
        suffix = _suffix(codes, source.path)
        chosen = model_choice.add_loss(model_choice.parse_settings(settings or []), loss)
        choice = _ModelChoice(model, model_choice.parse_layers(layers), chosen, seed)
        scene = parse_size(sample_shape, "--sample-shape")
        data, scaling = source.read(messages)
        check_scene(scene, data)
        known = None if fixed is None else read_known_components(fixed, data, scaling)
        result = _fit(choice.build(data, messages), data, messages, checkpoint, known)
        _write(folder, result, data, scaling, suffix, report, scene, messages)
    if result.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)


class _ModelChoice:
    """The requested model; missing options are chosen when the data are known."""

    def __init__(self, name: str | None, layers: tuple[int, ...] | None, settings: dict[str, Any], seed: int) -> None:
        self.name, self.layers, self.settings, self.seed = name, layers, settings, seed
        if name is not None:
            model_choice.check_one_layer(model_choice.model_class(name), layers)
            self._model(name, layers or (1,))

    def build(self, data: "Dataset", messages: Messages) -> Any:
        name = self.name or model_choice.default_model(data, self.settings)
        model = self._model(name, self.layers or self._chosen_layers(name, data, messages))
        self._report_defaults(name, model_choice.layers_text(model), messages)
        if model_choice.implies_explains(model, self.settings):
            messages.info(model_choice.EXPLAINS_DATA)
        if model_choice.suggests_counts(model, self.settings, data):
            messages.info(model_choice.COUNTS)
        return model

    def _chosen_layers(self, name: str, data: "Dataset", messages: Messages) -> tuple[int, ...]:
        """Choose the layers by predictions of hidden entries, or by a simple rule if no entries can be hidden."""
        max_passes = model_choice.passes_for_choice(data)
        try:
            with messages.activity(f"choosing the layers of {name}"):
                selection = choose_layers(self._model(name, (1,)), data, self.seed, max_passes=max_passes)
        except CommandError as reason:
            layers = model_choice.default_layers(data)
            messages.info(f"{reason} Therefore the layer sizes are half the rank and {layers[-1]}.")
            return layers
        messages.info(model_choice.search_summary(selection, min(data.X.shape)))
        return selection.best_sizes_

    def _model(self, name: str, layers: tuple[int, ...]) -> Any:
        return model_choice.build_model(model_choice.model_class(name), layers, self.settings, self.seed)

    def _report_defaults(self, name: str, sizes: str, messages: Messages) -> None:
        missing = [option for option, given in {"--model": self.name, "--layers": self.layers}.items() if given is None]
        if missing:
            messages.info(f"No {' and no '.join(missing)}: using {name} with layers {sizes}.")


def _suffix(codes: str | None, path: Path) -> str:
    if codes not in (None, "csv", "parquet"):
        raise CommandError(f"--codes is {codes!r}: expected csv or parquet.", ExitCode.USAGE)
    return f".{codes}" if codes else ".parquet" if path.suffix.lower() == ".parquet" else ".csv"


def _fit(model: Any, data: "Dataset", messages: Messages, checkpoint: Path | None, known: "Array | None") -> TimedFit:
    if known is not None:
        check_takes_components(model)
        messages.info(f"{len(known)} of the components of the first layer are fixed.")
    messages.event(
        "start",
        input=data.description,
        shape=list(data.X.shape),
        model=model_choice.command_name(type(model)),
        parameters=model.get_params(),
    )
    return fit_model(model, data, messages, checkpoint, known)


def _write(
    folder: Path,
    fit: TimedFit,
    data: "Dataset",
    scaling: "Scaling",
    suffix: str,
    report: bool,
    scene: tuple[int, int] | None,
    messages: Messages,
) -> None:
    with messages.activity("scoring"):
        evaluation = evaluate(fit.model, data)
        found = findings_of(evaluation, data)
    with messages.activity("writing"), atomic_folder(folder) as temporary:
        write_results(temporary, fit, data, scaling, evaluation, suffix)
        if report:
            write_report_page(temporary / REPORT, evaluation, data, _title(fit, data), fit.seconds, scene)
    messages.info(fit.summary())
    print_layers(messages, [fit], {fit.name: evaluation})
    print_findings(messages, found)
    summary = settings_summary(fit, data, evaluation.scores)
    messages.event("result", output=str(folder), exit_code=_code(fit), findings=found, **summary)
    kept = "Interrupted: the best result so far is saved. " if fit.interrupted else ""
    hint = f" Open {folder / REPORT} in a browser." if report else ""
    messages.info(f"{kept}The results are in {folder}.{hint}")


def _title(fit: TimedFit, data: "Dataset") -> str:
    return f"{type(fit.model).__name__} on {data.description.partition(':')[0]}"


def _code(fit: TimedFit) -> int:
    return int(ExitCode.INTERRUPTED if fit.interrupted else ExitCode.DONE)
