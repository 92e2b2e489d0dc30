"""Labels of the groups of a policy: `17-24`, `25`, `north`.

Two groups never share a label: a release could not tell them apart, and its classes would be larger than they look.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Group = Mapping[str, Any]
MISSING = "missing"
"""How a missing value reads in the label of a run."""


def _hyphen(start: str, end: str) -> str:
    return f"{start}-{end}"


def _words(start: str, end: str) -> str:
    return f"{start} to {end}"


def _quoted(start: str, end: str) -> str:
    return json.dumps([start, end], ensure_ascii=False)


def group_labels(groups: Sequence[Group]) -> tuple[str, ...]:
    """Return the label of each group, in the first style in which all of them are different.

    A hyphen stands between the ends of a run where no label holds one itself, else a word, else the ends are quoted.
    Nodes of one name are numbered.
    """
    ends = [text for group in groups for text in (group.get("from"), group.get("to"))]
    styles = [_words, _quoted] if any("-" in text for text in ends if text) else [_hyphen, _words, _quoted]
    labels: tuple[str, ...] = ()
    for style in styles:
        labels = tuple(_label(group, style) for group in groups)
        if len(set(labels)) == len(labels):
            return labels
    return _numbered(labels)


def _label(group: Group, style: Callable[[str, str], str]) -> str:
    if "node" in group:
        return str(group["node"])
    if "value" in group:
        return MISSING if group["value"] is None else str(group["value"])
    return style(*(MISSING if group[key] is None else str(group[key]) for key in ("from", "to")))


def _numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Add a number to each label that an earlier one has already, the first that no other label is like."""
    taken = set(labels)
    found: list[str] = []
    for label in labels:
        name, number = label, 2
        while name in found or (name != label and name in taken):
            name, number = f"{label} ({number})", number + 1
        found.append(name)
    return tuple(found)
