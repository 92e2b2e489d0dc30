"""A text that others chose, such as the name of a column, inside Markdown: it is shown as it is, on one line.

In: the text. Out: Markdown in which no part of it is markup: no link, no picture that a reader's program would load
from somewhere else, no script, no heading, no further cell of a table. The rules are those of CommonMark 0.31, by which
a backslash takes its meaning from any ASCII punctuation, and of GitHub's addresses that become links by themselves.
"""

from __future__ import annotations

import re

_ANYWHERE = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
"""What begins or ends code, emphasis, links, pictures and cells; an underscore within a word does not."""
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ADDRESSES = re.compile(r":(?=//)|(?<=www)\.|@", re.IGNORECASE)
_AT_BEGIN = re.compile(r"(?:[#+=-]|[0-9]+(?=[.)](?: |$)))")


def markdown_text(text: str) -> str:
    """Return the text as Markdown."""
    one_line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    shown = _ANYWHERE.sub(r"\\\g<0>", one_line).translate(_ENTITIES)
    # a backslash is no part of an address, and takes no meaning from what is no punctuation
    shown = _ADDRESSES.sub(lambda found: f"\\{found[0]}", shown)
    begin = _AT_BEGIN.match(shown)
    if begin is None:
        return shown
    end = begin.end()
    return f"{begin[0]}\\{shown[end:]}" if begin[0].isdigit() else f"\\{shown}"
