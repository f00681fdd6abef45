"""Options that several commands share, and the input that they describe."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepnmf.cli.exits import Exit, Failure, failing_as

if TYPE_CHECKING:
    from deepnmf.cli.output import Voice
    from deepnmf.reading import Dataset, Recipe, Scaling

INPUT_HELP = (
    "A .npy, .npz, .csv, .tsv, .parquet, .mat, .h5ad, .jsonl (texts) or .wav file, "
    "or a folder of images, .txt or .wav files whose subfolders are classes."
)

Input = Annotated[Path, typer.Argument(metavar="INPUT", help=INPUT_HELP, show_default=False)]
Fitted = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder that fit made, or a model file in it.", show_default=False)
]
Labels = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column, field or array of labels.")]
Names = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column or field of the samples' names.")]
Key = Annotated[str | None, typer.Option(metavar="NAME", help="The array that is the data, in .npz and .mat files.")]
Size = Annotated[
    str | None,
    typer.Option(metavar="HxW", help="Height and width: a folder's images are resized to it, rows are pictures of it."),
]
Scale = Annotated[
    str,
    typer.Option(
        metavar="none|max|unit|log",
        help="Divide by the largest entry, bring rows to unit norm, take log(1 + x), or leave the data as they are.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the model, as often as needed: theta=0.1,0.9."),
]
Seed = Annotated[int, typer.Option(min=0, help="Where randomness begins; the same seed gives the same result.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line, for machines.")]
QuietFlag = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run has written.")]


def parsed_size(text: str | None) -> tuple[int, int] | None:
    """Height and width from "32x32"."""
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise Failure(f"--size is {text!r}: expected height x width, as in 32x32.", Exit.USAGE)
    return int(parts[0]), int(parts[1])


# ----------------------------------------------------------------------------------------- the input


@dataclass(frozen=True)
class Source:
    """What a user says about an input."""

    path: Path
    labels: str | None = None
    names: str | None = None
    key: str | None = None
    size: str | None = None
    scale: str = "none"

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is read."""
        from deepnmf.reading import SCALES

        parsed_size(self.size)
        if self.scale not in SCALES:
            raise Failure(f"--scale is {self.scale!r}: expected {', '.join(SCALES)}.", Exit.USAGE)

    def read(self, voice: "Voice") -> tuple["Dataset", "Scaling"]:
        """Read, and scale by what was read."""
        from deepnmf.reading import Scaling

        self.check()
        data = self._read(voice)
        return _scaled(data, Scaling.of(self.scale, data.X))

    def read_like(self, recipe: "Recipe | None", scaling: "Scaling", voice: "Voice") -> "Dataset":
        """Read and scale as the data of a model were."""
        return _scaled(self._read(voice, recipe), scaling)[0]

    def _read(self, voice: "Voice", like: "Recipe | None" = None) -> "Dataset":
        from deepnmf.reading import ReadingError, read

        options: dict[str, Any] = {"labels": self.labels, "names": self.names, "key": self.key}
        with failing_as(Exit.UNREADABLE, ReadingError), voice.reading() as on_bytes:
            data = read(self.path, **options, size=parsed_size(self.size), like=like, on_bytes=on_bytes)
        voice.said(data.description)
        return data


def _scaled(data: "Dataset", scaling: "Scaling") -> tuple["Dataset", "Scaling"]:
    with failing_as(Exit.UNSUITABLE, ValueError):
        return replace(data, X=scaling(data.X)), scaling
