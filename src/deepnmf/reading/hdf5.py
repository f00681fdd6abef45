"""HDF5 files that may come from anybody: what lies outside of the file is never opened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deepnmf.reading.errors import ReadingError, needed


class Group:
    """A group whose members are given out where they lie within the file.

    Parameters
    ----------
    group : h5py.Group
    path : Path
        The file, for messages.
    """

    def __init__(self, group: Any, path: Path) -> None:
        self.attrs = group.attrs
        self._group, self._path = group, path

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __contains__(self, name: str) -> bool:
        try:
            self[name]
        except KeyError:
            return False
        return True

    def __getitem__(self, name: str) -> Any:
        """A dataset of h5py, or a `Group`; a soft link leads to what it names by other than soft links."""
        return self._descend(name, Group._followed)

    def _descend(self, name: str, step: Any) -> Any:
        """Go down one link after the other, since HDF5 would follow a path to wherever it leads."""
        found: Any = Group(self._group.file, self._path) if name.startswith("/") else self
        for part in name.split("/"):
            found = step(found, part.encode()) if part not in ("", ".") else found
        return found

    def _followed(self, name: bytes) -> Any:
        if self._link(name) == _h5py().h5l.TYPE_SOFT:
            return self._descend(self._group.id.links.get_val(name).decode(), Group._member)
        return self._member(name)

    def _member(self, name: bytes) -> Any:
        h5py = _h5py()
        if self._link(name) != h5py.h5l.TYPE_HARD:
            raise self._outside(name.decode(), "a link to another file, or to another link")
        found = self._group[name]
        if isinstance(found, h5py.Group):
            return Group(found, self._path)
        if isinstance(found, h5py.Dataset) and (found.is_virtual or found.external):
            raise self._outside(name.decode(), "a dataset whose numbers lie in other files")
        return found

    def _link(self, name: bytes) -> Any:
        """The type of a link, which is not followed."""
        links = self._group.id.links
        if not links.exists(name):
            raise KeyError(f"there is no {name.decode()!r}")
        return links.get_info(name).type

    def _outside(self, name: str, what: str) -> ReadingError:
        return ReadingError(f"{self._path}: {name!r} is {what}: expected everything to lie within the file.")


def _h5py() -> Any:
    return needed("h5py", "h5py", "HDF5 files")
