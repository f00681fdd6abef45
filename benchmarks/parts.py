"""Benchmarks that are measured one part at a time: `python -m benchmarks.NAME PART`, from the root of the repository.

Every result is saved in `docs/benchmarks/.NAME.jsonl` as soon as it is available, so that a part that was interrupted
can be continued. At the end, the sections of `docs/benchmarks/NAME.md` with saved results are written anew. `--again`
first discards the results of the part that were measured with older code of the library.
"""

import argparse
import json
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.page import commit, described
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from deepnmf import HierarchyWarning
from reproduction.page_index import changes_since

FOLDER = Path("docs/benchmarks")

Values = Mapping[str, Any]
"""The measured values, by name."""
Record = Mapping[str, Any]
"""Values, with their part, case, contender, seed and commit."""


@dataclass(frozen=True)
class Limits:
    """The limits of `--quick`: few rows and few sweeps."""

    rows: int | None = None
    sweeps: int | None = None

    def of(self, X):
        """Return evenly spaced rows of X."""
        return X if self.rows is None else X[:: -(-X.shape[0] // self.rows)]

    @property
    def params(self) -> dict[str, int]:
        """The parameters that shorten a fit."""
        if self.sweeps is None:
            return {}
        return {"max_iter": self.sweeps, "pretrain_max_iter": self.sweeps}


QUICK = Limits(rows=150, sweeps=5)


@dataclass(frozen=True)
class Part(ABC):
    """One part.

    Parameters
    ----------
    title, text : str
        The heading, and a description of the measurements.
    cases : mapping
        The first argument of `measure` for each case, by name.
    contenders : function of no arguments
        Returns the names of the contenders.
    measure : function of a case, a contender, a seed and limits
        Returns the measured values.
    """

    title: str
    text: str
    cases: Mapping[str, Any]
    contenders: Callable[[], Sequence[str]]
    measure: Callable[[Any, str, int, Limits], Values]

    @abstractmethod
    def rendered(self, records: Sequence[Record]) -> str:
        """Return the tables of all results."""


@dataclass(frozen=True)
class Benchmark:
    """All parts of a benchmark, and its page.

    Parameters
    ----------
    name, title, text : str
        The name of the module and its files, the title of the page, and the text that applies to all parts.
    parts : mapping
    """

    name: str
    title: str
    text: str
    parts: Mapping[str, Part]

    def measured(self, part: str, options, kept: Sequence[Record]) -> Iterator[Record]:
        """Yield one result after the other; results in `kept` are not measured again."""
        known = {(one["part"], one["case"], one["contender"], one["seed"]) for one in kept}
        limits = QUICK if options.quick else Limits()
        chosen, compiled = self.parts[part], set()
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            for case in options.names or chosen.cases:
                for contender in options.models or chosen.contenders():
                    if (part, case, contender, seed) not in known:
                        with threadpool_limits(1):
                            if contender not in compiled and not options.quick:
                                chosen.measure(chosen.cases[case], contender, seed, QUICK)  # compile
                                compiled.add(contender)
                            values = chosen.measure(chosen.cases[case], contender, seed, limits)
                        made = {"part": part, "case": case, "contender": contender, "seed": seed}
                        yield made | {"commit": commit(), "values": values}

    def section(self, part: str, records: Sequence[Record]) -> str:
        """Return the text and the tables of a part."""
        first, last = (extreme(one["seed"] for one in records) for extreme in (min, max))
        seeds = f"--seeds {last - first + 1}" + (f" --first-seed {first}" if first else "")
        commits = ", ".join(dict.fromkeys(one["commit"] for one in records))
        made = f"Made by `python -m benchmarks.{self.name} {part} {seeds}` at commit {commits}."
        chosen = self.parts[part]
        return f"## {chosen.title}\n\n{chosen.text}\n\n{made}\n\n{chosen.rendered(records)}"

    def page(self, records: Sequence[Record], before: str = "") -> str:
        """Return the whole page; parts without results keep their sections of the page before."""
        kept = {section.partition("\n")[0]: f"## {section}" for section in before.rstrip().split("\n\n## ")[1:]}
        sections = []
        for name, part in self.parts.items():
            if of_part := [one for one in records if one["part"] == name]:
                sections.append(self.section(name, of_part))
            elif part.title in kept:
                sections.append(kept[part.title])
        made = f"Made by `python -m benchmarks.{self.name}`, one part at a time. {described()}"
        return "\n\n".join([f"# {self.title}", made, self.text, *sections]) + "\n"

    def kept(self, folder: Path = FOLDER) -> list[Record]:
        """Return all results that were saved so far."""
        file = self._results(folder)
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def discard(self, part: str, folder: Path) -> None:
        """Discard the results of a part that were measured with older code of the library."""
        current = [one for one in self.kept(folder) if one["part"] != part or changes_since(one["commit"]) == 0]
        self._results(folder).write_text("".join(json.dumps(one) + "\n" for one in current))

    def _results(self, folder: Path) -> Path:
        return folder / f".{self.name}.jsonl"

    def main(self) -> None:
        """Measure, save every result as soon as it is available, and write the page."""
        options = self._options()
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", HierarchyWarning)
        if options.quick:
            print(self.page(list(self.measured(options.part, options, []))))
            return
        if options.again:
            self.discard(options.part, options.folder)
        kept = self.kept(options.folder)
        for record in self.measured(options.part, options, list(kept)):
            kept.append(record)
            with self._results(options.folder).open("a") as lines:
                lines.write(json.dumps(record) + "\n")
            print(record["case"], record["contender"], record["seed"], record["values"], file=sys.stderr, flush=True)
        path = options.folder / f"{self.name}.md"
        path.write_text(self.page(kept, before=path.read_text() if path.exists() else ""))

    def _options(self) -> argparse.Namespace:
        parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{self.name}", description=__doc__)
        parser.add_argument("part", choices=self.parts)
        parser.add_argument("names", nargs="*", help="some of the cases of the part")
        parser.add_argument("--seeds", type=int, default=5)
        parser.add_argument("--first-seed", type=int, default=0)
        parser.add_argument("--models", type=_listed, help="some of the contenders, separated by semicolons")
        parser.add_argument(
            "--quick", action="store_true", help="use few rows and sweeps, print the page, and save nothing"
        )
        parser.add_argument(
            "--again", action="store_true", help="first discard results that older code of the library has given"
        )
        parser.add_argument("--folder", type=Path, default=FOLDER, help="the folder of the page")
        options = parser.parse_args()
        unknown = set(options.names) - self.parts[options.part].cases.keys()
        if unknown:
            parser.error(
                f"unknown {', '.join(sorted(unknown))}; choose from {', '.join(self.parts[options.part].cases)}"
            )
        return options


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(";")]
