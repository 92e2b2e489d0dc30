"""The vault of a series: which person was in which class of each release, by keyed ids.

In: what a run proposes. Out: what later runs remember. A release is written as `pending` before it can be read by
anybody, and confirmed together with its publication; whoever finds a pending one settles it by what was published. All
persons of a series share one array of ids; a release holds one number per person, so a million persons take about 16 MB
once and some MB per release.

The vault holds no identifier, no label and no value: persons and sensitive values are keyed hashes, classes are
numbers that mean nothing outside of their release. Only a series that keeps who is gone has records, without their
identifiers: of who is in the newest release, and in the one before, by which the newest is verified.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.errors import VaultRefused
from engine.series.kept import KeptRows
from engine.series.keyed_ids import ID_BYTES
from engine.series.proposal import Proposal
from engine.series.remembered import History, Remembered
from engine.series.vault_database import Statements, VaultDatabase
from engine.series.vault_releases import (
    Known,
    confirm_release,
    drop_kept,
    ids_with,
    known_releases,
    newest_of,
    release_of,
    write_proposal,
)
from engine.series.vault_schema import migrate


class Vault:
    """The vault of one series.

    Parameters
    ----------
    database : VaultDatabase
    series : str
        Name of the series.
    key_checks : pair of str
        Check values of the key; see `SeriesKey.checks`.
    job_check : str
        Check value of what must not change within a series.
    """

    def __init__(self, database: VaultDatabase, series: str, key_checks: tuple[str, str], job_check: str) -> None:
        self._database = database
        self.series = series
        self._key_checks, self._job_check = key_checks, job_check

    def known(self) -> list[Known]:
        """Return the releases of the series, oldest first; the last one may be pending.

        Raises
        ------
        VaultRefused
            As of every method: the vault is unreachable, locked, of a newer version of this package, of another key, or
            of a job that changed.
        """
        with self._writing() as run:
            return known_releases(run, self.series)

    def spells_persons(self) -> bool:
        """Whether the ids of the series are of persons as they are written, since an earlier version began it."""
        with self._writing() as run:
            found = run("SELECT key_check FROM series WHERE name = :series", series=self.series)
            return bool(found[0][0] == self._key_checks[1])

    def remembered(self, memory: int, *, before: str | None = None) -> tuple[History, int]:
        """Return the newest confirmed releases, `memory` of them at most, and the number of the newest one.

        Parameters
        ----------
        before : str, optional
            Id of a release that is made again: only those before it are remembered.
        """
        with self._writing() as run:
            known = [one for one in known_releases(run, self.series) if one.state == "confirmed"]
            again = next((place for place, one in enumerate(known) if one.release_id == before), len(known))
            known = known[:again]
            content = run("SELECT ids FROM series WHERE name = :series", series=self.series)[0][0]
            ids = np.frombuffer(content, np.uint8).reshape(-1, ID_BYTES).copy()
            releases = [release_of(run, self.series, one) for one in known[max(0, len(known) - memory) :]]
            return History(ids, releases), known[-1].number if known else 0

    def last_kept(self, *, before: str | None = None) -> tuple[NDArray[np.uint8], KeptRows | None]:
        """Return who is at which place, and the records of the newest confirmed release; None if there are none.

        Parameters
        ----------
        before : str, optional
            See `remembered`.

        Returns
        -------
        ids : uint8, shape (P, `ID_BYTES`)
        kept : KeptRows or None
        """
        history, _ = self.remembered(1, before=before)
        return history.ids, history.releases[-1].kept if history.releases else None

    def last_levels(self, *, before: str | None = None) -> dict[str, int] | None:
        """Return the levels of the newest confirmed release; None if there is none.

        Parameters
        ----------
        before : str, optional
            See `remembered`.
        """
        with self._writing() as run:
            known = [one for one in known_releases(run, self.series) if one.state == "confirmed"]
            again = next((place for place, one in enumerate(known) if one.release_id == before), len(known))
            if not again:
                return None
            rows = run(
                "SELECT facts FROM series_release WHERE series = :series AND number = :number",
                series=self.series,
                number=known[again - 1].number,
            )
            levels: dict[str, int] = json.loads(rows[0][0])["levels"]
            return levels

    def up_to(self, release_id: str, memory: int) -> tuple[NDArray[np.uint8], list[Remembered]]:
        """Return who is at which place, and the newest `memory` releases up to one, pending or confirmed.

        Returns
        -------
        ids : uint8, shape (P, `ID_BYTES`)
        releases : list of Remembered
            Oldest first, empty where the vault does not know the release.
        """
        with self._writing() as run:
            known = known_releases(run, self.series)
            last = next((place for place, one in enumerate(known) if one.release_id == release_id), None)
            if last is None:
                return np.zeros((0, ID_BYTES), np.uint8), []
            newest = replace(known[last], number=newest_of(run, self.series, known[last].number))
            wanted = [*known[max(0, last + 1 - memory) : last], newest]
            return ids_with(run, self.series, newest), [release_of(run, self.series, one) for one in wanted]

    def propose(self, proposal: Proposal) -> None:
        """Write a release as pending, in place of another proposal of the same release.

        One that is confirmed already was published, and is made again: what is out stays what is remembered, and the
        proposal is kept beside it, for whoever verifies it, until it is settled.

        Raises
        ------
        VaultRefused
            Also where another run has published, or is about to, since this one read the vault.
        """
        release = proposal.release
        with self._writing() as run:
            known = known_releases(run, self.series)
            others = [one for one in known if one.release_id != release.release_id]
            if any(one.number > proposal.after for one in others):
                raise _overtaken(self.series)
            again = any(one.release_id == release.release_id and one.state == "confirmed" for one in known)
            self._remove_again(run)
            self._remove(run, release.release_id)
            write_proposal(run, self.series, proposal, again=again)

    @contextmanager
    def confirming(self, release_id: str, memory: int) -> Iterator[None]:
        """Confirm a pending release after the block, in one transaction during which nobody else can settle it.

        Parameters
        ----------
        memory : int
            Releases that stay; older ones are removed, with the ids of persons who are in no other.

        Raises
        ------
        VaultRefused
            Also where it is not pending any more: then the block does not run.
        """
        with self._writing() as run:
            number = self._pending(run, release_id)
            yield
            confirm_release(run, self.series, number, memory)

    def confirm(self, release_id: str, memory: int) -> None:
        """Confirm a release that was published, if it is pending; see `confirming`."""
        with self._writing() as run:
            self._remove_again(run)
            found = next((one for one in known_releases(run, self.series) if one.release_id == release_id), None)
            if found is None:
                raise _gone(self.series, release_id)
            if found.state == "pending":
                confirm_release(run, self.series, found.number, memory)

    def refuse_settled(self, release_id: str) -> None:
        """Refuse to publish a release that the vault does not know any more.

        Raises
        ------
        VaultRefused
            Another run has begun and settled it.
        """
        with self._writing() as run:
            if all(one.release_id != release_id for one in known_releases(run, self.series)):
                raise _gone(self.series, release_id)

    def settle(self, was_published: Callable[[Known], bool], memory: int) -> list[Known]:
        """Confirm or remove what is pending, in one transaction, and return what is known then, oldest first.

        Parameters
        ----------
        was_published : callable
            Tells of a pending release whether it can be read; what it raises ends this, and nothing changes.
        """
        with self._writing() as run:
            self._remove_again(run)
            for one in known_releases(run, self.series):
                if one.state != "pending":
                    continue
                if was_published(one):
                    confirm_release(run, self.series, one.number, memory)
                else:
                    self._remove(run, one.release_id)
            return known_releases(run, self.series)

    def forget(self, ids: NDArray[np.uint8]) -> int:
        """Let nobody find a person any more, even with the key; return how many persons were known.

        The place stays, under a random id: in the releases that are out the person is still one of a class.

        Parameters
        ----------
        ids : uint8, shape (n, `ID_BYTES`)
        """
        with self._writing() as run:
            if any(one.state == "pending" for one in known_releases(run, self.series)):
                raise VaultRefused(
                    f"series {self.series}: a release is pending; let its run end, or run the job again, then forget"
                )
            content = run("SELECT ids FROM series WHERE name = :series", series=self.series)[0][0]
            known = np.frombuffer(content, np.uint8).reshape(-1, ID_BYTES).copy()
            found: list[int] = []
            for one in ids:
                for place in np.flatnonzero((known == one).all(axis=1)).tolist():
                    known[place] = np.frombuffer(secrets.token_bytes(ID_BYTES), np.uint8)
                    found.append(place)
            run("UPDATE series SET ids = :ids WHERE name = :series", ids=known.tobytes(), series=self.series)
            drop_kept(run, self.series, found)
            return len(found)

    def _pending(self, run: Statements, release_id: str) -> int:
        found = next((one for one in known_releases(run, self.series) if one.release_id == release_id), None)
        if found is None or found.state != "pending":
            raise _gone(self.series, release_id)
        return found.number

    def _remove(self, run: Statements, release_id: str) -> None:
        run(
            "DELETE FROM series_release WHERE series = :series AND release_id = :id AND state = 'pending'",
            series=self.series,
            id=release_id,
        )

    def _remove_again(self, run: Statements) -> None:
        run("DELETE FROM series_release WHERE series = :series AND number < 0", series=self.series)

    @contextmanager
    def _writing(self) -> Iterator[Statements]:
        """Give a transaction of a vault of this version that knows this series, with this key and this job."""
        with self._database.writing() as run:
            migrate(self._database, run)
            found = run("SELECT key_check, job_check FROM series WHERE name = :series", series=self.series)
            if not found:
                run(
                    "INSERT INTO series (name, key_check, job_check, ids) VALUES (:series, :key, :job, :ids)",
                    series=self.series,
                    key=self._key_checks[0],
                    job=self._job_check,
                    ids=b"",
                )
                found = [(self._key_checks[0], self._job_check)]
            if found[0][0] not in self._key_checks:
                raise VaultRefused(
                    f"series {self.series}: the vault was written with another key, by which nobody would be known "
                    "again; restore the key, or set series.begin to the name of a new series, about which nothing "
                    "before it is promised"
                )
            if found[0][1] != self._job_check:
                raise VaultRefused(
                    f"series {self.series}: the job has other models, columns, hierarchies or departures than its "
                    "earlier releases, which were judged by those; undo the change, or set series.begin to the name of "
                    "a new series: then nothing is promised about what differs between releases before and after it"
                )
            yield run


def knows_series(database: VaultDatabase, series: str) -> bool:
    """Tell whether a vault has a series, by whatever key.

    Raises
    ------
    VaultRefused
        The vault is unreachable or locked.
    """
    with database.writing() as run:
        if not database.has_table(run, "series_vault"):
            return False
        return bool(run("SELECT 1 FROM series WHERE name = :series", series=series))


def _gone(series: str, release_id: str) -> VaultRefused:
    return VaultRefused(
        f"series {series}: release {release_id} is not pending in the vault: another run began meanwhile; run again "
        "from the de-identification on"
    )


def _overtaken(series: str) -> VaultRefused:
    return VaultRefused(
        f"series {series}: another run has released meanwhile, or is about to, and this one does not know what; run "
        "again when it has ended"
    )
