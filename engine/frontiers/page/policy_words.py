"""A policy in words for a custodian: its treatment of one attribute.

In: the groups of one attribute in a policy's document. Out: plain text, not escaped for any format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Group = Mapping[str, Any]

LONGEST = 32
"""Longest label in short texts; the list of groups has the full text."""


def group_text(group: Group) -> str:
    """Return the text of one group: a value, a run of values, or a subtree by its label."""
    if "from" in group:
        return _run(_label(group["from"]), _label(group["to"]))
    if "value" in group:
        return _label(group["value"])
    # If the hierarchy has several nodes of one name, the document lists the values of the right one.
    values = ", ".join(map(_label, group.get("values", ())))
    return f"{_label(group['node'])} ({values})" if values else _label(group["node"])


def short_words(groups: Sequence[Group]) -> str:
    """Describe the groups of the attribute: ``12 groups, 17-24 … 90-120; widest 30-89``."""
    if not groups:
        return "not in this policy"
    if all("value" in group for group in groups):
        return "1 value" if len(groups) == 1 else f"{len(groups):,} values, each on its own"
    if len(groups) == 1:
        return f"all in one group, {_cut(group_text(groups[0]))}"
    text = f"{len(groups):,} groups, {_cut(group_text(groups[0]))} … {_cut(group_text(groups[-1]))}"
    widest = _widest(groups)
    return text if widest is None else f"{text}; widest {_cut(group_text(widest))}"


def _label(label: str | None) -> str:
    return "(missing)" if label is None else str(label)


def _run(first: str, last: str) -> str:
    plain = _number(first) is not None and _number(last) is not None
    return f"{first}-{last}" if plain else f"{first} to {last}"


def _number(label: str | None) -> float | None:
    """Return the label as a number, None for any other text and for a number with a sign."""
    digits = (label or "").replace(".", "", 1)
    return float(label or "") if digits.isascii() and digits.isdecimal() else None


def _width(group: Group) -> float:
    first, last = _number(group.get("from")), _number(group.get("to"))
    return 0.0 if first is None or last is None else last - first


def _widest(groups: Sequence[Group]) -> Group | None:
    """Return the run of numbers with the widest span, unless it is the first or last group, which are named anyway."""
    inner = max(groups, key=_width)
    return None if _width(inner) <= max(_width(groups[0]), _width(groups[-1])) else inner


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
