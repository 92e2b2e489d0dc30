"""The page of a release that waits for approval: its figures, what readers have, and the answer.

It is made of what the task that asks left in Airflow: the document that the ledger would keep of the release. The
release itself stays in private staging.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from airflow_anon.ledger.form import Document, read
from airflow_anon.ledger.form_parts import Approval
from airflow_anon.plugin.approvals import Asked, asked
from airflow_anon.plugin.page_forms.approval import ApprovalPage
from airflow_anon.plugin.page_forms.content import Approval as Told
from airflow_anon.plugin.page_forms.content import Content
from airflow_anon.plugin.pages.approval_told import approval_told
from airflow_anon.plugin.pages.content import content
from airflow_anon.plugin.pages.outline import chain_state
from airflow_anon.plugin.reading import DAMAGED, NoSuchPageError
from airflow_anon.run.approval import approvers
from airflow_anon.run.job_sections import sections
from engine import InvalidJob, Job

if TYPE_CHECKING:
    from airflow_anon.plugin.reading import Reading


def approval(reading: Reading, parameters: Mapping[str, str]) -> ApprovalPage:
    """Return the page of a release that waits, or waited.

    Parameters
    ----------
    parameters : mapping
        ``dag_id``, ``run_id``; ``task_id``: the task that asks.

    Raises
    ------
    NoSuchPageError
        There is no such task that asks for approval.
    """
    dag_id, run_id, task_id = parameters["dag_id"], parameters["run_id"], parameters["task_id"]
    found = asked(dag_id, run_id, task_id)
    if found is None:
        raise NoSuchPageError
    document = read(found.candidate)
    job = None if document is None else job_of(document)
    group = task_id.rpartition(".")[0] + "." if "." in task_id else ""
    entry = next((one for one in reading.ledger.of_run(dag_id, run_id) if one.task_group == group), None)
    return {
        "dag_id": dag_id,
        "run_id": run_id,
        "task_id": task_id,
        "job": dag_id if document is None else document.name,
        "state": _state(found),
        "answered_by": found.answered_by,
        "approvers": [] if job is None else list(approvers(job)),
        "started_by": None if document is None else document.run.triggered_by,
        "approval": _approval(found),
        "content": None if document is None else _content(reading, document),
        "entry": None if entry is None else entry.sequence,
        "chain": chain_state(reading),
    }


def job_of(document: Document) -> Job | None:
    """Return a job with the section `approval` of a document's job; None if it has none that can be read."""
    written = document.job.approval
    if written is None:
        return None
    try:
        return sections(approval=dict(written))
    except InvalidJob:
        return None


def _state(found: Asked) -> Literal["waiting", "answered", "ended"]:
    if found.waits:
        return "waiting"
    answer = None if found.decision is None else found.decision.get("answer")
    return "answered" if answer is None and found.answered_by is not None else "ended"


def _approval(found: Asked) -> Told | None:
    try:
        return None if found.decision is None else approval_told(Approval.model_validate(dict(found.decision)))
    except ValueError:
        return None


def _content(reading: Reading, document: Document) -> Content | None:
    try:
        return content(reading, reading.ledger.current(document.name), document)
    except DAMAGED:
        return None
