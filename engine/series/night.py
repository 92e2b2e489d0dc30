"""One night of a series: who of tonight's persons is released.

In: what the vault remembers, and for each of tonight's persons the keyed id, the class that he or she would have, and
the sensitive values. Out: who is released, in the order of the persons, and what the vault is to remember.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.privacy.model import PrivacyModel
from engine.series.held_back import released_of
from engine.series.kept import KeptRows
from engine.series.proposal import Proposal
from engine.series.remembered import ABSENT, Cohorts, History, Remembered, padded, told_apart
from engine.series.trace_groups import MISSING, Tonight


@dataclass(frozen=True, eq=False)
class Persons:
    """The n persons of tonight's table.

    Attributes
    ----------
    ids : uint8, shape (n, `ID_BYTES`)
    wanted : int32, shape (n,)
        Class that each would have, from 0; -1 for who is suppressed.
    values : mapping of attribute to int32, shape (n,)
        Code of each one's sensitive value among `hashes`.
    hashes : mapping of attribute to list of bytes
        Keyed hashes of the values; that of a missing one is empty.
    nights : int64, shape (n,)
        Releases since each was in the source; 0 for who is in it.
    """

    ids: NDArray[np.uint8]
    wanted: NDArray[np.int32]
    values: Mapping[str, NDArray[np.int32]]
    hashes: Mapping[str, Sequence[bytes]]
    nights: NDArray[np.int64]


class Figures(NamedTuple):
    """Numbers of persons.

    Attributes
    ----------
    held_back, covered : int
        Who wanted a class, is in the source and is not released: of no remembered release, and of some.
    suppressed : int
        Who is in the source and whose class fails.
    kept : int
        Who is released and not in the source any more.
    smallest : int or None
        Persons of the smallest group of equal traces.
    below : int
        Persons in groups that fail a model; 0 where departures are covered.
    gone : int
        Who is of a remembered release, and neither in the source any more nor released.
    """

    held_back: int
    covered: int
    suppressed: int
    kept: int
    smallest: int | None
    below: int
    gone: int


@dataclass(frozen=True, eq=False)
class Decided:
    """Who is released tonight.

    Attributes
    ----------
    released : bool, shape (n,)
    places : int64, shape (n,)
        Place of each person in the vault; -1 for who has none.
    """

    released: NDArray[np.bool_]
    places: NDArray[np.int64]
    figures: Figures


def decided(
    history: History,
    persons: Persons,
    models: Sequence[PrivacyModel],
    random: np.random.Generator,
    *,
    departures: bool,
    every: bool,
    changes: bool,
) -> Decided:
    """Decide who is released; see `engine.series.held_back`.

    Parameters
    ----------
    every : bool
        Whether the values of each remembered release are judged, and not only of the last one with a person.
    changes : bool
        Whether persons of whom other values changed, or on other nights, have other traces.

    Raises
    ------
    NoSolution
        The remembered releases did not satisfy the models.
    """
    places = history.places(persons.ids)
    new = places < 0
    size = history.size + int(new.sum())
    at = places.copy()
    at[new] = np.arange(history.size, size)
    compared = {one.sensitive_attribute for one in models if one.compares_with_table}
    tonight = _tonight(history, persons, at, size, compared, every=every, changes=changes)
    released, groups, failing = released_of(tonight, models, random, departures=departures)
    wanted, old, here = tonight.wanted >= 0, tonight.earlier > 0, ~tonight.gone
    absent = np.ones(size, np.bool_)
    absent[at] = False
    figures = Figures(
        int((here & wanted & ~released & ~old).sum()),
        int((here & wanted & ~released & old).sum()),
        int(((persons.wanted < 0) & (persons.nights == 0)).sum()),
        int((tonight.gone & released).sum()),
        int(groups.counts.min()) if groups.size else None,
        int(groups.counts[failing].sum()),
        int((old & (absent | (tonight.gone & ~released))).sum()),
    )
    return Decided(released[at], places, figures)


def proposal_of(
    history: History,
    after: int,
    persons: Persons,
    found: Decided,
    release_id: str,
    levels: Mapping[str, int],
    rows: pa.Table | None = None,
    cohorts: Cohorts | None = None,
) -> Proposal:
    """Return what the vault is to remember of a release.

    Parameters
    ----------
    after : int
        Number of the newest release of the history, 0 for none.
    rows : pyarrow Table, optional
        The records of who is released, of a series that keeps who is gone.
    cohorts : Cohorts, optional
        The levels of each of tonight's persons, of a release of mixed levels.
    """
    places = found.places.copy()
    new = np.flatnonzero(found.released & (places < 0))
    places[new] = history.free_places(new.size)
    inside = places[found.released]
    size = max(history.size, int(inside.max(initial=-1)) + 1)
    classes = np.full(size, ABSENT, np.int32)
    classes[inside] = persons.wanted[found.released]
    values = {}
    for name, codes in persons.values.items():
        values[name] = np.full(size, ABSENT, np.int32)
        values[name][inside] = codes[found.released]
    kept = None if rows is None else KeptRows(inside, persons.nights[found.released], rows)
    own = None
    if cohorts is not None:
        of_place = np.full(size, ABSENT, np.int32)
        of_place[inside] = cohorts.of_person[found.released]
        own = Cohorts(of_place, cohorts.levels)
    release = Remembered(release_id, dict(levels), classes, values, persons.hashes, kept, own)
    return Proposal(release, after, places[new], persons.ids[new])


def _tonight(
    history: History,
    persons: Persons,
    at: NDArray[np.int64],
    size: int,
    compared: Collection[str | None],
    *,
    every: bool,
    changes: bool,
) -> Tonight:
    earlier = np.zeros(size, np.int32)
    earlier[: history.size] = history.traces(list(persons.hashes) if changes else [])
    wanted = np.full(size, ABSENT, np.int32)
    wanted[at] = persons.wanted
    gone = np.zeros(size, np.bool_)
    gone[at] = persons.nights > 0
    now, last, all_hashes, totals = {}, {}, {}, {}
    then: list[dict[str, NDArray[np.int32]]] = [{} for _ in history.releases] if every else []
    since = np.full(size, -1, np.int32)
    since[: history.size] = history.last_releases()
    for name, hashes in persons.hashes.items():
        found = dict.fromkeys([*history.all_hashes(name), *hashes])
        missing = [MISSING] if MISSING in found else []
        together = [*missing, *(one for one in found if one != MISSING)]
        code = {one: number for number, one in enumerate(together)}
        now[name] = np.full(size, ABSENT, np.int32)
        now[name][at] = np.array([code[one] for one in hashes], np.int32)[persons.values[name]]
        last[name] = np.full(size, ABSENT, np.int32)
        last[name][: history.size] = history.last_values(name, together)
        all_hashes[name] = together
        if name in compared:
            totals[name] = history.totals(name, together)
        for number, values in enumerate(then):
            values[name] = padded(history.values(number, name, together), size)
    if changes:
        wanted = told_apart(wanted, [(last[name] != ABSENT) & (now[name] != last[name]) for name in now])
    return Tonight(earlier, wanted, now, last, all_hashes, gone, since, totals, then)
