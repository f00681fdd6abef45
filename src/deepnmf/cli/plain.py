"""Results as JSON that every program reads."""

import json
import math
from collections.abc import Mapping
from typing import Any


def as_json(content: Any, indent: int | None = None) -> str:
    """NumPy's numbers as numbers, tuples as lists, what is no number at all as null, and all else as text."""
    return json.dumps(_plain(content), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
