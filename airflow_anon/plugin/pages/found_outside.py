"""What a job's ledger does not tell: its release in the share was changed, or its job file is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.pages.delivery import ROWS_AT_ONCE, delivery
from airflow_anon.plugin.pages.files import AT_ONCE, HARMS, files
from airflow_anon.plugin.pages.withdrawn import withdrawn
from airflow_anon.plugin.schedules import dags_tagged

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.plugin.reading import Reading


def harms_of(reading: Reading, entry: Entry, share: int | None) -> list[str]:
    """Return what was changed in the share after a release, in words.

    Parameters
    ----------
    entry : Entry
        Of a release.
    share : int or None
        Number of releases that share what may be counted at once; None to count all.
    """
    document = reading.document(entry.sequence)
    if document is None or withdrawn(reading, entry) is not None:
        return []
    found = files(reading.left(entry, document), hash_up_to=None if share is None else AT_ONCE // share)
    table = delivery(reading, entry, document, rows=None if share is None else ROWS_AT_ONCE // share)
    places = [] if table is None else [table["link"], table["table"]]
    harms = [f"{one['name']}: {one['words']}" for one in (found["files"] if found else []) if one["state"] in HARMS]
    return harms + [f"{one['name']}: {one['words']}" for one in places if one is not None and one["state"] in HARMS]


def broken_dags(reading: Reading) -> dict[str, str]:
    """Return the DAGs of broken job files that the user may see, and which file it is, in words."""
    from airflow_anon.jobs.broken_dag import BROKEN_TAG  # noqa: PLC0415 (Airflow's operators)

    found = dags_tagged(BROKEN_TAG)
    seen = reading.visible(found)
    return {dag_id: text for dag_id, text in found.items() if dag_id in seen}
