"""The figures of two releases side by side, and their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from airflow_anon.disclosure.counts import Figure, difference, is_withheld, told
from airflow_anon.ledger.records import records_told
from airflow_anon.plugin.page_forms.comparison import ComparedFigure
from airflow_anon.plugin.pages.measures import risk_of
from airflow_anon.plugin.reading import measure

if TYPE_CHECKING:
    from airflow_anon.ledger.form import Document


def compared_figures(document: Document, before: Document) -> list[ComparedFigure]:
    """Return the figures of a release and of the release before it."""
    return [
        *_records(document, before),
        *_losses(document, before),
        _percent("Privacy margin", told(before.privacy_margin), told(document.privacy_margin)),
        _percent("Prosecutor risk", *(risk_of(one, "prosecutor", document.smallest) for one in (before, document))),
    ]


def _records(document: Document, before: Document) -> list[ComparedFigure]:
    smallest = max(document.smallest, before.smallest)
    # The job may allow only larger classes than it did before.
    now, then = records_told(document), records_told(before, document.smallest)
    source = difference(now["source"], then["source"], smallest)
    suppressed = difference(now["suppressed"], then["suppressed"], smallest)
    # If few records were added, the difference of the shares would reveal how many.
    share = suppressed if is_withheld(suppressed) else _less(now["suppressed_share"], then["suppressed_share"])
    return [
        _figure("Records of the source", then["source"], now["source"], source, "number"),
        _figure("Suppressed records", then["suppressed"], now["suppressed"], suppressed, "number"),
        _figure("Suppressed share", then["suppressed_share"], now["suppressed_share"], share, "percent"),
    ]


def _losses(document: Document, before: Document) -> list[ComparedFigure]:
    """Return the information losses; without a difference if they are of two measures, which do not compare."""
    now, then = measure(document), measure(before)
    new, old = _loss(document), _loss(before)
    if now == then or now is None or then is None:
        return [_figure("Information loss", old, new, _less(new, old), _form(old, new))]
    return [
        _figure(f"Information loss ({then})", old, told(None), told(None), _form(old)),
        _figure(f"Information loss ({now})", told(None), new, told(None), _form(new)),
    ]


def _form(*figures: Figure) -> Literal["number", "percent"]:
    """Return the form of losses: some measures have no scale that ends at 1."""
    known = [figure["value"] for figure in figures if figure["value"] is not None]
    return "percent" if all(0 <= value <= 1 for value in known) else "number"


def _loss(document: Document) -> Figure:
    return told(None if document.solution is None else document.solution.information_loss)


def _percent(title: str, before: Figure, now: Figure) -> ComparedFigure:
    return _figure(title, before, now, _less(now, before), "percent")


def _figure(
    title: str, before: Figure, now: Figure, change: Figure, form: Literal["number", "percent"]
) -> ComparedFigure:
    return {"title": title, "before": before, "now": now, "change": change, "form": form}


def _less(now: Figure, before: Figure) -> Figure:
    if now["value"] is None or before["value"] is None:
        return told(None)
    return told(now["value"] - before["value"])
