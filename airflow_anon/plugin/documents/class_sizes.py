"""The equivalence classes: how many of which size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_anon.plugin import disclosure
from airflow_anon.plugin.documents.charts import bar_chart, values


def class_sizes(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return figures and distribution of the classes; None where there are none."""
    found, smallest = document.get("classes"), disclosure.smallest_class(document)
    if not found:
        return None
    bins = found.get("distribution") or []
    records = [disclosure.count(one["records"], smallest) for one in bins]
    # Classes of a size tell their records.
    classes = [one["classes"] if figure["below"] is None else None for one, figure in zip(bins, records, strict=True)]
    return {
        "number": found.get("number"),
        **{name: disclosure.count(found.get(name), smallest) for name in ("smallest", "median", "largest")},
        "chart": bar_chart(
            "Records by the size of their class",
            [_range(one) for one in bins],
            {"Records": values(records), "Classes": classes},
            form="number",
            x="Records that share all quasi-identifiers",
            y="Records",
        )
        if bins
        else None,
    }


def _range(one: Mapping[str, Any]) -> str:
    first, last = int(one["from"]), int(one["to"])
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"  # noqa: RUF001 (a range has an en dash)
