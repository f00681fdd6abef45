"""The benchmarks that are run a part at a time still run."""

from types import SimpleNamespace

import numpy as np
import pytest

import deepnmf

main = pytest.importorskip("benchmarks.hierarchy.__main__", reason="benchmarks are not in the source distribution")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def quick(part, name, *models):
    options = SimpleNamespace(quick=True, seeds=2, names=[name], models=models)
    return list(main.measured(part, options, kept=[]))


@pytest.mark.parametrize(
    ("part", "name", "models"),
    [
        ("planted", "three levels", ("DeepNSNMF", "DeepNSNMF, from the truth", "the true features", "separate NMFs")),
        ("real", "digits", ("MultilayerNMF", "GDNMF", "separate NMFs")),
        ("stability", "digits", ("DeepSemiNMF", "separate NMFs")),
    ],
)
def test_a_part_of_the_hierarchy_benchmark_has_a_row_for_each_model(part, name, models, monkeypatch):
    monkeypatch.setattr(main, "commit", lambda: "abc1234")
    records = quick(part, name, *models)
    assert len(records) == 2 * len(models)
    section = main.section(part, records)
    assert [line.split(" | ")[0][2:] for line in section.splitlines()[-len(models) :]] == list(models)
    assert "nan" not in section


def test_fits_that_are_kept_are_not_made_again(monkeypatch):
    monkeypatch.setattr(main, "commit", lambda: "abc1234")
    kept = quick("real", "digits", "separate NMFs")
    options = SimpleNamespace(quick=True, seeds=2, names=["digits"], models=("separate NMFs",))
    assert not list(main.measured("real", options, kept))


def test_all_deep_models_of_the_package_are_compared():
    names = main.PARTS["real"].contenders()
    assert {"MultilayerNMF", "DeepNSNMF", "SparseDeepNMF", "DeepSemiNMF", "DeepNMFNetwork", "GDNMF"} <= set(names)


def test_the_picture_of_wholes_shows_parts_that_add_up_to_them():
    picture = pytest.importorskip("benchmarks.hierarchy.picture")
    X = np.random.default_rng(0).random((30, 361))
    model = deepnmf.DeepNMF((12, 6), max_iter=3, tol=0, random_state=0).fit(X)
    cells = picture.drawn(model).axes
    assert len(cells) == picture.N_WHOLES * (picture.N_PARTS + 2)
    weights = model.factors_[1][picture.strongest(model)[0]]
    shown = np.sort(weights)[::-1][: picture.N_PARTS]
    whole, *parts, others = [cell.images[0].get_array().ravel() for cell in cells[: picture.N_PARTS + 2]]
    np.testing.assert_allclose(whole, shown @ np.array(parts) + others)
    assert cells[1].get_title() == f"{100 * shown[0] / weights.sum():.0f} %"


def test_the_benchmark_of_layer_sizes_has_a_row_for_each_rule(monkeypatch):
    from benchmarks import selection

    monkeypatch.setattr(selection, "CANDIDATES", range(1, 6))
    monkeypatch.setattr(selection, "DELTAS", (4.0,))
    monkeypatch.setattr(selection, "NOISES", ("poisson",))
    monkeypatch.setattr(selection, "STARTS", 2)
    rows = list(selection.single_layers(seeds=1))
    assert [row[2] for row in rows] == list(selection.RULES)
    assert rows[0][4] == "100%"


def test_planted_noise_has_the_level_that_was_asked_for():
    from benchmarks import selection

    X, weak = (selection.planted((60, 40), 3, "gamma", "dense", delta, seed=0) for delta in (2.0, 1e6))
    values = np.linalg.svd(weak, compute_uv=False)
    assert values[2] / np.linalg.norm(X - weak, 2) == pytest.approx(2, rel=0.1)
