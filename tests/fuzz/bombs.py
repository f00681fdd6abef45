"""Small files with valid digests that would need much memory or time when they are read."""

import json
from collections.abc import Iterator

from fuzz.files import Parts, joined, sealed

HEADER_BYTES = 2**24 - 2**14  # bytes; nearly the limit of a header
N_COMMAS = 990_000  # nearly the limit of commas


def bombs(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Forge a model file in every way that might need much memory or time."""
    parts = Parts.of(content)
    text, header = json.dumps(parts.description)[:-1], parts.header.rstrip()[:-1]
    for name, bomb in _texts():
        yield f"{name} in the description", parts.with_description(f'{text}, "x": {bomb}}}').sealed()
        yield f"{name} in the header", sealed(f'{header},"x":{bomb}}}'.encode(), parts.data)
    yield "spaces", joined(b" " * HEADER_BYTES, b"")
    yield "many classes", _with(parts, classes=[*(str(i) for i in range(100_000)), "x" * 10**6])
    yield "wide classes", _with(parts, type_of_classes="<U99999999")
    yield "a digest of one letter", _with_a_short_digest(parts)
    yield "many features", _with(parts, n_features_in=2**62)


def _texts() -> Iterator[tuple[str, str]]:
    """Return JSON of the largest size, with as many commas as allowed or more."""
    yield "numbers", "[" + "0," * (HEADER_BYTES // 2) + "0]"
    yield "fewer numbers", "[" + "1234567890," * N_COMMAS + "0]"
    yield "fractions", "[" + "0.12345678901," * N_COMMAS + "0]"
    yield "texts", "[" + '"\\u0041b",' * (HEADER_BYTES // 14) + "0]"
    yield "short texts", "[" + '"abcdefghi",' * N_COMMAS + "0]"
    yield "keys", "{" + "".join(f'"{i:x}":0,' for i in range(HEADER_BYTES // 12)) + '"x":0}'
    yield "brackets", "[" + "[]," * (HEADER_BYTES // 4) + "0]"
    yield "long numbers", "[" + ("1" * 4000 + ",") * (HEADER_BYTES // 4001) + "0]"
    yield "one number", "1" * HEADER_BYTES
    yield "one fraction", "0." + "1" * HEADER_BYTES


def _with(parts: Parts, **changes: object) -> bytes:
    return parts.with_description(parts.description | changes).sealed()


def _with_a_short_digest(parts: Parts) -> bytes:
    """Return a digest that occurs so often that 64 zeros in its place would give a header of a gigabyte."""
    entries = parts.entries
    entries["__metadata__"] |= {"sha256": "x", "more": "x" * (HEADER_BYTES - len(parts.header))}
    return joined(parts.with_entries(entries).header.encode(), parts.data)
