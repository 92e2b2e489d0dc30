"""A series beside the ledger: what the vault has pending is settled by what the ledger says was published.

In: a job, its ledger and the id of tonight's release. Out: the series, in step with the ledger. `deidentify` writes a
release to the vault as pending; `publish` confirms it once its entry is written. A publication begins in the ledger
before it looks whether the release is still pending, and what is pending is removed only while no publication of it has
begun: so of two runs at once one ends without a release.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.publication.errors import ledger_errors
from airflow_anon.run.task_ids import RECORD_ATTEMPT
from airflow_anon.transport.series_vault import series_of
from engine import EngineError, SeriesRun, VaultBusy, VaultRefused

if TYPE_CHECKING:
    from airflow_anon.ledger import Ledger
    from engine import Job


@contextmanager
def vault_errors() -> Iterator[None]:
    """Turn an error of a vault or of its key into one that ends the attempt, unless a later try may succeed."""
    try:
        yield
    except VaultBusy as problem:
        raise AirflowException(f"{type(problem).__name__}: {problem}") from None
    except EngineError as problem:
        raise AirflowFailException(f"{type(problem).__name__}: {problem}") from None


def settled_series(job: Job, ledger: Ledger, release_id: str) -> SeriesRun:
    """Open the series of a job, in step with the ledger.

    Raises
    ------
    VaultBusy
        Another publication of the job has begun, or the vault cannot be used now: a later try may succeed.
    VaultRefused
        The vault does not know the newest release of the ledger, or the run is of a date before that of the newest
        release.
    AirflowException
        The ledger cannot be read.
    """
    assert job.series is not None  # noqa: S101 (the caller has asked)
    series = series_of(job, release_id)

    def was_published(pending: Any) -> bool:
        with ledger_errors():
            if ledger.released(job.name, pending.release_id) is not None:
                return True
            begun = any(one.release_id == pending.release_id for one in ledger.pending(job.name))
        if begun:
            raise VaultBusy(
                f"series {series.vault.series}: release {pending.release_id} is being published, or its publication "
                f"was interrupted; let its run end, or clear its task {RECORD_ATTEMPT}, then run again"
            )
        return False

    known = series.vault.settle(was_published, job.series.memory)
    _refuse_older_copy(job, ledger, series, {one.release_id for one in known})
    later = [one.release_id for one in known if one.release_id > release_id]
    if later:
        raise VaultRefused(
            f"series {series.vault.series}: this run is of a date before release {max(later)}, and a series goes on "
            "from its newest release; trigger a new run instead; if the date of that release is wrong, recall it, and "
            "set series.begin to the name of a new series, about which nothing before it is promised"
        )
    return series


def compared_with_ledger(job: Job, ledger: Ledger) -> str:
    """Tell that the vault of a job is in step with the ledger.

    Raises
    ------
    VaultRefused
        The vault cannot be used, or does not know the newest release of the ledger.
    """
    series = series_of(job, "")
    known = series.vault.known()
    newest = _refuse_older_copy(job, ledger, series, {one.release_id for one in known})
    confirmed = sum(one.state == "confirmed" for one in known)
    pending = ", and the next run settles a pending one" if confirmed < len(known) else ""
    found = f"the newest one in the ledger is {newest}" if newest else "the ledger has none of them"
    return f"releases that the vault remembers: {confirmed}; {found}{pending}"


def _refuse_older_copy(job: Job, ledger: Ledger, series: SeriesRun, known: set[str]) -> str | None:
    newest = _newest_in_ledger(job, ledger, series.vault.series)
    if newest is not None and newest not in known:
        raise VaultRefused(
            f"series {series.vault.series}: the vault does not know release {newest} of the ledger, so it is an older "
            "copy of itself; restore the newest one, or set series.begin to the name of a new series, about which "
            "nothing before it is promised"
        )
    return newest


def _newest_in_ledger(job: Job, ledger: Ledger, series: str) -> str | None:
    """Return the id of the newest release of a series in the ledger."""
    with ledger_errors():
        for entry in ledger.of_job(job.name, outcome="released"):
            stated = ledger.document(entry.sequence).get("series")
            if not isinstance(stated, dict) or stated.get("name") != series:
                return None
            return entry.release_id
    return None


def refuse_settled(job: Job, release_id: str) -> None:
    """Refuse to publish a release that another run has settled.

    Raises
    ------
    AirflowFailException
        It is no longer in the vault.
    AirflowException
        The vault cannot be used now: a retry may help.
    """
    if job.series is not None:
        with vault_errors():
            series_of(job, release_id).vault.refuse_settled(release_id)


def confirm(job: Job, release_id: str) -> None:
    """Confirm a release that has its entry.

    Raises
    ------
    AirflowException
        The vault cannot be written: a retry confirms, or else the next run does, by the ledger.
    """
    if job.series is None:
        return
    try:
        series_of(job, release_id).vault.confirm(release_id, job.series.memory)
    except EngineError as problem:
        raise AirflowException(f"{type(problem).__name__}: {problem}") from None
