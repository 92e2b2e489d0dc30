"""The releases of a series in the tables of a vault: written, read, confirmed, and relieved of who is forgotten.

In: a transaction, and the name of the series. Out: what is known of its releases; or, changed within the transaction,
which of them are confirmed, and whose places and records the vault keeps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.series.kept import KeptRows
from engine.series.keyed_ids import ID_BYTES
from engine.series.packed_arrays import packed, unpacked
from engine.series.proposal import Proposal
from engine.series.remembered import Cohorts, Remembered, padded
from engine.series.vault_database import Statements

State = Literal["pending", "confirmed"]
_AGAIN = "#again"


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


def known_releases(run: Statements, series: str) -> list[Known]:
    """Return the releases of a series, oldest first; the last one may be pending."""
    rows = run(
        "SELECT number, release_id, state, facts FROM series_release "
        "WHERE series = :series AND number > 0 ORDER BY number",
        series=series,
    )
    return [Known(number, release_id, state, json.loads(facts)["facts"]) for number, release_id, state, facts in rows]


def newest_of(run: Statements, series: str, number: int) -> int:
    """Return the number of what was proposed last of a release: of one that is made again minus its own."""
    found = run(
        "SELECT number FROM series_release WHERE series = :series AND number = :number", series=series, number=-number
    )
    return -number if found else number


def release_of(run: Statements, series: str, known: Known) -> Remembered:
    """Return what the vault remembers of a release."""
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


def write_proposal(run: Statements, series: str, proposal: Proposal, *, again: bool) -> None:
    """Write a release as pending; of one that is made `again` beside what is published of it."""
    release = proposal.release
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
        series=series,
        number=-(proposal.after + 1) if again else proposal.after + 1,
        id=f"{release.release_id}{_AGAIN}" if again else release.release_id,
        facts=json.dumps(facts),
        content=packed(arrays),
        added=proposal.places.astype("<i8").tobytes() + np.ascontiguousarray(proposal.ids).tobytes(),
        kept=None if release.kept is None else release.kept.packed(),
    )


def confirm_release(run: Statements, series: str, number: int, memory: int) -> None:
    """Confirm a release, give its new persons their places, and remove what is older than the memory."""
    place = {"series": series, "number": number}
    whole = ids_with(run, series, next(one for one in known_releases(run, series) if one.number == number))
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
        for one in reversed(known_releases(run, series)):
            gone = gone[padded(_classes(run, series, one), whole.shape[0])[gone] < 0]
        whole[gone] = 0
    run("UPDATE series SET ids = :ids WHERE name = :series", ids=whole.tobytes(), series=series)


def ids_with(run: Statements, series: str, known: Known) -> NDArray[np.uint8]:
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


def drop_kept(run: Statements, series: str, places: Sequence[int]) -> None:
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
