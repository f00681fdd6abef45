"""Flenner & Hunter's network on sound and text: `python benchmarks/network.py > docs/benchmarks/network.md` (needs DEEPNMF_DATA)."""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from page import described, spread
from scipy import signal, sparse
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deepnmf import SSNMF, DeepNMFNetwork
from deepnmf.datasets import load
from deepnmf.metrics import purity, sparseness

BIRD_RANK, TEXT_RANK = 30, 20  # the paper's
BIRD_POOLS, TEXT_POOLS = (0, 25, 50, 75), (0, 3, 5, 7)  # the paper's
FRAME, HOP = 512, 384  # samples: 46 ms frames, 57 of them a clip
CHUNKS = 6  # a document
LABEL_WEIGHTS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
DRAWS, FEW_DRAWS, MANY_DRAWS = 5, 3, 10
RANDOM_START = {"init": "random", "pretrain_max_iter": 0}  # the paper's


# ----------------------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class Sequences:
    """Rows with their classes, and the sequence each row belongs to."""

    X: object
    y: np.ndarray
    groups: np.ndarray

    @property
    def classes_of_groups(self):
        """The class of each sequence."""
        return self.y[np.unique(self.groups, return_index=True)[1]]


def birds():
    """Return frames of √|spectrogram| of clips at equal power, their recordings, and folds."""
    bunch = load("esc50_birds")
    sound = bunch.data / np.sqrt(np.mean(np.square(bunch.data, dtype=float), axis=1, keepdims=True))
    _, _, spectrum = signal.stft(sound, nperseg=FRAME, noverlap=FRAME - HOP, boundary=None, padded=False)
    frames = np.sqrt(np.abs(spectrum)).transpose(0, 2, 1)
    clips, length, width = frames.shape
    rows = Sequences(frames.reshape(-1, width), np.repeat(bunch.target, length), np.repeat(np.arange(clips), length))
    return rows, bunch.source_id, bunch.fold


def documents():
    """Return BBC news as tf-idf, rows at unit norm; every document is its own sequence."""
    bunch = load("bbc_news")
    return Sequences(TfidfTransformer().fit_transform(bunch.data), bunch.target, np.arange(len(bunch.target)))


def chunks(seed=0):
    """Return every document's words dealt at random into chunks: rows are chunks, the document is the sequence."""
    bunch = load("bbc_news")
    rng = np.random.default_rng(seed)
    counts = sparse.coo_array(bunch.data)
    words = np.repeat(np.arange(counts.nnz), counts.data.astype(int))
    rows = counts.row[words] * CHUNKS + rng.integers(0, CHUNKS, len(words))
    shape = (CHUNKS * counts.shape[0], counts.shape[1])
    dealt = sparse.csr_array((np.ones(len(words)), (rows, counts.col[words])), shape=shape)
    groups = np.repeat(np.arange(counts.shape[0]), CHUNKS)
    return Sequences(TfidfTransformer().fit_transform(dealt), np.repeat(bunch.target, CHUNKS), groups)


def drawn(y, share, seed):
    """Mark a share of each class, at least one."""
    rng = np.random.default_rng(seed)
    known = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        known[rng.choice(members, max(1, round(share * len(members))), replace=False)] = True
    return known


# ------------------------------------------------------------------------------------------------ measuring


def fitted(model, rows, known):
    """Fit with the labels of the known rows."""
    return model.fit(rows.X, np.where(known, rows.y, -1), groups=rows.groups)


def accuracy_of_rows(model, rows, known):
    """Share of unlabelled rows whose label is right."""
    return np.mean((model.transduction_ == rows.y)[~known])


def guesses_of_groups(model, rows):
    """Return the class with the largest mean probability over a sequence's rows."""
    starts = np.unique(rows.groups, return_index=True)[1]
    return np.add.reduceat(model.predict_proba(rows.X, groups=rows.groups), starts).argmax(axis=1)


def labelled_groups(rows, known):
    """Which sequences have a labelled row."""
    return np.bincount(rows.groups, weights=known) > 0


def strongest(model, rows):
    """Return the component with the largest code, as a cluster."""
    return model.transform(rows.X, groups=rows.groups).argmax(axis=1)


def table(*columns):
    """Begin a table."""
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")


def row(*cells):
    """Print a row of a table."""
    print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)


# --------------------------------------------------------------------------------------------------- tables


def bird_models(seed):
    """Yield the paper's grid."""
    yield "SSNMF", SSNMF(BIRD_RANK, random_state=seed)
    for depth in (2, 3):
        for pool in BIRD_POOLS:
            yield (
                f"{depth} layers, pool {pool}",
                DeepNMFNetwork((BIRD_RANK,) * depth, pool_size=pool, random_state=seed),
            )


def bird_scores(model, rows, sources, known):
    """Accuracy of frames, of clips without a label, of clips of recordings without a label; purity; seconds."""
    began = time.perf_counter()
    fitted(model, rows, known)
    seconds = time.perf_counter() - began
    right = guesses_of_groups(model, rows) == rows.classes_of_groups
    return accuracy_of_rows(model, rows, known), *unseen(right, rows, sources, known), purity_of(model, rows), seconds


def unseen(right, rows, sources, known):
    """Accuracy of clips without a labelled frame, and of those whose recording has none in any clip."""
    labelled = labelled_groups(rows, known)
    return np.mean(right[~labelled]), np.mean(right[~np.isin(sources, sources[labelled])])


def purity_of(model, rows):
    """Purity of the strongest components."""
    return purity(rows.y, strongest(model, rows))


def summary_scores(rows, sources, known):
    """Score a logistic regression on maximum, mean and deviation over time, for clips."""
    frames = np.asarray(rows.X).reshape(len(rows.classes_of_groups), -1, rows.X.shape[1])
    summaries = np.hstack([frames.max(axis=1), frames.mean(axis=1), frames.std(axis=1)])
    labelled = labelled_groups(rows, known)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    model.fit(summaries[labelled], rows.classes_of_groups[labelled])
    return unseen(model.predict(summaries) == rows.classes_of_groups, rows, sources, known)


def bird_table(rows, sources, protocols):
    """Print the paper's grid for one way to give labels."""
    table(
        "model",
        "unlabelled frames",
        "clips without a label",
        "clips of recordings without a label",
        "purity",
        "s a fit",
    )
    for name, _ in bird_models(0):
        scores = [bird_scores(dict(bird_models(s))[name], rows, sources, known) for s, known in enumerate(protocols)]
        *shares, seconds = zip(*scores, strict=True)
        row(name, *(spread(share) for share in shares), f"{np.mean(seconds):.1f}")
    clips, recordings = zip(*(summary_scores(rows, sources, known) for known in protocols), strict=True)
    row("logistic regression on max, mean, std over time", "", spread(clips), spread(recordings), "", "")


def variants_table(rows):
    """Print what the parts of the method are worth."""
    deep = {"layer_sizes": (BIRD_RANK,) * 2, "pool_size": 50}
    raw = RANDOM_START | {"tol": 0, "max_iter": 100}
    settings = {
        "default (Algorithm 3)": deep,
        "`backprop=False` (Algorithm 2)": deep | {"backprop": False},
        "random start, 100 sweeps, Algorithm 3": deep | raw,
        "random start, 100 sweeps, Algorithm 2": deep | raw | {"backprop": False},
        "no pooling, Algorithm 3": deep | {"pool_size": 0},
    }
    table(
        "setting",
        "frames, logistic readout",
        "frames, H_m B as published",
        "sparseness of B",
        "topics within 5° of another",
    )
    for name, parameters in settings.items():
        measured = []
        for seed in range(FEW_DRAWS):
            known = drawn(rows.y, 0.01, seed)
            model = fitted(DeepNMFNetwork(**parameters, random_state=seed), rows, known)
            measured.append(
                (
                    accuracy_of_rows(model, rows, known),
                    head_accuracy(model, rows, known),
                    sparseness(model.label_factor_, axis=0),
                    consolidated(model),
                )
            )
        *shares, topics = zip(*measured, strict=True)
        row(name, *(spread(share) for share in shares), f"{np.mean(topics):.1f}")


def head_accuracy(model, rows, known):
    """Share of unlabelled rows that argmax H_m B of the fitted codes gets right, the published prediction."""
    return np.mean(((model.codes_[-1] @ model.label_factor_).argmax(axis=1) == rows.y)[~known])


def consolidated(model):
    """How many top features have another one within 5°."""
    cosines = model.components_ @ model.components_.T - 2 * np.eye(len(model.components_))
    return np.count_nonzero(cosines.max(axis=1) >= np.cos(np.deg2rad(5)))


def angles_table(rows):
    """Print mean angles between codes of two rows, of one class and of two, layer by layer."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, len(rows.y), (2, 20_000))
    same = rows.y[first] == rows.y[second]
    table("pool", "layer", "angle within classes", "angle between classes", "ratio")
    for pool in (0, 50):
        model = DeepNMFNetwork((BIRD_RANK,) * 3, pool_size=pool, random_state=0).fit(rows.X, groups=rows.groups)
        for layer in range(3):
            H = model.encode(rows.X, layer, groups=rows.groups)
            H = H / np.maximum(np.linalg.norm(H, axis=1, keepdims=True), 1e-12)
            angles = np.rad2deg(np.arccos(np.clip(np.sum(H[first] * H[second], axis=1), 0, 1)))
            within, between = angles[same].mean(), angles[~same].mean()
            row(pool, layer + 1, f"{within:.1f}°", f"{between:.1f}°", f"{between / within:.3f}")


def weight_table(problems):
    """Print accuracy against λ, with the readout refitted on label-free codes and with B as the energy left it."""
    table("λ", *(f"{name}, {readout}" for name in problems for readout in ("refitted", "B of the energy")))
    for weight in LABEL_WEIGHTS:
        cells = []
        for rows, model in problems.values():
            measured = []
            for seed in range(2):
                known = drawn(rows.y, 0.01, seed)
                model.set_params(label_weight=weight, random_state=seed, tol=0, max_iter=60)
                fitted(model, rows, known)
                measured.append((accuracy_of_rows(model, rows, known), head_accuracy(model, rows, known)))
            cells += [f"{mean:.3f}" for mean in np.mean(measured, axis=0)]
        row(f"{weight:g}", *cells)


def readout_table(problems):
    """Print accuracy of several regressions from label-free codes to labels."""
    table("readout", *problems)
    codes = {name: model.fit_transform(rows.X, groups=rows.groups) for name, (rows, model) in problems.items()}
    for name, guess in READOUTS.items():
        cells = []
        for problem, (rows, _) in problems.items():
            H = codes[problem] / np.sqrt(np.mean(codes[problem] ** 2))
            draws = [drawn(rows.y, 0.01, seed) for seed in range(DRAWS)]
            cells.append(spread([np.mean(guess(H, rows.y, known)[~known] == rows.y[~known]) for known in draws]))
        row(name, *cells)


def by_head(H, y, known):
    """Nonnegative least squares to the one-hot labels."""
    B = [nnls(H[known], y[known] == label, maxiter=1000)[0] for label in np.unique(y)]
    return (H @ np.transpose(B)).argmax(axis=1)


def by_ridge(alpha):
    """Ridge regression to the one-hot labels, the penalty a part of the mean eigenvalue."""

    def guess(H, y, known):
        gram, one_hot = H[known].T @ H[known], np.eye(y.max() + 1)[y[known]]
        B = np.linalg.solve(gram + alpha * np.trace(gram) / len(gram) * np.eye(len(gram)), H[known].T @ one_hot)
        return (H @ B).argmax(axis=1)

    return guess


def by_logistic(C):
    """Logistic regression."""
    return lambda H, y, known: LogisticRegression(C=C, max_iter=5000).fit(H[known], y[known]).predict(H)


READOUTS = {
    "B ≥ 0, nonnegative least squares": by_head,
    "ridge, 0.001 of the mean eigenvalue": by_ridge(1e-3),
    "ridge, 0.1 of the mean eigenvalue": by_ridge(1e-1),
    "logistic, C = 1 (the default)": by_logistic(1.0),
    "logistic, C = 10": by_logistic(10.0),
}


def documents_table(rows):
    """Print accuracy on unlabelled documents."""
    table("model", "1 % labels", "5 % labels")
    makers = {
        "`SSNMF(20)`": lambda seed: SSNMF(TEXT_RANK, random_state=seed),
        "`DeepNMFNetwork((20, 20))`": lambda seed: DeepNMFNetwork((TEXT_RANK,) * 2, random_state=seed),
    }
    draws = {share: [drawn(rows.y, share, seed) for seed in range(MANY_DRAWS)] for share in (0.01, 0.05)}
    for name, make in makers.items():
        row(
            name,
            *(
                spread(
                    [accuracy_of_rows(fitted(make(s), rows, known), rows, known) for s, known in enumerate(known_rows)]
                )
                for known_rows in draws.values()
            ),
        )
    row(
        "logistic regression on tf-idf",
        *(spread([tfidf_accuracy(rows, known) for known in known_rows]) for known_rows in draws.values()),
    )


def tfidf_accuracy(rows, known):
    """Score a logistic regression on the words themselves."""
    model = LogisticRegression(max_iter=5000).fit(rows.X[known], rows.y[known])
    return model.score(rows.X[~known], rows.y[~known])


def chunks_table(rows):
    """Print accuracy on chunks and on documents without a label, for two ways to give labels."""
    whole = [drawn(rows.classes_of_groups, 0.01, seed)[rows.groups] for seed in range(FEW_DRAWS)]
    single = [drawn(rows.y, 0.01, seed) for seed in range(FEW_DRAWS)]
    models = {"SSNMF": SSNMF(TEXT_RANK, random_state=0)}
    models |= {
        f"2 layers, pool {pool}": DeepNMFNetwork((TEXT_RANK,) * 2, pool_size=pool, random_state=0)
        for pool in TEXT_POOLS
    }
    table(
        "model",
        "1 % of chunks: chunks",
        "documents without a label",
        "1 % of documents: chunks",
        "documents without a label",
    )
    for name, model in models.items():
        cells = []
        for protocol in (single, whole):
            measured = []
            for known in protocol:
                fitted(model, rows, known)
                right = guesses_of_groups(model, rows) == rows.classes_of_groups
                measured.append((accuracy_of_rows(model, rows, known), np.mean(right[~labelled_groups(rows, known)])))
            cells += [spread(column) for column in zip(*measured, strict=True)]
        row(name, *cells)


# ------------------------------------------------------------------------------------------------ the page


INTRODUCTION = """# A network of NMF layers on sound and text

`DeepNMFNetwork` and `SSNMF` with their defaults; rank, pool widths and shares of labels are those of Flenner & Hunter's
experiments. Their recordings and texts are not public: bird sounds are those of ESC-50 (4 classes, 160 clips of 2 s), text is BBC news (5
classes, 2225 documents). Made by `python benchmarks/network.py`. {described}
Means and deviations over draws of the labels. That labels are read by a logistic regression was decided on these two data sets
([decision 7](../decisions/0007-labels-in-the-network.md)); nothing else was.
"""

BIRDS = """## Bird sounds

A row is a frame of 46 ms, {length} of them a clip, √|spectrogram|, clips at equal power; a clip is a group, and a window of 75
covers all of it from nearly everywhere. Rank {rank} at every layer. A clip is classified by the mean of its frames' probabilities. Purity
is that of the frames' strongest top components as clusters.

### 1 % of the frames labelled, as in the paper

{draws} draws. About 70 clips have a labelled frame; a wide window hands its label to the whole clip, and clips cut from one recording
resemble each other. What the method knows of new birds is in the last two columns of accuracies.
"""

FOLDS = """
### One fold of clips labelled, each in turn

All frames of 32 clips have labels: the honest protocol, which the paper does not have.
"""

VARIANTS = """
### What the parts are worth

2 layers, pool 50, 1 % of the frames, {draws} draws.
"""

ANGLES = """
### Angles between codes

3 layers, no labels, 20 000 pairs of frames.
"""

WEIGHTS = """## The weight of labels

Accuracy of `SSNMF` on unlabelled rows, 1 % labelled, 60 sweeps, mean of two draws, from the default start and from a random one as in the paper.
"Refitted" is the default, a logistic regression on the codes that the labelled rows have without their labels; "B of the energy" is the published
prediction, argmax H B.
"""

READING = """
### What reads the labels

Codes of fits without labels, then each regression on 1 % of the rows, {draws} draws.
"""

DOCUMENTS = """
## BBC news, whole documents

tf-idf, rows at unit norm, rank {rank}, no pooling, {draws} draws, accuracy on unlabelled documents. The file is sorted by class, so a window over
neighbouring documents would carry labels from one to the next: nothing is pooled here.
"""

TEXT_CHUNKS = """
## BBC news, pooled within documents

The paper pools over the paragraphs of a document. This file has counts only: the words of each document are dealt at random into
{chunks} chunks, a chunk is a row, the document its group. Random chunks resemble each other more than paragraphs do. Labels go to 1 % of the
chunks (a document's other chunks stay unlabelled, as in the paper), or to all chunks of 1 % of the documents; {draws} draws.
"""

CLAIMS = """
## The paper's claims

Its figures for sound, 1 % of the frames labelled: SSNMF 0.59; purity with 2 layers and pools 0, 25, 50, 75: 0.54, 0.85, 0.93, 0.99. For text: SSNMF 0.46.

- *Pooling raises accuracy, and wider windows raise it more.* **Confirmed in its protocol**, on frames and on chunks: a window carries what a labelled
  row knows to its own clip or document. **Not for new recordings and documents**: with whole clips labelled, frames still gain, because a window sees more of
  the clip, but clips are classified about as well by averaging the frames of plain `SSNMF`, and a logistic regression on three summaries
  over time is at least as good. With whole documents labelled, pooling loses a little.
- *Two and three layers are better than one.* **Refuted without pooling**: a second layer of the same size can be the identity, and the scores are
  those of `SSNMF`. All of the gain is the window's; a third layer adds a second window.
- *Back-propagation classifies better than forward propagation.* **Not confirmed.** From a layer-wise start little is left for it to do, and both
  algorithms score the same; from the paper's random start Algorithm 3 is the worse one.
- *Pooling and back-propagation make B sparse.* Pooling does, a little; back-propagation does from a random start, where it costs accuracy, and not from a
  layer-wise one.
- *Topics consolidate with pooling.* **Not seen**: no two top features come within 5° of each other in any setting.
- *With pooling the angles between classes grow from layer to layer compared with those within, without it they do not.* **Confirmed** by the ratios. All angles
  shrink, though: neighbouring frames come to share their codes.
- Not in the paper: what reads the labels from the codes matters as much as the network. argmax H_m B, fitted together with the codes, falls behind, and from a random
  start a large λ ruins it: labelled rows get codes that no unlabelled row has. A logistic regression on label-free codes hardly notices λ."""


def main():
    """Print the page."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(INTRODUCTION.format(described=described()))
    rows, sources, folds = birds()
    print(BIRDS.format(length=np.bincount(rows.groups)[0], rank=BIRD_RANK, draws=DRAWS))
    bird_table(rows, sources, [drawn(rows.y, 0.01, seed) for seed in range(DRAWS)])
    print(FOLDS)
    bird_table(rows, sources, [(folds == fold)[rows.groups] for fold in np.unique(folds)])
    print(VARIANTS.format(draws=FEW_DRAWS))
    variants_table(rows)
    print(ANGLES)
    angles_table(rows)
    print()
    print(WEIGHTS)
    news = documents()
    weight_table(
        {
            "BBC": (news, SSNMF(TEXT_RANK)),
            "BBC, random start": (news, SSNMF(TEXT_RANK, **RANDOM_START)),
            "birds": (rows, SSNMF(BIRD_RANK)),
            "birds, random start": (rows, SSNMF(BIRD_RANK, **RANDOM_START)),
        }
    )
    print(READING.format(draws=DRAWS))
    readout_table(
        {
            "birds, SSNMF": (rows, SSNMF(BIRD_RANK, random_state=0)),
            "birds, 2 layers, pool 50": (rows, DeepNMFNetwork((BIRD_RANK,) * 2, pool_size=50, random_state=0)),
            "BBC, SSNMF": (news, SSNMF(TEXT_RANK, random_state=0)),
        }
    )
    print(DOCUMENTS.format(rank=TEXT_RANK, draws=MANY_DRAWS))
    documents_table(news)
    print(TEXT_CHUNKS.format(chunks=CHUNKS, draws=FEW_DRAWS))
    chunks_table(chunks())
    print(CLAIMS)


if __name__ == "__main__":
    main()
