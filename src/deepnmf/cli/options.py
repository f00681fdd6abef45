"""Options that several commands share, and the input that they describe."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepnmf.cli.exits import CommandError, ExitCode, errors_as

if TYPE_CHECKING:
    from deepnmf.cli.output import Messages
    from deepnmf.reading import Dataset, Recipe, Scaling

INPUT_HELP = (
    "A .npy, .npz, .csv, .tsv, .parquet, .mat, .h5ad, .h5mu, .jsonl (texts) or .wav file, "
    "or a folder of images, .txt or .wav files whose subfolders are classes."
)

Input = Annotated[Path, typer.Argument(metavar="INPUT", help=INPUT_HELP, show_default=False)]
ModelPath = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="The folder written by deepnmf fit, or a model file.", show_default=False),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column, field or array of the labels; several columns of a table, separated by commas, for models with "
        "several attributes: person,light.",
    ),
]
Columns = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Columns of a table that are features, separated by commas.")
]
Drop = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Columns of a table to be ignored, separated by commas.")
]
Names = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column or field of the names of the samples.")]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Array of the data, in .npz and .mat files; layer of an .h5ad file; modality of an .h5mu file, or "
        "modality/layer.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        metavar="HxW",
        help="Height and width of images: a folder's images are resized, rows of a table are shown as images.",
    ),
]
SampleShape = Annotated[
    str | None,
    typer.Option(
        metavar="HxW", help="Height and width of a scene whose pixels are the samples; the report shows maps of codes."
    ),
]
StopWords = Annotated[
    str | None,
    typer.Option(metavar="WORDS", help="Words of texts to be ignored: english, or a text file of words."),
]
Ngrams = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=5, help="Phrases of up to N words of a text count as words, too."),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="SCALE",
        help="columns: divide each by its maximum; samples: rows of unit norm; max: divide by the largest entry; "
        "log: log(1 + x); none. By default columns if a table has different units, otherwise none.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter of the model, such as theta=0.1,0.9; may be repeated."
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        metavar="LOSS",
        help="Loss: frobenius (squared error), kullback-leibler (for counts), itakura-saito (for power spectra), "
        "or the number β of a beta divergence.",
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Seed of the random numbers; the same seed gives the same result.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output of an earlier run.")]


def parse_size(text: str | None, option: str = "--size") -> tuple[int, int] | None:
    """Return the height and width of a text such as "32x32"."""
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise CommandError(f"{option} is {text!r}: expected height x width, such as 32x32.", ExitCode.USAGE)
    return int(parts[0]), int(parts[1])


# ----------------------------------------------------------------------------------------- the input


@dataclass(frozen=True)
class DataSource:
    """An input and the options that describe it."""

    path: Input
    labels: Labels = None
    names: Names = None
    key: Key = None
    size: Size = None
    scale: Scale = None
    columns: Columns = None
    drop: Drop = None
    stop_words: StopWords = None
    ngrams: Ngrams = None

    @property
    def stem(self) -> str:
        """The name of the input, from which the names of results are made."""
        return self.path.resolve().stem

    def check(self) -> None:
        """Check the options before anything is read."""
        from deepnmf.reading import SCALES

        parse_size(self.size)
        if self.scale is not None and self.scale not in SCALES:
            raise CommandError(f"--scale is {self.scale!r}: expected {', '.join(SCALES)}.", ExitCode.USAGE)

    def read(self, messages: "Messages") -> tuple["Dataset", "Scaling"]:
        """Read the data and scale them; without --scale, the units of the columns decide."""
        from deepnmf.reading import Scaling

        self.check()
        data = self._read(messages)
        for sentence in (*data.notes, *_size_hint(data)):
            messages.info(sentence)
        scaling = Scaling.for_units(data) if self.scale is None else Scaling.of(self.scale, data.X)
        if self.scale is None and scaling.name == "columns":
            messages.info(_units_text(scaling))
        return _scaled(data, scaling)

    def read_like(self, recipe: "Recipe | None", scaling: "Scaling", messages: "Messages") -> "Dataset":
        """Read and scale the data in the same way as the data of a model."""
        return _scaled(self._read(messages, recipe), scaling)[0]

    def _read(self, messages: "Messages", like: "Recipe | None" = None) -> "Dataset":
        from deepnmf.reading import ReadingError, read

        options: dict[str, Any] = {"labels": self.labels, "names": self.names, "key": self.key}
        options |= {"columns": _listed(self.columns), "drop": _listed(self.drop) or (), "ask": messages.question()}
        options |= {"stop_words": self.stop_words, "ngrams": self.ngrams}
        with errors_as(ExitCode.UNREADABLE, ReadingError), messages.reading_progress() as on_bytes:
            data = read(self.path, **options, size=parse_size(self.size), like=like, on_bytes=on_bytes)
        messages.info(data.description)
        return data


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `DataSource` in place of its parameter `source`."""
    options = signature(DataSource).parameters.values()
    parameters = [
        one.replace(kind=Parameter.KEYWORD_ONLY)
        for own in signature(command).parameters.values()
        for one in (options if own.name == "source" else [own])
    ]

    @wraps(command)
    def with_source(**values: Any) -> None:
        source = DataSource(**{option.name: values.pop(option.name) for option in options})
        command(source=source, **values)

    with_source.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    with_source.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_source


def _listed(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def _size_hint(data: "Dataset") -> list[str]:
    from deepnmf.reading.column_kinds import pixel_shape

    shape = None if data.image_shape or data.feature_names is None else pixel_shape(data.feature_names)
    return [f"The columns look like pixels: --size {shape[0]}x{shape[1]} shows them as images."] if shape else []


def _units_text(scaling: "Scaling") -> str:
    known = [divisor for divisor in scaling.divisors if divisor > 0]
    return (
        f"The columns have different units (maxima from {min(known):.3g} to {max(known):.3g}): each is divided by its "
        "maximum; --scale none disables this."
    )


def _scaled(data: "Dataset", scaling: "Scaling") -> tuple["Dataset", "Scaling"]:
    with errors_as(ExitCode.UNSUITABLE, ValueError):
        return replace(data, X=scaling(data.X)), scaling
