"""Any two releases of a job side by side: figures, levels, columns, criteria, settings and versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.compare import BothColumns, BothCriteria, BothLevels, ComparePage, Pair
from airflow_anon.plugin.pages.comparison import compared, named
from airflow_anon.plugin.pages.criteria import criteria
from airflow_anon.plugin.pages.levels import levels
from airflow_anon.plugin.pages.lineage import lineage
from airflow_anon.plugin.reading import DAMAGED, NoSuchPageError

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.ledger.form import Document
    from airflow_anon.plugin.reading import Reading

OFFERED = 365
"""Number of newest releases that can be chosen from the list; an address may name any."""


def compare(reading: Reading, parameters: Mapping[str, str]) -> ComparePage:
    """Return two releases of a job side by side.

    Parameters
    ----------
    parameters : mapping
        ``dag_id``; ``job``: by default the first of the DAG; ``first``, ``second``: sequences of two releases of it, by
        default the two newest.

    Raises
    ------
    NoSuchPageError
        The DAG has no release of the job, or a sequence is not of one.
    """
    dag_id = parameters["dag_id"]
    jobs = sorted({entry.job for entry in reading.latest() if entry.dag_id == dag_id})
    job = parameters.get("job") or next(iter(jobs), "")
    released = [one for one in reading.ledger.of_job(job, outcome="released") if one.dag_id == dag_id]
    if not released:
        raise NoSuchPageError
    newest = [str(one.sequence) for one in released]
    second = parameters.get("second") or newest[0]
    first = parameters.get("first") or next((one for one in newest if one != second), second)
    pair = sorted((_chosen(released, first), _chosen(released, second)), key=lambda one: one.sequence)
    found = _pair(reading, pair[0], pair[1])
    note = "The entry of one of them cannot be read: it was changed after it was written." if found is None else None
    if first == second:
        found, note = None, "Choose two releases that differ." if len(released) > 1 else "There is one release only."
    return {
        "dag_id": dag_id,
        "job": job,
        "first": first,
        "second": second,
        "choices": [
            {"sequence": one.sequence, "recorded_at": one.recorded_at, "release_id": one.release_id}
            for one in released[:OFFERED]
        ],
        "pair": found,
        "note": note,
    }


def _chosen(released: Sequence[Entry], sequence: str) -> Entry:
    for entry in released:
        if str(entry.sequence) == sequence:
            return entry
    raise NoSuchPageError


def _pair(reading: Reading, before: Entry, now: Entry) -> Pair | None:
    then, document = reading.document(before.sequence), reading.document(now.sequence)
    if then is None or document is None:
        return None
    try:
        return {
            "before": named(before),
            "now": named(now),
            "compared": compared(document, then),
            "levels": _levels(then, document),
            "columns": _columns(then, document),
            "criteria": _criteria(then, document),
        }
    except DAMAGED:
        return None


def _levels(before: Document, now: Document) -> list[BothLevels]:
    then, found = ({one["attribute"]: one for one in levels(document) or ()} for document in (before, now))
    return [
        {"attribute": name, "before": then.get(name), "now": found.get(name)} for name in dict.fromkeys((*then, *found))
    ]


def _columns(before: Document, now: Document) -> list[BothColumns]:
    then, found = ({one["name"]: one["becomes"] for one in lineage(document)["columns"]} for document in (before, now))
    return [{"name": name, "before": then.get(name), "now": found.get(name)} for name in dict.fromkeys((*then, *found))]


def _criteria(before: Document, now: Document) -> list[BothCriteria]:
    then, found = ({one["description"]: one for one in criteria(document)} for document in (before, now))
    return [
        {"description": name, "before": then.get(name), "now": found.get(name)}
        for name in dict.fromkeys((*then, *found))
    ]
