import re

import pytest

from reproduction import EXPERIMENTS
from reproduction.experiment import Results, results_path, written_rows
from reproduction.trials import TrialLog

OTHER = {"paper": "blind", "blind": "paper"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_reproduction_runs_at_its_smallest_size(reproduce, name, stand_ins, tmp_path):
    result = reproduce(name, "--quick", "--data-home", stand_ins, "--output", tmp_path, "--jobs", 1)
    assert result.exit_code == 0, result.output
    page = (tmp_path / f"{name}.md").read_text()
    assert page.startswith(f"# {EXPERIMENTS[name].title}\n\nMade by `python -m reproduction {name} --quick`")
    assert not re.search(r"\bnan\b", page)
    assert list(written_rows(results_path(tmp_path, name)))
    for picture in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page):
        assert (tmp_path / picture).stat().st_size > 0
    results = Results([row for rows in TrialLog(tmp_path / f".{name}.jsonl").read().values() for row in rows])
    assert_each_protocol_has_its_page(name, results)
    for claim in EXPERIMENTS[name].claims(results):
        assert claim.verdict
        assert not any(re.search(r"\bnan\b", evidence.numbers) for evidence in claim.evidence.values())


def assert_each_protocol_has_its_page(name, results):
    """No title and no column of the other protocol, where there are two."""
    for protocol in results.protocols:
        page = EXPERIMENTS[name].page(results.only(protocol))
        assert not re.search(r"\bnan\b", page)
        assert not re.search(rf"^[#|].*`{OTHER[protocol]}`", page, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["dnsnmf-yale", "dnsnmf-depth", "sdnmf-pie", "dsnmf-pie", "dsnmf-depth"])
def test_the_blind_protocol_tries_the_default_settings_only(reproduce, name, stand_ins, tmp_path):
    call = [name, "--quick", "--protocol", "blind", "--data-home", stand_ins, "--output", tmp_path, "--jobs", 1]
    assert reproduce(*call).exit_code == 0
    rows = list(written_rows(results_path(tmp_path, name)))
    assert {row["default"] for row in rows} == {"1"}
    assert not [column for column in rows[0] if column.startswith("paper_")]
    assert f"`python -m reproduction {name} --protocol blind --quick`" in (tmp_path / f"{name}.md").read_text()
