"""Takes releases out of the share again: one that is recalled, and old ones that a job does not keep.

In: a ledger and a release with its entry. Out: an entry that says so, then a share without it. The entry is written
first: if the process is killed in between, `finish` does what is missing, in the next publication of the job or when
the command is repeated. The vault of a series is left alone: readers may have copies, so the release counts as seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from logging import Logger
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.entry import FORMAT
from airflow_anon.ledger.released_places import places_of
from airflow_anon.publication.errors import ledger_errors, noted, raise_all, table_errors
from airflow_anon.publication.places import is_place_of, share_at, shares_of
from airflow_anon.publication.words import refuse_words
from airflow_anon.share.sql_share import SqlShare

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger
    from airflow_anon.share.folder_share import FolderShare
    from airflow_anon.share.object_share import ObjectShare
    from engine import Job

ATTEMPT = 1
UMASK = 0o022
"""Of a share from which files are only taken."""


def recall(ledger: Ledger, entry: Entry, *, by: str, why: str) -> Entry:
    """Take a release back: readers lose its folder, the link to it, and the records of its table.

    No earlier release becomes current instead: nobody has judged whether what was wrong with this one is wrong with
    those too, and readers should see that something happened. Repeated, it finishes what was cut off.

    Parameters
    ----------
    entry : Entry
        Of the release.
    by, why : str
        Who recalls it, and the reason, as the ledger keeps them.

    Returns
    -------
    Entry
        That of the recall.

    Raises
    ------
    AirflowFailException
        The reason or the name is empty or too long, or the entry of the release was changed.
    AirflowException
        The ledger, a share or its database cannot be written: it is out of all others; repeat the recall.
    """
    refuse_words(by=by, why=why)
    release_id = str(entry.release_id)
    _publication(ledger, entry)
    with ledger_errors():
        known = ledger.withdrawal(entry.job, release_id)
        if known is None or known.outcome != "recalled":
            known = ledger.append(_document(ledger, entry, "recalled", {"by": by, "why": why}))
    finish(ledger, entry, known)
    return known


def retire(job: Job, ledger: Ledger, umask: int, log: Logger) -> list[str]:
    """Remove the releases of a job that it does not keep, and finish what an earlier try left.

    Returns
    -------
    list of str
        Ids of the releases that were removed.

    Raises
    ------
    AirflowException
        The ledger or a share cannot be written: all others were; the next publication tries again.
    """
    from airflow_anon.ledger.standing import WITHDRAWN, standings  # noqa: PLC0415 (heavy imports belong into execute)

    if job.output is None or job.output.path is None:
        return []
    shares = shares_of(job, umask, ledger)
    with ledger_errors():
        entries = ledger.of_job(job.name)
    places = standings(entries)
    released = sorted((one for one in entries if one.sequence in places), key=lambda one: str(one.release_id))
    there = set().union(*(share.names() for share in shares))
    problems: list[AirflowException] = []
    for one in released:
        if places[one.sequence] in WITHDRAWN and str(one.release_id) in there:
            with ledger_errors():
                withdrawal = ledger.withdrawal(job.name, str(one.release_id))
            with noted(problems):
                finish(ledger, one, withdrawal)
    keep = job.output.keep
    in_share = [one for one in released if str(one.release_id) in there and places[one.sequence] not in WITHDRAWN]
    removed = []
    for one in [] if keep is None else in_share[:-keep]:
        release_id = str(one.release_id)
        if places[one.sequence] == "current" or any(share.current() == release_id for share in shares):
            continue
        _publication(ledger, one)
        with ledger_errors():
            withdrawal = ledger.append(_document(ledger, one, "removed", {"keep": keep}))
        with noted(problems):
            finish(ledger, one, withdrawal)
        removed.append(release_id)
        log.info("Release %s of %s is removed: the job keeps %d", release_id, job.name, keep)
    raise_all(problems)
    return removed


def finish(ledger: Ledger, entry: Entry, withdrawal: Entry | None) -> None:
    """Take a release out of the shares whose withdrawal has its entry; harmless if it is out already.

    What was given up and is empty is left out. What cannot be reached holds up no other: readers lose the release
    wherever that is possible, also in another folder of its job, as where a share was moved. The folder of the first
    share is the last to go, and stays as a hidden one where anything failed: while it is there, the next publication of
    the job finishes what is missing.

    Parameters
    ----------
    entry, withdrawal : Entry
        Of the release, and of its recall or removal. A table loses its records by a recall alone: it has one release.

    Raises
    ------
    AirflowException
        A share or its database cannot be written.
    """
    release_id = str(entry.release_id)
    publication = _left(ledger, entry)
    table = publication["table"]
    problems: list[AirflowException] = []
    if table is not None and withdrawal is not None and withdrawal.outcome == "recalled":
        with noted(problems), table_errors(table["conn_id"], table["table"]) as hook:
            SqlShare(hook, table["table"], made_inside=None).empty(release_id, str(entry.manifest_sha256))
    first, *further = places_of(publication) or [None]
    for place in (*_moved(ledger, entry), *reversed(further)):
        with noted(problems):
            _take_folder(ledger, share_at(place, UMASK, ledger)[0], release_id)
    if first is not None:
        with noted(problems):
            _take_folder(ledger, share_at(first, UMASK, ledger)[0], release_id, leave_hidden=bool(problems))
    raise_all(problems)


def left_in(ledger: Ledger, entry: Entry) -> list[str]:
    """Return the places where a withdrawn release may still lie, in words: they were given up, and nobody can look.

    Raises
    ------
    AirflowException
        The ledger failed.
    """
    from airflow_anon.ledger.given_up import given_up, gone_from  # noqa: PLC0415 (heavy imports belong into execute)

    with ledger_errors():
        gone = gone_from(given_up(ledger, entry.job), ledger.document(entry.sequence).get("publication"))
    return [f"{place}, {share.words}" for place, share in gone.items()]


def _moved(ledger: Ledger, entry: Entry) -> list[str]:
    """Return where else in the shares of its job a release lies; what only has its name is another one.

    A share that cannot be read is left out: by the ledger the release is in none of these.
    """
    from airflow_anon.ledger.moved_releases import folders_of, other_places  # noqa: PLC0415 (heavy imports)

    release_id = str(entry.release_id)
    with ledger_errors():
        places = places_of(ledger.document(entry.sequence).get("publication"))
        others = other_places(folders_of(ledger, entry.job), places, release_id)
    found = []
    for place in others:
        with suppress(AirflowException, OSError):
            if share_at(place, UMASK, ledger)[0].manifest_sha256(release_id) == entry.manifest_sha256:
                found.append(place)
    return found


def _left(ledger: Ledger, entry: Entry) -> Mapping[str, Any]:
    """Return where a release is, without the places that were given up and are empty.

    Raises
    ------
    AirflowFailException
        As `_publication`.
    """
    from airflow_anon.ledger.given_up import given_up, left_of  # noqa: PLC0415 (heavy imports belong into execute)

    told = {**_publication(ledger, entry), "release_id": entry.release_id}
    with ledger_errors():
        left: Mapping[str, Any] = left_of(given_up(ledger, entry.job), {"publication": told})["publication"]
    return left


def _publication(ledger: Ledger, entry: Entry) -> Mapping[str, Any]:
    """Return where a release is, as its entry says; nothing but its own folders may be removed.

    Raises
    ------
    AirflowFailException
        The entry names another folder.
    """
    release_id = str(entry.release_id)
    with ledger_errors():
        publication: Mapping[str, Any] = ledger.document(entry.sequence).get("publication") or {}
    places = places_of(publication)
    if not publication or not all(is_place_of(place, entry.job, release_id) for place in places):
        raise AirflowFailException(
            f"release {release_id} of {entry.job}: its entry in the ledger was changed; run `airflow-anon ledger "
            "verify`, and restore the ledger"
        )
    return {"folder": publication.get("folder"), "also": places[1:], "table": publication.get("table")}


def _take_folder(
    ledger: Ledger, share: FolderShare | ObjectShare, release_id: str, *, leave_hidden: bool = False
) -> None:
    try:
        # no publication switches the link meanwhile
        with ledger_errors(), ledger.alone():
            share.leave_current(release_id)
            if share.holds(release_id):
                share.hide(release_id)
        if not leave_hidden:
            share.remove_leftovers(release_id)
    except OSError as problem:
        raise AirflowException(
            f"{share.release(release_id)}: cannot be removed ({problem.strerror}); let who runs this write there, and "
            "repeat it"
        ) from None


def _document(ledger: Ledger, entry: Entry, outcome: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a withdrawal: of no attempt, so its run is named after the release."""
    from airflow_anon.ledger import form, form_parts, form_publication  # noqa: PLC0415 (heavy imports belong into execute)

    release_id = str(entry.release_id)
    of_release = form.read(ledger.document(entry.sequence))
    with form.writing():
        return form.Document(
            format=FORMAT,
            outcome=outcome,
            name=entry.job,
            run=form_parts.Run(
                dag_id=entry.dag_id,
                run_id=f"{outcome}__{entry.job}__{release_id}",
                task_group=entry.task_group,
                attempt=ATTEMPT,
            ),
            job=form_parts.WrittenJob(sha256=entry.job_sha256),
            smallest_class_allowed=None if of_release is None else of_release.smallest_class_allowed,
            withdrawal=form_publication.Withdrawal(release_id=release_id, sequence=entry.sequence, **told),
        ).stored()
