"""Hyperspectral unmixing of the Samson scene: features are spectra of materials, codes are their shares."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.preprocessing import normalize

from reproduction.contenders import MODELS, Layer, contender, described_starts, layers_of, relative_error, starts
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.pages import table

__all__ = ["EXPERIMENTS", "unmixed"]

SCENE = "samson_95x95"
SIZES = (12, 6, 3)
PIXELS: dict[str, Callable[[Array], Array]] = {
    "as measured": lambda X: X,
    "at a maximum of one": lambda X: X / np.maximum(X.max(axis=1, keepdims=True), 1e-12),
}


def unmixed(layer: Layer, endmembers: Array) -> tuple[Array, Array, Array]:
    """Return the feature of each material, its angle to the true spectrum in degrees, and its share of each pixel.

    Features are matched to materials so that the sum of angles is smallest; every other feature belongs to the nearest
    material. Shares are the codes of features that are scaled to a maximum of one, like the true spectra; the shares of
    a pixel add up to one.

    Examples
    --------
    >>> spectra = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> matched, angles, shares = unmixed(Layer(spectra[::-1], np.array([[3.0, 1.0]])), spectra)
    >>> matched.tolist(), angles.tolist(), shares.tolist()
    ([1, 0], [0.0, 0.0], [[0.25, 0.75]])
    """
    angles = np.rad2deg(np.arccos(np.clip(normalize(endmembers) @ normalize(layer.features).T, -1, 1)))
    materials, matched = linear_sum_assignment(angles)
    owners = angles.argmin(axis=0)
    owners[matched] = materials
    codes = layer.codes * layer.features.max(axis=1)
    shares = codes / np.maximum(codes.sum(axis=1, keepdims=True), 1e-12)
    return matched, angles[materials, matched], shares @ np.eye(len(endmembers))[owners]


def _pixels(data: Data, scale: Value) -> Array:
    bunch = data[SCENE]
    return PIXELS[str(scale)](bunch.data / float(bunch.scale))


def _sizes(plan: Plan) -> tuple[int, ...]:
    return (5, 4, 3) if plan.quick else SIZES


def _trials(plan: Plan) -> list[Trial]:
    return [{**trial, "pixels": pixels} for pixels, trial in product(PIXELS, starts(plan))]


def _fitted(trial: Trial, X: Array, plan: Plan) -> Any:
    return contender(str(trial["model"]), _sizes(plan), str(trial["start"]), int(trial["draw"]), plan).fit(X)


def _run(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    X, bunch = _pixels(data, trial["pixels"]), data[SCENE]
    model = _fitted(trial, X, plan)
    error = relative_error(model, X)
    layers = layers_of(model, X)
    for place, layer in enumerate(layers):
        _, angles, shares = unmixed(layer, bunch.endmembers)
        distances = np.sqrt(np.mean((shares - bunch.abundances) ** 2, axis=0))
        top = int(place == len(layers) - 1)
        for name, angle, rmse in zip(bunch.endmember_names, angles, distances, strict=True):
            found = {"endmember": str(name), "angle": angle, "rmse": rmse, "error": error}
            yield {"layer": place + 1, "size": len(layer.features), "top": top} | found


def _table(some: Results, measure: str, digits: int) -> str:
    """Return a table of the top layer, with one row per scaling of the pixels, initialization and model."""
    materials = some.distinct("endmember")
    head = ["pixels", "init", "model", *materials, "mean", "relative error of the fit"]
    rows = []
    for pixels, start, model in product(some.distinct("pixels"), some.distinct("start"), some.distinct("model")):
        found = some.where(pixels=pixels, start=start, model=model)
        cells = [_cell(found.where(endmember=name), measure, digits) for name in materials]
        rows.append(
            [pixels, start, model, *cells, f"**{found.mean(measure):.{digits}f}**", f"{found.mean('error'):.4f}"]
        )
    return table(head, rows)


def _cell(some: Results, measure: str, digits: int) -> str:
    return some.spread(measure, digits) if len(some.rows) > 1 else f"{some.mean(measure):.{digits}f}"


def _layer_table(some: Results) -> str:
    rows = []
    for pixels, model, layer in product(*(some.distinct(name) for name in ("pixels", "model", "layer"))):
        if found := some.where(pixels=pixels, model=model, layer=layer):
            means = [f"{found.mean('angle'):.2f}", f"{found.mean('rmse'):.3f}"]
            rows.append([pixels, model, layer, found.rows[0]["size"], *means])
    return table(["pixels", "model", "layer", "features", "mean angle, degrees", "mean RMSE of shares"], rows)


def _findings(some: Results) -> str:
    """Return a list of the best models, with NMF for comparison."""
    lines = []
    for pixels, start in product(some.distinct("pixels"), some.distinct("start")):
        found = some.where(pixels=pixels, start=start)
        for measure, title in (("angle", "mean angle"), ("rmse", "mean RMSE of shares")):
            means = {model: found.where(model=model).mean(measure) for model in found.distinct("model")}
            best = min(means, key=lambda model: means[model])
            lines.append(
                f"- Pixels {pixels}, {start} init: the lowest {title} is {means[best]:.3f} ({best}); "
                f"NMF has {means['NMF']:.3f}."
            )
    return "\n".join(lines)


def _page(results: Results) -> str:
    top = results.where(top=1)
    sizes = ", ".join(str(size) for size in dict.fromkeys(results.where(model="deep NMF").column("size")))
    return "\n\n".join(
        [
            "The Samson scene has 95 x 95 pixels, 156 bands and three materials, with published true spectra and\n"
            f"shares (abundances). Models have three features on top; deep models have {sizes.replace('.0', '')}\n"
            "features, lowest layer first. Pixels are fitted as measured (divided by the largest value), or each is\n"
            "scaled to a maximum of one. A feature is the spectrum of a material; with features scaled to a maximum\n"
            "of one and codes that add up to one, a code is the share of the material in the pixel. The truth is\n"
            "used only to match features to materials (smallest sum of angles) and for scoring.",
            described_starts(results),
            "## Findings",
            _findings(top),
            "## Spectral angle to the truth, degrees",
            _table(top, "angle", 2),
            "## Root mean square error of the shares",
            _table(top, "rmse", 3),
            "## By layer, default init",
            "Lower layers have more features than there are materials. Each material is matched to one feature, and\n"
            "its share is that of all features nearest to its true spectrum. So the numbers of lower layers are not\n"
            "those of an unmixing; they show whether the features of a layer could be grouped by material.",
            _layer_table(results.where(start="default")),
        ]
    )


def _draw(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    lines = []
    for pixels in list(PIXELS)[:1] if plan.quick else PIXELS:
        file = f"unmixing-samson-{pixels.replace(' ', '-')}.png"
        _draw_scene(data, pixels, plan, folder / file)
        lines.append(f"![Shares of the materials and their spectra, truth above, pixels {pixels}]({file})")
    return lines


def _draw_scene(data: Data, pixels: str, plan: Plan, path: Path) -> None:
    """Draw a row of maps and spectra for the truth and for each model with its default initialization."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded when there is something to draw

    bunch, X = data[SCENE], _pixels(data, pixels)
    shown: dict[str, tuple[Array, Array]] = {"truth": (bunch.endmembers, bunch.abundances)}
    for name in plan.some(MODELS):
        top = layers_of(_fitted({"model": name, "start": "default", "draw": 0}, X, plan), X)[-1]
        matched, _, shares = unmixed(top, bunch.endmembers)
        shown[name] = (top.features[matched], shares)
    names = [str(name) for name in bunch.endmember_names]
    figure = Figure(figsize=(2 * len(names) + 3, 2 * len(shown)), layout="constrained")
    panels = figure.subplots(len(shown), len(names) + 1, width_ratios=[*(1 for _ in names), 1.5])
    for row, (title, (spectra, shares)) in zip(panels, shown.items(), strict=True):
        for panel, material, share in zip(row[:-1], names, shares.T, strict=True):
            panel.imshow(share.reshape(*(int(side) for side in bunch.image_shape)), vmin=0, vmax=1, cmap="viridis")
            panel.set(xticks=[], yticks=[], title=material)
        row[0].set_ylabel(title)
        for material, spectrum in zip(names, spectra, strict=True):
            row[-1].plot(spectrum / max(spectrum.max(), 1e-12), label=material)
        row[-1].set(xlabel="band")
    figure.legend(
        *panels[0, -1].get_legend_handles_labels(), loc="outside upper right", ncols=len(names), frameon=False
    )
    figure.savefig(path, dpi=100)


EXPERIMENTS = (
    Experiment(
        name="unmixing-samson",
        title="Beyond the papers: unmixing the Samson scene",
        data=(SCENE,),
        trials=_trials,
        run=_run,
        page=_page,
        draw=_draw,
    ),
)
