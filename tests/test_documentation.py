"""The pages: every public name is in the API, what they link to exists, and their code and commands run."""

import re
import shlex
from pathlib import Path

import h5py
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import deepnmf
from command_line import succeeded
from deepnmf import datasets, metrics, reading, report

ROOT = Path(__file__).parents[1]
GUIDE = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [*GUIDE, *sorted((ROOT / "docs").glob("*/*.md"))]
FEW_SWEEPS = ("--set", "max_iter=2", "--set", "tol=0", "--no-report")


def text(page):
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", [deepnmf, datasets, metrics, reading, report], ids=lambda module: module.__name__)
def test_every_public_name_is_listed_in_the_api(module):
    prefix = module.__name__.removeprefix("deepnmf").lstrip(".")
    listed = {line.strip() for line in text(ROOT / "docs/api.md").splitlines()}
    names = [name for name in module.__all__ if name[0].isalpha() and not name.isupper()]
    public = {f"{prefix}.{name}".lstrip(".") for name in names} - {"datasets", "metrics", "report"}
    assert public <= listed


def test_files_that_pages_link_to_exist():
    missing = []
    for page in PAGES:
        links = re.findall(r"\]\(([^)#\s]+)", text(page))
        local = [link for link in links if "://" not in link and "gallery/" not in link]  # the gallery is generated
        missing += [(page.name, link) for link in local if not (page.parent / link).exists()]
    assert not missing


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", text(ROOT / "README.md"), flags=re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "digits.html").is_file()


def test_code_blocks_of_the_guide_have_prompts_so_that_they_are_run():
    blocks = [block for page in GUIDE[1:] for block in re.findall(r"```python\n(.*?)```", text(page), flags=re.DOTALL)]
    assert len(blocks) > 30
    assert all(block.startswith(">>> ") for block in blocks)


@pytest.fixture
def files_of_the_pages(tmp_path, monkeypatch):
    """The files that commands of the pages read, with a few samples."""
    monkeypatch.chdir(tmp_path)
    digits = load_digits(as_frame=True)
    table = digits.data.iloc[:, 18:38].assign(digit=digits.target.astype(str))
    for name, rows in {"digits": slice(60), "more": slice(60, 80), "your_data": slice(40)}.items():
        table[rows].to_csv(f"{name}.csv", index=False)
    load_wine(as_frame=True).frame.rename(columns={"target": "cultivar"}).to_csv("wine.csv", index=False)
    np.savez("faces.npz", X=digits.data.to_numpy()[:60], y=digits.target[:60])
    with h5py.File("cells.h5ad", "w") as file:
        file["X"] = np.random.default_rng(0).poisson(1.0, (40, 20)).astype(float)
        for frame, size in {"obs": 40, "var": 20}.items():
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame]["_index"] = [f"{frame} {i}" for i in range(size)]


def test_commands_of_the_pages_run(files_of_the_pages):
    commands = [line for page in GUIDE for line in re.findall(r"^ {4}(deepnmf (?!demo).*)$", text(page), flags=re.M)]
    assert len(commands) > 8
    for command in commands:
        _, name, *arguments = shlex.split(command, comments=True)
        succeeded(name, *arguments, *(FEW_SWEEPS if name == "fit" else ()))
