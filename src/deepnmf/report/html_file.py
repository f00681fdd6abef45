"""The HTML file: a template with style, script and data, and how its numbers were computed."""

import base64
import hashlib
import json
import platform
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from deepnmf.models.factorization import Factorization
from deepnmf.report.document import Report
from deepnmf.version import __version__


def rendered(template: str, scripts: Sequence[str], data: Any, **content: Any) -> Report:
    """Render a template; the scripts read `data`."""
    style, script = _text("page.css"), "\n".join(_text(name) for name in scripts)
    page = (
        _environment()
        .get_template(template)
        .render(
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            data=_json(data),
            **content,
        )
    )
    return Report(page)


def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - loaded when used
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("A report needs jinja2: pip install 'deepnmf[cli]'.") from missing
    return Environment(
        loader=PackageLoader("deepnmf.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _text(name: str) -> str:
    return files("deepnmf.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which the security policy of the page allows its own style and script only."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json(data: Any) -> str:
    """Return JSON that cannot close the HTML element around it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# ----------------------------------------------------------------------- settings, versions and code


def settings(model: Factorization) -> dict[str, str]:
    """Return all parameters of the model."""
    return {name: repr(value) for name, value in model.get_params(deep=False).items()}


def versions() -> dict[str, str]:
    """Return the versions of the packages that the numbers depend on."""
    return {
        "deepnmf": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def python_code(model: Factorization, path: str | None, labeled: bool, options: Sequence[tuple[str, Any]]) -> str:
    """Return code that fits the model and writes the page; long arguments are replaced by the parameter's name."""
    data = "X, y" if labeled else "X"
    arguments = "".join(f", {name}={_argument_text(name, value)}" for name, value in options if value is not None)
    constructor = " ".join(line.strip() for line in repr(model).splitlines())
    return "\n".join(
        [
            "import deepnmf",
            "",
            f"model = deepnmf.{constructor}",
            f"model.fit({data})",
            f"model.report({None if path is None else Path(path).name!r}, {data}{arguments})",
        ]
    )


def _argument_text(name: str, value: Any) -> str:
    text = repr(value)
    return text if isinstance(value, str | tuple | int) and len(text) < 60 else name
