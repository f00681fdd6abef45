"""Pages out of templates, with style and script inside, whole on disk or not there."""

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from deepnmf.persistence import replace_file


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place no file can be written to, before work is done for it."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path is {os.fspath(path)!r}, a folder: expected the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path is {os.fspath(path)!r}, but there is no folder {os.fspath(target.parent)!r}: "
            "expected a folder that is there."
        )


def write_page(path: str | os.PathLike[str], template: str, scripts: Sequence[str], data: Any, **content: Any) -> None:
    """Render a template and write it; `data` is what the scripts read."""
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
    replace_file(Path(os.path.realpath(path)), (page.encode("utf-8", "backslashreplace"),))


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
    """What the page's policy knows its own style and script by: no other runs in it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
