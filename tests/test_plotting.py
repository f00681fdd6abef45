import subprocess
import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import PathPatch
from sklearn.exceptions import NotFittedError

from deepnmf import NMF, DeepNSNMF, DeepSemiNMF, plot_codes, plot_components, plot_hierarchy, plot_loss
from deepnmf.metrics import sparseness
from deepnmf.plotting import embedding as embedding_module
from deepnmf.plotting.strengths import part_shares

rng = np.random.default_rng(0)
X = rng.random((30, 12))
SHAPES = [(3, 4), (1, 12), (12, 1), (2, 2, 3), None]


def nmf():
    return NMF(3, random_state=0, tol=1e-2).fit(X)


def deep_nsnmf():
    return DeepNSNMF((6, 4, 2), random_state=0, tol=1e-2).fit(X)


def deep_semi_nmf():
    return DeepSemiNMF((6, 2), random_state=0, tol=1e-2).fit(X - X.mean(axis=0))


def made_of(*features, codes=()):
    """A fitted model with given features."""
    model = NMF()
    model.features_ = [np.asarray(C, dtype=float) for C in features]
    model.codes_ = [np.asarray(H, dtype=float) for H in codes]
    return model


def titles(figure):
    return [panel.get_title(loc="left") for panel in figure.axes]


def pictures(panel):
    return [image.get_array() for image in panel.images]


@pytest.mark.parametrize("image_shape", SHAPES)
@pytest.mark.parametrize("fitted", [nmf, deep_nsnmf, deep_semi_nmf])
def test_every_layer_has_a_figure_of_its_components(fitted, image_shape):
    model = fitted()
    for layer, C in enumerate(model.features_):
        expected = f"layer {layer + 1}: {len(C)} features, sparseness {sparseness(C):.2f}"
        assert titles(plot_components(model, layer, image_shape)) == [expected]


def test_a_picture_is_its_feature_with_its_peak_at_one():
    features = np.array([[1.0, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 9]])
    (panel,) = plot_components(made_of(features), image_shape=(2, 3)).axes
    first, second = pictures(panel)
    np.testing.assert_allclose(first, [[1 / 6, 2 / 6, 3 / 6], [4 / 6, 5 / 6, 1]])
    np.testing.assert_allclose(second, [[0, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("sign", "expected"), [(1, [[0, 0.5, 1], [0.25, 0, 1]]), (-1, [[0.5, 0.25, 0], [0.375, 0.5, 0]])]
)
def test_a_color_picture_is_on_black_or_on_gray_if_signs_are_mixed(sign, expected):
    features = sign * np.array([[0.0, 2, 4, 1, 0, 4]])
    (panel,) = plot_components(made_of(features), image_shape=(1, 2, 3)).axes
    np.testing.assert_allclose(pictures(panel)[0], [expected])


def test_each_feature_is_a_curve_that_spans_its_cell():
    (panel,) = plot_components(made_of([[0.0, 1, 2], [4, 0, 4]])).axes
    first, second = [line for line in panel.lines if len(line.get_xdata()) == 3]
    assert first.get_xdata()[-1] < second.get_xdata()[0]
    assert np.ptp(first.get_ydata()) == pytest.approx(np.ptp(second.get_ydata()))


@pytest.mark.parametrize(("sign", "limits"), [(1, (0, 1)), (-1, (-1, 1))])
def test_colors_are_centered_at_zero_if_signs_are_mixed(sign, limits):
    figure = plot_components(made_of(np.eye(4), sign * np.ones((1, 4))), image_shape=(2, 2))
    assert {image.get_clim() for panel in figure.axes for image in panel.images} == {limits}


def test_a_large_layer_shows_the_features_with_the_largest_weight_in_the_codes():
    figure = plot_components(
        made_of(np.eye(4), codes=[[[1, 5, 0, 3], [1, 5, 0, 4]]]), image_shape=(2, 2), max_features=2
    )
    assert [int(np.argmax(picture)) for picture in pictures(figure.axes[0])] == [1, 3]
    assert titles(figure) == ["layer 1: 4 features (2 strongest shown), sparseness 1.00"]


def test_zero_features_are_blank_and_counted():
    figure = plot_components(made_of([[1.0, 0, 0, 0], [0, 0, 0, 0]]), image_shape=(2, 2))
    assert not pictures(figure.axes[0])[1].any()
    assert titles(figure) == ["layer 1: 2 features (1 zero), sparseness 1.00"]


def links(figure):
    """Wholes and parts that lines connect, by their places, and the widths of the lines."""
    return [
        (*path.get_path().vertices[[0, -1], 0], path.get_linewidth())
        for path in figure.axes[0].patches
        if isinstance(path, PathPatch)
    ]


@pytest.mark.parametrize("shown", [{"image_shape": (3, 4)}, {"feature_names": [f"gene {j}" for j in range(12)]}, {}])
@pytest.mark.parametrize("fitted", [nmf, deep_nsnmf, deep_semi_nmf])
def test_the_hierarchy_is_a_tree_with_lines_as_wide_as_shares(fitted, shown):
    model = fitted()
    figure = plot_hierarchy(model, **shown)
    rows = [text.get_text() for text in figure.axes[0].texts if text.get_text().startswith("layer")]
    assert [row.partition("\n")[0] for row in rows] == [f"layer {n}" for n in range(len(model.features_), 0, -1)]
    widths = sorted(width for *_, width in links(figure))
    drawn = [part_shares(model, layer) for layer in range(1, len(model.features_))]
    assert len(widths) <= sum(np.count_nonzero(shares >= 0.05) for shares in drawn)
    assert bool(widths) == (len(model.features_) > 1)
    if len(model.features_) == 2:
        largest = np.sort(drawn[0][drawn[0] >= 0.05])
        np.testing.assert_allclose(widths, 7 * largest / largest.max())
    if "feature_names" in shown:
        best = int(np.argmax(np.abs(model.features_[0][0])))
        assert f"gene {best}" in [text.get_text() for text in figure.axes[0].texts]


def test_names_are_text_and_must_be_as_many_as_inputs():
    FigureCanvasAgg(plot_components(nmf(), feature_names=["$x^"] * 12)).draw()
    with pytest.raises(ValueError, match="feature_names has 2 names: expected 12, one per input feature"):
        plot_hierarchy(nmf(), feature_names=["a", "b"])


@pytest.mark.parametrize("image_shape", SHAPES)
@pytest.mark.parametrize("sizes", [(1,), (40,), (300,)])
def test_titles_and_panels_are_inside_the_figure_and_apart(sizes, image_shape):
    figure = plot_components(made_of(*(rng.random((size, 12)) for size in sizes)), 0, image_shape, max_features=100)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    (panel,) = figure.axes
    boxes = [panel._left_title.get_window_extent(renderer), panel.get_window_extent(renderer)]
    width, height = figure.canvas.get_width_height()
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height for box in boxes)
    assert not boxes[0].overlaps(boxes[1])


@pytest.mark.parametrize("image_shape", [(3, 5), (12, 2)])
def test_a_shape_of_another_size_is_refused(image_shape):
    message = (
        rf"image_shape is \({image_shape[0]}, {image_shape[1]}\), .* has 12 input features: expected .* product of 12"
    )
    with pytest.raises(ValueError, match=message):
        plot_hierarchy(nmf(), image_shape)


@pytest.mark.parametrize("image_shape", [12, (3, 4, 1), (-3, -4), (3.0, 4.0), "12", (2, 2, 3, 1)])
def test_an_invalid_shape_is_refused(image_shape):
    with pytest.raises(ValueError, match=r"image_shape is .*: expected \(height, width\)"):
        plot_hierarchy(nmf(), image_shape)


@pytest.mark.parametrize("max_features", [0, 2.5, None])
def test_a_number_of_features_below_one_is_refused(max_features):
    with pytest.raises(ValueError, match=r"max_features is .*: expected a positive integer"):
        plot_hierarchy(nmf(), max_features=max_features)


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        plot_hierarchy(NMF(3))


def test_matplotlib_is_loaded_by_the_first_plot_and_pyplot_never():
    program = """
import sys, deepnmf, deepnmf.plotting, deepnmf.cli, numpy as np
assert "matplotlib" not in sys.modules
model = deepnmf.NMF()
model.features_, model.codes_ = [np.eye(4)], []
deepnmf.plotting.plot_components(model, image_shape=(2, 2))
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# ------------------------------------------------------------------------------------ loss and codes


def test_the_loss_is_drawn_after_each_sweep():
    model = deep_nsnmf()
    (panel,) = plot_loss(model).axes
    np.testing.assert_array_equal(panel.lines[0].get_xdata(), 1 + np.arange(model.n_iter_))
    np.testing.assert_array_equal(panel.lines[0].get_ydata(), model.loss_curve_)
    assert panel.get_yscale() == "linear"
    assert titles(plot_loss(model)) == [f"DeepNSNMF: {model.n_iter_} sweeps, stopped by {model.stop_reason_}"]


def test_a_loss_other_than_squared_error_is_named():
    assert plot_loss(nmf()).axes[0].get_ylabel() == "loss"
    model = nmf().set_params(beta_loss="kullback-leibler").fit(X)
    assert plot_loss(model).axes[0].get_ylabel() == "loss (Kullback-Leibler divergence)"


def test_a_loss_that_decreases_much_has_a_logarithmic_axis():
    model = nmf()
    model.loss_curve_ = np.array([100.0, 10, 1])
    assert plot_loss(model).axes[0].get_yscale() == "log"


def points(figure):
    """Points of the map by the name of their group."""
    return {group.get_label(): np.asarray(group.get_offsets()) for group in figure.axes[0].collections}


def test_codes_are_drawn_by_label_and_unknown_ones_apart():
    labels = np.array(["ash", "birch", None], dtype=object)[np.arange(30) % 3]
    figure = plot_codes(nmf(), X, labels)
    drawn = points(figure)
    assert {name: len(group) for name, group in drawn.items()} == {"unknown": 10, "ash": 10, "birch": 10}
    codes = nmf().transform(X)
    distances = np.linalg.norm(codes - codes.mean(axis=0), axis=1)
    everyone = np.concatenate(list(drawn.values()))
    assert (np.linalg.norm(everyone, axis=1) <= distances.max() + 1e-9).all()  # PCA shortens, t-SNE would not
    assert "PCA of 30 samples by class" in titles(figure)[0]


@pytest.mark.parametrize(("layer", "number"), [(0, 1), (2, 3), (-1, 3), (-3, 1)])
def test_codes_of_any_layer_are_drawn_by_cluster_where_labels_are_missing(layer, number):
    figure = plot_codes(deep_nsnmf(), X, layer=layer)
    assert titles(figure)[0].startswith(f"DeepNSNMF, codes of layer {number}: PCA of 30 samples by cluster")
    assert sum(map(len, points(figure).values())) == 30


def test_a_large_map_has_all_samples_near_their_landmarks_and_is_the_same_each_time(monkeypatch):
    monkeypatch.setattr(embedding_module, "MOST_LANDMARKS", 150)
    many = np.tile(X, (10, 1)) + rng.random((300, 12)) / 100
    model = NMF(4, random_state=0, tol=1e-2).fit(many)
    first, second = (points(plot_codes(model, many, np.arange(300) % 30)) for _ in range(2))
    assert sum(map(len, first.values())) == 300
    for name in ("0", "29"):
        np.testing.assert_array_equal(first[name], second[name])
    everyone = np.concatenate(list(first.values()))
    within = np.mean([np.linalg.norm(group - group.mean(axis=0), axis=1).mean() for group in first.values()])
    assert within < 0.2 * np.linalg.norm(everyone - everyone.mean(axis=0), axis=1).mean()


def test_codes_are_colored_by_a_feature_or_by_values():
    model = nmf()
    for color, expected in ((1, model.transform(X)[:, 1]), (X[:, 0], X[:, 0])):
        panel, bar = plot_codes(model, X, color=color).axes
        np.testing.assert_allclose(np.sort(panel.collections[0].get_array()), np.sort(expected))
    assert bar.get_ylabel() == "value"
    with pytest.raises(ValueError, match="color is 3, but the layer has 3 features: expected an index of one"):
        plot_codes(model, X, color=3)
    with pytest.raises(ValueError, match=r"color has shape \(2,\): expected one value for each of the 30 samples"):
        plot_codes(model, X, color=[1, 2])


@pytest.mark.parametrize("plot", [plot_loss, lambda model: plot_codes(model, X)])
def test_only_fitted_models_are_drawn(plot):
    with pytest.raises(NotFittedError):
        plot(NMF(3))


def test_a_notebook_shows_the_diagram_of_scikit_learn():
    model = deep_nsnmf()
    page = model._repr_html_()
    assert "DeepNSNMF" in page
    assert "sk-estimator" in page
    assert f"<p>{model.n_iter_} sweeps in {model._seconds:.1f} s; the loss no longer decreased. No feature" in page
    assert " sweeps in " not in DeepNSNMF((2, 1))._repr_html_()
