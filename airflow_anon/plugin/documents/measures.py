"""Risk and utility measures, with what each one says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_anon.disclosure import figures as disclosure
from airflow_anon.plugin.documents.charts import bar_chart
from engine import glossary

RISKS = {
    "prosecutor": ("Prosecutor risk", "highest chance to re-identify a person known to be in the release"),
    "journalist": ("Journalist risk", "highest chance to re-identify a person of the population"),
    "marketer": ("Marketer risk", "share of records that are re-identified on average"),
    "prosecutor_records_at_risk": ("Records at prosecutor risk", "share of records whose risk is above the threshold"),
    "journalist_records_at_risk": ("Records at journalist risk", "share of records whose risk is above the threshold"),
    "sample_uniqueness": ("Sample uniqueness", "share of records that are alone in their class"),
    "population_uniqueness": ("Population uniqueness", "share of records that are unique in the population"),
    "estimated_population_uniqueness": (
        "Estimated population uniqueness",
        "share of records estimated to be unique in the population",
    ),
    "threshold": ("Threshold", "risk above which a record counts as at risk"),
}
HIGHEST = ("prosecutor", "journalist")
DRAWN = (
    "prosecutor",
    "journalist",
    "marketer",
    "prosecutor_records_at_risk",
    "journalist_records_at_risk",
    "sample_uniqueness",
    "population_uniqueness",
    "estimated_population_uniqueness",
)


def risk(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the risks, and a chart of them."""
    found = document.get("risk")
    if not found:
        return None
    figures = {name: risk_of(document, name) for name in found}
    drawn = {name: figures[name]["value"] for name in DRAWN if name in figures and figures[name]["value"] is not None}
    return {
        "measures": [_measure(name, figure, RISKS) for name, figure in figures.items()],
        "chart": bar_chart(
            "Risk of re-identification",
            [RISKS[name][0] for name in drawn],
            {"Risk": list(drawn.values())},
            form="percent",
            x="Measure",
            y="Risk, or share of records",
            lying=True,
        ),
    }


def risk_of(document: Mapping[str, Any], name: str, smallest: int = 1) -> disclosure.Figure:
    """Return a risk; that of the record most at risk is one divided by the size of its class, and tells it.

    On a page whose `smallest` class is larger than that of the document's job, it is judged by that of the page.
    """
    value, smallest = (document.get("risk") or {}).get(name), max(disclosure.smallest_class(document), smallest)
    if name in HIGHEST and value and disclosure.count(1 / value, smallest)["below"] is not None:
        return disclosure.withheld(smallest)
    if name == "marketer" and disclosure.hides_suppressed(document):
        return disclosure.about(value, (document.get("records") or {}).get("source"), smallest)
    return {"value": value, "below": None}


def utility(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the utility measures; `chosen` is the one that the search minimized."""
    found = document.get("utility")
    if not found:
        return None
    chosen = (document.get("solution") or {}).get("measure")
    known = {name: (words["title"], words["meaning"]) for name, words in glossary()["utility"].items()}
    return {
        "chosen": chosen,
        "aggregate": (document.get("solution") or {}).get("aggregate"),
        "measures": [_measure(name, {"value": value, "below": None}, known) for name, value in found.items()],
    }


def _measure(name: str, value: disclosure.Figure, known: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    title, meaning = known.get(name, (name.replace("_", " ").replace("-", " ").capitalize(), ""))
    return {"name": name, "title": title, "meaning": meaning, "value": value}
