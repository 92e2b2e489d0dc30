"""What changed since the release before, and the cause: data, configuration or software."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from airflow_anon.disclosure.fingerprints import told_fingerprint
from airflow_anon.plugin.page_forms.comparison import Cause, Compared, Comparison, LevelChange, Previous
from airflow_anon.plugin.pages.compared_figures import compared_figures
from airflow_anon.plugin.pages.differences import differences
from airflow_anon.plugin.pages.levels import level_of
from airflow_anon.plugin.pages.policy_groups import without_groups
from airflow_anon.plugin.reading import DAMAGED

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.ledger.form import Document
    from airflow_anon.plugin.reading import Reading

HIDDEN = "The release that was current before was made by a DAG that you may not see."
UNREADABLE = "The entry of the release that was current before cannot be read: it was changed after it was written."
NOT_COMPARED = "there are no two fingerprints of the source under one key"


def comparison(reading: Reading, previous: Entry | None, document: Document) -> Comparison | None:
    """Compare an attempt with the release of the job that was current before it; None if there was none."""
    if previous is None:
        return None
    if not reading.sees(previous.dag_id):
        return {"previous": None, "note": HIDDEN}
    before = reading.document(previous.sequence)
    try:
        told = None if before is None else compared(document, before)
    except DAMAGED:
        told = None
    if told is None:
        return {"previous": named(previous), "note": UNREADABLE}
    return {"previous": named(previous), "note": None, **told}


def named(entry: Entry) -> Previous:
    """Return what names a release."""
    return {
        "sequence": entry.sequence,
        "recorded_at": entry.recorded_at,
        "dag_id": entry.dag_id,
        "run_id": entry.run_id,
        "release_id": entry.release_id,
        "entry_sha256": entry.entry_sha256,
    }


def compared(document: Document, before: Document) -> Compared:
    """Compare two documents.

    Returns
    -------
    Compared
        `levels` and `settings` list changes only; `causes` has what changed of "data", "configuration", "software".
        What one of them does not tell, as an attempt that ended early, is no change.
    """
    both = before.job.document is not None and document.job.document is not None
    settings = differences(*without_groups(before.job, document.job)) if both else []
    data = _data(document, before)
    then, now = before.versions or {}, document.versions or {}
    versions = differences(*({name: one[name] for name in then if name in now} for one in (then, now)))
    levels = _levels(document, before)
    found: dict[Cause, bool] = {
        "data": data == "changed",
        "configuration": bool(settings),
        "software": bool(versions),
    }
    causes = [cause for cause, changed in found.items() if changed]
    return {
        "levels": levels,
        "causes": causes,
        "data": data,
        "settings": settings,
        "versions": versions,
        "figures": compared_figures(document, before),
        "verdict": _verdict(levels, causes, data),
    }


def _data(document: Document, before: Document) -> Literal["same", "changed", "unknown"]:
    now, then = (told_fingerprint({} if one.source is None else dict(one.source)) for one in (document, before))
    if now["fingerprint"] is None or now["fingerprint_key_id"] != then["fingerprint_key_id"]:
        return "unknown"
    return "same" if now["fingerprint"] == then["fingerprint"] else "changed"


def _levels(document: Document, before: Document) -> list[LevelChange] | None:
    """Return the changed levels of all attributes of either document; None if one has no levels."""
    now, then = document.levels, before.levels
    if now is None or then is None:
        return None
    both = {
        name: [level_of(name, one[name]) if name in one else None for one in (then, now)]
        for name in dict.fromkeys((*then, *now))
    }
    return [
        {"attribute": name, "before": old, "after": new}
        for name, (old, new) in both.items()
        if old is None or new is None or (old["level"], old["shares"]) != (new["level"], new["shares"])
    ]


def _verdict(levels: list[LevelChange] | None, causes: list[Cause], data: str) -> str:
    words = {"data": "the data", "configuration": "the configuration", "software": "versions of the software"}
    changed = _listed([words[cause] for cause in causes])
    doubt = f" Whether the data changed is not known: {NOT_COMPARED}." if data == "unknown" else ""
    if levels is None:
        return f"There are no levels to compare. Changed since: {changed or 'nothing that is recorded'}.{doubt}"
    if not levels:
        since = f" Changed since: {changed}." if causes else "" if doubt else " Nothing changed."
        return f"The levels are the same.{since}{doubt}"
    if causes:
        return f"The levels differ because {changed} changed.{doubt}"
    return f"The levels differ, but nothing that is recorded explains it.{doubt}"


def _listed(words: list[str]) -> str:
    return " and ".join(", ".join(words).rsplit(", ", 1))
