"""A key or a text that an error repeats: short, and on one line."""

from __future__ import annotations

from engine.message import visible

LONGEST = 200
"""Characters of one key or text that an error repeats."""


def on_a_line(key: str) -> str:
    """Return a key for an error, which is one line: line ends and marks that nobody sees as their codes."""
    return visible(shortened(key))


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return the beginning of a text, with what tells that it goes on."""
    return text if len(text) <= longest else text[:longest] + "..."
