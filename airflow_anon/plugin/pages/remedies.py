"""What can be done about an attempt without a release, and by whom, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.content import Remedy

if TYPE_CHECKING:
    from airflow_anon.ledger.form import Document

OFFICER = "whoever answers for privacy"
ENGINEER = "the data engineer"
_PERSONAL = ("refused", "expired")
"""Answers to a release that waited for approval which end its run."""
_NONE, _DRIFT = "NoSolution", "DriftRefused"
"""The kind of error, or the beginning of the message, of an attempt that no transformation satisfies, or whose table is
not like the last one."""


def remedies(document: Document) -> list[Remedy]:
    """Return what can be done, the least harmful first; nothing for a release."""
    if document.reason is None:
        return []
    owner = _owner(document)
    if document.outcome != "refused":
        return [
            {"what": "Correct what the sentence above names, then clear the run: it tries again.", "who": ENGINEER},
            {"what": "If it names a column or a value, correct the job file or the source.", "who": owner},
        ]
    if document.approval is not None and document.approval.answer in _PERSONAL:
        return [
            {"what": "Correct the job file as the comment asks, and let the next run make a release.", "who": owner},
            {"what": "If nobody answered in time, start the run again when somebody can.", "who": ENGINEER},
        ]
    if _DRIFT in (document.reason.error, str(document.reason.message).partition(":")[0]):
        return [
            {"what": "Find out what became of the source: a load that ended early, a changed code.", "who": ENGINEER},
            {"what": "Correct the source, then clear the run: it tries again.", "who": ENGINEER},
            {
                "what": "If the table is meant to be so, accept it: `airflow-anon drift accept` with the name of the "
                "difference above; then clear the run.",
                "who": owner,
            },
        ]
    if _NONE in (document.reason.error, str(document.reason.message).partition(":")[0]):
        return [
            {"what": "Let the data grow, or join small groups in the source: more records per class.", "who": owner},
            {"what": "Allow coarser levels (maximum_level of an attribute); less detail, no more risk.", "who": owner},
            {"what": "Allow more suppressed records (suppression_limit); fewer records, no more risk.", "who": owner},
            {"what": "Take quasi-identifiers out of the release.", "who": owner},
            {"what": "Ask less of a criterion: this raises the risk, so it is a decision of policy.", "who": OFFICER},
        ]
    return [
        {"what": "Do not publish the output by hand: independent code found that it does not hold.", "who": OFFICER},
        {"what": "Find out why search and recount differ, with the task's log and the expectations.", "who": ENGINEER},
    ]


def _owner(document: Document) -> str:
    owner = document.job.owner
    return f"the owner of the job, {owner}" if owner else "the owner of the job"
