"""Who is released tonight: the trace condition, by holding back who arrives and withholding covers of who left.

In: the earlier traces, the classes that persons would have tonight, and the models. Out: who is released, so that the
persons with one trace satisfy the models, for every trace that is not absent throughout (definitions: Series; after
Byun, Sohn, Bertino, Li, Secure anonymization for incremental datasets, SDM 2006, and Xiao, Tao, m-invariance, SIGMOD
2007, who wait for arrivals and add counterfeits).

Who is withheld stays so while the releases in which he or she was are remembered, unless a whole class of them can come
back and what is left is one: any two remembered nights can be subtracted, so a cover that comes back alone would show
whom it covered. The condition itself decides that; nobody is marked as a cover.

A set of persons with one earlier trace satisfied the models when it was released. So if nothing smaller does, all of
them are withheld, and the condition holds again: the loop ends, because persons are only ever taken out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import NoSolution
from engine.privacy.model import PrivacyModel
from engine.series.trace_groups import Tonight, TraceGroups

_CHANCE = 31
"""Bits of the number by which chance orders persons; groups take the other ones."""
BROKEN = (
    "series: persons of earlier releases satisfy no model of the job any more, whoever is withheld: the vault is not "
    "that of this series, or was changed; restore it, or set series.begin to the name of a new series, about which "
    "nothing before it is promised"
)


def released_of(
    tonight: Tonight, models: Sequence[PrivacyModel], random: np.random.Generator, *, departures: bool
) -> tuple[NDArray[np.bool_], TraceGroups, NDArray[np.bool_]]:
    """Decide who is released.

    Parameters
    ----------
    models : sequence of PrivacyModel
        Those of the job, all monotone.
    random : numpy Generator
        Chooses covers; seeded by the operating system, so that nobody can tell who is one.
    departures : bool
        Whether departures and moves are covered; if not, only arrivals are held back.

    Returns
    -------
    released : bool, shape (P,)
    groups : TraceGroups
        Those of tonight.
    failing : bool, shape (G,)
        Which of them fail a model: none where departures are covered.

    Raises
    ------
    NoSolution
        The remembered releases did not satisfy the models.
    """
    released = (tonight.wanted >= 0) & ~_leaving(tonight, models)
    least = max(model.minimum_class_size for model in models)
    step = 1
    while True:
        groups = tonight.groups(released)
        failing = groups.failing(models)
        avoided = failing if departures else failing & (groups.of_groups(tonight.earlier) == 0)
        if not avoided.any():
            return released, groups, failing
        of_person = np.append(avoided, False)[groups.group]
        out = of_person & released
        if not out.any():
            out = _covers(tonight, released, groups, of_person, least, step, random)
            step *= 2
            if not out.any():
                raise NoSolution(BROKEN)
        released = released & ~out


def _leaving(tonight: Tonight, models: Sequence[PrivacyModel]) -> NDArray[np.bool_]:
    """Return who of those who are gone leaves the release, bool, shape (P,).

    Of each earlier trace either all go, where that leaves each class of it as good as it was, or all are kept.
    """
    stays = tonight.wanted >= 0
    gone = tonight.gone & stays
    if not gone.any():
        return gone
    groups = tonight.groups(stays & ~gone)
    failing = np.append(groups.failing(models), False)[groups.group]
    hinders = np.zeros(int(tonight.earlier.max(initial=0)) + 1, np.bool_)
    hinders[tonight.earlier[failing]] = True
    leaving: NDArray[np.bool_] = gone & ~hinders[tonight.earlier]
    return leaving


def _covers(
    tonight: Tonight,
    released: NDArray[np.bool_],
    groups: TraceGroups,
    failing: NDArray[np.bool_],
    least: int,
    step: int,
    random: np.random.Generator,
) -> NDArray[np.bool_]:
    """Return who is withheld so that those who are absent tonight, and fail, become larger groups, bool, shape (P,).

    Of each earlier trace with too few absent persons, those go first that a class can spare, and of them who is gone
    from the source; else its smallest class.
    """
    number = int(tonight.earlier.max(initial=0)) + 1
    short = np.zeros(number, np.bool_)
    short[tonight.earlier[failing]] = True
    absent = np.bincount(tonight.earlier[failing], minlength=number)
    need = np.where(short, np.maximum(least - absent, step), 0)
    pool = np.flatnonzero(released & short[tonight.earlier])
    if not pool.size:
        return np.zeros(released.size, np.bool_)
    sizes = groups.counts[groups.group[pool]]
    order = _order(tonight, groups, pool, random)
    pool, sizes = pool[order], sizes[order]
    trace, group = tonight.earlier[pool], groups.group[pool]
    spare = _rank(group) < sizes - least
    position = np.cumsum(spare) - 1
    before = np.zeros(number, np.int64)
    np.add.at(before, trace, spare.astype(np.int64))
    first = np.concatenate([[0], np.cumsum(before)])[:-1]
    enough = before >= need
    chosen = spare & enough[trace] & (position - first[trace] < need[trace])
    smallest = np.zeros(number, np.int64)
    smallest[trace] = group  # sizes descend within a trace: the last one is of the smallest class
    chosen |= ~enough[trace] & (group == smallest[trace])
    out = np.zeros(released.size, np.bool_)
    out[pool[chosen]] = True
    return out


def _order(
    tonight: Tonight, groups: TraceGroups, pool: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Return the order of persons by earlier trace, the larger classes first, in each who is gone, then by chance."""
    rank = np.empty(groups.size, np.int64)
    rank[np.lexsort((-groups.counts, groups.of_groups(tonight.earlier)))] = np.arange(groups.size)
    # one number per person sorts several times as fast as four
    keys = (rank[groups.group[pool]] << 1 | ~tonight.gone[pool]) << _CHANCE | random.integers(
        1 << _CHANCE, size=pool.size
    )
    return np.argsort(keys)


def _rank(group: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the place of each entry among its neighbours of the same group, from 0."""
    begins = np.append(True, group[1:] != group[:-1])[: group.size]
    first = np.flatnonzero(begins)
    return np.arange(group.size) - np.repeat(first, np.diff(np.append(first, group.size)))
