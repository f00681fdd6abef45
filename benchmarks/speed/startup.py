"""The cost of starting a process: imports and compilation."""

import os
import subprocess
import sys
import tempfile

from benchmarks.page import table
from benchmarks.speed.options import Options
from benchmarks.speed.timing import in_seconds

TITLE = "What starting costs"

IMPORTED = """
import time
{before}
began = time.perf_counter()
{imports}
print(time.perf_counter() - began)
"""

# The data are so small that a fit takes almost no time except for overhead.
FITTED = """
import time
import numpy as np
from deepnmf import {model}
X = np.random.default_rng(0).random((200, 50))
def fit():
    began = time.perf_counter()
    {model}({sizes}, max_iter=5, tol=0, random_state=0).fit(X)
    return time.perf_counter() - began
first, second = fit(), min(fit() for _ in range(5))
print(first - second)
"""

MODELS = (("NMF", "5"), ("DeepSemiNMF", "(10, 5)"), ("DeepNSNMF", "(10, 5)"))
IMPORTS = ("import sklearn.decomposition", "import deepnmf", "from deepnmf import NMF", "import numba")


def printed(code: str, **environment: str) -> float:
    """Return the number that a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return float(done.stdout)


def best_imports(repeats: int) -> dict[str, float]:
    """Return the seconds of each import after the previous imports, in separate processes in turn."""
    codes = [IMPORTED.format(before="\n".join(IMPORTS[:place]), imports=one) for place, one in enumerate(IMPORTS)]
    rounds = [[printed(code) for code in codes] for _ in range(repeats + 1)]
    best = [min(times) for times in zip(*rounds[1:], strict=True)]  # in the first round, the files are not in the cache
    return dict(zip(IMPORTS, best, strict=True))


def first_fit(model: str, sizes: str, repeats: int) -> tuple[float, float]:
    """Return the additional time of the first fit, in a process with nothing compiled and in later processes."""
    code = FITTED.format(model=model, sizes=sizes)
    with tempfile.TemporaryDirectory() as folder:
        compiling = printed(code, NUMBA_CACHE_DIR=folder)
        return compiling, min(printed(code, NUMBA_CACHE_DIR=folder) for _ in range(repeats))


def page(options: Options) -> str:
    """Measure, and return the page."""
    imports = best_imports(options.repeats)
    rows = [
        [f"`{model}({sizes})`", *(in_seconds(s) for s in first_fit(model, sizes, options.repeats))]
        for model, sizes in MODELS
    ]
    return "\n\n".join(
        [
            "Every figure is measured in separate processes, and the best of several counts.",
            "## Import",
            "The table shows the additional time of each import after those above it. The first fit imports numba.",
            table(
                ["import", "additional time"],
                [[f"`{name}`", in_seconds(seconds)] for name, seconds in imports.items()],
            ),
            "## First fit",
            "The table shows the additional time of the first fit of a process, compared with the best of the five fits after it: with an empty cache of "
            "numba, as after an installation (one process), and in later processes, which use the cache.",
            table(["model", "nothing compiled yet", "later processes"], rows),
        ]
    )
