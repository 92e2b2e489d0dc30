"""The chart of a frontier: policies, and what they are compared with, as points of risk and utility loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from airflow_anon.plugin.page_forms.parts import Chart
from engine import glossary

if TYPE_CHECKING:
    from engine import FrontierReport

DECADES = 30
"""Ratio of highest to lowest risk from which the axis is logarithmic."""

Kind = Literal["frontier", "k-anonymity", "worth-a-look", "safe-harbor", "current"]
LINES: tuple[Kind, ...] = ("frontier", "k-anonymity")
"""Drawn as a line: the policies of a frontier; others are single marks."""


class _Series(NamedTuple):
    """Policies that are drawn alike, under one name."""

    kind: Kind
    name: str
    entries: Sequence[Mapping[str, Any]]


def frontier_chart(report: FrontierReport) -> Chart:
    """Return the chart and the table behind it."""
    settings = report["settings"]
    series = [one for one in _series(report) if one.entries]
    risks = [entry["risk"] for one in series for entry in one.entries]
    return {
        "kind": "frontier",
        "title": "Risk and utility of policies",
        "x_title": _axis("frontier_risk", settings.get("risk", "marketer")) or "Risk",
        "y_title": _axis("frontier_utility", settings.get("utility", "kl-divergence")) or "Utility loss",
        "form": "number",
        "logarithmic": bool(risks) and min(risks) > 0 and max(risks) >= DECADES * min(risks),
        "note": "Closer to the lower left is better: less risk and less utility loss. The table says which policy of "
        "the frontier beats a mark that is shown for comparison.",
        "series": [
            {
                "name": one.name,
                "x": [entry["risk"] for entry in one.entries],
                "y": [entry["utility_loss"] for entry in one.entries],
                "line": one.kind in LINES,
            }
            for one in series
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
                [one.name, _number(one.kind, place, entry), entry["risk"], entry["utility_loss"], _beaten_by(entry)]
                for one in series
                for place, entry in enumerate(one.entries, 1)
            ],
        },
    }


def _axis(kind: str, measure: str) -> str | None:
    """Return the title of a measure's axis; None for one that is no longer known."""
    declared = glossary()[kind].get(measure)
    return None if declared is None else str(declared["short_axis"])


def _number(kind: Kind, place: int, entry: Mapping[str, Any]) -> int | None:
    """Return the number of a policy, its place on the frontier; None for one that is not on it."""
    if kind == "frontier":
        return place
    return int(entry["index"]) + 1 if kind == "worth-a-look" else entry.get("number")


def _beaten_by(entry: Mapping[str, Any]) -> str | None:
    """Return what has no more risk and utility loss, and less of one; None if nothing has."""
    number = entry.get("beaten_by")
    if number is not None:
        return f"policy {number:,}"
    return "the rule of Safe Harbor, which no policy is equal to" if entry.get("beaten_by_safe_harbor") else None


def _series(report: FrontierReport) -> Iterator[_Series]:
    yield _Series("frontier", "Frontier", report["frontier"])
    anonymous = report["k_anonymity"]
    for k in sorted(anonymous, key=int):
        yield _Series("k-anonymity", f"{int(k)}-anonymity", anonymous[k])
    yield _Series("worth-a-look", "Worth a look", report["shortlist"])
    yield _Series("safe-harbor", "Safe Harbor", _alone(report["safe_harbor"]))
    yield _Series("current", "Policy in use", _alone(report["current"]))


def _alone(entry: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return [] if entry is None else [entry]
