import builtins
import os
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF as SklearnNMF
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from catalogue import SMALL, data, name_of
from deepnmf import NMF, DeepNMFNetwork, DeepNSNMF, DeepSemiNMF, SemiNMF
from deepnmf.metrics import clustering_accuracy, nmi, sparseness
from deepnmf.objective.divergences import Divergence
from deepnmf.plotting.strengths import part_shares
from deepnmf.report import document, layer_scores, sample_map, write_comparison, write_report
from deepnmf.report.evaluation import Evaluation
from pages import curves_of, data_of, numbers_of, pictures_of, text_of, words_of

X = data()
y = np.arange(60) % 3


def nmf(X=X, n_components=4):
    return NMF(n_components, random_state=0, tol=1e-3).fit(X)


def deep(X=X):
    return DeepNSNMF((8, 4), random_state=0, tol=1e-2).fit(X)


def signed():
    return DeepSemiNMF((8, 4), random_state=0, tol=1e-2).fit(X - X.mean(axis=0))


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_every_model_has_a_report_with_its_layers_and_their_factors(model, tmp_path):
    fitted = clone(model).set_params(tol=1e-2).fit(X, y)
    fitted.report(tmp_path / "page.html", X, y)
    content = data_of(tmp_path / "page.html")
    assert [layer["size"] for layer in content["layers"]] == [len(C) for C in fitted.features_]
    for layer, packed in enumerate(content["layers"]):
        assert len(packed["shown"]) == packed["size"] - packed["dead"]
        np.testing.assert_array_equal(fitted.encode(X, layer), fitted._encoded_layers(X)[layer])
        for direction, Z in links(fitted, layer).items():
            alive = np.isin(
                np.arange(Z.shape[1]), content["layers"][layer + (1 if direction == "above" else -1)]["shown"]
            )
            for feature, entries in zip(packed["shown"], packed[direction], strict=True):
                order = np.argsort(-np.abs(Z[feature]) * alive, kind="stable")[: len(entries)]
                assert [entry[0] for entry in entries] == order.tolist()
                np.testing.assert_allclose([entry[1] for entry in entries], Z[feature][order], rtol=1e-3)


def links(model, layer):
    found = {}
    if layer > 0:
        found["below"] = model.factors_[layer]
    if layer + 1 < len(model.factors_):
        found["above"] = model.factors_[layer + 1].T
    return found


def test_codes_and_errors_of_samples_are_those_of_the_model(tmp_path):
    model = deep()
    model.report(tmp_path / "page.html", X)
    samples = data_of(tmp_path / "page.html")["samples"]
    assert samples["rows"] == list(range(60))
    for layer in (0, 1):
        codes = model.encode(X, layer)
        rest = np.linalg.norm(X - model.decode(codes, layer), axis=1) / np.linalg.norm(X, axis=1)
        np.testing.assert_allclose(samples["errors"][layer], rest, rtol=6e-3)
        for row, entries in enumerate(samples["codes"][layer]):
            weights = [weight for _, weight in entries]
            assert weights == sorted(weights, reverse=True)
            np.testing.assert_allclose(weights, [codes[row, index] for index, _ in entries], rtol=1e-3)
            assert len(entries) == np.count_nonzero(codes[row])


@pytest.mark.parametrize("beta", [0, 0.5, 1, 1.5, 2, 3])
@pytest.mark.parametrize("hidden", [0.0, 0.1])
def test_errors_and_scores_are_those_of_the_loss(beta, hidden):
    rows = np.where(np.random.default_rng(0).random(X.shape) < hidden, np.nan, X + 0.1)
    model = DeepNSNMF((8, 4), beta_loss=beta, random_state=0, tol=1e-3).fit(rows)
    evaluation = Evaluation.of(model, rows)
    assert [score.explained for score in evaluation.scores] == [one.explained for one in model.hierarchy_]
    seen = np.isfinite(rows)
    for layer, score in enumerate(layer_scores(model, rows)):
        rebuilt = model.decode(model.encode(rows, layer), layer)
        assert score.loss == Divergence(beta).name
        assert score.error == pytest.approx(np.sqrt(2 * Divergence(beta).value(rows[seen], rebuilt[seen])))


def test_samples_of_a_kullback_leibler_model_show_their_deviance(tmp_path):
    counts = np.random.default_rng(0).poisson(3 * X + 1)
    model = NMF(4, beta_loss="kullback-leibler", random_state=0, tol=1e-3).fit(counts)
    model.report(tmp_path / "page.html", counts)
    samples = data_of(tmp_path / "page.html")["samples"]
    assert samples["error_name"] == "unexplained deviance"
    baseline = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    left, whole = (Divergence(1).each(counts, Y).sum(axis=1) for Y in (model.decode(model.transform(counts)), baseline))
    np.testing.assert_allclose(samples["errors"][0], left / whole, rtol=6e-3)
    page = text_of(tmp_path / "page.html")
    assert "one layer of 4 · Kullback-Leibler divergence</p>" in page
    assert f"<td>{100 * model.score(counts):.1f} %</td>" in page
    assert "of the deviance" in page
    assert "Loss (Kullback-Leibler divergence) after each sweep" in page
    assert "√(2d), d is the Kullback-Leibler divergence" in page
    assert "Frobenius" not in page


def test_a_page_of_squared_error_says_so_and_nothing_of_deviance(tmp_path):
    nmf().report(tmp_path / "page.html", X)
    page = text_of(tmp_path / "page.html")
    assert "· squared error</p>" in page
    assert "of the variation in the data" in page
    assert "Frobenius norm of the data minus the reconstruction from the codes" in page
    assert data_of(tmp_path / "page.html")["samples"]["error_name"] == "error"
    assert "Deviance" not in page


def test_pages_of_deep_models_show_their_hierarchy(tmp_path):
    model = deep()
    explained = f"<td>{100 * model.hierarchy_[0].explained:.1f} %</td>"
    write_report(model, tmp_path / "deep.html", X)
    write_report(nmf(), tmp_path / "shallow.html", X)
    write_comparison({"deep": model, "shallow": nmf()}, tmp_path / "both.html", X)
    deep_page, shallow_page, both = ((tmp_path / f"{name}.html").read_text() for name in ("deep", "shallow", "both"))
    for page in (deep_page, both):
        assert explained in page
        assert page.count("Copies: features") == 1
    assert "Copies: features" not in shallow_page


def test_entries_that_are_not_shown_are_counted(tmp_path):
    model = NMF(40, init="random", random_state=0, max_iter=5, tol=0).fit(data(p=50, rank=40))
    model.report(tmp_path / "page.html", data(p=50, rank=40))
    samples = data_of(tmp_path / "page.html")["samples"]
    codes = model.transform(data(p=50, rank=40))
    row = int(np.argmax(np.count_nonzero(codes, axis=1)))
    count, share = samples["left_out"][0][row]
    assert count == np.count_nonzero(codes[row]) - 20 > 0
    assert share == pytest.approx(np.sort(codes[row])[:-20].sum() / codes[row].sum(), rel=1e-2)


# ------------------------------------------------------------------------------- how vectors are shown


def test_a_gray_picture_is_its_feature_from_zero_to_its_peak(tmp_path):
    model = nmf()
    model.report(tmp_path / "page.html", X, image_shape=(4, 6))
    (layer,) = data_of(tmp_path / "page.html")["layers"]
    features = model.features_[0][layer["shown"]].reshape(-1, 4, 6)
    expected = 255 * features / features.max(axis=(1, 2), keepdims=True)
    found = pictures_of(layer["pack"], 4)
    np.testing.assert_allclose(found[..., 0], expected, atol=1.1)
    assert (found[..., 3] == 255).all()


def test_a_signed_picture_is_pale_at_zero_red_above_and_blue_below(tmp_path):
    model = signed()
    model.report(tmp_path / "page.html", X, image_shape=(4, 6))
    layer = data_of(tmp_path / "page.html")["layers"][1]
    features = model.features_[1][layer["shown"]].reshape(-1, 4, 6)
    relative = features / np.abs(features).max(axis=(1, 2), keepdims=True)
    red, _, blue, _ = np.moveaxis(pictures_of(layer["pack"], 4), -1, 0)
    assert (red > blue)[relative > 0.1].all()
    assert (blue > red)[relative < -0.1].all()
    np.testing.assert_allclose(pictures_of(layer["pack"], 4)[relative == 1][0, :3], [178, 24, 43], atol=1)


def test_a_color_picture_keeps_its_colors(tmp_path):
    model = nmf()
    model.report(tmp_path / "page.html", X, image_shape=(2, 4, 3))
    (layer,) = data_of(tmp_path / "page.html")["layers"]
    features = model.features_[0][layer["shown"]].reshape(-1, 2, 4, 3)
    found = pictures_of(layer["pack"], 4)[..., :3]
    np.testing.assert_allclose(found, 255 * features / features.max(axis=(1, 2, 3), keepdims=True), atol=1.1)


def test_words_have_what_every_relevance_ranks_first(tmp_path):
    """Relevance is λ log φ + (1 - λ) log(φ / p), φ = feature / its sum, p = share of the column in the data."""
    rows = sparse.csr_array(np.hstack([X, X**2, X**3]))
    names = [f"word{j}" for j in range(72)]
    model = nmf(rows)
    model.report(tmp_path / "page.html", rows, feature_names=names)
    (layer,) = data_of(tmp_path / "page.html")["layers"]
    shares = rows.sum(axis=0) / rows.sum()
    for feature, words, title in zip(layer["shown"], words_of(layer["pack"]), layer["titles"], strict=True):
        C = model.features_[0][feature]
        assert [word for word, _ in words] == [names[j] for j in np.argsort(-C) if names[j] in dict(words)]
        phi = C / C.sum()
        for weight, most in ((1.0, 20), (0.4, 20), (0.0, 12)):
            with np.errstate(divide="ignore", invalid="ignore"):
                relevance = weight * np.log(phi) + (1 - weight) * np.log(phi / shares)
            best = [names[j] for j in np.argsort(-relevance) if C[j] > 1e-3 * C.max()][:most]
            assert set(best) <= set(dict(words))
            assert weight != 0.4 or title == ", ".join(best[:3])


def test_columns_of_a_table_deviate_from_their_means(tmp_path):
    """A feature by the ratio of its entries to the column means, a sample in standard deviations."""
    frame = pd.DataFrame(X * 10.0 ** np.arange(-6, 18)[::1].clip(-3, 3), columns=[f"gene{j}" for j in range(24)])
    model = nmf(frame)
    model.report(tmp_path / "page.html", frame)
    content = data_of(tmp_path / "page.html")
    (layer,), samples = content["layers"], content["samples"]
    assert layer["pack"]["kind"] == "columns"
    means, spread = frame.mean().to_numpy(), frame.std(ddof=0).to_numpy()
    for feature, columns in zip(layer["shown"], layer["pack"]["words"], strict=True):
        ratios = model.features_[0][feature] / means
        expected = ratios / ratios.mean() - 1
        order = np.argsort(-np.abs(expected), kind="stable")[:20]
        np.testing.assert_allclose([entry[1] for entry in columns], expected[order], rtol=1e-2, atol=1e-3)
    scores = (frame.to_numpy()[7] - means) / spread
    first = samples["original"]["words"][7][0]
    assert first[0] == np.argmax(np.abs(scores))
    assert first[1] == pytest.approx(scores[first[0]], rel=1e-2)


def test_curves_are_the_features_over_their_axis(tmp_path):
    model = nmf()
    model.report(tmp_path / "page.html", X, axis=np.linspace(400, 860, 24))
    (layer,) = data_of(tmp_path / "page.html")["layers"]
    np.testing.assert_allclose(curves_of(layer["pack"]), model.features_[0][layer["shown"]], atol=1e-4)
    assert layer["pack"]["axis"][0] == 400
    assert layer["pack"]["axis"][-1] == 860


def test_a_long_curve_keeps_its_peaks(tmp_path):
    wide = np.zeros((20, 3000))
    wide[:, 1234] = 1 + np.arange(20)
    nmf(wide, 1).report(tmp_path / "page.html", wide)
    curve = curves_of(data_of(tmp_path / "page.html")["layers"][0]["pack"])
    assert curve.shape == (1, 375)
    assert curve.max() == pytest.approx(1)


# ------------------------------------------------------------------------------------ data of every kind


def test_unobserved_entries_are_blank_and_do_not_count(tmp_path):
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = SemiNMF(4, random_state=0, tol=1e-2).fit(holed)
    model.report(tmp_path / "page.html", holed, image_shape=(4, 6))
    samples = data_of(tmp_path / "page.html")["samples"]
    blank = pictures_of(samples["original"], 60)[..., 3] == 0
    np.testing.assert_array_equal(blank, np.isnan(holed).reshape(60, 4, 6))
    (score,) = layer_scores(model, holed)
    assert score.error == pytest.approx(model.reconstruction_err_, rel=1e-3)
    model.report(tmp_path / "curves.html", holed)
    np.testing.assert_allclose(curves_of(data_of(tmp_path / "curves.html")["samples"]["original"]), holed, atol=1e-2)


def npy_file(folder):
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def dask_array(folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(25, 24))


FORMS = {
    "dask": dask_array,
    "sparse": lambda folder: sparse.csr_array(X),
    "columns first": lambda folder: sparse.csc_matrix(X),
    "float32": lambda folder: X.astype(np.float32),
    "list": lambda folder: X.tolist(),
    "path": npy_file,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_data_has_the_same_divergences(form, tmp_path):
    model = NMF(4, beta_loss=1, random_state=0, tol=1e-2).fit(X)
    (dense,), (other,) = layer_scores(model, X), layer_scores(model, FORMS[form](tmp_path))
    assert other.error == pytest.approx(dense.error, rel=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_data_gives_the_same_page(form, tmp_path):
    model = deep()
    model.report(tmp_path / "dense.html", X, y)
    model.report(tmp_path / "form.html", FORMS[form](tmp_path), y)
    dense, other = (data_of(tmp_path / name)["samples"] for name in ("dense.html", "form.html"))
    assert other["rows"] == dense["rows"]
    np.testing.assert_allclose(other["errors"], dense["errors"], rtol=2e-2)


@pytest.mark.parametrize("shape", [(3, 5), (3, 1), (40, 1), (2, 3)])
def test_a_little_data_is_enough(shape, tmp_path):
    little = 1 + np.random.default_rng(0).random(shape)
    nmf(little, 1).report(tmp_path / "page.html", little)
    assert data_of(tmp_path / "page.html")["samples"]["rows"] == list(range(shape[0]))


def test_features_and_samples_that_are_zero_are_drawn(tmp_path):
    barren = X.copy()
    barren[:5] = 0
    model = nmf(barren)
    model.features_[0][0] = 0
    model.report(tmp_path / "page.html", barren, image_shape=(4, 6))
    assert data_of(tmp_path / "page.html")["samples"]["codes"][0][0] == []


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (y, ["0", "1", "2"]),
        (np.array(["cat", "dog", "eel"])[y], ["cat", "dog", "eel"]),
        (np.where(y == 2, -1, y), ["0", "1"]),
        (np.array(["cat", "dog", None], dtype=object)[y], ["cat", "dog"]),
        (np.column_stack([np.zeros(60, dtype=int), y]), ["0", "1", "2"]),
        (pd.DataFrame({"all": 0, "kind": y}), ["0", "1", "2"]),
    ],
)
def test_labels_of_every_kind_group_the_samples(labels, names, tmp_path):
    nmf().report(tmp_path / "page.html", X, labels)
    content = data_of(tmp_path / "page.html")
    assert content["groups"] == {"kind": "class", "names": names}
    groups = numbers_of(content["map"]["groups"]).tolist()
    assert groups == [place if place < len(names) else -1 for place in y.tolist()]
    profile = content["profile"][0]
    means = [nmf().transform(X)[y == place].mean(axis=0) for place in profile["groups"]]
    assert sorted(profile["groups"]) == list(range(len(names)))
    np.testing.assert_allclose(profile["means"], np.array(means)[:, profile["features"]], rtol=1e-2)


@pytest.mark.parametrize("labels", [None, np.full(60, -1)])
def test_without_labels_samples_are_grouped_by_clusters(labels, tmp_path):
    nmf().report(tmp_path / "page.html", X, labels)
    assert data_of(tmp_path / "page.html")["groups"]["kind"] == "cluster"
    assert "accuracy" not in text_of(tmp_path / "page.html")


def test_names_of_classes_are_shown_in_place_of_labels(tmp_path):
    nmf().report(tmp_path / "page.html", X, y, class_names=["ash", "birch", "cedar"])
    assert data_of(tmp_path / "page.html")["groups"]["names"] == ["ash", "birch", "cedar"]


def test_shown_samples_are_spread_over_the_classes(tmp_path):
    many = np.tile(X, (40, 1))
    rare = np.where(np.arange(2400) % 600 == 7, "rare", "common")
    model = nmf(many)
    model.report(tmp_path / "page.html", many, rare, sample_names=[f"row {i}" for i in range(2400)])
    content = data_of(tmp_path / "page.html")
    assert len(content["samples"]["rows"]) == 200
    assert {7, 607, 1207, 1807} <= set(content["samples"]["rows"])
    assert content["map"]["names"] == [f"row {i}" for i in range(2400)]
    assert "codes and reconstructions are included for 200 of 2,400 samples" in text_of(tmp_path / "page.html")


def test_large_pictures_fit_into_a_small_file(tmp_path):
    large = np.random.default_rng(0).random((40, 120 * 100))
    model = DeepNSNMF((200, 30), init="random", random_state=0, max_iter=1, tol=0, pretrain_max_iter=1).fit(large)
    model.report(tmp_path / "page.html", large, image_shape=(120, 100))
    assert (tmp_path / "page.html").stat().st_size < 5e6


def test_the_strongest_samples_are_those_of_all_and_the_page_states_what_it_omits(tmp_path, monkeypatch):
    monkeypatch.setattr(sample_map, "MOST_POINTS", 400)
    many = np.tile(X, (10, 1)) * np.linspace(1, 2, 600)[:, None]
    model = nmf(many)
    model.report(tmp_path / "page.html", many)
    content, page = data_of(tmp_path / "page.html"), text_of(tmp_path / "page.html")
    codes = model.transform(many)
    (layer,), mapped = content["layers"], numbers_of(content["map"]["rows"])
    for feature, entries in zip(layer["shown"], layer["strongest"], strict=True):
        best = np.argsort(-codes[:, feature], kind="stable")[:6]
        assert [row for row, _ in entries] == best.tolist()
        assert set(best) <= set(content["samples"]["originals"]) <= set(mapped)
    assert len(mapped) == 400
    packed = numbers_of(content["map"]["codes"][0]["values"]).reshape(4, 400)
    np.testing.assert_allclose(
        packed, 127 * codes[mapped][:, layer["shown"]].T / codes[mapped].max(axis=0)[layer["shown"], None], atol=1
    )
    assert "The map shows 400 samples, a fixed random choice." in page
    assert "reconstructions are included for 200 of 600 samples" in page


def test_a_scene_needs_one_pixel_per_sample(tmp_path):
    model = nmf()
    model.report(tmp_path / "page.html", X, sample_shape=(6, 10))
    (layer,) = data_of(tmp_path / "page.html")["layers"]
    codes = model.transform(X)[:, layer["shown"]].T.reshape(-1, 6, 10)
    expected = 255 * codes / codes.max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(pictures_of(layer["scene"], 4)[..., 0], expected, atol=1.1)
    for shape in ((6, 9), (60,), (6.0, 10.0)):
        with pytest.raises(ValueError, match="sample_shape is .*: expected .* product of 60, the number of samples"):
            model.report(tmp_path / "page.html", X, sample_shape=shape)


def test_unused_features_are_hidden_and_counted(tmp_path):
    model = nmf()
    model.features_[0][2] = 0
    model.report(tmp_path / "page.html", X)
    (layer,) = data_of(tmp_path / "page.html")["layers"]
    assert (layer["dead"], layer["size"], 2 in layer["shown"]) == (1, 4, False)


def test_without_scripts_the_page_has_findings_features_and_scores(tmp_path):
    model = deep()
    model.report(tmp_path / "page.html", X, y, class_names=["ash", "birch", "cedar"])
    page = text_of(tmp_path / "page.html").partition("<script")[0]
    assert "4 wholes explain " in page
    assert page.count('<th scope="row"><a href="#/2.') == 4
    shares = part_shares(model, 1)
    whole, part = np.unravel_index(shares.argmax(), shares.shape)
    row = page.partition(f'<th scope="row"><a href="#/2.{whole + 1}">')[2].partition("</tr>")[0]
    assert f'<td class="parts"><a href="#/1.{part + 1}">part {part + 1}</a> ' in row
    assert all(f"<td>{score.nmi:.3f}</td>" in page for score in layer_scores(model, X, y))
    assert all(f"<td>{100 * one.explained:.1f} %</td>" in page for one in model.hierarchy_)


def test_a_report_shows_itself_in_a_notebook_or_links_to_its_file(tmp_path, monkeypatch):
    page = nmf().report(X=X, title="Trees & shrubs")
    assert repr(page).startswith("Report(not saved, 0.")
    assert page._repr_html_().startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!doctype html&gt;')
    page.save(tmp_path / "page.html")
    assert text_of(tmp_path / "page.html") == page.html
    monkeypatch.setattr(document, "LARGEST_INLINE", 100)
    assert f'<a href="{tmp_path / "page.html"}"' in page._repr_html_()
    assert "use its method save" in nmf().report(X=X)._repr_html_()
    with pytest.raises(TypeError, match="X is missing"):
        nmf().report(tmp_path / "page.html")


# -------------------------------------------------------------------------------- the page as a file


def test_text_of_the_data_is_never_markup(tmp_path):
    evil = "</script><script>alert(1)</script><b>&amp;"
    model = nmf()
    model.report(
        tmp_path / "page.html",
        X,
        np.array([evil, "b", "c"])[y],
        feature_names=[f"{evil}{j}" for j in range(24)],
        sample_names=[evil] * 60,
        title=evil,
        command=evil,
    )
    page = text_of(tmp_path / "page.html")
    assert "alert(1)</script>" not in page
    assert "<b>" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert data_of(tmp_path / "page.html")["map"]["names"][0] == evil
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page
    write_comparison({evil: model}, tmp_path / "page.html", X, title=evil)
    assert text_of(tmp_path / "page.html").count("<script") == 2


def test_a_page_names_no_address_of_the_network_and_handles_no_event_in_its_elements(tmp_path):
    deep().report(tmp_path / "page.html", X, y, image_shape=(4, 6))
    page = text_of(tmp_path / "page.html")
    assert set(re.findall(r"\w+://[\w./]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<[^>]+\son\w+=", page)
    assert not re.search(r"<[^>]+\sstyle=", page)


def test_a_page_says_how_to_reproduce_it(tmp_path):
    model = deep()
    model.report(tmp_path / "page.html", X, y, image_shape=(4, 6), seconds=1.25)
    page = text_of(tmp_path / "page.html")
    assert "model.report(&#39;page.html&#39;, X, y, image_shape=(4, 6))" in page
    assert "model = deepnmf.DeepNSNMF(layer_sizes=(8, 4), random_state=0, tol=0.01)" in page
    assert "1.25" in page
    assert all(name in page for name in model.get_params())
    model.report(tmp_path / "page.html", X, command="deepnmf fit rows.csv")
    assert "deepnmf fit rows.csv" in text_of(tmp_path / "page.html")


def test_a_model_that_pools_says_that_rows_are_one_sequence(tmp_path):
    for width, pools in ((0, False), (3, True)):
        model = DeepNMFNetwork((8, 4), pool_size=width, random_state=0, tol=1e-2).fit(X)
        model.report(tmp_path / "page.html", X)
        assert ("all rows are one sequence" in text_of(tmp_path / "page.html")) is pools


@pytest.mark.parametrize("groups", [np.arange(60) // 20, np.repeat(["c.wav", "a.wav", "b.wav"], 20)])
def test_a_model_that_pools_does_so_within_the_groups(tmp_path, groups):
    model = DeepNMFNetwork((8, 4), pool_size=9, random_state=0, tol=1e-2).fit(X, groups=groups)
    model.report(tmp_path / "page.html", X, groups=groups)
    content, pooled = data_of(tmp_path / "page.html"), model.encode(X, 1, groups=groups)
    assert not np.allclose(pooled, model.encode(X, 1))
    assert content["groups"] == {"kind": "group", "names": list(dict.fromkeys(map(str, groups)))}
    assert numbers_of(content["map"]["groups"]).tolist() == (np.arange(60) // 20).tolist()
    profile = content["profile"][1]
    means = [pooled[20 * place : 20 * place + 20].mean(axis=0)[profile["features"]] for place in profile["groups"]]
    np.testing.assert_allclose(profile["means"], means, rtol=6e-3, atol=1e-9)
    text = text_of(tmp_path / "page.html")
    assert "within each group of rows" in text
    error = np.linalg.norm(X - model.decode(pooled, 1))
    assert layer_scores(model, X, groups=groups)[1].error == pytest.approx(error)


def test_labels_take_precedence_over_groups_and_too_many_groups_are_clusters(tmp_path):
    for labels, groups, kind in ((y, np.arange(60) // 20, "class"), (None, np.zeros(60), "cluster")):
        nmf().report(tmp_path / "page.html", X, labels, groups=groups)
        assert data_of(tmp_path / "page.html")["groups"]["kind"] == kind
    many = np.vstack([X, X])
    nmf().report(tmp_path / "page.html", many, groups=np.arange(120))
    assert data_of(tmp_path / "page.html")["groups"]["kind"] == "cluster"


def test_groups_that_do_not_fit_the_rows_are_refused(tmp_path):
    with pytest.raises(ValueError, match="groups has 3 entries, but X has 60 samples"):
        nmf().report(tmp_path / "page.html", X, y, groups=[0, 0, 1])


def test_a_report_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text("mine")

    def full(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        nmf().report(page, X)
    assert page.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [page]


def test_without_jinja_the_report_says_what_to_install(tmp_path, monkeypatch):
    genuine = builtins.__import__

    def without(name, *arguments, **named):
        if name == "jinja2":
            raise ModuleNotFoundError("No module named 'jinja2'")
        return genuine(name, *arguments, **named)

    model = nmf()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'deepnmf\[cli\]'"):
        model.report(tmp_path / "page.html", X)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"image_shape": (5, 5)}, r"image_shape is \(5, 5\), 25 values, but the model has 24 input features"),
        ({"image_shape": (12, 2, 1)}, r"image_shape is \(12, 2, 1\): expected \(height, width\)"),
        ({"feature_names": ["a"]}, "feature_names has 1 names: expected 24"),
        ({"sample_names": ["a"]}, "sample_names has 1 names: expected 60"),
        ({"axis": [1, 2]}, r"axis has shape \(2,\): expected 24 finite numbers"),
        ({"y": [1, 2]}, "y has 2 labels, but X has 60 samples"),
        ({"y": y, "class_names": ["a"]}, "class_names has no name for the label 1 of y"),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_written(arguments, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        write_report(nmf(), tmp_path / "page.html", X, **arguments)
    assert not list(tmp_path.iterdir())


def test_only_fitted_models_of_deepnmf_have_a_report(tmp_path):
    with pytest.raises(NotFittedError):
        NMF(3).report(tmp_path / "page.html", X)
    with pytest.raises(TypeError, match=r"model is of type NMF: expected a fitted model of deepnmf"):
        write_report(SklearnNMF(2, tol=1e-1).fit(X), tmp_path / "page.html", X)


def test_a_comparison_needs_models_and_only_their_seconds(tmp_path):
    with pytest.raises(ValueError, match="models is empty"):
        write_comparison({}, tmp_path / "page.html", X)
    with pytest.raises(ValueError, match=r"seconds has the name 'deep', which is not in models"):
        write_comparison({"flat": nmf()}, tmp_path / "page.html", X, seconds={"deep": 1.0})


def test_an_impossible_path_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"path is .*, which is a folder: expected the name of a file"):
        nmf().report(tmp_path, X)
    with pytest.raises(FileNotFoundError, match=r"path is .*, but there is no folder '.*missing'"):
        nmf().report(tmp_path / "missing" / "page.html", X)


# ------------------------------------------------------------------------------ scores and comparison


def test_scores_are_those_of_each_layer():
    model = deep()
    known = np.where(np.arange(60) < 50, y, -1)
    for layer, score in enumerate(layer_scores(model, X, known)):
        codes = model.encode(X, layer)
        with threadpool_limits(1):
            found = KMeans(3, n_init=10, random_state=0).fit_predict(codes)
        assert (score.layer, score.size) == (layer + 1, (8, 4)[layer])
        assert score.error == pytest.approx(np.linalg.norm(X - model.decode(codes, layer)))
        assert score.sparseness == sparseness(model.features_[layer])
        assert score.accuracy == clustering_accuracy(y[:50], found[:50])
        assert score.nmi == nmi(y[:50], found[:50])


def test_scores_without_labels_have_no_accuracy():
    assert [(score.accuracy, score.nmi) for score in layer_scores(deep(), X)] == [(None, None)] * 2


def test_a_comparison_of_several_losses_names_them(tmp_path):
    models = {"squares": nmf(), "counts": NMF(4, beta_loss=1, random_state=0, tol=1e-2).fit(X)}
    write_comparison(models, tmp_path / "page.html", X)
    page = text_of(tmp_path / "page.html")
    assert '<th scope="col">loss</th>' in page
    assert all(f">{name}</td>" in page for name in ("frobenius", "kullback-leibler"))
    assert "Errors of different losses cannot be compared." in page
    write_comparison({"squares": nmf()}, tmp_path / "page.html", X)
    assert '<th scope="col">loss</th>' not in text_of(tmp_path / "page.html")


def test_a_comparison_has_every_layer_marks_the_best_and_shows_samples_side_by_side(tmp_path):
    models = {"flat": nmf(), "deep": deep()}
    seconds = {"flat": 0.5, "deep": 2.25}
    write_comparison(models, tmp_path / "page.html", X, y, image_shape=(4, 6), seconds=seconds)
    page, content = text_of(tmp_path / "page.html"), data_of(tmp_path / "page.html")
    scores = [score for model in models.values() for score in layer_scores(model, X, y)]
    assert all(f"<td>{score.sparseness:.3f}</td>" in page for score in scores)
    assert f'class="best">{min(score.error for score in scores):#.4g}</td>' in page
    assert f'class="best">{max(score.nmi for score in scores):.3f}</td>' in page
    assert all(f"{duration:.2f}" in page for duration in seconds.values())
    for entry, model in zip(content["models"], models.values(), strict=True):
        for packed, C in zip(entry["layers"], model.features_, strict=True):
            features = C[packed["shown"]].reshape(-1, 4, 6)
            found = pictures_of(packed["pack"], len(features))[..., 0]
            np.testing.assert_allclose(found, 255 * features / features.max(axis=(1, 2), keepdims=True), atol=1.1)
    samples = content["samples"]
    rows = X[samples["rows"]]
    for model, errors in zip(models.values(), samples["errors"], strict=True):
        rebuilt = model.decode(model.encode(X))[samples["rows"]]
        expected = np.linalg.norm(rows - rebuilt, axis=1) / np.linalg.norm(rows, axis=1)
        np.testing.assert_allclose(errors, expected, rtol=6e-3)
