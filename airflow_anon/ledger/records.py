"""The records of an attempt: as its document counts them, and as pages may show them.

In: the job and its report, or a document. Out: counts without those that are too small. A document has the exact count
of the source, so `records_told` judges it before it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_anon.disclosure import records as disclosure
from airflow_anon.disclosure.counts import Figure, is_withheld
from airflow_anon.ledger.form_parts import FurtherRows, KnownRows, Records

if TYPE_CHECKING:
    from airflow_anon.ledger.form import Document
    from engine import Job


def records_counted(job: Job, report: Mapping[str, Any]) -> Records:
    """Count the records.

    Parameters
    ----------
    job : Job
    report : mapping
        Empty if the attempt has none: then nothing is counted, since a later release of the same table would tell by
        the difference how few records it leaves out.
    """
    limit = job.suppression_limit
    if not report:
        return Records(source=None, released=None, suppressed=None, suppressed_share=None, suppression_limit=limit)
    rows, suppressed = report["rows"], report["suppressed_class"]["records"]
    drop = report["suppressed_class"]["form"] == "drop"
    below = report["suppressed_class"].get("below")
    told = disclosure.records(
        job.minimum_class_size,
        source=rows,
        # reports of earlier versions do not give the records in the file
        released=report.get("released", rows if below or not drop else rows - suppressed),
        suppressed=suppressed,
        suppressed_share=None if below else suppressed / rows if rows else 0.0,
        below=below,
    )
    found = Records(
        source=_whole(told["source"]),
        released=_whole(told["released"]),
        suppressed=_whole(told["suppressed"]),
        suppressed_share=told["suppressed_share"]["value"],
        suppression_limit=limit,
        suppressed_form=report["suppressed_class"]["form"],
    )
    if "persons" in report:
        found = found.model_copy(update={key: report[key] for key in ("persons", "persons_suppressed_share")})
    if "knows" in report:
        known = report["knows"]
        known = known if isinstance(known, str) else KnownRows.model_validate(known)
        found = found.model_copy(update={"knows": known})
    if "further_rows" in report:
        found = found.model_copy(update={"further_rows": FurtherRows.model_validate(report["further_rows"])})
    withheld = is_withheld(told["suppressed"])
    return found.model_copy(update={"below": job.minimum_class_size}) if withheld else found


def records_told(document: Document, smallest: int | None = None) -> disclosure.Records:
    """Return the records of a document as they may be shown.

    Parameters
    ----------
    document : Document
    smallest : int, optional
        The smallest class of the release that the page is about, if it is another one whose classes must be larger.
    """
    found = document.records or Records()
    return disclosure.records(
        max(document.smallest, smallest or 1),
        source=found.source,
        released=found.released,
        suppressed=found.suppressed,
        suppressed_share=found.suppressed_share,
        below=found.below,
        persons=document.counts_persons,
    )


def hides_suppressed(document: Document) -> bool:
    """Tell whether a document's number of suppressed records is withheld, so that no other figure may reveal it."""
    return is_withheld(records_told(document)["suppressed"])


def _whole(figure: Figure) -> int | None:
    return None if figure["value"] is None else int(figure["value"])
