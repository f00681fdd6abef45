"""The option --loss, the loss in the output of commands, and the advice for counts."""

import json

import numpy as np
import pytest

import deepnmf
from command_line import digits, run, succeeded, table

COUNTS = "The entries are counts: --loss kullback-leibler suits them."
FEW = ("--layers", "8,4", "--set", "max_iter=3", "--set", "tol=0", "--no-report")
WITH_LOSS = ["nmf", "nsnmf", "deep-nmf", "multilayer-nmf", "deep-nsnmf", "sparse-deep-nmf"]
EXPLAINS = "With this loss, every layer of deep-nmf explains the data: explains=data."
ONE_LAYER = ("nmf", "nsnmf", "gnmf")


def few(model):
    return ("--model", model, "--layers", "4" if model in ONE_LAYER else "8,4", *FEW[2:])


@pytest.fixture
def counted(tmp_path):
    """A table of counts with labels."""
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.3, 1, (3, 40))
    y = np.arange(60) % 3
    np.savez(tmp_path / "words.npz", X=rng.poisson(2 * topics[y] + 0.05).astype(float), y=y)
    return tmp_path / "words.npz"


@pytest.mark.parametrize("model", WITH_LOSS)
@pytest.mark.parametrize(
    ("given", "name", "title"),
    [
        ("kullback-leibler", "kullback-leibler", "Kullback-Leibler divergence"),
        ("1", "kullback-leibler", "Kullback-Leibler divergence"),
        ("1.5", "1.5", "beta divergence with β = 1.5"),
    ],
)
def test_a_fit_minimizes_and_names_the_loss(tmp_path, counted, model, given, name, title):
    result = succeeded("fit", counted, *few(model), "--loss", given, "-o", tmp_path / "out")
    fitted = deepnmf.load(tmp_path / "out" / "model.safetensors")
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["loss"] == name
    assert {score["loss"] for score in settings["scores"]} == {name}
    assert settings["scores"][-1]["error"] == pytest.approx(fitted.reconstruction_err_, rel=0.1)
    assert f"by {title}: 3 sweeps" in result.stdout
    baseline = "row totals times column shares" if name == "kullback-leibler" else "the column means"
    assert f"explained: share beyond {baseline}" in result.stdout
    assert COUNTS not in result.output


def test_a_parameter_set_by_name_is_the_same_loss(tmp_path, counted):
    usual = ("fit", counted, *few("nmf"))
    succeeded(*usual, "--loss", "kullback-leibler", "-o", tmp_path / "a")
    succeeded(*usual, "--set", "beta_loss=kullback-leibler", "-o", tmp_path / "b")
    assert (tmp_path / "a" / "loss.csv").read_text() == (tmp_path / "b" / "loss.csv").read_text()
    result = run(*usual, "--set", "beta_loss=1", "--loss", "0", "-o", tmp_path / "c")
    assert result.exit_code == 2
    assert result.output == "--loss is '0', but --set gives beta_loss too: expected one of the two.\n"


@pytest.mark.parametrize(
    ("given", "explains"), [("frobenius", "codes"), ("2", "codes"), ("kullback-leibler", "codes"), ("1.5", "data")]
)
def test_without_a_model_every_loss_is_minimized_by_deep_nmf(tmp_path, counted, given, explains):
    result = succeeded("fit", counted, *FEW, "--loss", given, "-o", tmp_path / "out")
    fitted = deepnmf.load(tmp_path / "out" / "model.safetensors")
    assert (type(fitted), fitted.explains) == (deepnmf.DeepNMF, explains)
    assert (EXPLAINS in result.stdout) == (explains == "data")


def test_what_layers_explain_is_not_changed_where_it_is_given(tmp_path, counted):
    usual = ("fit", counted, *FEW, "--loss", "1.5")
    assert EXPLAINS not in succeeded(*usual, "--set", "explains=data", "-o", tmp_path / "out").output
    result = run(*usual, "--set", "explains=codes", "-o", tmp_path / "other")
    assert (result.exit_code, "needs explains='data'" in result.stderr) == (2, True)


def test_compare_fits_its_models_under_any_loss(tmp_path, counted):
    args = ("--layers", "8,4", "--set", "max_iter=3", "--set", "tol=0", "--loss", "1.5")
    result = succeeded("compare", counted, *args, "-o", tmp_path / "out")
    assert result.stdout.count(EXPLAINS) == 1
    assert deepnmf.load(tmp_path / "out" / "deep-nmf.safetensors").explains == "data"


def test_squared_error_is_named_as_before(tmp_path, counted):
    result = succeeded("fit", counted, *few("nmf"), "--loss", "frobenius", "-o", tmp_path / "out")
    assert "nmf with layers 4: 3 sweeps" in result.stdout
    assert "explained: share beyond the column means, by the features of the layer alone" in result.stdout
    assert json.loads((tmp_path / "out" / "settings.json").read_text())["loss"] == "frobenius"
    assert COUNTS not in result.output


@pytest.mark.parametrize("given", ["kl", "nan", "inf", "", "poisson"])
def test_an_unknown_loss_is_refused(tmp_path, counted, given):
    result = run("fit", counted, *few("nmf"), "--loss", given, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert result.output == f"--loss is {given!r}: expected frobenius, kullback-leibler, itakura-saito or a number.\n"


@pytest.mark.parametrize("given", [("--loss", "1"), ("--set", "beta_loss=1")])
def test_a_model_without_losses_names_those_that_have_them(tmp_path, counted, given):
    result = run("fit", counted, *few("gnmf"), *given, "-o", tmp_path / "out")
    assert result.exit_code == 2
    others = "--loss and beta_loss are for nmf, nsnmf, deep-nmf, multilayer-nmf, deep-nsnmf and sparse-deep-nmf."
    assert result.output == f"The loss of gnmf cannot be chosen: {others}\n"
    result = run("compare", counted, "--models", "gnmf,semi-nmf", *given, "-o", tmp_path / "out")
    assert (result.exit_code, result.output) == (2, f"The loss of gnmf,semi-nmf cannot be chosen: {others}\n")


def test_data_that_the_loss_cannot_take_are_refused(tmp_path, counted):
    result = run("fit", counted, *few("nmf"), "--loss", "itakura-saito", "-o", tmp_path / "out")
    assert (result.exit_code, "X contains zeros" in result.stderr) == (4, True)
    np.save(tmp_path / "signed.npy", digits()[0] - 0.5)
    result = run("fit", tmp_path / "signed.npy", "--loss", "1", *FEW, "-o", tmp_path / "out")
    assert (result.exit_code, "Negative values" in result.stderr) == (4, True)


def test_compare_applies_the_loss_to_the_models_that_have_it(tmp_path, counted):
    args = ("--models", "nmf,deep-nsnmf,deep-semi-nmf", "--layers", "8,4", "--set", "max_iter=3", "--set", "tol=0")
    result = succeeded("compare", counted, *args, "--loss", "1", "-o", tmp_path / "out")
    assert "The loss of deep-semi-nmf cannot be chosen, and is squared error." in result.stdout
    assert "share beyond row totals times column shares or the column means" in result.stdout
    losses = dict(table(tmp_path / "out" / "scores.csv")[["model", "loss"]].itertuples(index=False))
    assert losses == {"nmf": "kullback-leibler", "deep-nsnmf": "kullback-leibler", "deep-semi-nmf": "frobenius"}
    page = (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
    assert "Errors of different losses cannot be compared." in page
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["models"]["nmf"]["loss"] == "kullback-leibler"


# ------------------------------------------------------------------------------------ advice for counts


def test_kullback_leibler_is_suggested_once_for_counts(tmp_path, counted):
    for number, model in enumerate(WITH_LOSS):
        result = succeeded("fit", counted, *few(model), "-o", tmp_path / f"{number}")
        assert result.stdout.count(COUNTS) == 1
    result = succeeded("fit", counted, *FEW, "-o", tmp_path / "default")
    assert result.stdout.count(COUNTS) == 1
    args = ("--models", "nmf,deep-nsnmf", *FEW[:-1])
    assert succeeded("compare", counted, *args, "-o", tmp_path / "all").stdout.count(COUNTS) == 1


def test_advice_is_not_given_where_it_does_not_apply(tmp_path, counted):
    for number, options in enumerate(
        [
            (*few("gnmf"),),
            (*few("nmf"), "--set", "beta_loss=2"),
            (*few("nmf"), "--scale", "log"),
            (*few("nmf"), "--size", "5x8"),
            (*few("nmf"), "--quiet"),
            (*few("nmf"), "--json"),
            (*few("sparse-deep-nmf"), "--set", "penalty=L"),
            (*few("sparse-deep-nmf"), "--set", "activation=square"),
        ]
    ):
        result = succeeded("fit", counted, *options, "-o", tmp_path / f"{number}")
        assert "counts" not in result.output, options
    np.save(tmp_path / "pixels.npy", 16 * digits()[0])
    assert "counts" not in succeeded("fit", tmp_path / "pixels.npy", *FEW, "-o", tmp_path / "pixels").output
