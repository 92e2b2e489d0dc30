"""A share with releases of a job, and a ledger that has none of it: another ledger than theirs, or a new one.

In: the shares of a job, and the ledger. Out: nothing is published there. The file of a ledger whose volume is not
mounted looks like one that was never begun: a night that went on would begin a second ledger, publish over what the
first one vouches for, and publish again what was recalled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowException

from airflow_anon.publication.errors import ledger_errors

if TYPE_CHECKING:
    from airflow_anon.ledger import Ledger
    from airflow_anon.publication.places import Share


def refuse_new_ledger(shares: Iterable[Share], ledger: Ledger, job: str) -> None:
    """Refuse shares that have releases of a job of which the ledger has none.

    Raises
    ------
    AirflowException
        A retry may find the ledger of these releases.
    """
    from airflow_anon.ledger.share_orphans import releases_of  # noqa: PLC0415 (heavy imports belong into execute)

    if _knows(ledger, job):
        return
    for share in shares:
        with ledger_errors():
            found = releases_of(str(share.share), job)
        if found:
            anew = f"move {share.folder} out of the share"
            raise _refused(f"{share.folder}: has releases, the newest {max(found)}", anew, ledger, job)


def refuse_new_ledger_of_table(table: str, newest: str, ledger: Ledger, job: str) -> None:
    """Refuse a table that has releases of a job of which the ledger has none.

    Raises
    ------
    AirflowException
        As `refuse_new_ledger`.
    """
    if not _knows(ledger, job):
        from airflow_anon.transport.release_files import BOOKKEEPING  # noqa: PLC0415 (only an error needs it)

        anew = f"empty {table} and {table}{BOOKKEEPING}"
        raise _refused(f"output table {table!r}: has release {newest}", anew, ledger, job)


def _knows(ledger: Ledger, job: str) -> bool:
    """Whether the ledger has a release of a job, or one that is being published."""
    with ledger_errors():
        return bool(ledger.of_job(job, limit=1, outcome="released")) or bool(ledger.pending(job))


def _refused(found: str, anew: str, ledger: Ledger, job: str) -> AirflowException:
    return AirflowException(
        f"{found}, and the ledger {ledger.address} has none of job {job}: it is not the ledger of these releases, as "
        "where its volume is not mounted or AIRFLOW_ANON_LEDGER names another one. Mount or name theirs, and clear the "
        f"whole run. To begin a new ledger on purpose, {anew} first"
    )
