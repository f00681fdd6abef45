"""`NMF` against scikit-learn's on eight kinds of data; half of the problems are drawn anew for each commit.

Nobody can tune for the drawn problems, because their sizes, rows and ranks are derived from the hash of the commit.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import sklearn.decomposition
from benchmarks.counts import log_normalized, tf_idf
from benchmarks.hierarchy.problems import count_file, digits, image_file, samson, stored
from benchmarks.page import commit, table
from benchmarks.speed.objective import loss
from benchmarks.speed.options import Options
from benchmarks.speed.problems import Array, Matrix, Problem
from benchmarks.speed.shallow import HEAD, LEADING, Contender, Duel, attainable, ours, verdict
from benchmarks.speed.timing import Watch, geometric_mean, in_seconds, interleaved
from scipy import sparse
from scipy.signal import stft
from sklearn.base import clone

from deepnmf import NMF

TITLE = "NMF against scikit-learn's on problems of eight kinds"
WINDOW = 512  # samples of a spectrum of sound


def gamma_factors(rng: np.random.Generator, n_samples: int, n_features: int, rank: int) -> Array:
    """Return a product of gamma factors, multiplied by gamma noise with a standard deviation of a quarter."""
    codes, features = rng.gamma(1.0, size=(n_samples, rank)), rng.gamma(0.5, size=(rank, n_features))
    return codes @ features * rng.gamma(16.0, 1 / 16, (n_samples, n_features))


def spectrograms() -> Array:
    """Return the magnitudes of short spectra of bird sounds, one per row."""
    waves = stored("esc50_birds")["samples"].astype(np.float64) / 2**15
    _, _, spectra = stft(waves, nperseg=WINDOW)
    return np.ascontiguousarray(np.abs(spectra).transpose(0, 2, 1).reshape(-1, WINDOW // 2 + 1))


def dense_genes() -> Array:
    """Return log-normalized expressions of cells as a dense array."""
    return count_file("pbmc68k_reduced")().toarray()


Read = Callable[[], Matrix]
FIXED: dict[str, tuple[Read, int]] = {
    "gamma factors": (lambda: gamma_factors(np.random.default_rng(0), 2856, 1024, 60), 40),
    "wide images": (image_file("orl_112x92"), 25),
    "small images": (digits, 20),
    "text": (count_file("bbc_news", tf_idf), 20),
    "spectra": (samson, 5),
    "genes": (dense_genes, 10),
    "sound": (spectrograms, 30),
    "table": (lambda: gamma_factors(np.random.default_rng(0), 200, 20, 8), 5),
}
TO_DRAW_FROM: dict[str, tuple[Read | None, range]] = {
    "gamma factors": (None, range(10, 80)),
    "wide images": (image_file("orl_112x92"), range(10, 50)),
    "small images": (image_file("cbcl_faces_19x19"), range(10, 60)),
    "text": (count_file("newsgroups", tf_idf), range(10, 40)),
    "spectra": (samson, range(3, 12)),
    "genes": (count_file("pbmc_facs", log_normalized), range(5, 30)),
    "sound": (spectrograms, range(10, 50)),
    "table": (None, range(3, 10)),
}


def drawn(kind: str, key: str) -> tuple[Matrix, int]:
    """Return data of a kind, and a rank.

    The data are half to all of the rows of a data set, or a synthetic matrix of a random size.
    """
    read, ranks = TO_DRAW_FROM[kind]
    rng = np.random.default_rng(zlib.crc32(f"{key} {kind}".encode()))
    rank = int(rng.choice(ranks))
    if read is not None:
        X = read()
        rows = np.sort(rng.permutation(X.shape[0])[: int(rng.uniform(0.5, 1) * X.shape[0])])
        return X[rows], rank
    smallest, largest = ((100, 10), (400, 40)) if kind == "table" else ((1000, 200), (4000, 1500))
    n_samples, n_features = (int(rng.uniform(low, high)) for low, high in zip(smallest, largest, strict=True))
    return gamma_factors(rng, n_samples, n_features, int(1.5 * rank)), rank


def problems(dtype: str, key: str) -> Iterator[Problem]:
    """Yield a fixed and a drawn problem of each kind."""
    for kind, (read, rank) in FIXED.items():
        yield Problem.of(kind, _usable(read()), rank, dtype)
        X, rank = drawn(kind, key)
        yield Problem.of(f"{kind}, drawn", _usable(X), rank, dtype)


def _usable(X: Matrix) -> Matrix:
    return sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)


# ---------------------------------------------------------------------------------------------- what is measured


def to_their_objective(problem: Problem, options: Options) -> Duel:
    """Compare the seconds to scikit-learn's objective after some iterations, from the same start."""
    ours(problem.corner(), Watch(limit=0))
    ours(problem, Watch(limit=0))
    duel = Duel(Contender(LEADING, problem), max(options.iterations))
    for _ in range(options.repeats):
        duel.round()
    return duel


def as_they_come(problem: Problem, repeats: int) -> dict[str, Any]:
    """Return the seconds of fits for which only the rank is given, and our final error relative to scikit-learn's.

    The seconds are those of scikit-learn, of our fit to scikit-learn's final error, and of our complete fit.
    """
    theirs, mine = sklearn.decomposition.NMF(problem.rank, random_state=0), NMF(problem.rank, random_state=0)
    target = loss(problem.X, theirs.fit_transform(problem.X), theirs.components_)
    own = loss(problem.X, mine.fit_transform(problem.X), mine.components_)
    watch = Watch(attainable(target, problem))
    mine.fit(problem.X, on_sweep=watch)
    ended = clone(mine).set_params(max_iter=mine.n_iter_)
    best = interleaved(
        {
            "theirs": lambda: theirs.fit(problem.X),
            "to theirs": lambda: ended.fit(problem.X),
            "ours": lambda: NMF(problem.rank, random_state=0).fit(problem.X),
        },
        repeats,
    )
    return best | {"reached": watch.reached, "excess": np.sqrt(own / target) - 1}


DEFAULTS_HEAD = [
    "problem",
    "scikit-learn",
    "our fit to its error",
    "speedup",
    "our complete fit",
    "speedup",
    "our error / theirs - 1",
]


def defaults_row(problem: Problem, found: dict[str, Any]) -> list[str]:
    """Return one row of the table of defaults."""
    sooner = f"{found['theirs'] / found['to theirs']:.1f}" if found["reached"] else "not reached"
    return [
        f"`{problem.name}`",
        in_seconds(found["theirs"]),
        in_seconds(found["to theirs"]),
        sooner,
        in_seconds(found["ours"]),
        f"{found['theirs'] / found['ours']:.1f}",
        f"{found['excess']:+.2%}",
    ]


def section(dtype: str, options: Options, key: str) -> list[str]:
    """Return both tables for one precision."""
    duels, rows, described, measured = [], [], [], []
    for problem in problems(dtype, key):
        described.append(problem.described)
        duels.append(to_their_objective(problem, options))
        found = as_they_come(problem, options.repeats)
        rows.append(defaults_row(problem, found))
        measured.append(found)
    return [
        f"## {dtype}",
        f"Problems: {', '.join(described)}.",
        f"### To scikit-learn's objective after {max(options.iterations)} iterations",
        table(HEAD, [duel.row() for duel in duels]),
        *verdicts(duels),
        "### Default settings",
        table(DEFAULTS_HEAD, rows),
        summary(measured),
    ]


def summary(measured: Sequence[dict[str, Any]]) -> str:
    """Return the mean speedups of a table of defaults, and the largest excess, as text."""
    sooner = [found["theirs"] / found["to theirs"] for found in measured if found["reached"]]
    whole = [found["theirs"] / found["ours"] for found in measured]
    return (
        f"scikit-learn's error is reached on {len(sooner)} of {len(measured)} problems, and the geometric mean of the speedups to it is "
        f"{geometric_mean(sooner):.1f}, the smallest {min(sooner):.1f}. For complete fits, the geometric mean is {geometric_mean(whole):.1f}, "
        f"the smallest {min(whole):.1f}, and the largest {max(whole):.1f}. Our error exceeds scikit-learn's by at most {max(found['excess'] for found in measured):.2%}."
    )


def verdicts(duels: Sequence[Duel]) -> list[str]:
    """Return the results for all problems, and for the drawn problems."""
    drawn_ones = [duel for duel in duels if duel.contender.problem.name.endswith("drawn")]
    return [f"All problems: {verdict(duels)}", f"Drawn problems: {verdict(drawn_ones)}"]


DESCRIPTION = """\
One problem of each kind is fixed, and one is drawn: its rank, and its rows or its size, are derived from the hash of the commit, so that nobody
could see it before. Gamma factors and tables are synthetic; wide images are the ORL faces of 10 304 pixels, small images are scikit-learn's
digits and the CBCL faces, text is BBC news and 20 newsgroups with tf-idf weights, spectra are the pixels of Samson, genes are the cells of
PBMC 68k (an array) and of pbmc_facs (sparse), and sound is short spectra of birds. For each precision, the first table shows the times to scikit-learn's objective. Both fits start from the same factors. scikit-learn's coordinate descent makes its
iterations without a tolerance, and ours makes the number of sweeps after which its loss is at most the same, apart from 10 units in the last place. The second table shows `NMF(k).fit(X)` of both packages without
other parameters. Our time is measured until scikit-learn's final error is reached, and until the end of our fit. The runs alternate, and the best of several runs counts."""


def page(options: Options) -> str:
    """Measure, and return the page."""
    key = commit()
    parts = [DESCRIPTION, f"The drawn problems are derived from commit {key}."]
    for dtype in options.dtypes:
        parts += section(dtype, options, key)
    return "\n\n".join(parts)
