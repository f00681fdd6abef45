"""Draw wholes of faces, each with the parts that it is made of, for the README."""

import argparse
from pathlib import Path

import numpy as np
from benchmarks.hierarchy.problems import image_file
from matplotlib.figure import Figure

from deepnmf import DeepNMF

FACES, SHAPE, SIZES = "cbcl_faces_19x19", (19, 19), (49, 9)
N_WHOLES, N_PARTS = 5, 5
FILE = Path("docs/images/hierarchy.png")
WIDTHS = [1.5, *[1.0] * N_PARTS, 1.5]  # of the whole, its parts, and the rest
DPI = 100


def strongest(model: DeepNMF) -> np.ndarray:
    """Return the wholes that contribute most to the faces."""
    return np.argsort(-model.codes_[-1].sum(axis=0), kind="stable")[:N_WHOLES]


def drawn(model: DeepNMF) -> Figure:
    """Draw one row for each whole: the whole, its heaviest parts with their shares, and the sum of all other parts.

    Parts have unit norm, so that the weights of a whole in the factor show how much each part contributes.
    """
    figure = Figure(figsize=(7.2, 1.2 * N_WHOLES), layout="constrained")
    rows = figure.subplots(N_WHOLES, len(WIDTHS), width_ratios=WIDTHS)
    parts = model.features_[0]
    for axes, weights in zip(rows, model.factors_[1][strongest(model)], strict=True):
        heaviest = np.argsort(-weights, kind="stable")[:N_PARTS]
        others = np.delete(np.arange(len(weights)), heaviest)
        percent = 100 * weights / weights.sum()
        pictures = [weights @ parts, *parts[heaviest], weights[others] @ parts[others]]
        titles = ["", *(f"{share:.0f} %" for share in percent[heaviest]), f"other parts: {percent[others].sum():.0f} %"]
        for place, (cell, picture, title) in enumerate(zip(axes, pictures, titles, strict=True)):
            cell.imshow(picture.reshape(SHAPE), cmap="gray", vmin=0, interpolation="bicubic")
            cell.set_title(title, fontsize=8, pad=2)
            cell.set_axis_off()
            if place:
                sign = "=" if place == 1 else "+"
                cell.text(-0.1, 0.5, sign, transform=cell.transAxes, ha="center", va="center", fontsize=13)
    rows[0, 0].set_title("whole", fontsize=8, pad=2)
    return figure


def main() -> None:
    """Fit the model and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hierarchy.picture", description=__doc__)
    parser.add_argument("--file", type=Path, default=FILE, help="where the picture is written")
    options = parser.parse_args()
    model = DeepNMF(SIZES, random_state=0).fit(image_file(FACES)())
    drawn(model).savefig(options.file, dpi=DPI)


if __name__ == "__main__":
    main()
