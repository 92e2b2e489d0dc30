"""The equivalence classes and their sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_anon.disclosure.classes import Bin, BinFigures, bins, largest
from airflow_anon.disclosure.counts import count
from airflow_anon.ledger.records import hides_suppressed
from airflow_anon.plugin.page_forms.content import Classes
from airflow_anon.plugin.page_forms.parts import Chart, Limit
from airflow_anon.plugin.pages.bounds import SIZES
from airflow_anon.plugin.pages.charts import bar_chart, values

if TYPE_CHECKING:
    from airflow_anon.ledger.form import Document

HIDDEN = "The records of one bar are not shown: all bars together would reveal how few were suppressed."
LINES = "The lines are usual bounds: no class below 11, or none below 20."


def class_sizes(document: Document) -> Classes | None:
    """Return figures and distribution of the classes; None if there are none."""
    found, smallest, hides = document.classes, document.smallest, hides_suppressed(document)
    if found is None:
        return None
    counted = [Bin(one.first, one.last, one.classes, one.records) for one in found.distribution or ()]
    told = bins(counted, smallest, hides_suppressed=hides)
    return {
        "number": found.number,
        "smallest": count(found.smallest, smallest),
        "median": count(found.median, smallest),
        "largest": largest(found.largest, found.number, smallest, hides_suppressed=hides),
        "chart": _chart(counted, told, HIDDEN if hides else "", _alike(document)) if counted else None,
    }


def _chart(counted: Sequence[Bin], told: Sequence[BinFigures], note: str, alike: str) -> Chart:
    limits = [limit for size, _ in SIZES for limit in _limit(counted, size)]
    return bar_chart(
        "Records by the size of their class",
        [_range(one) for one in counted],
        {"Records": values([one.records for one in told]), "Classes": [one.classes for one in told]},
        form="number",
        x=alike,
        y="Records",
        note=" ".join(filter(None, [note, LINES if limits else ""])),
        limits=limits,
    )


def _limit(counted: Sequence[Bin], size: int) -> Iterator[Limit]:
    """Yield the line before the classes of a size, if a bar has it: inside of it by its share of the sizes."""
    for place, one in enumerate(counted):
        if one.first <= size <= one.last:
            share = (size - one.first) / (one.last - one.first + 1)
            yield {"at": place - 0.5 + share, "name": f"{size:,}"}


def _alike(document: Document) -> str:
    """Say of what a class is."""
    if document.records is not None and document.records.knows == "all-rows":
        return "Persons whose records have equal quasi-identifiers, as often"
    return f"{'Persons' if document.counts_persons else 'Records'} that share all quasi-identifiers"


def _range(one: Bin) -> str:
    return f"{one.first:,}" if one.first == one.last else f"{one.first:,}–{one.last:,}"  # noqa: RUF001 (a range has an en dash)
