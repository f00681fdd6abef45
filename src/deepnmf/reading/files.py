"""The files of a folder, in the order of their names, and the classes that their places say."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from deepnmf.arrays import Array
from deepnmf.reading.labels import from_names

NUMBERED = re.compile(r"[\s_.-]*\d+$")


@dataclass(frozen=True)
class Files:
    """Files of one kind below a folder."""

    folder: Path
    paths: tuple[Path, ...]

    @classmethod
    def below(cls, folder: Path, suffixes: Iterable[str]) -> "Files":
        """At any depth; hidden ones are left out."""
        wanted = set(suffixes)
        found = (path for path in folder.rglob("*") if path.suffix.lower() in wanted and path.is_file())
        return cls(folder, tuple(sorted(path for path in found if not _is_hidden(path.relative_to(folder)))))

    @property
    def names(self) -> tuple[str, ...]:
        """Each file's path within the folder."""
        return tuple(path.relative_to(self.folder).as_posix() for path in self.paths)

    def classes(self) -> tuple[Array | None, tuple[str, ...] | None, str]:
        """Each file's class, the classes' names, and where they come from: subfolders, else names but for a number."""
        tops = [path.relative_to(self.folder).parts[0] for path in self.paths]
        if all(len(path.relative_to(self.folder).parts) > 1 for path in self.paths):
            return (*from_names(tops), "(subfolders)") if len(set(tops)) > 1 else (None, None, "")
        stems = [NUMBERED.sub("", path.stem) for path in self.paths]
        counts = Counter(stems)
        if len(counts) > 1 and min(counts.values()) > 1 and "" not in counts:
            return (*from_names(stems), "(names of files)")
        return None, None, ""


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
