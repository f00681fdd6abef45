"""Model files in parts, and files joined from parts with a valid digest."""

import json
from dataclasses import dataclass, replace
from hashlib import sha256

ZEROS = "0" * 64


@dataclass(frozen=True)
class Parts:
    """The three parts of a file; the header is text, which may be invalid JSON."""

    header: str
    data: bytes

    @classmethod
    def of(cls, content: bytes) -> "Parts":
        length = int.from_bytes(content[:8], "little")
        return cls(content[8 : 8 + length].decode(), content[8 + length :])

    @property
    def entries(self) -> dict:
        """The parsed header."""
        return json.loads(self.header)

    @property
    def description(self) -> dict:
        return json.loads(self.entries["__metadata__"]["deepnmf"])

    def with_entries(self, entries: dict) -> "Parts":
        metadata = dict(sorted(entries.get("__metadata__", {}).items()))
        entries = {"__metadata__": metadata, **{k: v for k, v in entries.items() if k != "__metadata__"}}
        return replace(self, header=json.dumps(entries, separators=(",", ":")))

    def with_description(self, description: dict | str) -> "Parts":
        """Texts are taken as they are."""
        entries = self.entries
        text = description if isinstance(description, str) else json.dumps(description)
        entries["__metadata__"]["deepnmf"] = text
        return self.with_entries(entries)

    def sealed(self) -> bytes:
        """Return the file; its digest, if it has one, is recomputed."""
        return sealed(self.header.encode("utf-8", "surrogatepass"), self.data)


def joined(header: bytes, data: bytes) -> bytes:
    """Return a file of a header and the bytes after it."""
    return len(header).to_bytes(8, "little") + header + data


def sealed(header: bytes, data: bytes) -> bytes:
    """Return the file with a recomputed digest, wherever the key of the digest is."""
    before, key, after = header.partition(b'"sha256":"')
    if not key:
        return joined(header, data)
    blank = before + key + ZEROS.encode() + after[64:]
    digest = sha256(joined(blank, data)).hexdigest().encode()
    return joined(before + key + digest + after[64:], data)
