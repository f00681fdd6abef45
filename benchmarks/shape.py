"""Print numbers about the structure of the package: ``python -m benchmarks.shape``.

The numbers show how hard the code is to read: classes in the longest chain of base classes, functions that one fit
calls, ignored type errors, lambdas, and files with their sizes. Run it at two commits to compare them.
"""

import ast
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.datasets import load_digits

import deepnmf
from deepnmf.models import MODELS

PACKAGE = Path(deepnmf.__file__).parent
UNNAMED = ("<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>")


def own_classes(model: type[Any]) -> list[str]:
    """Return the names of the classes of deepnmf that a model inherits from, beginning with its own class."""
    return [cls.__name__ for cls in model.__mro__ if cls.__module__.startswith("deepnmf.")]


def functions_entered(model: Any, X: Any) -> set[tuple[str, str]]:
    """Return the files and names of the named functions that one fit calls, after a first fit for compilation."""
    model.fit(X)
    entered = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and code.co_name not in UNNAMED:
            entered.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        model.fit(X)
    finally:
        sys.setprofile(None)
    return entered


def main() -> None:
    """Print the numbers, one per line."""
    files = sorted(PACKAGE.rglob("*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    longest = max((own_classes(model) for model in MODELS), key=len)
    digits = load_digits().data
    names = Counter(path.name for path in files)
    lambdas = sum(isinstance(node, ast.Lambda) for text in texts.values() for node in ast.walk(ast.parse(text)))
    largest = max(files, key=lambda path: len(texts[path].splitlines()))
    print(f"classes of deepnmf in the longest chain of base classes: {len(longest)} ({' < '.join(longest)})")
    for model in (deepnmf.NMF(10, random_state=0), deepnmf.DeepNSNMF((40, 10), random_state=0)):
        entered = functions_entered(model, digits)
        print(
            f"functions called by one fit of {type(model).__name__}: {len(entered)}, in {len({f for f, _ in entered})} files"
        )
    print(f"type: ignore: {sum(text.count('type: ignore') for text in texts.values())}")
    print(f"lambdas: {lambdas}")
    print(f"files: {len(files)}, lines: {sum(len(text.splitlines()) for text in texts.values())}")
    print(f"largest file: {largest.relative_to(PACKAGE)}, {len(texts[largest].splitlines())} lines")
    print(
        f"file names that occur more than once: {', '.join(sorted(n for n, c in names.items() if c > 1 and n != '__init__.py'))}"
    )


if __name__ == "__main__":
    main()
