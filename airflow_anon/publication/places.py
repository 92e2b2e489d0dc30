"""Where the releases of a job are: shares in folders of a file system, or in object stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.released_places import places_of
from airflow_anon.publication.errors import ledger_errors
from airflow_anon.share.folder_share import FolderShare, local_path
from airflow_anon.share.object_share import ObjectShare
from airflow_anon.transport.address import give_up_command
from airflow_anon.transport.object_store import is_in_store, missing_parts

if TYPE_CHECKING:
    from airflow_anon.ledger import Ledger
    from engine import Job


Share: TypeAlias = FolderShare | ObjectShare


def share_of(path: str, name: str, umask: int, ledger: Ledger, scratch: Path | None = None) -> Share:
    """Return the releases of a job in the share that its output names.

    Parameters
    ----------
    ledger : Ledger
        Its lock keeps out other publishers where the share has none.
    scratch : Path, optional
        Folder for private copies of what is in a store.

    Raises
    ------
    AirflowFailException
        The client of the store is not installed here.
    """
    if not is_in_store(path):
        return FolderShare(share=local_path(path, "output path"), name=name, umask=umask)

    wanted = missing_parts(path)
    if wanted is not None:
        raise AirflowFailException(f"share {path}: the client is not installed; install {wanted}")

    @contextmanager
    def alone() -> Iterator[None]:
        with ledger_errors(), ledger.alone():
            yield

    return ObjectShare(share=path, name=name, alone=alone, scratch=scratch)


def shares_of(job: Job, umask: int, ledger: Ledger, scratch: Path | None = None) -> list[Share]:
    """Return the releases of a job in every share that its output names, the first one first.

    Raises
    ------
    AirflowFailException
        As `share_of`.
    """
    output = job.output
    paths = [] if output is None or output.path is None else [output.path, *output.also]
    return [share_of(path, job.name, umask, ledger, scratch) for path in paths]


def refuse_unmounted(shares: Iterable[Share], ledger: Ledger, name: str) -> None:
    """Refuse a share without the job's folder, although the ledger has releases there that were not taken away.

    A share that is not mounted looks like an empty folder of this machine: what would be published there no reader
    gets, and it is hidden once the share is back.

    Raises
    ------
    AirflowException
        A retry may find it mounted.
    """
    from airflow_anon.ledger.given_up import given_up, left_of  # noqa: PLC0415 (heavy imports belong into execute)
    from airflow_anon.ledger.standing import WITHDRAWN, standings  # noqa: PLC0415

    missing = {
        share.folder.absolute() for share in shares if isinstance(share, FolderShare) and not share.folder.exists()
    }
    if not missing:
        return
    with ledger_errors():
        found = standings(ledger.of_job(name))
        there = [sequence for sequence, one in found.items() if one not in WITHDRAWN]
        shares_lost = given_up(ledger, name)
        of_releases = [left_of(shares_lost, ledger.document(sequence)) for sequence in there]
    for place in (place for one in of_releases for place in places_of(one.get("publication"))):
        if Path(place).parent in missing:
            raise AirflowException(
                f"{Path(place).parent}: is not there, and the ledger has releases in it; mount the share, and clear "
                "the whole run, whose staging is gone. If the share is gone for good, say so by "
                f"{give_up_command(str(Path(place).parent.parent))}"
            )


def share_at(place: str, umask: int, ledger: Ledger) -> tuple[Share, str]:
    """Return the share that a release's folder is in, and the release's id, by the place that the ledger has of it."""
    folder, _, release_id = place.rpartition("/")
    share, _, name = folder.rpartition("/")
    return share_of(share or "/", name, umask, ledger), release_id


def is_place_of(place: str, name: str, release_id: str) -> bool:
    """Whether a place is that of a release of a job."""
    return place.split("/")[-2:] == [name, release_id]
