"""All jobs with their state, the most urgent first.

A run may fail without an entry in the ledger, for example because the job file is broken: then the job is shown as
failed, from Airflow's own tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_anon.observe.alerts import NOTICES, RELEASED, Alert, alerts_of, notices_of
from airflow_anon.observe.left_pending import stayed_pending
from airflow_anon.plugin.approvals import waiting_releases
from airflow_anon.plugin.page_forms.overview import Filters, InAirflow, Job, Lately, OverviewPage, Waiting
from airflow_anon.plugin.page_forms.parts import Outline, State
from airflow_anon.plugin.pages.found_outside import broken_dags, harms_of
from airflow_anon.plugin.pages.outline import STATES, chain_state, outline, pending_outline, state_of
from airflow_anon.plugin.schedules import failed_newest, schedules

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Pending
    from airflow_anon.plugin.reading import Reading

NEWEST = 5_000
"""Number of newest entries searched for the recent releases of jobs."""
LATELY = 30
"""Number of releases in a job's small charts."""

Key = tuple[str, str]


def overview(reading: Reading, parameters: Mapping[str, str]) -> OverviewPage:
    """Return the page of all jobs.

    Parameters
    ----------
    parameters : mapping
        ``q``: text in the name of the job or the DAG; ``state``: only this one; ``alerts``: "1" for only jobs with any;
        ``files``: "all" to recount large files and tables too.
    """
    filters: Filters = {
        "q": parameters.get("q", "").strip(),
        "state": parameters["state"] if parameters.get("state") in STATES else "",
        "alerts": parameters.get("alerts") == "1",
        "all_files": parameters.get("files") == "all",
    }
    jobs = _jobs(reading, all_files=filters["all_files"])
    shown = [job for job in jobs if _matches(job, filters)]
    return {
        "filters": filters,
        "states": dict(STATES),
        "chain": chain_state(reading),
        "counts": {state: sum(job["state"] == state for job in jobs) for state in STATES},
        "total": len(jobs),
        "waiting": _waiting(reading),
        "jobs": shown,
    }


def _waiting(reading: Reading) -> list[Waiting]:
    """Return the releases that wait for approval, of DAGs that the user may see, by DAG and run."""
    found = waiting_releases()
    seen = reading.visible(dag_id for dag_id, _, _ in found)
    return [
        {"dag_id": dag_id, "run_id": run_id, "task_id": task_id} for dag_id, run_id, task_id in found if dag_id in seen
    ]


def _jobs(reading: Reading, *, all_files: bool) -> list[Job]:
    latest = {(entry.job, entry.dag_id): entry for entry in reading.latest()}
    pending = defaultdict(list)
    for one in reading.pending():
        pending[one.job, one.dag_id].append(one)
    broken = broken_dags(reading)
    without_entry = {(dag_id, dag_id) for dag_id in broken if dag_id not in {known for _, known in {*latest, *pending}}}
    keys = sorted({*latest, *pending, *without_entry})
    entries = reading.ledger.entries(limit=NEWEST)
    told = _told(entries, keys)
    airflow = _in_airflow([*entries, *latest.values()], {dag_id for _, dag_id in keys})
    order = list(STATES)
    # What may be counted at once is shared among the jobs.
    share = None if all_files else max(1, len(keys))
    jobs = []
    for key in keys:
        job = _job(reading, key, latest.get(key), pending[key], told[key], airflow[key[1]])
        newest = max(_releases(told[key]), key=lambda one: str(one.release_id), default=None)
        harms = [] if newest is None else harms_of(reading, newest, share)
        jobs.append(_judged(job, harms, broken.get(key[1])))
    return sorted(jobs, key=lambda job: (order.index(job["state"]), not job["alerts"], job["job"], job["dag_id"]))


def _judged(job: Job, harms: list[str], broken: str | None) -> Job:
    """Return a job with what was found of it outside of the ledger, and the state that follows."""
    state: State = "tampered" if harms else "failed" if broken and job["state"] != "damaged" else job["state"]
    return {**job, "state": state, "harms": harms, "broken": broken}


def _told(entries: Iterable[Entry], keys: Iterable[Key]) -> dict[Key, list[Entry]]:
    """Return the releases and notices of each job, the last recorded first."""
    found: dict[Key, list[Entry]] = {key: [] for key in keys}
    for entry in entries:
        if entry.outcome in (RELEASED, *NOTICES) and (entry.job, entry.dag_id) in found:
            found[entry.job, entry.dag_id].append(entry)
    return found


def _releases(told: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in told if entry.outcome == RELEASED]


def _in_airflow(entries: Iterable[Entry], dag_ids: set[str]) -> dict[str, InAirflow]:
    """Return what Airflow's tables say of each DAG: `next_run`, and `failed_run` if the newest run has no entry."""
    recorded = {(entry.dag_id, entry.run_id) for entry in entries}
    failed = {dag_id: run for dag_id, run in failed_newest(dag_ids).items() if (dag_id, run["run_id"]) not in recorded}
    planned = schedules(dag_ids)
    return {dag_id: {"next_run": planned.get(dag_id), "failed_run": failed.get(dag_id)} for dag_id in dag_ids}


def _job(
    reading: Reading,
    key: Key,
    entry: Entry | None,
    pending: Sequence[Pending],
    told: Sequence[Entry],
    airflow: InAirflow,
) -> Job:
    # Ordered by release id, as in the share: a late catch-up run is recorded last but is not the newest.
    by_id = sorted(_releases(told), key=lambda one: str(one.release_id))[-LATELY:]
    lately = [outline(reading, one) for one in by_id]
    return {
        "job": key[0],
        "dag_id": key[1],
        "state": _state(entry, pending, airflow),
        "last_attempt": None if entry is None else outline(reading, entry),
        "last_release": lately[-1] if lately else None,
        "pending": [pending_outline(one) for one in pending],
        "lately": _lately(lately, [reading.measure_of(one) for one in by_id]),
        "alerts": [
            {"kind": alert.kind, "text": alert.what}
            for alert in (*([] if entry is None else _alerts(reading, entry, told)), *stayed_pending(pending))
        ],
        "harms": [],
        "broken": None,
        **airflow,
    }


def _lately(outlines: Sequence[Outline], measures: Sequence[str | None]) -> Lately:
    """Return the figures of small charts; a loss of another measure than the newest one is left out."""
    same = [one == measures[-1] for one in measures]
    return {
        "recorded_at": [one["recorded_at"] for one in outlines],
        "information_loss": [one["information_loss"] if own else None for one, own in zip(outlines, same, strict=True)],
        "suppressed_share": [one["suppressed_share"] for one in outlines],
        "privacy_margin": [one["privacy_margin"] for one in outlines],
    }


def _state(entry: Entry | None, pending: Sequence[Pending], airflow: InAirflow) -> State:
    newest_pending = max((one.since for one in pending), default="")
    if entry is None and not pending:
        return "failed"  # a broken job that never ran
    if entry is None or (newest_pending and newest_pending >= entry.recorded_at):
        return "pending"
    state = state_of(entry)
    return "failed" if airflow["failed_run"] and state != "damaged" else state


def _alerts(reading: Reading, entry: Entry, told: Sequence[Entry]) -> list[Alert]:
    earlier = [one for one in _releases(told) if one.sequence < entry.sequence]
    document = reading.document(entry.sequence)
    return alerts_of(
        entry,
        earlier,
        smallest=reading.smallest_of(entry),
        reason=None if document is None else document.reason,
        delivered=None if document is None else document.delivered,
        series=None if document is None else document.series,
        notices=notices_of(entry, told),
    )


def _matches(job: Job, filters: Filters) -> bool:
    text = filters["q"].casefold()
    return (
        (not text or text in job["job"].casefold() or text in job["dag_id"].casefold())
        and (not filters["state"] or job["state"] == filters["state"])
        and (not filters["alerts"] or bool(job["alerts"] or job["failed_run"] or job["harms"] or job["broken"]))
    )
