"""How a CSV file is written: what separates its fields, and how its bytes are text."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NamedTuple

UTF_8 = "utf-8"
_OF_ESCAPES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
"""Encodings that no file is written in; in UTF-7 a quote has several forms, so that none is known to be closed."""


class CsvForm(NamedTuple):
    """The form of a CSV file.

    Attributes
    ----------
    delimiter : str
        One ASCII character.
    encoding : str
        See `encoding_of`.
    """

    delimiter: str = ","
    encoding: str = UTF_8


CSV = CsvForm()
"""The form of a file of which nothing is said."""


def is_csv(path: Path) -> bool:
    """Tell whether a file is read as CSV, by its name."""
    return path.suffix.lower() == ".csv" or path.name.lower().endswith(".csv.gz")


def encoding_of(name: str) -> str:
    """Return the one name of an encoding of text that Python knows by several.

    Raises
    ------
    ValueError
        Python knows none of this name, or one that is not of text.
    """
    try:
        "".encode(name)
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        found = ""
    if not found or found in _OF_ESCAPES:
        raise ValueError("must be an encoding that Python knows, such as utf-8, cp1252 (Windows), latin-1 or utf-16")
    return found
