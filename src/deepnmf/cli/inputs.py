"""Data from the input of a command, in the scale that the model sees."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.failing import Exit, Failure, failing_as
from deepnmf.cli.options import parsed_size

if TYPE_CHECKING:
    from deepnmf.cli.telling import Voice
    from deepnmf.reading import Dataset, Recipe, Scaling


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
