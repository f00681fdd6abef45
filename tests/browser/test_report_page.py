"""The report in a browser: it shows the numbers of the model."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from deepnmf import NMF, DeepNSNMF, DeepSemiNMF
from deepnmf.report import write_comparison

pytestmark = pytest.mark.browser

X, y = load_digits(return_X_y=True)
X, y = X[:90] / 16, y[:90]
EVIL = "<script>alert(1)</script>"
DEEP = {"layer_sizes": (60, 6), "random_state": 0, "max_iter": 20, "tol": 0}


@pytest.fixture(scope="module")
def model():
    return DeepNSNMF(**DEEP).fit(X)


@pytest.fixture(scope="module")
def free():
    return DeepSemiNMF(**DEEP).fit(X)


@pytest.fixture(scope="module")
def files(model, free, tmp_path_factory):
    """Reports of every display, and a comparison."""
    folder = tmp_path_factory.mktemp("reports")
    words = ["a" * 80, EVIL, *(f"word{j}" for j in range(62))]
    names = [f"{EVIL} {row}" for row in range(len(X))]
    model.report(folder / "pictures.html", X, y, image_shape=(8, 8), title="Digits")
    free.report(folder / "signed.html", X, y, image_shape=(8, 8))
    model.report(
        folder / "words.html", X, np.array([EVIL, "b" * 70])[y % 2], feature_names=words, sample_names=names, title=EVIL
    )
    free.report(folder / "curves.html", X)
    names = [f"digit{label}/{row}.png" for row, label in enumerate(y)]
    classes = [f"digit{label}" for label in range(10)]
    model.report(folder / "folders.html", X, y, image_shape=(8, 8), sample_names=names, class_names=classes)
    NMF(3, random_state=0, tol=1e-2).fit(X).report(folder / "one_layer.html", X, axis=np.arange(64))
    write_comparison({"deep": model, EVIL: free}, folder / "comparison.html", X, y, image_shape=(8, 8))
    return folder


def value(text):
    return float(text.replace("−", "-"))


def tiles(page, heading):
    """Feature and weight of each tile under a heading."""
    found = page.locator("#detail section", has=page.get_by_role("heading", name=heading, exact=True)).locator("a.tile")
    return [
        (int(tile.get_attribute("data-feature")), value(tile.locator(".weight").inner_text())) for tile in found.all()
    ]


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
    """Wait until a view with this title is shown."""
    page.locator("#detail").get_by_role("heading", name=title, exact=True, level=2).wait_for()


def leave(page):
    """Wait until the overview is shown again."""
    page.locator("#overview").wait_for()


# ------------------------------------------------------------------------------- down and up again


@pytest.mark.parametrize("name", ["pictures", "signed"])
def test_a_click_leads_from_a_feature_to_its_parts_and_back(opened, files, model, free, name):
    Z = (model if name == "pictures" else free).factors_[1]
    page = opened(files / f"{name}.html")
    tile = page.get_by_role("region", name="layer 2").locator("a.tile").nth(1)
    whole = int(tile.get_attribute("data-feature"))
    tile.click()
    arrive(page, f"Feature {whole} of layer 2")
    parts = tiles(page, "Made of")
    agree(parts, Z[whole])
    assert len(parts) == min(24, np.count_nonzero(Z[whole]))

    page.locator("#detail a.tile").first.click()
    part = parts[0][0]
    arrive(page, f"Feature {part} of layer 1")
    agree(tiles(page, "Part of"), Z[:, part])
    assert page.locator(".trail li").all_inner_texts()[1:] == [f"layer 2, feature {whole}", f"layer 1, feature {part}"]

    page.go_back()
    arrive(page, f"Feature {whole} of layer 2")
    page.go_forward()
    page.get_by_role("link", name=f"layer 2, feature {whole}").first.click()
    arrive(page, f"Feature {whole} of layer 2")
    assert page.locator(".trail li").count() == 2
    page.get_by_role("link", name="all features").click()
    leave(page)
    assert page.evaluate("document.activeElement.dataset.feature") == str(whole)


def test_weights_below_zero_are_marked(opened, files, free):
    page = opened(files / "signed.html", "#/2.0")
    weights = [weight for _, weight in tiles(page, "Made of")]
    marked = page.locator("#detail a.tile .bar.negative").count()
    assert marked == sum(weight < 0 for weight in weights) > 0


def test_a_picture_shows_the_feature_of_the_model(opened, files, model):
    page = opened(files / "pictures.html", "#/2.3")
    feature = model.features_[1][3]
    np.testing.assert_allclose(grays(page.locator(".large canvas")), relative(feature, feature.max()), atol=0.006)
    first = page.locator("#detail a.tile").first
    part = model.features_[0][int(first.get_attribute("data-feature"))]
    np.testing.assert_allclose(grays(first.locator("canvas")), relative(part, part.max()), atol=0.006)


def test_a_feature_says_how_many_parts_are_left_out(opened, files, free):
    page = opened(files / "signed.html", "#/2.0")
    weights = np.sort(np.abs(free.factors_[1][0]))
    count = np.count_nonzero(weights) - 24
    share = weights[:-24].sum() / weights.sum()
    text = page.get_by_text("Not shown:").first.inner_text()
    assert text.startswith(f"Not shown: {count} features with {100 * share:.0f}")


def test_a_large_layer_shows_the_rest_when_asked(opened, files):
    page = opened(files / "pictures.html")
    layer = page.get_by_role("region", name="layer 1")
    assert layer.locator("a.tile").count() == 48
    layer.get_by_role("button", name="Show 12 more").click()
    assert layer.locator("a.tile").count() == 60
    assert layer.get_by_role("button").count() == 0


# -------------------------------------------------------------------------------------------- samples


def test_a_sample_is_found_by_number_and_shown_beside_its_reconstructions(opened, files, model):
    row = 37
    page = opened(files / "pictures.html")
    page.locator("#search").fill(str(row))
    assert page.locator("#found").inner_text() == "1 sample of 90"
    page.locator("#search").press("Enter")
    arrive(page, f"Sample {row}")
    canvases = page.locator(".rebuilt canvas").all()
    rebuilt = [model.decode(model.encode(X, layer), layer)[row] for layer in (1, 0)]
    for canvas, vector in zip(canvases, [X[row], *rebuilt], strict=True):
        np.testing.assert_allclose(grays(canvas), relative(vector, X[row].max()), atol=0.006)
    for number in (1, 2):
        section = page.locator("#detail section", has=page.get_by_role("heading", name=f"Codes at layer {number}"))
        bars = section.locator("a.code").all()
        seen = [(int(bar.get_attribute("data-feature")), value(bar.locator(".number").inner_text())) for bar in bars]
        agree(seen, model.encode(X, number - 1)[row])
        widths = [bar.locator(".bar").evaluate("b => parseFloat(b.style.width)") for bar in bars]
        np.testing.assert_allclose(widths, [100 * code / seen[0][1] for _, code in seen], rtol=2e-2)
    bars[0].click()
    arrive(page, f"Feature {seen[0][0]} of layer 2")


def test_samples_are_found_by_their_class(opened, files):
    page = opened(files / "words.html")
    page.locator("#search").fill("bbbb")
    assert page.locator("#found").inner_text() == f"{np.sum(y % 2 == 1)} samples of 90"
    page.locator("#search").fill("no such sample")
    assert page.locator("#sample-list a.tile").count() == 0


def test_a_filled_point_of_the_map_leads_to_its_sample(opened, files):
    page = opened(files / "pictures.html")
    point = page.locator("#map-chart a").first
    row = point.get_attribute("href").rpartition(".")[2]
    point.dispatch_event("click")
    arrive(page, f"Sample {row}")


def test_a_class_can_be_highlighted_on_the_map(opened, files):
    page = opened(files / "pictures.html")
    page.locator(".legend button", has_text="3").click()
    assert page.locator("#map-chart .mark.faint").count() == np.sum(y != 3)
    page.get_by_role("group", name="Layer").first.get_by_text("layer 1").click()
    assert "codes at layer 1" in page.locator("#map-chart > .hint").inner_text()


def test_a_sample_is_named_by_its_file_with_its_class_below(opened, files):
    page = opened(files / "folders.html", width=390)
    first = page.locator("#sample-list a.tile").first
    assert first.locator(".caption span").all_inner_texts() == ["0.png", f"digit{y[0]}"]
    index, group = (first.locator(place).bounding_box() for place in (".index", ".number"))
    assert index["y"] + index["height"] <= group["y"]
    first.click()
    arrive(page, f"digit{y[0]}/0.png")


def test_colors_are_explained_if_they_have_a_meaning(opened, files):
    page = opened(files / "comparison.html")
    explained = page.locator("section > p.hint").all_inner_texts()
    assert [hint.rpartition("first. ")[2] for hint in explained if "first. " in hint] == [
        "Bright is large, black is zero.",
        "Red is positive, blue is negative.",
    ]


# ---------------------------------------------------------------------------------------- for everyone

ALL = ["pictures", "signed", "words", "curves", "folders", "one_layer", "comparison"]


@pytest.mark.parametrize("name", ALL)
def test_a_phone_needs_no_scrolling_sideways(opened, files, name):
    page = opened(files / f"{name}.html", width=390)
    fragments = ["#parts"] if name == "comparison" else ["#parts", "#/1.0", "#/s.4"]
    for fragment in fragments:
        page.evaluate("fragment => { location.hash = fragment; }", fragment)
        page.wait_for_selector("#detail:not([hidden])" if fragment.startswith("#/") else "main")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_keyboard_reaches_every_layer(opened, files, model):
    page = opened(files / "pictures.html")
    page.locator("nav.sections a").last.focus()
    page.keyboard.press("Tab")
    order = (
        page.get_by_role("region", name="layer 2")
        .locator("a.tile")
        .evaluate_all("all => all.map(t => t.dataset.feature)")
    )
    focused = "document.activeElement.dataset.feature"
    assert page.evaluate(focused) == order[0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == order[2]
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == order[1]
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Tab")
    height = "document.activeElement.offsetTop"
    first_row = page.evaluate(height)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(height) > first_row
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("#/1.")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    arrive(page, f"Feature {order[1]} of layer 2")
    part = np.argmax(model.factors_[1][int(order[1])])
    page.locator("#detail a.tile").first.focus()
    page.keyboard.press("Enter")
    arrive(page, f"Feature {part} of layer 1")
    page.keyboard.press("Escape")
    arrive(page, f"Feature {order[1]} of layer 2")
    page.keyboard.press("Escape")
    leave(page)
    assert page.evaluate(focused) == order[1]


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
    page.evaluate("feature => { location.hash = `#/1.${feature}`; }", feature)
    arrive(page, f"Feature {feature} of layer 1")
    assert EVIL in page.locator(".weights .word").all_inner_texts()
    page.evaluate("() => { location.hash = '#/s.4'; }")
    arrive(page, f"{EVIL} 4")
    assert page.locator("script").count() == 2


@pytest.mark.parametrize("fragment", ["#/9.1", "#/1.999", "#/nonsense", "#/s.-1"])
def test_an_invalid_address_shows_the_overview(opened, files, fragment):
    page = opened(files / "one_layer.html", fragment)
    assert page.locator("#overview").is_visible()
    assert page.locator("#detail").is_hidden()
