"""Text for a terminal."""

from __future__ import annotations


def shown(text: str) -> str:
    """Return a text without characters that a terminal would act on."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
