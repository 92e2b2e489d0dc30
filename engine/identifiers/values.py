"""Columns that look like identifiers by their values, whatever their names are.

In: distinct values of a column, as text. Out: the kind of identifier that nearly all of them are, or None. No value is
kept or told.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence

from engine.identifiers.kinds import Kind

ENOUGH = 0.9
"""Share of the values from which on a column is of a kind: some may be mistyped."""
FEWEST = 3
"""Distinct values below which a column is of no kind: what they have in common may be chance."""
_LONG_TEXT, _MANY_WORDS = 60, 8
"""Characters and words of a text, on average, from which on it is free text."""

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,24}")
_URL = re.compile(r"(?:https?|ftp)://\S+|www\.\S+\.\S+", re.IGNORECASE)
_SSN = re.compile(r"(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")
_AHV = re.compile(r"756\.\d{4}\.\d{4}\.\d{2}")
_FORMATTED_PHONE = re.compile(
    r"\+\d[\d ()./-]{6,18}\d(?: ?(?:x|ext\.?) ?\d{1,6})?"
    r"|\(\d{3}\) ?\d{3}[-. ]\d{4}(?: ?(?:x|ext\.?) ?\d{1,6})?"
    r"|(?:1[-. ])?\d{3}[-. ]\d{3}[-. ]\d{4}(?: ?(?:x|ext\.?) ?\d{1,6})?"
    r"|0\d{2,4}[ /-]\d{2,4}[ -]?\d{2,4}(?:[ -]?\d{2,4})?"
)
_IBAN = re.compile(r"[A-Z]{2}\d{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_MAC = re.compile(r"(?:[0-9A-F]{2}[:-]){5}[0-9A-F]{2}", re.IGNORECASE)
_CARD = re.compile(r"(?:\d[ -]?){12,18}\d")
_PHOTO = re.compile(r"\S+\.(?:jpe?g|png|gif|bmp|tiff?|heic|dcm)", re.IGNORECASE)


def kind_of_values(values: Sequence[str]) -> Kind | None:
    """Return the kind of identifier that these values are, or None.

    Parameters
    ----------
    values : sequence of str
        Distinct values of a column, or a sample of them; missing ones left out.
    """
    if len(values) < FEWEST:
        return None
    for kind, is_one in _TESTS:
        if sum(map(is_one, values)) >= ENOUGH * len(values):
            return kind
    return "free-text" if _is_prose(values) else None


def _is_prose(values: Sequence[str]) -> bool:
    characters = sum(map(len, values)) / len(values)
    words = sum(len(value.split()) for value in values) / len(values)
    return characters >= _LONG_TEXT and words >= _MANY_WORDS


def _is_address_of_a_host(value: str) -> bool:
    if "." not in value and ":" not in value:
        return False  # a whole number is an address too
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _is_card(value: str) -> bool:
    """Tell whether it is a number of a payment card, by its check digit (ISO/IEC 7812, Luhn)."""
    if not _CARD.fullmatch(value):
        return False
    digits = [int(letter) for letter in value if letter.isdigit()][::-1]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _full(*patterns: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: any(pattern.fullmatch(value.strip()) for pattern in patterns)


_TESTS: tuple[tuple[Kind, Callable[[str], bool]], ...] = (
    ("email", _full(_EMAIL)),
    ("url", _full(_URL)),
    ("ip-address", _is_address_of_a_host),
    ("social-security-number", _full(_SSN, _AHV)),
    ("record-number", _full(_UUID)),
    ("device-number", _full(_MAC)),
    ("account-number", _full(_IBAN)),
    ("account-number", _is_card),
    ("phone", _full(_FORMATTED_PHONE)),
    ("photograph", _full(_PHOTO)),
)
