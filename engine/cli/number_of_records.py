"""A number of records as an argument of a command.

In: the text of the argument. Out: the number, or the refusal of the parser, which names the argument and the range.
"""

from __future__ import annotations

import argparse
import re

MOST = 10**18
"""More than any table has; databases and Arrow take this number, and one more, as 64 bits."""

_DIGITS = re.compile(r"0*([0-9]{1,19})")


def number_of_records(text: str) -> int:
    """Read a number of records.

    Raises
    ------
    argparse.ArgumentTypeError
        It is no whole number, or out of range.
    """
    found = _DIGITS.fullmatch(text.strip())
    number = int(found[1]) if found else 0
    if not 1 <= number <= MOST:
        raise argparse.ArgumentTypeError(f"must be a whole number of records, from 1 to {MOST:,}")
    return number
