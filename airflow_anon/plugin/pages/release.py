"""The audit page of one attempt: of a run, or of the job of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_anon.plugin.approvals import waiting_tasks
from airflow_anon.plugin.page_forms.content import Content
from airflow_anon.plugin.page_forms.release import Audit, Integrity, ReleasePage, RunTasks
from airflow_anon.plugin.pages.content import content
from airflow_anon.plugin.pages.delivery import ROWS_AT_ONCE, delivery
from airflow_anon.plugin.pages.files import AT_ONCE, files
from airflow_anon.plugin.pages.given_up import given_up
from airflow_anon.plugin.pages.outline import chain_state, outline, pending_outline
from airflow_anon.plugin.pages.withdrawn import withdrawn
from airflow_anon.plugin.reading import DAMAGED, NoSuchPageError
from airflow_anon.plugin.schedules import run_only_checks, run_state, run_tasks
from airflow_anon.run.task_ids import FRONTIER, IS_BROKEN, RECORD_ATTEMPT, name_in_group

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.ledger.form import Document
    from airflow_anon.plugin.reading import Reading

NEIGHBOUR = "The entry before or after it, of a DAG that you may not see, was changed or removed."


def release(reading: Reading, parameters: Mapping[str, str]) -> ReleasePage:
    """Return the audit page of a run.

    Parameters
    ----------
    parameters : mapping
        ``dag_id``, ``run_id``; ``task_id``: the job that this task belongs to; ``entry``: the sequence of one of the
        run's entries, by default the newest; ``files``: "all" to hash large files and recount large tables too.

    Raises
    ------
    NoSuchPageError
        Neither the ledger nor Airflow has the run, or `entry` is not one of its entries.
    """
    dag_id, run_id, task_id = parameters["dag_id"], parameters["run_id"], parameters.get("task_id")
    entries = reading.ledger.of_run(dag_id, run_id)
    pending = [one for one in reading.pending() if (one.dag_id, one.run_id) == (dag_id, run_id)]
    state = run_state(dag_id, run_id)
    if not entries and not pending and state is None:
        raise NoSuchPageError
    entry = chosen(_of_task(entries, task_id), parameters.get("entry"))
    return {
        "dag_id": dag_id,
        "run_id": run_id,
        "task_id": task_id,
        "run_state": state,
        "only_checks": entry is None and run_only_checks(dag_id, run_id),
        "tasks": None if entry else _named(run_tasks(dag_id, run_id)),
        "chain": chain_state(reading),
        "pending": [pending_outline(one) for one in pending],
        "waiting": waiting_tasks(dag_id, run_id),
        "entries": [outline(reading, one) for one in entries],
        "entry": None if entry is None else audit(reading, entry, all_files=parameters.get("files") == "all"),
    }


def _named(task_ids: Sequence[str]) -> RunTasks:
    """Return those tasks of a run that the page names."""
    last = {task_id: name_in_group(task_id) for task_id in task_ids}
    return {
        "records": [task_id for task_id, name in last.items() if name == RECORD_ATTEMPT],
        "searches": [task_id for task_id, name in last.items() if name == FRONTIER],
        "broken": [task_id for task_id, name in last.items() if name.endswith(IS_BROKEN)],
    }


def chosen(entries: Sequence[Entry], sequence: str | None) -> Entry | None:
    """Return the entry with that sequence, by default the first.

    Raises
    ------
    NoSuchPageError
        No entry has that sequence.
    """
    if sequence is None:
        return next(iter(entries), None)
    for entry in entries:
        if str(entry.sequence) == sequence:
            return entry
    raise NoSuchPageError


def _of_task(entries: Sequence[Entry], task_id: str | None) -> Sequence[Entry]:
    """Return the entries of a task's job: the job whose group id is the longest prefix of the task's id."""
    if task_id is None:
        return entries
    groups = [str(entry.task_group or "") for entry in entries if task_id.startswith(str(entry.task_group or ""))]
    own = max(groups, key=len, default=None)
    return [entry for entry in entries if str(entry.task_group or "") == own]


def audit(reading: Reading, entry: Entry, *, all_files: bool) -> Audit:
    """Return everything known of an entry."""
    document = reading.document(entry.sequence)
    told = None if document is None else _content(reading, entry, document)
    gone = withdrawn(reading, entry)
    return {
        **outline(reading, entry),
        "job_sha256": entry.job_sha256,
        "manifest_sha256": entry.manifest_sha256,
        "document_sha256": entry.document_sha256,
        "previous_sha256": entry.previous_sha256,
        "entry_sha256": entry.entry_sha256,
        "integrity": _integrity(reading, entry),
        "content": told,
        "files": files(reading.left(entry, document), hash_up_to=None if all_files else AT_ONCE)
        if document and told and not gone
        else None,
        "delivery": delivery(reading, entry, document, rows=None if all_files else ROWS_AT_ONCE)
        if document and told
        else None,
        "withdrawn": gone,
        "given_up": [] if document is None else given_up(reading, entry, document),
    }


def _integrity(reading: Reading, entry: Entry) -> Integrity:
    """Tell whether an entry, its document and its neighbours are as they were written.

    Of a neighbour that the user may not see, only that it was changed or removed.
    """
    breaks = reading.ledger.check([entry.sequence])
    own = [one.what for one in breaks if one.sequence == entry.sequence]
    beside = [one for one in breaks if one.sequence in (entry.sequence - 1, entry.sequence + 1)]
    seen = reading.visible(one.dag_id for one in beside if one.dag_id is not None)
    words = [one.what if one.dag_id is None or one.dag_id in seen else NEIGHBOUR for one in beside]
    if entry.sequence > 1 and reading.ledger.entry(entry.sequence - 1) is None:
        words.append(f"Entry {entry.sequence - 1} is missing.")
    return {"intact": not own, "breaks": own, "beside": list(dict.fromkeys(words))}


def _content(reading: Reading, entry: Entry, document: Document) -> Content | None:
    """Return the content of the document; None if it was changed and its values are inconsistent."""
    try:
        return content(reading, reading.ledger.current_before(entry), document)
    except DAMAGED:
        return None
