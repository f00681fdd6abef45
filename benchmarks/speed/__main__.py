"""Run the named benchmarks, and write their pages."""

import argparse
import shlex
import sys
import warnings
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from benchmarks.page import described
from benchmarks.speed.options import Options
from benchmarks.speed.problems import PROBLEMS
from sklearn.exceptions import ConvergenceWarning

from deepnmf import HierarchyWarning

NAMES = ("shallow", "families", "defaults", "small", "sweep", "deep", "growth", "startup")


def chosen(arguments: list[str]) -> tuple[list[str], Options]:
    """Return the named benchmarks and the options."""
    usual = {field.name: field.default for field in fields(Options)}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("name", choices=(*NAMES, "all"))
    parser.add_argument(
        "--repeats", type=int, default=usual["repeats"], help="number of runs, of which the best counts"
    )
    parser.add_argument(
        "--problems", type=_some_of(PROBLEMS), default=usual["problems"], help="problems of shallow and defaults"
    )
    parser.add_argument(
        "--dtype",
        dest="dtypes",
        type=_some_of(usual["dtypes"]),
        default=usual["dtypes"],
        help="precisions of shallow, families and defaults",
    )
    parser.add_argument(
        "--iterations",
        type=_integers,
        default=usual["iterations"],
        help="iterations of contenders in shallow and families",
    )
    parser.add_argument(
        "--published-pretraining",
        type=int,
        default=usual["published_pretraining"],
        help="pre-training iterations per layer in deep",
    )
    parser.add_argument(
        "--published-fine-tuning",
        type=_integers,
        default=usual["published_fine_tuning"],
        help="limits of fine-tuning iterations in deep, one for each model",
    )
    parser.add_argument("--folder", type=Path, default=usual["folder"], help="the folder of the pages")
    values = vars(parser.parse_args(arguments))
    name = values.pop("name")
    return list(NAMES) if name == "all" else [name], Options(**values)


def _some_of(names):
    def parse(text: str) -> list[str]:
        unknown = set(text.split(",")) - set(names)
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown {', '.join(sorted(unknown))}; choose from {', '.join(names)}")
        return text.split(",")

    return parse


def _integers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Write a page for each benchmark."""
    names, options = chosen(sys.argv[1:])
    for category in (ConvergenceWarning, HierarchyWarning):
        warnings.simplefilter("ignore", category)
    for name in names:
        benchmark = import_module(f"benchmarks.speed.{name}")
        command = shlex.join(["python", "-m", "benchmarks.speed", name, *sys.argv[2:]])
        made = f"Made by `{command}`. {described()}"
        path = options.folder / f"speed_{name}.md"
        path.write_text(f"# {benchmark.TITLE}\n\n{made}\n\n{benchmark.page(options)}\n")
        print(path)


if __name__ == "__main__":
    main()
