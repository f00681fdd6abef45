"""JSON from untrusted sources, parsed within bounds on memory."""

import json
import math
import reprlib
from typing import Any

MOST_BRACKETS, MOST_COMMAS = 100_000, 1_000_000  # a model with thousands of layers has fewer


def parsed(text: str) -> dict[str, Any]:
    """Parse a JSON object from an untrusted source."""
    if text.count("[") + text.count("{") > MOST_BRACKETS or text.count(",") > MOST_COMMAS:
        raise ValueError(f"its description has more than {MOST_BRACKETS} brackets or {MOST_COMMAS} commas")
    try:
        found = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_finite, parse_float=_finite, parse_int=_integer
        )
    except RecursionError:
        raise ValueError("its description is nested too deeply") from None
    return of_type(found, dict, "description")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("its description has a duplicate key")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"its description contains {text[:20]}: expected finite numbers")
    return number


def _integer(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**64:
        raise ValueError(f"its description contains {text[:30]}: expected integers of at most 64 bits")
    return int(text)


def of_type(value: Any, kind: type, name: str) -> Any:
    """Return the value of a field if it has the expected type, otherwise raise a ValueError."""
    if type(value) is not kind:
        raise ValueError(f"its {name} is {reprlib.repr(value)}: expected a {kind.__name__}")
    return value
