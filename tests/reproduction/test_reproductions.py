import csv
import re

import pytest
from typer.testing import CliRunner

from deepnmf.cli import app
from deepnmf.reproduction import EXPERIMENTS


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_reproduction_runs_at_its_smallest_size(name, stand_ins, tmp_path):
    result = reproduce(name, "--quick", "--data-home", stand_ins, "--output", tmp_path, "--jobs", 1)
    assert result.exit_code == 0, result.output
    page = (tmp_path / f"{name}.md").read_text()
    assert page.startswith(f"# {EXPERIMENTS[name].title}\n\nMade by `deepnmf reproduce {name} --quick`")
    assert not re.search(r"\bnan\b", page)
    with (tmp_path / f"{name}.csv").open() as file:
        assert list(csv.DictReader(file))
    for picture in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page):
        assert (tmp_path / picture).stat().st_size > 0
