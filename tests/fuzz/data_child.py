"""Reads many mutated data files of every format in one process with limits.

``python -m fuzz.data_child FOLDER SEED COUNT``, within ``tests``; FOLDER holds the files to mutate. A file is read as a
matrix of floating point with the labels and names that fit it, or is refused by a ReadingError of one sentence that
names it. There is no other exception.
"""

import random
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from deepnmf.reading import Dataset, ReadingError, read
from fuzz.mutations import cut_out, extend, flip_bits, overwrite, splice, truncate
from fuzz.verdicts import Violation, expect, judge_all

SHORT = 9  # bytes; shorter files are not mutated again
MUTATIONS = [flip_bits, overwrite, truncate, extend, cut_out, splice]


class Reader:
    """Mutates, reads and judges."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("original.*"))
        self.contents = [file.read_bytes() for file in self.files]
        for file in self.files:  # load and compile what is needed at first use
            check_sound(read(file))

    def mutated(self, seed: str) -> str:
        """Make and read one mutated file, and return the outcome."""
        chance = random.Random(seed)
        which = chance.randrange(len(self.files))
        content = self.contents[which]
        for _ in range(chance.choice([1, 1, 3])):
            if len(content) > SHORT:
                content = chance.choice(MUTATIONS)(content, chance.choice(self.contents), chance)
        path = self.files[which].with_stem("mutated")
        path.write_bytes(content)
        try:
            check_sound(read(path))
        except ReadingError as error:
            check_sentence(str(error), path)
            return f"{path.suffix} refused"
        return f"{path.suffix} read"

    def cases(self, seed: str, count: int) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield the names of the cases and the functions that judge them."""
        for case in (f"{seed} {i}" for i in range(count)):
            yield case, partial(self.mutated, case)


def check_sound(data: Dataset) -> None:
    n_samples, n_features = data.X.shape
    expect(n_samples > 0 and n_features > 0 and data.X.dtype.kind == "f", "the matrix")
    expect(data.y is None or len(data.y) == n_samples, "the labels")
    expect(data.feature_names is None or len(data.feature_names) == n_features, "feature_names")
    expect(data.sample_names is None or len(data.sample_names) == n_samples, "sample_names")


def check_sentence(text: str, path: Path) -> None:
    if not (str(path) in text and text.endswith(".") and "\n" not in text and len(text) < 1000):
        raise Violation(f"not one sentence: {text[:300]!r}")


def main(folder: str, seed: str, count: str) -> None:
    warnings.simplefilter("ignore")
    judge_all(Reader(Path(folder)).cases(seed, int(count)))


if __name__ == "__main__":
    main(*sys.argv[1:])
