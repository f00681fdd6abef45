"""The model of a command: its name, its layers and its parameters, and their defaults."""

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from deepnmf.cli.exits import CommandError, ExitCode, errors_as

if TYPE_CHECKING:
    from deepnmf.reading import Dataset
    from deepnmf.selection import Selection

COUNTS = "The entries are counts: --loss kullback-leibler suits them."
EXPLAINS_DATA = "With this loss, every layer of deep-nmf explains the data: explains=data."
LOSSES_OF_CODES = ("frobenius", "kullback-leibler", 2, 1)  # of DeepNMF, if its layers explain codes
WORDS = {"true": True, "false": False, "none": None}  # in any case
LARGEST_BOTTOM, DEFAULT_TOP = 100, 10  # default sizes if the layers cannot be chosen from the data
PARTS_OF_A_FEATURE = 4  # proposed if no upper layer was found
ENTRIES_READ, FEWEST_PASSES = 5e9, 300  # for the choice of layers: about half a minute
STORED_ENTRY, ROW_OR_COLUMN = 10, 16  # cost relative to an entry of an array
WORD_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def command_name(model: type) -> str:
    """Return the name of a class on the command line: deep-nsnmf for DeepNSNMF."""
    return WORD_BOUNDARY.sub("-", model.__name__).lower()


def models_by_name() -> dict[str, type[Any]]:
    """Return all models by their names on the command line."""
    from deepnmf.models import MODELS

    return {command_name(model): model for model in MODELS}


def model_class(name: str) -> type[Any]:
    """Return the class of a name in any case, also that of the class; the error suggests similar names."""
    models = models_by_name()
    places = {_letters(known): known for known in models}
    if _letters(name) not in places:
        raise CommandError(f"There is no model {name!r}: expected {_suggestions(name, models)}.", ExitCode.USAGE)
    return models[places[_letters(name)]]


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


# --------------------------------------------------------------------------------------- parameters


def parse_layers(text: str | None, option: str = "--layers") -> tuple[int, ...] | None:
    """Return the layer sizes of a text such as "300,40"."""
    if text is None:
        return None
    try:
        sizes = tuple(int(size) for size in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise CommandError(f"{option} is {text!r}: expected positive integers, such as 300,40.", ExitCode.USAGE)
    return sizes


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of ``name=value`` texts; a value is a Python literal (commas make a tuple) or text."""
    found = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"--set is {setting!r}: expected name=value, such as theta=0.1,0.9.", ExitCode.USAGE)
        found[name.strip()] = _literal(text.strip())
    return found


def add_loss(settings: Mapping[str, Any], loss: str | None) -> dict[str, Any]:
    """Return the parameters with the loss of the option --loss."""
    if loss is None:
        return dict(settings)
    if "beta_loss" in settings:
        raise CommandError(
            f"--loss is {loss!r}, but --set gives beta_loss too: expected one of the two.", ExitCode.USAGE
        )
    return {**settings, "beta_loss": _parse_loss(loss)}


def _parse_loss(text: str) -> str | float:
    from deepnmf.objective.divergences import NAMES

    if text in NAMES:
        return text
    with suppress(ValueError):
        number = float(text)
        if math.isfinite(number):
            return number
    raise CommandError(f"--loss is {text!r}: expected {', '.join(NAMES)} or a number.", ExitCode.USAGE)


def has_loss(cls: type[Any]) -> bool:
    """Whether the loss of a model can be chosen."""
    return "beta_loss" in cls().get_params()


def loss_refusal(names: str) -> CommandError:
    """Return the error about models whose loss cannot be chosen; it names the others."""
    *others, last = (name for name, cls in models_by_name().items() if has_loss(cls))
    return CommandError(
        f"The loss of {names} cannot be chosen: --loss and beta_loss are for {', '.join(others)} and {last}.",
        ExitCode.USAGE,
    )


def _implied(known: Iterable[str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a loss implies: with most losses, layers of deep-nmf can only explain the data."""
    implies = "explains" in known and settings.get("beta_loss", "frobenius") not in LOSSES_OF_CODES
    return {"explains": "data"} if implies else {}


def implies_explains(model: Any, settings: Mapping[str, Any]) -> bool:
    """Whether the loss has decided what the layers of a model explain."""
    return "explains" not in settings and bool(_implied(model.get_params(), settings))


def suggests_counts(model: Any, settings: Mapping[str, Any], data: "Dataset") -> bool:
    """Whether the data are counts and the model could use their loss, which was not chosen."""
    from deepnmf.reading import has_counts

    parameters = model.get_params()
    is_possible = parameters.get("penalty") is None and parameters.get("activation", "identity") == "identity"
    return "beta_loss" in parameters and "beta_loss" not in settings and is_possible and has_counts(data)


def _literal(text: str) -> Any:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def is_shallow(model: Any) -> bool:
    """Whether a model has one layer."""
    return "n_components" in model.get_params()


def build_model(cls: type[Any], layers: Sequence[int], settings: Mapping[str, Any], seed: int | None) -> Any:
    """Return a model with its layers and parameters, checked as far as possible without data."""
    model = cls(random_state=seed)
    known = model.get_params()
    if "beta_loss" in settings and "beta_loss" not in known:
        raise loss_refusal(command_name(cls))
    for name in settings:
        if name not in known:
            raise CommandError(
                f"{command_name(cls)} has no parameter {name!r}: expected {_suggestions(name, known)}.", ExitCode.USAGE
            )
    sizes = {"n_components": layers[-1]} if is_shallow(model) else {"layer_sizes": tuple(layers)}
    model.set_params(**{**sizes, **_implied(known, settings), **settings})
    with errors_as(ExitCode.USAGE, ValueError, TypeError):
        model._validate_params()
    return model


def layers_text(model: Any) -> str:
    """Return the layer sizes of an unfitted model as on the command line."""
    sizes = model.n_components if is_shallow(model) else model.layer_sizes
    return ",".join(map(str, sizes)) if isinstance(sizes, tuple) else str(sizes)


def check_one_layer(cls: type[Any], layers: Sequence[int] | None) -> None:
    """Raise an error if several layers are given for a model with one layer."""
    if layers is not None and len(layers) > 1 and is_shallow(cls()):
        text = ",".join(map(str, layers))
        raise CommandError(
            f"{command_name(cls)} has one layer, but --layers is {text}: expected one number.", ExitCode.USAGE
        )


def is_about_parameters(error: Exception, model: Any) -> bool:
    """Whether a message of the library begins with the name of a parameter, so that the data are not the cause."""
    first = re.match(r"\W*(\w+)", str(error))
    return first is not None and first[1] in model.get_params()


def _suggestions(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = get_close_matches(name, known, n=3, cutoff=0.5) or known
    return " or ".join(near) if len(near) < 4 else ", ".join(near)


# ----------------------------------------------------------------------------------------- defaults


def default_model(data: "Dataset", settings: Mapping[str, Any]) -> str:
    """Choose deep-nmf for nonnegative data and wherever a loss is given, otherwise deep-semi-nmf."""
    from deepnmf.reading.scales import smallest_entry

    return "deep-nmf" if "beta_loss" in settings or smallest_entry(data.X) >= 0 else "deep-semi-nmf"


def passes_for_choice(data: "Dataset") -> float:
    """Return the number of passes over the data for the choice of layers; larger data get fewer passes."""
    from scipy import sparse

    n_entries = STORED_ENTRY * data.X.nnz if sparse.issparse(data.X) else math.prod(data.X.shape)
    return max(FEWEST_PASSES, ENTRIES_READ / (n_entries + ROW_OR_COLUMN * sum(data.X.shape)))


def search_summary(selection: "Selection", largest: int) -> str:
    """Describe the sizes tried, and whether the search ended early; `largest` is the largest size."""
    tried = ", ".join(str(row.size) for row in selection.table_ if row.layer == 1)
    passes = sum(row.passes for row in selection.table_)
    sizes = ",".join(map(str, selection.best_sizes_))
    texts = [
        f"Layers {sizes} predict hidden entries best. Tried: {tried} features in the first layer, with {passes:.0f} "
        "passes over the data in total."
    ]
    if selection.ended_by_ is not None:
        cut = {
            "max_passes": "ended early to save time; deepnmf choose has no limit",
            "interrupt": "was interrupted",
        }
        texts.append(f"The search {cut[selection.ended_by_]}.")
    if not is_shallow(selection.best_estimator_) and len(selection.best_sizes_) == 1:
        parts = min(PARTS_OF_A_FEATURE * selection.best_sizes_[0], largest)
        texts.append(f"No upper layer was found. To get finer parts below these features: --layers {parts},{sizes}")
    return " ".join(texts)


def default_layers(data: "Dataset") -> tuple[int, int]:
    """Choose two layers: half the rank, at most 100; on top one feature per class or 10, at most half of that."""
    bottom = max(2, min(LARGEST_BOTTOM, min(data.X.shape) // 2))
    return bottom, max(1, min(_n_classes(data) or DEFAULT_TOP, bottom // 2))


def _n_classes(data: "Dataset") -> int:
    if data.y is None:
        return 0
    top = data.y if data.y.ndim == 1 else data.y[:, -1]  # the attribute of the top layer
    return len(set(top.tolist()) - {-1})
