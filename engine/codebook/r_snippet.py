"""Lines of R that open the CSV file of a release, with the labels of its columns as factors in their order.

In: the name of the file and its columns. Out: base R, which needs no package. Codes such as 007 stay text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.codebook.document import DescribedColumn

_LINE_END = re.compile("\r\n?")
_TEXTS = {"string", "large_string"}
_FACTOR = 30
"""Labels of a column that are written out; the factors of others have the order of R."""


def r_snippet(name: str, columns: Sequence[DescribedColumn]) -> str:
    """Return the lines."""
    texts = [one["column"] for one in columns if one["type"] in _TEXTS]
    # R finds no column of which the name is empty
    by_place = any(one["column"] == "" for one in columns)
    kinds = ", ".join(f'{_text(name)} = "character"' for name in texts)
    if by_place:
        kinds = ", ".join('"character"' if one["type"] in _TEXTS else "NA" for one in columns)
    lines = [
        f'table <- read.csv({_text(name)}, na.strings = "", check.names = FALSE, encoding = "UTF-8",',
        f"                  colClasses = {f'c({kinds})' if texts else 'NA'})",
    ]
    for place, one in enumerate(columns, start=1):
        # read.csv makes every line end in a text a line feed
        labels = [_LINE_END.sub("\n", described["label"]) for described in one.get("labels", [])]
        if labels and len(set(labels)) == len(labels) <= _FACTOR:
            written = ", ".join(map(_text, labels))
            ordered = ", ordered = TRUE" if one["ordered"] else ""
            column = place if by_place else _text(one["column"])
            lines.append(f"table[[{column}]] <- factor(table[[{column}]], levels = c({written}){ordered})")
    return "\n".join(lines)


def _text(text: str) -> str:
    """Write a text of R, in one line."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in plain) + '"'
