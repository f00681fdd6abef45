from importlib.util import find_spec

import pytest

collect_ignore = [] if find_spec("anndata") else ["annotated_data.md"]


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch):
    """Examples may write files by their plain names."""
    monkeypatch.chdir(tmp_path)
