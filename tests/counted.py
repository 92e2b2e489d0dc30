"""What a message tells as counts, and what in its words."""

from __future__ import annotations

import re


def counts_of(parts):
    """Give the counts among the parts of a message."""
    return {part["count"] for part in parts if isinstance(part, dict)}


def words_of(parts):
    """Give the words of a message, each count as one mark."""
    return "".join(part if isinstance(part, str) else "#" for part in parts)


def numbers_of(text):
    """Give every run of digits in a text."""
    return {int(found) for found in re.findall(r"\d+", text)}


def assert_told_as_counts(parts, *planted, folder=""):
    """Every planted number is a count of the message, and none of them stands in its words.

    The path of a temporary folder, which may have any number in it, is none of the words.
    """
    assert set(planted) <= counts_of(parts)
    words = words_of(parts)
    assert not set(planted) & numbers_of(words.replace(str(folder), "") if folder else words)
