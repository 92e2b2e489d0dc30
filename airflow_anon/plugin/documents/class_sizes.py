"""The equivalence classes: how many of which size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_anon.disclosure import figures as disclosure
from airflow_anon.plugin.documents.charts import bar_chart, values

HIDDEN = "The records of one bar are not shown: with them the others would tell how few were suppressed."

SUMMED = 4
"""Classes whose sizes add up to their smallest, largest and twice their median."""


def class_sizes(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return figures and distribution of the classes; None where there are none."""
    found, smallest = document.get("classes"), disclosure.smallest_class(document)
    if not found:
        return None
    bins = found.get("distribution") or []
    records = [disclosure.count(one["records"], smallest) for one in bins]
    hides = disclosure.hides_suppressed(document)
    if hides and records:
        records[_widest(bins)] = disclosure.withheld(smallest)
    # Of so few classes the three sizes are all there are: their sum tells the suppressed.
    tells_all = hides and (found.get("number") or 0) <= SUMMED
    # Classes of a size tell their records.
    classes = [one["classes"] if figure["below"] is None else None for one, figure in zip(bins, records, strict=True)]
    return {
        "number": found.get("number"),
        **{name: disclosure.count(found.get(name), smallest) for name in ("smallest", "median")},
        "largest": disclosure.withheld(None) if tells_all else disclosure.count(found.get("largest"), smallest),
        "chart": bar_chart(
            "Records by the size of their class",
            [_range(one) for one in bins],
            {"Records": values(records), "Classes": classes},
            form="number",
            x="Records that share all quasi-identifiers",
            y="Records",
            note=HIDDEN if hides else "",
        )
        if bins
        else None,
    }


def _widest(bins: Sequence[Mapping[str, Any]]) -> int:
    """Return the place of the bin whose records its own bounds tell least about."""
    return max(range(len(bins)), key=lambda place: bins[place]["classes"] * (bins[place]["to"] - bins[place]["from"]))


def _range(one: Mapping[str, Any]) -> str:
    first, last = int(one["from"]), int(one["to"])
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"  # noqa: RUF001 (a range has an en dash)
