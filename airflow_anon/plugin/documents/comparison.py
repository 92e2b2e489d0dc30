"""What changed since the release before, and why: the data, the configuration, or the software."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_anon.disclosure import figures as disclosure
from airflow_anon.plugin.documents.differences import differences
from airflow_anon.plugin.documents.levels import level_of
from airflow_anon.plugin.documents.measures import risk_of
from airflow_anon.plugin.documents.policy_groups import without_groups
from airflow_anon.plugin.documents.shape import has_form
from airflow_anon.plugin.reading import DAMAGED

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.plugin.reading import Reading

HIDDEN = "The release before was made by a DAG that you may not see."
UNREADABLE = "The entry of the release before was changed after it was written and cannot be read."


def comparison(reading: Reading, entry: Entry, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Compare an attempt with the release of the job before it; None for the first one."""
    previous = reading.ledger.previous_release(entry)
    if previous is None:
        return None
    if not reading.sees(previous.dag_id):
        return {"previous": None, "note": HIDDEN}
    found = {
        name: getattr(previous, name)
        for name in ("sequence", "recorded_at", "dag_id", "run_id", "release_id", "entry_sha256")
    }
    before = reading.document(previous.sequence)
    try:
        told = compared(document, before) if before is not None and has_form(before) else None
    except DAMAGED:
        told = None
    return {"previous": found, "note": UNREADABLE} if told is None else {"previous": found, "note": None, **told}


def compared(document: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Compare two documents.

    Returns
    -------
    dict
        `levels`: those that changed, each `before` and `after`. `causes`: "data", "configuration", "software", those
        that changed. `data`: "same", "changed" or "unknown". `settings`: keys that differ. `versions`: those that
        differ. `figures`: of both, and by how much they differ. `verdict`: all of it in a sentence.
    """
    settings = differences(*without_groups(before["job"].get("document"), document["job"].get("document")))
    data = _data(document, before)
    versions = differences(before.get("versions") or {}, document.get("versions") or {})
    levels = _levels(document, before)
    found = {"data": data == "changed", "configuration": bool(settings), "software": bool(versions)}
    causes = [cause for cause, changed in found.items() if changed]
    return {
        "levels": levels,
        "causes": causes,
        "data": data,
        "settings": settings,
        "versions": versions,
        "figures": _figures(document, before),
        "verdict": _verdict(levels, causes, data),
    }


def _data(document: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    now, then = ((one.get("source") or {}).get("fingerprint") for one in (document, before))
    if now is None or then is None:
        return "unknown"
    return "same" if now == then else "changed"


def _levels(document: Mapping[str, Any], before: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the levels that changed, of all attributes that either has; None where one has no levels."""
    now, then = document.get("levels"), before.get("levels")
    if now is None or then is None:
        return None
    both = {
        name: [level_of(name, one[name]) if name in one else None for one in (then, now)]
        for name in dict.fromkeys((*then, *now))
    }
    return [
        {"attribute": name, "before": old, "after": new}
        for name, (old, new) in both.items()
        if old is None or new is None or old["level"] != new["level"]
    ]


def _verdict(levels: list[dict[str, Any]] | None, causes: list[str], data: str) -> str:
    words = {"data": "the data", "configuration": "the configuration", "software": "versions of the software"}
    changed = _listed([words[cause] for cause in causes])
    doubt = " Whether the data changed is not known: a fingerprint is missing." if data == "unknown" else ""
    if levels is None:
        return f"There are no levels to compare. Changed since: {changed or 'nothing that is recorded'}.{doubt}"
    if not levels:
        since = f" Changed since: {changed}." if causes else "" if doubt else " Nothing changed."
        return f"The levels are the same.{since}{doubt}"
    if causes:
        return f"The levels differ because {changed} changed.{doubt}"
    return f"The levels differ, and nothing that is recorded explains it.{doubt}"


def _listed(words: list[str]) -> str:
    return " and ".join(", ".join(words).rsplit(", ", 1))


def _figures(document: Mapping[str, Any], before: Mapping[str, Any]) -> list[dict[str, Any]]:
    own = disclosure.smallest_class(document)
    smallest = max(own, disclosure.smallest_class(before))
    # The page is of a job that may allow no class as small as it did before.
    now, then = disclosure.records(document), disclosure.records(before, own)
    counts = [
        _figure(title, then[name], now[name], disclosure.difference(now[name], then[name], smallest), "number")
        for title, name in (("Records of the source", "source"), ("Suppressed records", "suppressed"))
    ]
    suppressed = disclosure.difference(now["suppressed"], then["suppressed"], smallest)
    risk, old_risk = (risk_of(one, "prosecutor", own) for one in (document, before))
    # Of so few records more, the difference of the shares would tell how many.
    few = suppressed["below"] is not None
    share = suppressed if few else _less(now["suppressed_share"], then["suppressed_share"])
    return [
        *counts,
        _figure("Suppressed share", then["suppressed_share"], now["suppressed_share"], share, "percent"),
        *(
            _figure(title, old, new, _less(new, old), "percent")
            for title, path in (
                ("Information loss", ("solution", "information_loss")),
                ("Privacy margin", ("privacy_margin",)),
            )
            for old, new in [(_at(before, path), _at(document, path))]
        ),
        _figure("Prosecutor risk", old_risk, risk, _less(risk, old_risk), "percent"),
    ]


def _figure(title: str, before: Any, now: Any, change: Any, form: str) -> dict[str, Any]:
    return {"title": title, "before": before, "now": now, "change": change, "form": form}


def _at(document: Mapping[str, Any], path: tuple[str, ...]) -> disclosure.Figure:
    found: Any = document
    for key in path:
        found = (found or {}).get(key)
    return {"value": found, "below": None}


def _less(now: disclosure.Figure, before: disclosure.Figure) -> disclosure.Figure:
    known = now["value"] is not None and before["value"] is not None
    return {"value": now["value"] - before["value"] if known else None, "below": None}
