import pytest


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch):
    """Examples may write files by their plain names."""
    monkeypatch.chdir(tmp_path)
