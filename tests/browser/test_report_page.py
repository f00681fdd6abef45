"""The report in a browser: it shows the numbers of the model."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from deepnmf import NMF, DeepNSNMF, DeepSemiNMF
from deepnmf.models.hierarchy import contributions
from deepnmf.report import Report, write_comparison

pytestmark = pytest.mark.browser

X, y = load_digits(return_X_y=True)
X, y = X[:90] / 16, y[:90]
EVIL = "<script>alert(1)</script>"
WORDS = ["a" * 80, EVIL, *(f"word{j}" for j in range(62))]
DEEP = {"layer_sizes": (60, 6), "random_state": 0, "max_iter": 20, "tol": 0}


@pytest.fixture(scope="module")
def model():
    return DeepNSNMF(**DEEP).fit(X)


@pytest.fixture(scope="module")
def free():
    return DeepSemiNMF(**DEEP).fit(X)


@pytest.fixture(scope="module")
def three():
    return DeepNSNMF((20, 8, 4), random_state=0, max_iter=5, tol=0).fit(X)


@pytest.fixture(scope="module")
def large():
    """A model of more samples than the page has in full."""
    rows = np.tile(X, (5, 1)) + np.random.default_rng(0).random((450, 64)) / 8
    return NMF(5, random_state=0, tol=1e-2).fit(rows), rows


@pytest.fixture(scope="module")
def files(model, free, three, large, tmp_path_factory):
    """Reports of every display, and a comparison."""
    folder = tmp_path_factory.mktemp("reports")
    names = [f"{EVIL} {row}" for row in range(len(X))]
    texts = [" ".join(WORDS[j] for j in np.argsort(-row)[:30]) for row in X]
    model.report(folder / "pictures.html", X, y, image_shape=(8, 8), title="Digits")
    free.report(folder / "signed.html", X, y, image_shape=(8, 8))
    model.report(
        folder / "words.html",
        X,
        np.array([EVIL, "b" * 70])[y % 2],
        feature_names=WORDS,
        sample_names=names,
        texts=texts,
        title=EVIL,
    )
    free.report(folder / "curves.html", X)
    three.report(folder / "three.html", X, y, image_shape=(8, 8))
    model.report(folder / "scene.html", X, sample_shape=(9, 10), axis_label="pixel")
    model.report(folder / "many_classes.html", X, np.arange(90) % 30, image_shape=(8, 8))
    large[0].report(folder / "large.html", large[1], image_shape=(8, 8))
    names = [f"digit{label}/{row}.png" for row, label in enumerate(y)]
    classes = [f"digit{label}" for label in range(10)]
    model.report(folder / "folders.html", X, y, image_shape=(8, 8), sample_names=names, class_names=classes)
    NMF(3, random_state=0, tol=1e-2).fit(X).report(folder / "one_layer.html", X, axis=np.arange(64))
    write_comparison({"deep": model, EVIL: free}, folder / "comparison.html", X, y, image_shape=(8, 8))
    return folder


def tiles(page, heading):
    """Feature (from 0) and weight of each tile under a heading."""
    found = page.locator("#detail section", has=page.get_by_role("heading", name=heading, exact=True)).locator("a.tile")
    return found.evaluate_all("all => all.map(t => [Number(t.dataset.feature), Number(t.dataset.weight)])")


def agree(seen, weights):
    """The entries of largest magnitude, in order, in three digits."""
    order = np.argsort(-np.abs(weights), kind="stable")[: len(seen)]
    assert [index for index, _ in seen] == order.tolist()
    np.testing.assert_allclose([weight for _, weight in seen], weights[order], rtol=6e-3)


def grays(canvas):
    """What a canvas shows, from 0 to 1."""
    pixels = canvas.evaluate("c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]")
    return np.array(pixels).reshape(8, 8, 4)[..., 0] / 255


def relative(vector, peak):
    return (vector / peak).clip(0, 1).reshape(8, 8)


def arrive(page, title):
    """Wait until a detail with this title is shown."""
    page.locator("#detail").get_by_role("heading", name=title, exact=True, level=2).wait_for()


def leave(page):
    """Wait until no detail is shown."""
    page.locator("#detail").wait_for(state="hidden")


def node(page, layer, feature):
    return page.locator(f'.node[data-layer="{layer}"][data-feature="{feature}"]')


def on_map(page, row):
    """Position of a sample on the screen."""
    x, y = page.evaluate("row => sampleMap.position(placeOnMap(row))", row)
    box = page.locator("canvas.sample-map").bounding_box()
    return box["x"] + x, box["y"] + y


def shares_of(model):
    """What parts add to their wholes, as shares of each row."""
    added = contributions(model._learned, 1)
    return added / added.sum(axis=1, keepdims=True)


# ----------------------------------------------------------------------------------------- the hierarchy


def test_the_drawing_has_the_strongest_wholes_above_and_their_parts_below(opened, files, model):
    page = opened(files / "pictures.html")
    strength = np.abs(model.encode(X)).mean(axis=0) * np.linalg.norm(model.components_, axis=1)
    wholes = page.locator(".node.level-1").evaluate_all("all => all.map(n => Number(n.dataset.feature))")
    assert wholes == np.argsort(-strength, kind="stable").tolist()
    shares = shares_of(model)
    lines = page.locator("path.link").evaluate_all(
        "all => all.map(l => [Number(l.dataset.whole), Number(l.dataset.part), parseFloat(l.style.strokeWidth)])"
    )
    assert len(lines) > 6
    widest = max(width for *_, width in lines)
    largest = max(shares[whole, part] for whole, part, _ in lines)
    for whole, part, width in lines:
        assert shares[whole, part] >= 0.0499
        assert width == pytest.approx(max(0.8, widest * shares[whole, part] / largest), rel=2e-2)
    heights = [page.locator(f".node.level-{level}").first.bounding_box()["y"] for level in (1, 2)]
    assert heights[0] < heights[1]


def test_the_pointer_on_a_whole_highlights_its_parts_and_colors_the_map(opened, files, model):
    page = opened(files / "pictures.html")
    whole = int(page.locator(".node.level-1").nth(1).get_attribute("data-feature"))
    node(page, 1, whole).hover()
    lit = page.locator(".node.level-2.lit").evaluate_all("all => all.map(n => Number(n.dataset.feature))")
    assert lit
    assert (shares_of(model)[whole, lit] >= 0.0499).all()
    assert f"whole {whole + 1}" in page.locator(".ramp").inner_text()
    page.mouse.move(5, 5)
    assert page.locator(".ramp").count() == 0
    assert page.locator(".lit").count() == 0


@pytest.mark.parametrize("name", ["pictures", "signed"])
def test_a_click_leads_from_a_whole_down_to_a_part_and_back(opened, files, model, free, name):
    Z = (model if name == "pictures" else free).factors_[1]
    page = opened(files / f"{name}.html")
    whole = int(page.locator(".node.level-1").nth(1).get_attribute("data-feature"))
    node(page, 1, whole).click()
    arrive(page, f"Whole {whole + 1}")
    assert page.locator("#detail code").first.inner_text() == f"model.features_[1][{whole}]"
    assert page.locator(".node.level-1").count() == 1
    parts, used = tiles(page, "Made of"), np.isin(np.arange(60), page.evaluate("data.layers[0].shown"))
    agree(parts, Z[whole] * used)
    assert len(parts) == min(24, np.count_nonzero(Z[whole] * used))

    part = int(page.locator(".node.level-2").first.get_attribute("data-feature"))
    node(page, 0, part).click()
    arrive(page, f"Part {part + 1}")
    agree(tiles(page, "Part of"), Z[:, part])
    assert page.locator("#crumbs li").all_inner_texts()[1:] == [f"whole {whole + 1}", f"part {part + 1}"]
    assert page.url.endswith(f"#/2.{whole + 1}/1.{part + 1}")

    page.go_back()
    arrive(page, f"Whole {whole + 1}")
    page.get_by_role("link", name="all wholes").click()
    leave(page)
    assert page.evaluate("document.activeElement.dataset.feature") == str(whole)


def test_a_hierarchy_of_three_layers_is_drawn_two_at_a_time(opened, files, three):
    page = opened(files / "three.html")
    layers = "all => [...new Set(all.map(n => n.dataset.layer))].sort().join()"
    assert page.locator(".node").evaluate_all(layers) == "1,2"
    page.locator(".node.level-1").first.click()
    page.locator("#crumbs").get_by_text("whole").first.wait_for()
    page.locator(".node.level-2").first.click()
    page.locator("#crumbs").get_by_text("layer-2 feature").wait_for()
    assert page.locator(".node").evaluate_all(layers) == "0,1"
    page.locator(".node.level-2").first.click()
    page.locator("#crumbs").get_by_text("part").wait_for()
    assert page.locator("#crumbs li").count() == 4


def test_a_single_layer_is_a_strip_of_its_features(opened, files):
    page = opened(files / "one_layer.html")
    assert page.locator(".node").count() == 3
    assert page.locator("path.link").count() == 0
    page.locator(".node").first.click()
    page.locator("#detail h2").wait_for()


def test_weights_below_zero_are_marked(opened, files, free):
    page = opened(files / "signed.html", "#/2.1")
    weights = [weight for _, weight in tiles(page, "Made of")]
    marked = page.locator("#detail a.tile .bar.negative").count()
    assert marked == sum(weight < 0 for weight in weights) > 0


def test_a_picture_shows_the_feature_of_the_model(opened, files, model):
    page = opened(files / "pictures.html", "#/2.4")
    feature = model.features_[1][3]
    np.testing.assert_allclose(grays(page.locator(".large canvas")), relative(feature, feature.max()), atol=0.006)
    first = page.locator("#detail a.tile").first
    part = model.features_[0][int(first.get_attribute("data-feature"))]
    np.testing.assert_allclose(grays(first.locator("canvas")), relative(part, part.max()), atol=0.006)


def test_the_samples_of_a_feature_are_the_strongest_of_all(opened, files, model):
    page = opened(files / "pictures.html", "#/1.3")
    section = page.locator("#detail section", has=page.get_by_role("heading", name="Strongest in"))
    seen = section.locator("a.tile").evaluate_all(
        "all => all.map(t => [Number(t.dataset.sample), Number(t.dataset.weight)])"
    )
    agree(seen, model.encode(X, 0)[:, 2])
    assert len(seen) == 6


def test_words_are_ranked_by_relevance(opened, files, model):
    page = opened(files / "words.html", "#/1.1")
    words = page.locator(".large .word")
    page.locator("#tree-tools input").evaluate("s => { s.value = 1; s.dispatchEvent(new Event('input')); }")
    heaviest = words.all_inner_texts()
    assert heaviest[0] == WORDS[np.argmax(model.features_[0][0])]
    page.locator("#tree-tools input").evaluate("s => { s.value = 0; s.dispatchEvent(new Event('input')); }")
    C = model.features_[0][0]
    lift = np.where(1e-3 * C.max() < C, C, 0) / np.maximum(X.sum(axis=0), 1e-300)
    assert words.all_inner_texts()[0] == WORDS[np.argmax(lift)]


def test_the_words_of_a_feature_are_marked_in_the_texts_that_it_is_strongest_in(opened, files):
    page = opened(files / "words.html", "#/1.1")
    words = {word.lower() for word in page.locator(".large .word").all_inner_texts()}
    marked = page.locator("#detail .text mark").all_inner_texts()
    assert marked
    assert {word.lower() for word in marked} <= words


def test_a_scene_shows_the_codes_as_a_picture(opened, files, model):
    page = opened(files / "scene.html", "#/2.1")
    canvas = page.locator(".large canvas").first
    pixels = canvas.evaluate("c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]")
    codes = model.encode(X)[:, 0].reshape(9, 10)
    np.testing.assert_allclose(np.array(pixels).reshape(9, 10, 4)[..., 0] / 255, codes / codes.max(), atol=0.006)


# ---------------------------------------------------------------------------------------------- the map


def test_the_map_is_colored_by_a_feature_of_any_layer(opened, files, model):
    page = opened(files / "pictures.html")
    page.get_by_label("color of the points").select_option("f.0.2")
    codes = model.encode(X, 0)[:, 2]
    shades = page.evaluate("[...sampleMap.shade]")
    assert shades == np.round(15 * np.round(127 * codes / codes.max()) / 127).astype(int).tolist()
    page.get_by_label("color of the points").select_option(label="column 21")
    spread = X[:, 20] - X[:, 20].min()
    assert (
        page.evaluate("[...sampleMap.shade]")
        == np.round(15 * np.round(127 * spread / spread.max()) / 127).astype(int).tolist()
    )


def test_a_click_on_a_point_opens_its_sample(opened, files, model):
    row = 37
    page = opened(files / "pictures.html")
    page.mouse.move(*on_map(page, row))
    assert page.locator(".tip strong").inner_text() == f"sample {row + 1}"
    np.testing.assert_allclose(grays(page.locator(".tip canvas")), relative(X[row], X[row].max()), atol=0.006)
    page.mouse.click(*on_map(page, row))
    arrive(page, f"Sample {row + 1}class {y[row]}")
    assert page.locator("#detail code").first.inner_text() == f"X[{row}]"
    canvases = page.locator(".rebuilt canvas").all()
    rebuilt = [model.decode(model.encode(X, layer), layer)[row] for layer in (1, 0)]
    for canvas, vector in zip(canvases, [X[row], *rebuilt], strict=True):
        np.testing.assert_allclose(grays(canvas), relative(vector, X[row].max()), atol=0.006)
    for layer, noun in enumerate(("parts", "wholes")):
        section = page.locator("#detail section", has=page.get_by_role("heading", name=f"Codes of {noun}"))
        seen = section.locator(".code").evaluate_all(
            "all => all.map(c => [Number(c.dataset.feature), Number(c.querySelector('.number').textContent)])"
        )
        agree(seen, model.encode(X, layer)[row])


def test_every_point_of_a_large_map_is_a_sample_with_a_preview(opened, files, large):
    page = opened(files / "large.html")
    shown = set(page.evaluate("data.samples.originals"))
    row = next(row for row in range(len(large[1])) if row not in shown)
    page.evaluate("row => { location.hash = `#/s.${row + 1}`; }", row)
    arrive(page, f"Sample {row + 1}cluster {page.evaluate('row => groupOf(row) + 1', row)}")
    assert "rounded to 8 bits" in page.locator("#detail").inner_text()
    codes = large[0].encode(large[1], 0)[row]
    seen = page.locator("#detail .code").first
    feature = int(seen.get_attribute("data-feature"))
    assert float(seen.locator(".number").inner_text()) == pytest.approx(codes[feature], abs=codes.max() / 60)


def test_the_map_zooms_and_highlights_a_class(opened, files):
    page = opened(files / "pictures.html")
    page.get_by_role("button", name="zoom in").click()
    assert page.evaluate("sampleMap.zoom") == 1.5
    page.get_by_role("button", name="show all").click()
    assert page.evaluate("sampleMap.zoom") == 1
    page.locator(".legend button", has_text="3").click()
    assert page.evaluate("sampleMap.group") == 3
    assert page.locator(".legend button[aria-pressed=true]").inner_text() == "3"


def test_more_classes_than_colors_are_named_on_the_map(opened, files):
    page = opened(files / "many_classes.html")
    assert page.evaluate("sampleMap.isCrowded")
    page.get_by_label("highlight one class").select_option("17")
    assert page.evaluate("sampleMap.group") == 17


# -------------------------------------------------------------------------------------------- samples


def test_samples_are_found_by_number_and_class(opened, files):
    page = opened(files / "words.html")
    page.locator("#search").fill("bbbb")
    assert page.locator("#found").inner_text() == f"{np.sum(y % 2 == 1)} samples of 90"
    page.locator("#search").fill("no such sample")
    assert page.locator("#sample-list a.tile").count() == 0
    page.locator("#search").fill("38")
    page.locator("#search").press("Enter")
    page.locator("#detail code", has_text="X[37]").wait_for()


def test_a_sample_is_named_by_its_file_with_its_class_below(opened, files):
    page = opened(files / "folders.html", width=390)
    first = page.locator("#sample-list a.tile").first
    assert first.locator(".caption span").all_inner_texts() == ["0.png", f"digit{y[0]}"]
    index, group = (first.locator(place).bounding_box() for place in (".index", ".number"))
    assert index["y"] + index["height"] <= group["y"]


def test_features_are_found_by_word_and_ordered_by_similarity(opened, files, model):
    page = opened(files / "words.html")
    layer = page.get_by_role("region", name="layer 2")
    page.get_by_label("order of the features").select_option("number")
    assert layer.locator("a.tile").evaluate_all("all => all.map(t => Number(t.dataset.feature))") == list(range(6))
    page.locator("#feature-search").fill("4")
    assert layer.locator("a.tile").evaluate_all("all => all.map(t => Number(t.dataset.feature))") == [3]


# ---------------------------------------------------------------------------------------- for everyone

ALL = ["pictures", "signed", "words", "curves", "folders", "one_layer", "three", "scene", "comparison"]


@pytest.mark.parametrize("name", ALL)
def test_a_phone_needs_no_scrolling_sideways(opened, files, name):
    page = opened(files / f"{name}.html", width=390)
    for fragment in [""] if name == "comparison" else ["", "#/1.1", "#/s.5"]:
        page.evaluate("fragment => { location.hash = fragment; }", fragment)
        if fragment:
            page.wait_for_selector("#detail:not([hidden])")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_tap_on_a_phone_lists_the_parts_with_bars(opened, files, model):
    page = opened(files / "pictures.html", width=390)
    whole = int(page.locator(".strip .node").nth(1).get_attribute("data-feature"))
    page.locator(".strip .node").nth(1).click()
    page.locator(".parts-list .node").first.wait_for()
    parts = page.locator(".parts-list .node").evaluate_all("all => all.map(n => Number(n.dataset.feature))")
    assert parts == np.argsort(-shares_of(model)[whole], kind="stable")[: len(parts)].tolist()


def test_the_keyboard_reaches_every_layer_and_the_map(opened, files, model):
    page = opened(files / "pictures.html")
    focused = "[document.activeElement.dataset.layer, document.activeElement.dataset.feature]"
    first = page.locator(".node.level-1").evaluate_all("all => all.map(n => n.dataset.feature)")
    page.locator(".findings a").last.focus()
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == ["1", first[0]]
    assert page.evaluate("document.activeElement.getAttribute('role')") == "treeitem"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == ["1", first[1]]
    page.keyboard.press("ArrowDown")
    part = int(np.argmax(shares_of(model)[int(first[1])]))
    assert page.evaluate(focused) == ["0", str(part)]
    page.keyboard.press("ArrowUp")
    whole = page.evaluate(focused)
    assert whole[0] == "1"
    page.keyboard.press("Enter")
    arrive(page, f"Whole {int(whole[1]) + 1}")
    page.keyboard.press("Escape")
    leave(page)
    assert page.evaluate(focused) == whole
    page.locator("canvas.sample-map").focus()
    page.keyboard.press("ArrowRight")
    status = page.locator("#map [role=status]").inner_text()
    page.keyboard.press("Enter")
    page.locator("#detail h2", has_text=status.split(",")[0].capitalize()).wait_for()


def test_the_table_is_equal_to_the_drawing(opened, files, model):
    page = opened(files / "pictures.html")
    drawn = page.locator("path.link").evaluate_all(
        "all => all.map(l => `${Number(l.dataset.whole) + 1}-${Number(l.dataset.part) + 1}`)"
    )
    page.locator("#hierarchy-table summary").click()
    rows = page.locator("#hierarchy-table tbody tr").evaluate_all(
        """all => all.flatMap(row => [...row.querySelectorAll('.parts a')].map(
            part => `${row.querySelector('th a').textContent}-${part.hash.slice(4)}`))"""
    )
    assert set(drawn) == set(rows)


@pytest.mark.parametrize("name", ["pictures", "curves", "one_layer", "comparison"])
def test_every_picture_has_an_alternative_text(opened, files, name):
    page = opened(files / f"{name}.html")
    drawn = page.locator("canvas, svg[role=img]")
    assert drawn.count() > 3
    assert all(
        label and label.strip() for label in drawn.evaluate_all("all => all.map(p => p.getAttribute('aria-label'))")
    )


def test_dark_readers_get_a_dark_page(opened, files):
    background = "getComputedStyle(document.body).backgroundColor"
    page = opened(files / "pictures.html")
    light = page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(background)
    assert sum(map(int, light[4:-1].split(","))) > 700
    assert sum(map(int, dark[4:-1].split(","))) < 150


def test_names_that_look_like_programs_are_shown_as_text(opened, files, model):
    page = opened(files / "words.html")
    assert page.locator("h1").inner_text() == EVIL
    feature = int(np.argmax(model.features_[0][:, 1]))
    page.evaluate("feature => { location.hash = `#/1.${feature + 1}`; }", feature)
    page.locator("#detail h2", has_text=f"Part {feature + 1}").wait_for()
    assert EVIL in page.locator(".weights .word").all_inner_texts()
    page.evaluate("() => { location.hash = '#/s.5'; }")
    page.locator("#detail h2", has_text=f"{EVIL} 4").wait_for()
    page.mouse.move(*on_map(page, 4))
    assert page.locator(".tip strong").inner_text().startswith(EVIL)
    assert page.locator("script").count() == 2


@pytest.mark.parametrize("fragment", ["#/9.1", "#/1.999", "#/nonsense", "#/s.0", "#/s.-1"])
def test_an_invalid_address_shows_the_overview(opened, files, fragment):
    page = opened(files / "one_layer.html", fragment)
    assert page.locator("#tree .node").count() == 3
    assert page.locator("#detail").is_hidden()


def test_a_notebook_shows_the_page_in_a_sandbox(opened, files, tmp_path):
    shown = Report((files / "pictures.html").read_text(encoding="utf-8"))._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><html data-ready><body>{shown}</body></html>")
    frame = opened(tmp_path / "notebook.html").frame_locator("iframe")
    frame.locator(".node.level-1").first.click()
    frame.locator("#detail h2").wait_for()
