"""The sections of an entry's document, as pages show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from airflow_anon.disclosure.traces import smallest_trace
from airflow_anon.ledger.form_parts import Records as Counted
from airflow_anon.ledger.records import records_told
from airflow_anon.plugin.page_forms.content import (
    AcceptedDrift,
    Content,
    Drift,
    Persons,
    Reason,
    Records,
    Run,
    Series,
    Solution,
)
from airflow_anon.plugin.pages.approval_told import approval_told
from airflow_anon.plugin.pages.class_sizes import class_sizes
from airflow_anon.plugin.pages.comparison import comparison
from airflow_anon.plugin.pages.criteria import criteria
from airflow_anon.plugin.pages.levels import levels
from airflow_anon.plugin.pages.lineage import lineage
from airflow_anon.plugin.pages.lint import lint
from airflow_anon.plugin.pages.measures import risk, risk_of, utility
from airflow_anon.plugin.pages.plain_words import plain_words
from airflow_anon.plugin.pages.remedies import remedies
from airflow_anon.plugin.pages.search import search
from airflow_anon.plugin.pages.usefulness import usefulness
from airflow_anon.plugin.pages.validation import validation

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.ledger import form_parts as parts
    from airflow_anon.ledger.form import Document
    from airflow_anon.plugin.reading import Reading


def content(reading: Reading, previous: Entry | None, document: Document) -> Content:
    """Return the sections of a document, compared with the release that was current before, if there was one.

    Raises
    ------
    ArithmeticError, LookupError, TypeError, ValueError
        The document was changed and its values are inconsistent.
    """
    return {
        "counted": "persons" if document.counts_persons else "records",
        "plain": plain_words(document),
        "persons": _persons(document),
        "series": _series(document),
        "drift": _drift(document),
        "reason": None if document.reason is None else _reason(document.reason),
        "remedies": remedies(document),
        "run": _run(document.run),
        "smallest_class_allowed": document.smallest,
        "records": _records(document),
        "criteria": criteria(document),
        "privacy_margin": document.privacy_margin,
        "levels": levels(document),
        "solution": None if document.solution is None else _solution(document.solution),
        "search": search(document),
        "classes": class_sizes(document),
        "risk": risk(document),
        "attribute_inference": [
            {"column": column, "by_class": shares.by_class, "by_table": shares.by_table}
            for column, shares in (document.attribute_inference or {}).items()
        ],
        "utility": utility(document),
        "usefulness": usefulness(document),
        "comparison": comparison(reading, previous, document),
        "validation": validation(document),
        "approval": None if document.approval is None else approval_told(document.approval),
        "lineage": lineage(document),
        "choice": _choice(document),
        "policy": _groups(document.policy),
        "timings": document.timings or {},
        "versions": document.versions or {},
        "warnings": document.warnings or [],
        "lint": lint(document),
    }


def _reason(found: parts.Reason) -> Reason:
    return {"task": found.task, "error": found.error, "message": found.message}


def _run(found: parts.Run) -> Run:
    return {
        "dag_id": found.dag_id,
        "run_id": found.run_id,
        "run_type": found.run_type,
        "logical_date": found.logical_date,
        "run_after": found.run_after,
        "attempt": found.attempt,
        "task_group": found.task_group,
        "triggered_by": found.triggered_by,
    }


def _records(document: Document) -> Records:
    limit = (document.records or Counted()).suppression_limit
    return {**records_told(document), "suppression_limit": limit}


def _persons(document: Document) -> Persons | None:
    found = document.records
    if not document.counts_persons or found is None:
        return None
    rows = found.further_rows
    return {
        "number": found.persons,
        "suppressed_share": found.persons_suppressed_share,
        "further_rows": None if rows is None else {"left_out": rows.left_out, "share": rows.share},
        "knows": _knows(found),
    }


def _series(document: Document) -> Series | None:
    """Return the series of a release, as it may be told."""
    found = document.series
    if found is None:
        return None
    changed = found.levels_changed
    return {
        "name": found.name,
        "releases": found.releases,
        "memory": found.memory,
        "arrivals": found.arrivals,
        "departures": found.departures,
        "smallest_trace": smallest_trace(found.smallest_trace, document.smallest),
        "suppressed_share": found.suppressed_share,
        "held_back_share": found.held_back_share,
        "covered_share": found.covered_share,
        "kept_share": found.kept_share,
        "below_share": found.below_share,
        "levels_changed": None
        if changed is None
        else [{"attribute": n, "before": c.before, "now": c.now} for n, c in changed.items()],
        "churn": None
        if found.churn is None
        else {"held_back_share": found.churn.held_back_share, "covered_share": found.churn.covered_share},
    }


def _drift(document: Document) -> Drift | None:
    found = document.drift
    if found is None:
        return None
    known = found.accepted
    accepted: AcceptedDrift | None = None
    if known is not None:
        accepted = {
            "difference": known.difference,
            "differences": known.differences,
            "by": known.by,
            "at": known.at,
            "comment": known.comment,
        }
    return {
        "since": found.since,
        "not_compared": found.not_compared,
        "quarantined": found.quarantined,
        "accepted": accepted,
    }


def _knows(found: Counted) -> Literal["any-row", "all-rows"] | int:
    """Return what attackers know of a person; entries of earlier versions are of any one row.

    Raises
    ------
    ValueError
        The entry names another attacker.
    """
    if found.knows is None or found.knows == "any-row":
        return "any-row"
    if found.knows == "all-rows":
        return "all-rows"
    if isinstance(found.knows, str):
        raise ValueError("records.knows: is any-row, all-rows or a number of rows")  # noqa: TRY004 (a wrong document)
    return found.knows.rows


def _solution(found: parts.Solution) -> Solution:
    return {
        "information_loss": found.information_loss,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "optimal": found.optimal,
        "measure": found.measure,
        "aggregate": found.aggregate,
    }


def _choice(document: Document) -> Any:
    """Return the choice of a rule; its risk is one of the release, and is told as that is."""
    choice = document.choice
    if not isinstance(choice, Mapping) or "tried" not in choice:
        return choice
    return {**choice, "risk": risk_of(document, document.job.frontier_risk)["value"]}


def _groups(policy: Any) -> dict[str, int] | None:
    """Return the number of groups a policy makes of each attribute; the labels are in the job of the release."""
    if not isinstance(policy, Mapping):
        return None
    return {name: len(groups) for name, groups in policy.items() if isinstance(groups, (list, tuple))}
