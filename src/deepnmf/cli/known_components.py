"""The option --fixed: a file of components that a fit keeps, its columns matched with those of the data."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnmf.cli.exits import CommandError, ExitCode, errors_as

if TYPE_CHECKING:
    from deepnmf.arrays import Array
    from deepnmf.reading import Dataset, Scaling

MOST_NAMED = 5  # missing columns


def read_known_components(path: Path, data: "Dataset", scaling: "Scaling") -> "Array":
    """Return the components in a file as rows, with the columns of the data and in their scale; NaN where empty.

    Named columns of the data are found by their names, and the file may have others; without names the number of
    columns decides. Components are in the units of the input, so that what divides its columns divides theirs.
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
    """Refuse a model whose components cannot be given."""
    from deepnmf.models.known_components import TAKING

    if "fixed_components" not in inspect.signature(model.fit).parameters:
        raise CommandError(f"{type(model).__name__} has no fixed components: --fixed is for {TAKING}.", ExitCode.USAGE)


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
            f"{path} of --fixed lacks columns of the data: {listed}{more}.", ExitCode.UNSUITABLE
        ) from None
