"""Names that anybody may have given, made safe to print and to write."""

import re

UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what moves a cursor, and what is half a pair


def printable(text: str) -> str:
    r"""Escape what a terminal would obey or could not show; line breaks stay.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\udcff"))
    a\x1b[2Jb\udcff
    """
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def encodable(text: str) -> str:
    """Escape what UTF-8 does not have: the bytes of file names in other encodings, and halves of pairs."""
    return text.encode("utf-8", "backslashreplace").decode()
