"""The option --fixed: a file of fixed components, whose columns are matched with those of the data."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.exits import CommandError, ExitCode, errors_as

if TYPE_CHECKING:
    from deepnmf.arrays import Array
    from deepnmf.reading import Dataset, Scaling

MOST_NAMED = 5  # missing columns


def read_known_components(path: Path, data: "Dataset", scaling: "Scaling") -> "Array":
    """Return the components in a file, with the columns and the scale of the data; empty cells are NaN.

    If the columns of the data have names, they are found by name, and the file may have other columns; otherwise the
    number of columns must be equal. Components are in the units of the input and are scaled in the same way.
    """
    import numpy as np
    from scipy import sparse

    from deepnmf.reading import ReadingError

    with errors_as(ExitCode.UNREADABLE, ReadingError):
        X = _read(path, data.feature_names)
    components = np.asarray(X.todense() if sparse.issparse(X) else X, dtype=float)
    if components.shape[1] != data.X.shape[1]:
        raise CommandError(
            f"{path} of --fixed has {components.shape[1]} columns, but the data have {data.X.shape[1]}.",
            ExitCode.UNSUITABLE,
        )
    return scaling(components) if scaling.name in ("columns", "max") else components


def check_takes_components(model: Any) -> None:
    """Refuse a model that supports no fixed components."""
    from deepnmf.models.known_components import TAKING

    if "fixed_components" not in inspect.signature(model.fit).parameters:
        raise CommandError(
            f"{type(model).__name__} supports no fixed components: --fixed is for {TAKING}.", ExitCode.USAGE
        )


def _read(path: Path, names: tuple[str, ...] | None) -> Any:
    from deepnmf.reading import ReadingError, read

    try:
        return read(path, columns=names).X
    except ReadingError:
        found = read(path).feature_names if names is not None else None
        missing = [name for name in names or () if found is not None and name not in found]
        if not missing:
            raise
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        listed = ", ".join(map(repr, missing[:MOST_NAMED]))
        raise CommandError(
            f"{path} of --fixed has no column for {listed}{more}: expected all columns of the data.",
            ExitCode.UNSUITABLE,
        ) from None
