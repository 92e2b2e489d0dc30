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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.errors import VaultRefused
from engine.series.kept import KeptRows
from engine.series.keyed_ids import ID_BYTES
from engine.series.packed_arrays import packed, unpacked
from engine.series.remembered import Cohorts, History, Remembered, padded
from engine.series.vault_database import Statements, VaultDatabase
from engine.series.vault_schema import MIGRATIONS, VERSION

State = Literal["pending", "confirmed"]
_AGAIN = "#again"


@dataclass(frozen=True, eq=False)
class Proposal:
    """A release that a run proposes.

    Attributes
    ----------
    release : Remembered
    after : int
        Number of the newest confirmed release that the run has seen, 0 for none.
    places : int64, shape (A,)
        Places of persons who are in no remembered release.
    ids : uint8, shape (A, `ID_BYTES`)
        Their keyed ids.
    facts : mapping
        What settles the proposal: plain data of whoever publishes it.
    """

    release: Remembered
    after: int
    places: NDArray[np.int64]
    ids: NDArray[np.uint8]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """A release in the vault, without what it remembers of persons.

    Attributes
    ----------
    number : int
        1, 2, 3, ... in the order of the series.
    facts : mapping
        As of `Proposal`.
    """

    number: int
    release_id: str
    state: State
    facts: Mapping[str, Any]


class Vault:
    """The vault of one series.

    Parameters
    ----------
    database : VaultDatabase
    series : str
        Name of the series.
    key_check, job_check : str
        Check values of the key and of what must not change within a series.
    """

    def __init__(self, database: VaultDatabase, series: str, key_check: str, job_check: str) -> None:
        self._database = database
        self.series = series
        self._key_check, self._job_check = key_check, job_check

    def known(self) -> list[Known]:
        """Return the releases of the series, oldest first; the last one may be pending.

        Raises
        ------
        VaultRefused
            As of every method: the vault is unreachable, locked, of a newer version of this package, of another key, or
            of a job that changed.
        """
        with self._writing() as run:
            return _known(run, self.series)

    def remembered(self, memory: int, *, before: str | None = None) -> tuple[History, int]:
        """Return the newest confirmed releases, `memory` of them at most, and the number of the newest one.

        Parameters
        ----------
        before : str, optional
            Id of a release that is made again: only those before it are remembered.
        """
        with self._writing() as run:
            known = [one for one in _known(run, self.series) if one.state == "confirmed"]
            again = next((place for place, one in enumerate(known) if one.release_id == before), len(known))
            known = known[:again]
            content = run("SELECT ids FROM series WHERE name = :series", series=self.series)[0][0]
            ids = np.frombuffer(content, np.uint8).reshape(-1, ID_BYTES).copy()
            releases = [_release(run, self.series, one) for one in known[max(0, len(known) - memory) :]]
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
            known = [one for one in _known(run, self.series) if one.state == "confirmed"]
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
            known = _known(run, self.series)
            last = next((place for place, one in enumerate(known) if one.release_id == release_id), None)
            if last is None:
                return np.zeros((0, ID_BYTES), np.uint8), []
            newest = replace(known[last], number=_newest_of(run, self.series, known[last].number))
            wanted = [*known[max(0, last + 1 - memory) : last], newest]
            return _ids(run, self.series, newest), [_release(run, self.series, one) for one in wanted]

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
            known = _known(run, self.series)
            others = [one for one in known if one.release_id != release.release_id]
            if any(one.number > proposal.after for one in others):
                raise _overtaken(self.series)
            again = any(one.release_id == release.release_id and one.state == "confirmed" for one in known)
            self._remove_again(run)
            self._remove(run, release.release_id)
            facts = {
                "levels": dict(release.levels),
                "hashes": {name: [one.hex() for one in hashes] for name, hashes in release.hashes.items()},
                "places": int(release.classes.size),
                "facts": dict(proposal.facts),
            }
            arrays = [release.classes, *(release.values[name] for name in release.hashes)]
            if release.cohorts is not None:
                facts["cohorts"] = [dict(levels) for levels in release.cohorts.levels]
                arrays.append(release.cohorts.of_person)
            run(
                "INSERT INTO series_release (series, number, release_id, state, facts, content, added, kept) "
                "VALUES (:series, :number, :id, 'pending', :facts, :content, :added, :kept)",
                series=self.series,
                number=-(proposal.after + 1) if again else proposal.after + 1,
                id=f"{release.release_id}{_AGAIN}" if again else release.release_id,
                facts=json.dumps(facts),
                content=packed(arrays),
                added=proposal.places.astype("<i8").tobytes() + np.ascontiguousarray(proposal.ids).tobytes(),
                kept=None if release.kept is None else release.kept.packed(),
            )

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
            _confirm(run, self.series, number, memory)

    def confirm(self, release_id: str, memory: int) -> None:
        """Confirm a release that was published, if it is pending; see `confirming`."""
        with self._writing() as run:
            self._remove_again(run)
            found = next((one for one in _known(run, self.series) if one.release_id == release_id), None)
            if found is None:
                raise _gone(self.series, release_id)
            if found.state == "pending":
                _confirm(run, self.series, found.number, memory)

    def refuse_settled(self, release_id: str) -> None:
        """Refuse to publish a release that the vault does not know any more.

        Raises
        ------
        VaultRefused
            Another run has begun and settled it.
        """
        with self._writing() as run:
            if all(one.release_id != release_id for one in _known(run, self.series)):
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
            for one in _known(run, self.series):
                if one.state != "pending":
                    continue
                if was_published(one):
                    _confirm(run, self.series, one.number, memory)
                else:
                    self._remove(run, one.release_id)
            return _known(run, self.series)

    def forget(self, ids: NDArray[np.uint8]) -> int:
        """Let nobody find a person any more, even with the key; return how many persons were known.

        The place stays, under a random id: in the releases that are out the person is still one of a class.

        Parameters
        ----------
        ids : uint8, shape (n, `ID_BYTES`)
        """
        with self._writing() as run:
            if any(one.state == "pending" for one in _known(run, self.series)):
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
            _drop_kept(run, self.series, found)
            return len(found)

    def _pending(self, run: Statements, release_id: str) -> int:
        found = next((one for one in _known(run, self.series) if one.release_id == release_id), None)
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
            _migrate(self._database, run)
            found = run("SELECT key_check, job_check FROM series WHERE name = :series", series=self.series)
            if not found:
                run(
                    "INSERT INTO series (name, key_check, job_check, ids) VALUES (:series, :key, :job, :ids)",
                    series=self.series,
                    key=self._key_check,
                    job=self._job_check,
                    ids=b"",
                )
                found = [(self._key_check, self._job_check)]
            if found[0][0] != self._key_check:
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


def _drop_kept(run: Statements, series: str, places: Sequence[int]) -> None:
    """Remove the records of persons."""
    rows = run(
        "SELECT number, kept FROM series_release WHERE series = :series AND kept IS NOT NULL",
        series=series,
    )
    for number, content in rows:
        kept = KeptRows.unpacked(bytes(content))
        run(
            "UPDATE series_release SET kept = :kept WHERE series = :series AND number = :number",
            kept=kept.where(~np.isin(kept.places, places)).packed(),
            series=series,
            number=number,
        )


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


def _migrate(database: VaultDatabase, run: Statements) -> None:
    version = run("SELECT version FROM series_vault")[0][0] if database.has_table(run, "series_vault") else 0
    if version > VERSION:
        raise VaultRefused(
            f"series: the vault is of version {version}, and this package knows {VERSION}; install the version of "
            "airflow-anon that wrote it"
        )
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            run(statement.format(blob=database.blob))
    if version < VERSION:
        run("UPDATE series_vault SET version = :version", version=VERSION)


def _known(run: Statements, series: str) -> list[Known]:
    rows = run(
        "SELECT number, release_id, state, facts FROM series_release "
        "WHERE series = :series AND number > 0 ORDER BY number",
        series=series,
    )
    return [Known(number, release_id, state, json.loads(facts)["facts"]) for number, release_id, state, facts in rows]


def _newest_of(run: Statements, series: str, number: int) -> int:
    """Return the number of what was proposed last of a release: of one that is made again minus its own."""
    found = run(
        "SELECT number FROM series_release WHERE series = :series AND number = :number", series=series, number=-number
    )
    return -number if found else number


def _release(run: Statements, series: str, known: Known) -> Remembered:
    rows = run(
        "SELECT facts, content, kept FROM series_release WHERE series = :series AND number = :number",
        series=series,
        number=known.number,
    )
    facts, content, kept = json.loads(rows[0][0]), rows[0][1], rows[0][2]
    classes, *values = unpacked(content, facts["places"])
    hashes = {name: [bytes.fromhex(one) for one in found] for name, found in facts["hashes"].items()}
    cohorts = Cohorts(values.pop(), facts["cohorts"]) if "cohorts" in facts else None
    by_name = dict(zip(hashes, values, strict=True))
    records = None if kept is None else KeptRows.unpacked(bytes(kept))
    return Remembered(known.release_id, facts["levels"], classes, by_name, hashes, records, cohorts)


def _classes(run: Statements, series: str, known: Known) -> NDArray[np.int32]:
    """Return the class of each person in a release."""
    rows = run(
        "SELECT facts, content FROM series_release WHERE series = :series AND number = :number",
        series=series,
        number=known.number,
    )
    return unpacked(rows[0][1], json.loads(rows[0][0])["places"], 1)[0]


def _confirm(run: Statements, series: str, number: int, memory: int) -> None:
    """Confirm a release, give its new persons their places, and remove what is older than the memory."""
    place = {"series": series, "number": number}
    whole = _ids(run, series, next(one for one in _known(run, series) if one.number == number))
    removed = run(
        "SELECT number FROM series_release WHERE series = :series AND number <= :number",
        series=series,
        number=number - memory,
    )
    run(
        "UPDATE series_release SET state = 'confirmed', added = :none WHERE series = :series AND number = :number",
        none=b"",
        **place,
    )
    run(
        "DELETE FROM series_release WHERE series = :series AND number <= :number",
        series=series,
        number=number - memory,
    )
    # the one before stays: by it anybody can verify the newest, and a run that is repeated goes on from it
    run(
        "UPDATE series_release SET kept = NULL WHERE series = :series AND number > 0 AND number < :number",
        series=series,
        number=number - 1,
    )
    if removed:
        gone = np.flatnonzero(whole.any(axis=1))
        for one in reversed(_known(run, series)):
            gone = gone[padded(_classes(run, series, one), whole.shape[0])[gone] < 0]
        whole[gone] = 0
    run("UPDATE series SET ids = :ids WHERE name = :series", ids=whole.tobytes(), series=series)


def _ids(run: Statements, series: str, known: Known) -> NDArray[np.uint8]:
    """Return who is at which place, those included whom a pending release adds."""
    content = run("SELECT ids FROM series WHERE name = :series", series=series)[0][0]
    ids = np.frombuffer(content, np.uint8).reshape(-1, ID_BYTES)
    rows = run(
        "SELECT added FROM series_release WHERE series = :series AND number = :number",
        series=series,
        number=known.number,
    )
    added = bytes(rows[0][0])
    size = len(added) // (8 + ID_BYTES)
    places = np.frombuffer(added[: 8 * size], "<i8")
    whole = np.zeros((max(ids.shape[0], int(places.max(initial=-1)) + 1), ID_BYTES), np.uint8)
    whole[: ids.shape[0]] = ids
    whole[places] = np.frombuffer(added[8 * size :], np.uint8).reshape(-1, ID_BYTES)
    return whole
