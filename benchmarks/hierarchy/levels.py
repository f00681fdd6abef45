"""Truth on two levels: how well the layers predict fine and coarse labels."""

from dataclasses import dataclass

import numpy as np
from benchmarks.hierarchy.contenders import build, contenders, fitted
from benchmarks.hierarchy.part import Part
from benchmarks.hierarchy.problems import REAL, Problem, image_file, labels
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deepnmf.metrics import nmi


@dataclass(frozen=True)
class Labeled:
    """A problem whose rows have two attributes, with their keys in the file, and the layers to score for each."""

    problem: Problem
    file: str
    keys: tuple[str, str]
    layers: tuple[tuple[int, ...], tuple[int, ...]]
    merged: int = 1  # number of neighboring values of the second attribute that form one class


NESTED = ((0,), (-1,))  # fine labels are scored with the lowest layer, coarse labels with the top layer
ANY = ((0, -1), (0, -1))
CASES = {
    "newsgroups (40, 8), 20 groups in 6 families": Labeled(REAL["newsgroups"], "newsgroups", ("y", "y_coarse"), NESTED),
    "pbmc_facs (30, 6), 10 types in 5 populations": Labeled(REAL["pbmc_facs"], "pbmc_facs", ("y", "y_coarse"), NESTED),
    "pie (100, 50), person and lighting": Labeled(REAL["pie"], "pie_pose27", ("y", "place in the class"), ANY),
    "coil (100, 20), object and eighth of a turn": Labeled(
        Problem(image_file("coil20_32x32"), (100, 20)), "coil20_32x32", ("y", "place in the class"), ANY, merged=9
    ),
}


def clustered(codes, y, seed) -> float:
    """Return the NMI of k-means with as many clusters as classes."""
    return nmi(y, KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit_predict(codes))


def probed(codes, y, seed) -> float:
    """Return the accuracy of a linear classifier that learns from half of the rows, on the other half."""
    train, test, y_train, y_test = train_test_split(codes, y, test_size=0.5, random_state=seed)
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return float(probe.fit(train, y_train).score(test, y_test))


def measure(case, name, seed, limits):
    """Fit without labels, then score the codes of the layers; if there are several layers, the best score counts."""
    X = limits.of(case.problem.read())
    model, seconds = fitted(build(name, case.problem.sizes, seed, **limits.params), X)
    codes = {layer: np.asarray(model.encode(X, layer)) for layer in (0, -1)}
    first, second = (limits.of(labels(case.file, key)) for key in case.keys)
    both = list(zip((first, second // case.merged), case.layers, strict=True))
    return {
        "nmi": [max(clustered(codes[layer], y, seed) for layer in layers) for y, layers in both],
        "probe": [max(probed(codes[layer], y, seed) for layer in layers) for y, layers in both],
        "seconds": seconds,
    }


PART = Part(
    title="Truth on two levels",
    text=(
        "Models are fitted without labels. NMI is that of k-means (n_init 10) with as many clusters as classes. The probe is the "
        "accuracy of logistic regression on standardized codes, which learns from half of the rows and is tested on the other half. "
        "If labels are nested, fine labels are scored with the lowest layer and coarse labels with the top layer, and a cell shows fine / coarse. "
        "If two attributes are crossed, each is scored with the better of the two layers. The 72 angles of COIL are merged into "
        "eighths of a turn, because half of a class of 20 images is too small to learn from. For separate NMFs, a layer is the NMF "
        "of that size."
    ),
    cases=CASES,
    contenders=contenders,
    measure=measure,
    columns={"NMI": "nmi", "probe": "probe", "seconds": "seconds"},
    digits={"seconds": 2},
)
