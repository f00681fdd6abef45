"""Where a report comes from: settings, versions, and how to make it again."""

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from deepnmf.models.factorization import Factorization
from deepnmf.version import __version__


def settings(model: Factorization) -> dict[str, str]:
    """Every parameter of the model."""
    return {name: repr(value) for name, value in model.get_params(deep=False).items()}


def versions() -> dict[str, str]:
    """Of everything the numbers depend on."""
    return {
        "deepnmf": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def python_lines(model: Factorization, path: str, labelled: bool, options: Sequence[tuple[str, Any]]) -> str:
    """The lines that fit the model and write the page; what is too long to print has its parameter's name."""
    data = "X, y" if labelled else "X"
    arguments = "".join(f", {name}={_written(name, value)}" for name, value in options if value is not None)
    constructor = " ".join(line.strip() for line in repr(model).splitlines())
    return "\n".join(
        [
            "import deepnmf",
            "",
            f"model = deepnmf.{constructor}",
            f"model.fit({data})",
            f"model.report({Path(path).name!r}, {data}{arguments})",
        ]
    )


def _written(name: str, value: Any) -> str:
    text = repr(value)
    return text if isinstance(value, str | tuple | int) and len(text) < 60 else name
