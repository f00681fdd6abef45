"""Measure whether a second process makes a grid search faster: `python -m benchmarks.grid_search` (needs DEEPNMF_DATA).

The table is part of docs/reliability.md.
"""

import warnings

from benchmarks.page import described, fitted, named, table
from benchmarks.speed.problems import pie
from benchmarks.speed.timing import in_seconds
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from deepnmf import NMF, DeepNSNMF

SEARCHES = (
    (NMF(40, random_state=0, tol=0, max_iter=60), {"init": ["nndsvd", "nndsvda", "random"]}),
    (DeepNSNMF((100, 40), random_state=0, tol=0, max_iter=30), {"theta": [0.0, 0.1, 0.3]}),
)
REPEATS = 3


def rows():
    """Yield rows: the seconds with one process and with two."""
    X = pie()
    for model, grid in SEARCHES:
        searches = [GridSearchCV(model, grid, cv=2, n_jobs=jobs, refit=False) for jobs in (1, 2)]
        turns = [[fitted(search, X)[1] for search in searches] for _ in range(REPEATS)]
        alone, together = (min(times) for times in zip(*turns, strict=True))
        yield [named(model), in_seconds(alone), in_seconds(together), f"{alone / together:.2f}"]


def main():
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{described()}\n")
    print(table(["search over six fits of", "`n_jobs=1`", "`n_jobs=2`", "speedup"], rows()))


if __name__ == "__main__":
    main()
