"""Risk and utility measures, each with its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from airflow_anon.disclosure import risks as disclosure
from airflow_anon.disclosure.counts import Figure, told
from airflow_anon.ledger.form_parts import Solution
from airflow_anon.ledger.records import hides_suppressed
from airflow_anon.plugin.page_forms.content import Measure, Risk, Utility
from airflow_anon.plugin.page_forms.parts import Limit
from airflow_anon.plugin.pages.bounds import HIGHEST_RISK
from airflow_anon.plugin.pages.charts import bar_chart
from engine import glossary

if TYPE_CHECKING:
    from airflow_anon.ledger.form import Document

RISKS = {
    "prosecutor": ("Prosecutor risk", "highest chance to re-identify a record known to be in the release"),
    "journalist": ("Journalist risk", "highest chance to re-identify a record among those of the population"),
    "marketer": ("Marketer risk", "share of records that are re-identified on average"),
    "prosecutor_records_at_risk": (
        "Records at prosecutor risk",
        "share of records whose risk is at or above the threshold",
    ),
    "journalist_records_at_risk": (
        "Records at journalist risk",
        "share of records whose risk is at or above the threshold",
    ),
    "sample_uniqueness": ("Sample uniqueness", "share of records that are alone in their class"),
    "records_below_11": ("Records in classes below 11", "number of records that fewer than ten others look like"),
    "share_below_11": ("Share in classes below 11", "the same as a share of the records released"),
    "population_uniqueness": ("Population uniqueness", "share of records that are unique in the population"),
    "estimated_population_uniqueness": (
        "Estimated population uniqueness",
        "share of records estimated to be unique in the population",
    ),
    "threshold": ("Threshold", "risk from which on a record counts as at risk"),
}
WITHOUT_POPULATION = {
    "journalist": ("Journalist risk", "no population was given, so it equals the prosecutor risk"),
    "journalist_records_at_risk": (
        "Records at journalist risk",
        "no population was given, so they are those at prosecutor risk",
    ),
}
DRAWN = ("prosecutor", "journalist", "marketer")
LIMITS: tuple[Limit, ...] = ({"at": 0.05, "name": "0.05"}, {"at": HIGHEST_RISK, "name": "0.09"})
"""Usual bounds of a risk: of a class of 20, and of public data; `plain_words` has their sources."""
NEAR, FAR = (0.0, 0.2), (0.0, 1.0)
"""The axis of risks has one of two ends, so that pictures of several releases compare by eye."""


def axis_of(risks: Iterable[float | None]) -> tuple[float, float]:
    """Return the ends of the axis of risks."""
    return NEAR if all(one is None or one <= NEAR[1] for one in risks) else FAR


def risk(document: Document) -> Risk | None:
    """Return the risks, and a chart of them."""
    if not document.risk:
        return None
    figures = {name: risk_of(document, name) for name in document.risk}
    beside_population = "population_uniqueness" in document.risk
    known = RISKS if beside_population else {**RISKS, **WITHOUT_POPULATION}
    if document.counts_persons:
        known = {name: (_of_persons(title), _of_persons(meaning)) for name, (title, meaning) in known.items()}
    drawn = {name: figures[name]["value"] for name in DRAWN if name in figures and figures[name]["value"] is not None}
    return {
        "beside_population": beside_population,
        "measures": [_measure(name, figure, known) for name, figure in figures.items()],
        "chart": bar_chart(
            "Risk of re-identification",
            [known[name][0] for name in drawn],
            {"Risk": list(drawn.values())},
            form="percent",
            x="Measure",
            y="Risk",
            lying=True,
            note="The lines are usual bounds: 0.05 (a class of 20), and 0.09 (public data). The axis ends at 20%, "
            "or at 100% if a risk is above.",
            limits=LIMITS,
            ends=axis_of(drawn.values()),
        ),
    }


def _of_persons(words: str) -> str:
    return words.replace("Record", "Person").replace("record", "person")


def risk_of(document: Document, name: str, smallest: int = 1) -> Figure:
    """Return a risk as it may be shown on a page whose `smallest` class may be larger than the document's."""
    return disclosure.risk(
        name,
        (document.risk or {}).get(name),
        max(document.smallest, smallest),
        source=None if document.records is None else document.records.source,
        hides_suppressed=hides_suppressed(document),
    )


def utility(document: Document) -> Utility | None:
    """Return the utility measures; `chosen` is the one that the search minimized."""
    if not document.utility:
        return None
    known = {name: (words["title"], words["meaning"]) for name, words in glossary()["utility"].items()}
    solution = document.solution or Solution()
    return {
        "chosen": solution.measure,
        "aggregate": solution.aggregate,
        "measures": [_measure(name, told(value), known) for name, value in document.utility.items()],
    }


def _measure(name: str, value: Figure, known: Mapping[str, tuple[str, str]]) -> Measure:
    title, meaning = known.get(name, (name.replace("_", " ").replace("-", " ").capitalize(), ""))
    return {"name": name, "title": title, "meaning": meaning, "value": value}
