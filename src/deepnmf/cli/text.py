"""Names that anybody may have given, made safe to print and to write."""

import re

UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what moves a cursor, and what is half a pair

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what a spreadsheet may take for the beginning of a formula
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


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


def spreadsheet_text(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula; a number stays one.

    Examples
    --------
    >>> [spreadsheet_text(text) for text in ("=1+1", "-1.5", "plum")]
    ["'=1+1", '-1.5', 'plum']
    """
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text
