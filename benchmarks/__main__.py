"""Write the pages of the benchmarks: `python -m benchmarks --all`, from the root of the repository.

`--all` measures every page that is older than the code of the library, so the same command continues an interrupted
run. Named pages are always measured. Without arguments, the pages are listed with the minutes that they take on two
cores. The machine must be quiet: run nothing else. The data are read from the folder DEEPNMF_DATA, and the extra
`bench` has the packages that some pages compare deepnmf with.
"""

import argparse
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from reproduction.page_index import changed_modules
from reproduction.pages import table

FOLDER = Path("docs/benchmarks")


@dataclass(frozen=True)
class Page:
    """A page.

    Parameters
    ----------
    name : str
        The name of its file.
    minutes : int
        Its time on two cores, rounded up.
    commands : tuple of str
        Modules of `benchmarks` with their options.
    prints : bool
        Whether the command prints the page. Other commands write the page themselves.
    """

    name: str
    minutes: int
    commands: tuple[str, ...]
    prints: bool = True

    def path(self, folder: Path) -> Path:
        """Return the file of the page."""
        return folder / f"{self.name}.md"

    def write(self, folder: Path) -> bool:
        """Measure, and return whether all commands succeeded; otherwise a printed page stays as it was."""
        return all(self._run(command, folder) for command in self.commands)

    def _run(self, command: str, folder: Path) -> bool:
        options = [] if self.prints or folder == FOLDER else ["--folder", str(folder)]
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(f"benchmarks.{command}"), *options],
            stdout=subprocess.PIPE if self.prints else None,
            text=True,
            check=False,
        )
        if self.prints and done.returncode == 0:
            self.path(folder).write_text(done.stdout)
        return done.returncode == 0


def printed(name: str, minutes: int) -> Page:
    """Return a page that the module with its name prints."""
    return Page(name, minutes, (name,))


def speed(name: str, minutes: int, options: str = "") -> Page:
    """Return a page of `benchmarks.speed`."""
    return Page(f"speed_{name}", minutes, (f"speed {name} {options}".strip(),), prints=False)


def in_parts(name: str, minutes: int, *parts: str) -> Page:
    """Return a page that is measured one part at a time."""
    return Page(name, minutes, tuple(f"{name} {part} --again" for part in parts), prints=False)


PAGES = {
    page.name: page
    for page in (
        speed("sweep", 9),
        speed("growth", 2),
        speed("deep", 7, "--published-fine-tuning 200,1000,300 --repeats 3"),
        speed("defaults", 8, "--repeats 3"),
        speed("families", 40, "--repeats 5"),
        speed("shallow", 30, "--repeats 3"),
        speed("small", 3),
        speed("startup", 5),
        printed("divergences", 9),
        printed("out_of_core", 3),
        printed("cluster", 6),
        printed("reading", 2),
        printed("counts", 10),
        printed("holes", 20),
        printed("known_components", 4),
        printed("network", 1),
        printed("gnmf", 6),
        in_parts(
            "hierarchy",
            120,
            "planted --seeds 5",
            "real --seeds 5",
            "leplat --seeds 2",
            "levels --seeds 5",
            "stability --seeds 3",
        ),
        in_parts(
            "selection",
            60,
            "single-layers-100 --seeds 20",
            "single-layers-500 --seeds 20",
            "single-layers-2000 --seeds 6",
            "counts --seeds 10",
            "count-limits --seeds 10",
            "hierarchies --seeds 5 --first-seed 40",
            "real --seeds 5",
            "cost --seeds 1",
        ),
    )
}


def listed(folder: Path) -> str:
    """Return a table of all pages."""
    head = ["page", "minutes", "files of the library with other code now"]
    return table(head, [[page.name, page.minutes, _described(page.path(folder))] for page in PAGES.values()])


def _described(path: Path) -> str:
    changed = changed_modules(path)
    return "unknown" if changed is None else str(changed)


def write(pages: list[Page], folder: Path) -> int:
    """Write pages one after the other, and return the number of those that failed."""
    failed = 0
    for page in pages:
        print(f"{page.name}: about {page.minutes} minutes", file=sys.stderr, flush=True)
        began = time.perf_counter()
        if page.write(folder):
            minutes = (time.perf_counter() - began) / 60
            print(f"{page.path(folder)}: written in {minutes:.1f} minutes", file=sys.stderr, flush=True)
        else:
            failed += 1
            print(f"{page.name}: failed, see above", file=sys.stderr, flush=True)
    return failed


def main(arguments: list[str]) -> int:
    """List the pages, or write some or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(PAGES)}")
    parser.add_argument("--all", action="store_true", help="write every page that is older than the code")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the folder of the pages")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in PAGES]:
        parser.error(f"unknown page {unknown[0]!r}; expected one of {', '.join(PAGES)}")
    if options.all and options.names:
        parser.error("expected either names of pages or --all")
    if options.all:
        return write(
            [page for page in PAGES.values() if changed_modules(page.path(options.folder)) != 0], options.folder
        )
    if options.names:
        return write([PAGES[name] for name in options.names], options.folder)
    print(listed(options.folder))
    return 0


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
