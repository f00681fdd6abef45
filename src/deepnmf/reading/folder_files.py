"""The files of a folder in the order of their names, and their classes by subfolder or name."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deepnmf.arrays import Array
from deepnmf.reading.classes import from_names
from deepnmf.reading.dataset import ReadingError, library_message, utf8_text

NUMBERED = re.compile(r"[\s_.-]*\d+$")


@dataclass(frozen=True)
class Files:
    """Files of one kind below a folder."""

    folder: Path
    paths: tuple[Path, ...]

    @classmethod
    def below(cls, folder: Path, suffixes: Iterable[str]) -> "Files":
        """Find files at any depth, also in linked folders; hidden files and folders are ignored."""
        wanted = set(suffixes)
        paths = sorted(path for path in _walk(folder, {}) if path.suffix.lower() in wanted)
        for path in paths:
            if not path.is_file():
                raise ReadingError(f"{path} is a broken link or a device: expected a file.")
        return cls(folder, tuple(paths))

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of the files within the folder."""
        return tuple(utf8_text(path.relative_to(self.folder).as_posix()) for path in self.paths)

    def classes(self) -> tuple[Array | None, tuple[str, ...] | None, str]:
        """Return the classes of the files, their names, and the source: subfolders, or file names without numbers."""
        tops = [utf8_text(path.relative_to(self.folder).parts[0]) for path in self.paths]
        if all(len(path.relative_to(self.folder).parts) > 1 for path in self.paths):
            return (*from_names(tops), "(subfolders)") if len(set(tops)) > 1 else (None, None, "")
        stems = [NUMBERED.sub("", utf8_text(path.stem)) for path in self.paths]
        counts = Counter(stems)
        if len(counts) > 1 and min(counts.values()) > 1 and "" not in counts:
            return (*from_names(stems), "(names of files)")
        return None, None, ""


def _walk(folder: Path, seen: dict[tuple[int, int], Path]) -> Iterator[Path]:
    """Yield all files below a folder, also in linked folders; a folder that cannot be read is an error."""
    try:
        _check_new(folder, seen)
        visible = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
        inside = [(Path(entry), entry.is_dir()) for entry in visible]
    except OSError as error:
        raise ReadingError(f"{folder} cannot be read: {error.strerror or library_message(error)}.") from error
    for path, is_folder in inside:
        if is_folder:
            yield from _walk(path, seen)
        else:
            yield path


def _check_new(folder: Path, seen: dict[tuple[int, int], Path]) -> None:
    """Raise an error for a folder that occurs twice because of a link: its samples would be repeated without end."""
    status = folder.stat()
    first = seen.setdefault((status.st_dev, status.st_ino), folder)
    if first != folder:
        raise ReadingError(f"{folder} is the same folder as {first}: expected each folder once.")
