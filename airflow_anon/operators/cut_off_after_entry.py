"""A release that has its entry, and to which readers were not led, since its run was cut off just then.

In: the ledger, and what Airflow says of the run that made the release. Out: readers are led to it, before the next
night compares what they have with the ledger: it would take what was cut off for a change that somebody made.
"""

from __future__ import annotations

from logging import Logger
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_anon.run.airflow_id import airflow_id
from airflow_anon.run.facts import has_ended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Context

    from airflow_anon.ledger import Entry, Ledger


def lead_to_cut_off(ledger: Ledger, job: str, publish: str, umask: int, context: Context, log: Logger) -> None:
    """Lead readers to the newest release of a job, where the task that had to do so is known to have failed.

    Nothing is done where `current` names anything but the release of before: somebody else has changed it then. What
    cannot be asked or written now is logged; the night goes on.

    Parameters
    ----------
    publish : str
        Id of the task that publishes.
    """
    from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415 (heavy imports belong into execute)
    from airflow_anon.publication.settle import lead_readers_to  # noqa: PLC0415

    try:
        with ledger_errors():
            entry = ledger.current(job)
            document = {} if entry is None else ledger.document(entry.sequence)
            is_behind = entry is not None and _is_behind(ledger, entry, document)
        if entry is None or not is_behind or not _was_cut_off(entry, document, publish, context):
            return
        lead_readers_to(document, ledger, umask)
    except (AirflowException, AirflowRuntimeError, OSError) as problem:
        log.warning("Whether a publication was cut off after its entry is not known, or not mended: %s", problem)
        return
    log.warning(
        "Release %s has its entry (%d), and its run was cut off before readers were led to it; now they are",
        entry.release_id,
        entry.sequence,
    )


def _is_behind(ledger: Ledger, entry: Entry, document: Mapping[str, Any]) -> bool:
    """Whether a share still leads readers to the release of before, and none to another one."""
    from airflow_anon.ledger.delivery import link_of  # noqa: PLC0415 (heavy imports belong into execute)
    from airflow_anon.ledger.expected_file import MATCHES, MISSING  # noqa: PLC0415
    from airflow_anon.ledger.released_places import places_of  # noqa: PLC0415
    from airflow_anon.transport.address import parent_of  # noqa: PLC0415

    links = [link_of(parent_of(place)) for place in places_of(document.get("publication"))]
    named = {link.named for link in links}
    before = ledger.current_before(entry)
    allowed = {entry.release_id, None if before is None else before.release_id}
    is_known = bool(links) and all(link.state in (MATCHES, MISSING) for link in links)
    return is_known and named <= allowed and named != {entry.release_id}


def _was_cut_off(entry: Entry, document: Mapping[str, Any], publish: str, context: Context) -> bool:
    """Whether Airflow says that the run of an entry has ended, and that its task which publishes failed."""
    from airflow_anon.ledger.entry import is_of_another  # noqa: PLC0415 (heavy imports belong into execute)

    run, instance = context["dag_run"], context["ti"]
    if entry.dag_id != run.dag_id or entry.run_id == run.run_id or is_of_another(document, airflow_id()):
        return False
    if not has_ended(entry.dag_id, entry.run_id, context, unknown=False):
        return False
    found = instance.get_task_states(dag_id=entry.dag_id, task_ids=[publish], run_ids=[entry.run_id])
    return bool(found.get(entry.run_id, {}).get(publish) == "failed")
