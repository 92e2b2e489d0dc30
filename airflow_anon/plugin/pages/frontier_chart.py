"""The chart of a frontier: policies, and what they are compared with, as points of risk and utility loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_anon.plugin.page_forms.parts import Chart

RISKS = {
    "marketer": "Marketer risk",
    "prosecutor": "Prosecutor risk",
    "journalist": "Journalist risk",
}
LOSSES = {"kl-divergence": "Utility loss (nats)", "loss": "Utility loss (0 to 1)"}
DECADES = 30
"""Ratio of highest to lowest risk from which the axis is logarithmic."""

FRONTIER, WORTH_A_LOOK = "Frontier", "Worth a look"


def frontier_chart(report: Mapping[str, Any]) -> Chart:
    """Return the chart and the table behind it."""
    settings = report["settings"]
    series = [(name, entries) for name, entries in _series(report) if entries]
    risks = [entry["risk"] for _, entries in series for entry in entries]
    return {
        "kind": "frontier",
        "title": "Risk and utility of policies",
        "x_title": RISKS.get(settings.get("risk", "marketer"), "Risk"),
        "y_title": LOSSES.get(settings.get("utility", "kl-divergence"), "Utility loss"),
        "form": "number",
        "logarithmic": bool(risks) and min(risks) > 0 and max(risks) >= DECADES * min(risks),
        "note": "Closer to the lower left is better: less risk and less utility loss. The table says which policy of "
        "the frontier beats a mark that is shown for comparison.",
        "series": [
            {
                "name": name,
                "x": [entry["risk"] for entry in entries],
                "y": [entry["utility_loss"] for entry in entries],
                "line": name == FRONTIER or name.endswith("-anonymity"),
            }
            for name, entries in series
        ],
        "table": {
            "columns": [
                {"name": "Series", "form": "text"},
                {"name": "Policy", "form": "number"},
                {"name": "Risk", "form": "percent"},
                {"name": "Utility loss", "form": "figure"},
                {"name": "Beaten by", "form": "text"},
            ],
            "rows": [
                [name, _number(name, place, entry), entry["risk"], entry["utility_loss"], _beaten_by(entry)]
                for name, entries in series
                for place, entry in enumerate(entries, 1)
            ],
        },
    }


def _number(name: str, place: int, entry: Mapping[str, Any]) -> int | None:
    """Return the number of a policy, its place on the frontier; None for one that is not on it."""
    if name == FRONTIER:
        return place
    return int(entry["index"]) + 1 if name == WORTH_A_LOOK else entry.get("number")


def _beaten_by(entry: Mapping[str, Any]) -> str | None:
    """Return what has no more risk and utility loss, and less of one; None if nothing has."""
    number = entry.get("beaten_by")
    if number is not None:
        return f"policy {number:,}"
    return "the rule of Safe Harbor, which no policy is equal to" if entry.get("beaten_by_safe_harbor") else None


def _series(report: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    yield FRONTIER, report["frontier"]
    anonymous = report["k_anonymity"]
    for k in sorted(anonymous, key=int):
        yield f"{int(k)}-anonymity", anonymous[k]
    yield WORTH_A_LOOK, report["shortlist"]
    for key, name in (("safe_harbor", "Safe Harbor"), ("current", "Policy in use")):
        yield name, [] if report[key] is None else [report[key]]
