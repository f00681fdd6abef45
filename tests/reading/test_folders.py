"""No file of a folder is ignored silently."""

import os

import numpy as np
import pytest
from PIL import Image

from deepnmf.reading import ReadingError, read


@pytest.fixture
def folder(tmp_path):
    """Two classes of two images."""
    for name in ("cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"):
        (tmp_path / "pets" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (2, 2)).save(tmp_path / "pets" / name)
    return tmp_path / "pets"


@pytest.fixture
def locked(monkeypatch):
    """Return a function that makes folders of a name unreadable, also for root."""
    scan = os.scandir

    def lock(name):
        def scandir(path):
            if os.fspath(path).endswith(name):
                raise PermissionError(13, "Permission denied", os.fspath(path))
            return scan(path)

        monkeypatch.setattr(os, "scandir", scandir)

    return lock


def refusal(folder):
    with pytest.raises(ReadingError) as caught:
        read(folder)
    return str(caught.value)


def test_an_unreadable_class_folder_is_named_and_not_skipped(folder, locked):
    locked("dog")
    assert refusal(folder) == f"{folder / 'dog'} cannot be read: Permission denied."


def test_an_unreadable_hidden_folder_is_ignored_like_any_hidden_folder(folder, locked):
    (folder / ".cache").mkdir()
    locked(".cache")
    assert read(folder).class_names == ("cat", "dog")


def test_a_linked_class_folder_is_a_class(folder, tmp_path):
    (folder / "dog").rename(tmp_path / "elsewhere")
    (folder / "dog").symlink_to(tmp_path / "elsewhere")
    data = read(folder)
    assert (data.class_names, np.bincount(data.y).tolist()) == (("cat", "dog"), [2, 2])


@pytest.mark.parametrize("target", ["cat", "."])
def test_a_folder_that_occurs_twice_is_refused(folder, target):
    (folder / "zoo").symlink_to(folder / target)
    assert "is the same folder as" in refusal(folder)


def test_a_broken_link_among_images_is_named(folder):
    (folder / "cat/3.png").symlink_to(folder / "nowhere.png")
    assert refusal(folder) == f"{folder / 'cat/3.png'} is a broken link or a device: expected a file."


def test_a_pipe_among_images_is_not_waited_for(folder):
    os.mkfifo(folder / "cat/3.png")
    assert "cat/3.png is a broken link or a device" in refusal(folder)
