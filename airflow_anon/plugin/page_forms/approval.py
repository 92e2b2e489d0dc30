"""The form of the page of a release that waits for approval."""

from __future__ import annotations

from typing import Literal, TypedDict

from airflow_anon.plugin.page_forms.content import Approval, Content
from airflow_anon.plugin.page_forms.parts import Chain


class ApprovalPage(TypedDict):
    """A release that waits, or waited.

    `state`: `waiting` for an answer; `answered`, and the run goes on; or `ended`. `approvers` are told in words.
    `content` is None if nothing is known of the release: the task has not asked, or what it left was changed.
    """

    dag_id: str
    run_id: str
    task_id: str
    job: str
    state: Literal["waiting", "answered", "ended"]
    answered_by: str | None
    approvers: list[str]
    started_by: str | None
    approval: Approval | None
    content: Content | None
    entry: int | None
    chain: Chain
