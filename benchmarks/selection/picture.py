"""Draw saved searches: `python -m benchmarks.selection.picture`, for docs/images."""

import argparse
from pathlib import Path

from benchmarks.selection.__main__ import BENCHMARK

from deepnmf import Selection
from deepnmf.selection.comparison import Candidate

FOLDER = Path("docs/images")


def selection_of(values) -> Selection:
    """Return a search from its saved values."""
    rows = [Candidate(**{**row, "above": tuple(row["above"])}) for row in values["table"]]
    return Selection(tuple(values["chosen"]), None, rows, values["ended_by"])


def main() -> None:
    """Write a picture of the first seed of every search of real data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection.picture", description=__doc__)
    parser.add_argument("names", nargs="+", help="cases of the part real")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pictures are written")
    options = parser.parse_args()
    for record in BENCHMARK.kept():
        if record["part"] == "real" and record["seed"] == 0 and record["case"] in options.names:
            name = record["case"].split(",")[0].lower().replace(" ", "-")
            selection_of(record["values"]).plot().savefig(options.folder / f"selection-{name}.svg")


if __name__ == "__main__":
    main()
