"""Measure a part of the benchmark, and write the page from all that has been measured."""

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

from benchmarks.hierarchy import leplat, levels, planted, real, stability
from benchmarks.hierarchy.part import Limits
from benchmarks.page import described, machine
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from deepnmf import HierarchyWarning

PARTS = {
    "planted": planted.PART,
    "real": real.PART,
    "leplat": leplat.PART,
    "levels": levels.PART,
    "stability": stability.PART,
}
FOLDER = Path("docs/benchmarks")
QUICK = Limits(rows=150, sweeps=5)


def measured(part: str, options, kept: list[dict]):
    """Yield what is measured of one fit after the other; fits that are kept are not made again."""
    known = {(one["part"], one["case"], one["contender"], one["seed"]) for one in kept}
    limits = QUICK if options.quick else Limits()
    chosen, compiled = PARTS[part], set()
    for seed in range(options.seeds):
        for case in options.names or chosen.cases:
            for contender in options.models or chosen.contenders():
                if (part, case, contender, seed) not in known:
                    with threadpool_limits(1):
                        if contender not in compiled and not options.quick:  # or seconds would be those of compilation
                            chosen.measure(chosen.cases[case], contender, seed, QUICK)
                            compiled.add(contender)
                        values = chosen.measure(chosen.cases[case], contender, seed, limits)
                    made = {"part": part, "case": case, "contender": contender, "seed": seed}
                    yield made | {"commit": commit(), "values": values}


def commit() -> str:
    """The commit that is checked out."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def section(part: str, records: list[dict]) -> str:
    """The text and the tables of a part."""
    seeds, commits = 1 + max(one["seed"] for one in records), dict.fromkeys(one["commit"] for one in records)
    made = f"Made by `python -m benchmarks.hierarchy {part} --seeds {seeds}` at commit {', '.join(commits)}."
    return f"## {PARTS[part].title}\n\n{PARTS[part].text}\n\n{made}\n\n{PARTS[part].rendered(records)}"


def page(records: list[dict]) -> str:
    """The whole page."""
    by_part = {part: [one for one in records if one["part"] == part] for part in PARTS}
    sections = [section(part, of_part) for part, of_part in by_part.items() if of_part]
    head = (
        f"# Hierarchies\n\nMade by `python -m benchmarks.hierarchy`, a part at a time. {machine()} {described()}\n\n"
        "Mean and deviation over seeds, on one thread, with processor seconds; deviations that round to zero, and those of fewer than three runs, are left out. Where five seeds would have taken too long there are fewer, as the column `seeds` says. No labels are used in the fits, and no parameter but the sizes of the "
        "layers is given to a model unless its name says so. `DeepWSF` without labels is `DeepSemiNMF`. Numbers of several layers stand in the order of the layers, "
        "the lowest first."
    )
    return "\n\n".join([head, *sections]) + "\n"


def main() -> None:
    """Measure, keep every fit as soon as it is made, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hierarchy", description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("names", nargs="*", help="some of the cases of the part")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--models", type=_listed, help="some of the contenders, separated by semicolons")
    parser.add_argument("--quick", action="store_true", help="few rows and sweeps; prints the page and keeps nothing")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the page is")
    options = parser.parse_args()
    unknown = set(options.names) - PARTS[options.part].cases.keys()
    if unknown:
        parser.error(f"unknown {', '.join(sorted(unknown))}; there are {', '.join(PARTS[options.part].cases)}")
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", HierarchyWarning)
    if options.quick:
        print(page(list(measured(options.part, options, []))))
        return
    file = options.folder / ".hierarchy.jsonl"
    kept = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for record in measured(options.part, options, list(kept)):
        kept.append(record)
        with file.open("a") as lines:
            lines.write(json.dumps(record) + "\n")
        print(record["case"], record["contender"], record["seed"], record["values"], file=sys.stderr, flush=True)
    (options.folder / "hierarchy.md").write_text(page(kept))


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(";")]


if __name__ == "__main__":
    main()
