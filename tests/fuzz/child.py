"""Loads many mutated model files in one process with limits, and prints the outcomes.

``python -m fuzz.child FOLDER SEED COUNT``, within ``tests``; FOLDER holds the files to mutate. Without SEED and COUNT
it is bombs that are loaded. The rules:

- A damaged file that had a digest is refused, or everything in it is equal to the original.
- A forged file, whose digest fits, and any file of the first format, which has none, is refused or is a sound model:
  valid parameters, finite arrays of fitting shapes, nonnegative where the model says so, finite codes by `transform`,
  and saved again it is equal.
- A refusal is a ModelFileError of one sentence. There is no other exception and no warning.
- Loading and judging a file stays within the limits of `fuzz.verdicts`, and loading opens that file to read it and does
  nothing else that Python's audit hooks see.
"""

import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import deepnmf
from fuzz.bombs import bombs
from fuzz.files import Parts
from fuzz.mutations import DAMAGES, FORGERIES
from fuzz.verdicts import Violation, expect, judge_all


class Watch:
    """While it is active, the only allowed system event is that one file is opened for reading."""

    def __init__(self) -> None:
        self.path: str | None = None
        self.seen: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, args: tuple) -> None:
        if self.path is None:
            return
        reads_the_file = event == "open" and str(args[0]) == self.path and not args[2] & WRITING
        if not reads_the_file and not event.startswith(HARMLESS):
            self.seen.append(f"{event} {str(args)[:100]}")

    def load(self, path: Path) -> object:
        self.seen.clear()
        self.path = str(path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return deepnmf.load(path)
        finally:
            self.path = None
            if self.seen:
                raise Violation(f"loading did {self.seen[:3]}")


WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
HARMLESS = ("object.__", "sys._getframe", "builtins.id", "gc.")


def rows_for(model) -> np.ndarray:
    """Any nonnegative rows of as many features."""
    rows, columns = np.meshgrid(np.arange(5), np.arange(model.n_features_in_), indexing="ij")
    return np.abs(np.sin(1 + rows * (columns + 2))).astype(model.components_.dtype)


def check_equal(model, original, path: Path) -> None:
    X = rows_for(original)
    if not np.array_equal(model.transform(X), original.transform(X)) or saved(model, path) != saved(original, path):
        raise Violation("a damaged file was loaded as another model")


def saved(model, path: Path) -> tuple[dict, dict]:
    """Return the description and the arrays of a file."""
    model.save(path)
    parts = Parts.of(path.read_bytes())
    arrays = {name: entry for name, entry in parts.entries.items() if name != "__metadata__"}
    return parts.description, {name: (e["shape"], parts.data[slice(*e["data_offsets"])]) for name, e in arrays.items()}


def check_sound(model) -> None:
    """A forged file that loads is a model like any other: valid parameters, finite arrays within the model's bounds."""
    model._validate_params()
    expect(model.n_iter_ == len(model.loss_curve_) and np.isfinite(model.loss_curve_).all(), "loss_curve_")
    expect(model.reconstruction_err_ >= 0, "reconstruction_err_")
    for Z, below in zip(model.factors_, [model.n_features_in_, *map(len, model.factors_)], strict=False):
        expect(Z.ndim == 2 and Z.shape[1] == below and np.isfinite(Z).all(), "a factor")
        expect(not model._problem().nonnegative or (Z >= 0).all(), "a negative factor")
    for C in model.features_:
        expect(C.shape[1] == model.n_features_in_ and np.isfinite(C).all(), "features")
    H = model.codes_[-1]
    expect(H.shape[1] == len(model.factors_[-1]) and np.isfinite(H).all() and (H >= 0).all(), "codes_")
    names = getattr(model, "feature_names_in_", ["x"] * model.n_features_in_)
    expect(len(names) == model.n_features_in_ and all(type(name) is str for name in names), "feature_names_in_")
    classes = getattr(model, "classes_", np.empty(0))
    expect(np.array_equal(np.unique(classes), classes), "classes_")
    if len(classes) and hasattr(model, "transduction_"):
        expect(len(model.transduction_) == len(H) and np.isin(model.transduction_, classes).all(), "transduction_")


def check_works(model) -> None:
    X = rows_for(model)
    codes = model.transform(X)
    expect(codes.shape == (len(X), len(model.factors_[model._problem().output_layer])), "the shape of codes")
    expect(np.isfinite(codes).all(), "a code")


def check_saves_again(model, path: Path) -> None:
    before = saved(model, path)
    expect(saved(deepnmf.load(path), path) == before, "a file")


def check_sentence(error: deepnmf.ModelFileError, path: Path) -> None:
    text = str(error)
    if not (text.startswith(str(path)) and text.endswith(".") and "\n" not in text and len(text) < 1000):
        raise Violation(f"not one sentence: {text[:300]!r}")


class Fuzzer:
    """Mutates, loads and judges."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.safetensors"))
        self.contents = [file.read_bytes() for file in self.files]
        self.models = [deepnmf.load(file) for file in self.files]
        self.path, self.again = folder / "mutated", folder / "again"
        self.watch = Watch()
        for model in self.models:  # load and compile what is needed at first use
            check_works(model)
            check_saves_again(model, self.again)

    def mutated(self, seed: str) -> str:
        """Make and load one mutated file, and return the outcome."""
        chance = random.Random(seed)
        which = chance.randrange(len(self.files))
        mutate = chance.choice(DAMAGES if chance.random() < 0.3 else FORGERIES)
        original = self.contents[which]
        content = mutate(original, chance.choice(self.contents), chance)
        has_digest = "sha256" in Parts.of(original).entries["__metadata__"]
        must_be_equal = content == original or (mutate in DAMAGES and has_digest)
        return self.judged(content, self.models[which] if must_be_equal else None)

    def judged(self, content: bytes, original: object = None) -> str:
        """Load a file, which must be refused, be sound, or be equal to a given model."""
        self.path.write_bytes(content)
        try:
            model = self.watch.load(self.path)
        except deepnmf.ModelFileError as error:
            check_sentence(error, self.path)
            return "refused"
        if original is not None:
            check_equal(model, original, self.again)
            return "equal"
        check_sound(model)
        check_works(model)
        check_saves_again(model, self.again)
        return "sound"

    def cases(self, seed: str | None, count: int) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield the names of the cases and the functions that judge them."""
        if seed is not None:
            for case in (f"{seed} {i}" for i in range(count)):
                yield case, partial(self.mutated, case)
            return
        for file, content in zip(self.files, self.contents, strict=True):
            for name, bomb in bombs(content):
                yield f"{name} in {file.stem}", partial(self.judged, bomb)


def main(folder: str, seed: str | None = None, count: str = "0") -> None:
    warnings.simplefilter("ignore")
    os.fsync = lambda _: None  # temporary files need not be on the disk
    judge_all(Fuzzer(Path(folder)).cases(seed, int(count)))


if __name__ == "__main__":
    main(*sys.argv[1:])
