"""`NMF` against scikit-learn's on eight kinds of data, half of the problems drawn anew whenever the page is made.

Whoever tunes for a problem on the page cannot tune for these: sizes, rows and ranks follow from the commit's hash.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import sklearn.decomposition
from benchmarks.counts import log_normalized, tf_idf
from benchmarks.hierarchy.problems import count_file, digits, image_file, samson, stored
from benchmarks.page import table
from benchmarks.parts import commit
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
    """Gamma factors with gamma noise of a quarter."""
    codes, features = rng.gamma(1.0, size=(n_samples, rank)), rng.gamma(0.5, size=(rank, n_features))
    return codes @ features * rng.gamma(16.0, 1 / 16, (n_samples, n_features))


def spectrograms() -> Array:
    """Magnitudes of short spectra of bird sounds, a row each."""
    waves = stored("esc50_birds")["samples"].astype(np.float64) / 2**15
    _, _, spectra = stft(waves, nperseg=WINDOW)
    return np.ascontiguousarray(np.abs(spectra).transpose(0, 2, 1).reshape(-1, WINDOW // 2 + 1))


def dense_genes() -> Array:
    """Log-normalized expressions of cells, as an array."""
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
    """Data of a kind, and a rank: half to all of the rows of the data, or a synthetic matrix of another size."""
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
    """A fixed and a drawn problem of each kind."""
    for kind, (read, rank) in FIXED.items():
        yield Problem.of(kind, _usable(read()), rank, dtype)
        X, rank = drawn(kind, key)
        yield Problem.of(f"{kind}, drawn", _usable(X), rank, dtype)


def _usable(X: Matrix) -> Matrix:
    return sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)


# ---------------------------------------------------------------------------------------------- what is measured


def to_their_objective(problem: Problem, options: Options) -> Duel:
    """Seconds to scikit-learn's objective after some iterations, from the same start."""
    ours(problem.corner(), Watch(limit=0))
    ours(problem, Watch(limit=0))
    duel = Duel(Contender(LEADING, problem), max(options.iterations))
    for _ in range(options.repeats):
        duel.round()
    return duel


def as_they_come(problem: Problem, repeats: int) -> dict[str, Any]:
    """Seconds to the error that scikit-learn ends with if nothing but the rank is given, and our own last error."""
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
    "to its error",
    "times sooner",
    "our whole fit",
    "times sooner",
    "our error / theirs - 1",
]


def defaults_row(problem: Problem, found: dict[str, Any]) -> list[str]:
    """One row of the table of defaults."""
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
    """Both tables in one precision."""
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
    """The means of a table of defaults, and the largest excess."""
    sooner = [found["theirs"] / found["to theirs"] for found in measured if found["reached"]]
    whole = [found["theirs"] / found["ours"] for found in measured]
    return (
        f"To scikit-learn's error, where it is reached ({len(sooner)} of {len(measured)}): geometric mean "
        f"{geometric_mean(sooner):.1f}, smallest {min(sooner):.1f}. Whole fits: geometric mean {geometric_mean(whole):.1f}, "
        f"smallest {min(whole):.1f}, largest {max(whole):.1f}. Largest excess {max(found['excess'] for found in measured):.2%}."
    )


def verdicts(duels: Sequence[Duel]) -> list[str]:
    """The results for all problems, and for the drawn ones."""
    drawn_ones = [duel for duel in duels if duel.contender.problem.name.endswith("drawn")]
    return [f"All: {verdict(duels)}", f"Drawn: {verdict(drawn_ones)}"]


DESCRIPTION = """\
One problem of each kind is fixed, and one is drawn: its rank, rows or size are derived from the hash of the commit, so that nobody
could see it before. Gamma factors and tables are synthetic; wide images are the ORL faces of 10 304 pixels, small images are scikit-learn's
digits and the CBCL faces, text is BBC news and 20 newsgroups by tf-idf, spectra are the pixels of Samson, genes are the cells of
PBMC 68k (an array) and of pbmc_facs (sparse), sound is short spectra of birds. To scikit-learn's objective: both start from the same factors, its coordinate descent makes its
iterations without a tolerance, and ours makes the number of sweeps after which its loss is the same, apart from 10 units in the last place. Default settings: `NMF(k).fit(X)` of both without
other parameters; our time is measured to scikit-learn's final error, and to the end of our fit. The best of several runs in turn counts."""


def page(options: Options) -> str:
    """Measure, and say."""
    key = commit()
    parts = [DESCRIPTION, f"Drawn by commit {key}."]
    for dtype in options.dtypes:
        parts += section(dtype, options, key)
    return "\n\n".join(parts)
