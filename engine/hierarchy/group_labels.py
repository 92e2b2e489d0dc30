"""Labels of the groups of a policy: `17-24`, `25`, `north`.

Two groups never have the same label: a release could not distinguish them, and their classes would merge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Group = Mapping[str, Any]
MISSING = "missing"
"""A missing value in the label of a run."""


def _hyphen(start: str, end: str) -> str:
    return f"{start}-{end}"


def _words(start: str, end: str) -> str:
    return f"{start} to {end}"


def _quoted(start: str, end: str) -> str:
    return json.dumps([start, end], ensure_ascii=False)


def group_labels(groups: Sequence[Group]) -> tuple[str, ...]:
    """Return the label of each group, in the first style in which all labels are different.

    A hyphen joins the ends of a run if no label contains one, else a word, else the ends are quoted. Nodes with the
    same name are numbered.
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
    """Add a number to each label that occurred before: the first number that makes it unique."""
    taken = set(labels)
    found: list[str] = []
    for label in labels:
        name, number = label, 2
        while name in found or (name != label and name in taken):
            name, number = f"{label} ({number})", number + 1
        found.append(name)
    return tuple(found)
