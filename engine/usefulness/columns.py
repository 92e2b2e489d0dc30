"""One column before and after: its distribution, and how much confidence intervals overlap.

In: the tally of a column. Out: its entry of the report, with all digits.

- A **quasi-identifier** is compared at its released labels; its mean by the middle of each label
  (`engine.usefulness.numbers`). Where each record has levels of its own (local recoding) labels overlap, so that there
  is a mean and no distribution.
- **Any other column** has its values in the file; they are compared because records may be left out.

A suppressed record shows no quasi-identifier, and no column at all where it is left out of the file. Means and shares
of the release are of the records that show one. Numbers of the source count as the nearest one that a label of the file
may mean, so that none moves a mean by more than is known.

With a subject a mean is that of the persons' means, and what suppressed records would have to be counted for is left
out, with the reason (`engine.usefulness.published`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.usefulness.distribution import binned, distribution, overlap_of_shares
from engine.usefulness.document import ComparedColumn, LabelCount
from engine.usefulness.intervals import moved_by_one, of_mean, overlap
from engine.usefulness.numbers import are_numbers, are_whole, numbers_of, span_of
from engine.usefulness.persons import means
from engine.usefulness.records import LeafTally, Tally

MOST_VALUES = 20
"""Distinct numbers up to which each is a label of its own; more are put into bins."""
ONLY_SUPPRESSED = (
    "without suppressed records source and file are the same here, and with them it would tell which values records of "
    "few persons have"
)
NOT_TOLD = {
    "before": "suppressed records of one person may have several labels, so that a count of them may be of few persons",
    "proportion_overlap": ONLY_SUPPRESSED,
}
"""Figures of every column that are left out where persons are counted, and why."""
NO_MEAN = {"mean_overlap": ONLY_SUPPRESSED}
NO_LABELS = {
    "labels": "a value that many records have may be of few persons, and to list those of many would tell which; "
    "max_rows bounds the records of a person",
}


class OfPersons(NamedTuple):
    """Records of which each is of a person.

    Attributes
    ----------
    persons : int64, shape (records,)
    leaves : int32, shape (records,)
        Leaf codes of a quasi-identifier.
    """

    persons: NDArray[np.int64]
    leaves: NDArray[np.int32]


def compared_generalized(
    builder: HierarchyBuilder,
    hierarchy: Hierarchy,
    level: int,
    tally: LeafTally,
    fewest: int,
    of_persons: OfPersons | None = None,
) -> ComparedColumn:
    """Compare a quasi-identifier of which all values have one level; with the records of persons, by person."""
    labels, codes = hierarchy.labels[level], hierarchy.codes[level]
    shown, unshown = (np.bincount(codes, weights=side, minlength=len(labels)).astype(np.int64) for side in tally.leaves)
    order = _in_order(builder, labels, level)
    told = distribution([labels[place] for place in order], shown[order], unshown[order], fewest)
    compared = None
    if are_numbers(builder, _values(hierarchy)):
        before = numbers_of(builder, hierarchy.labels[0], [0], whole=True)
        after = numbers_of(builder, labels, [level], whole=are_whole(before, tally.leaves[0][: before.size]))
        span = span_of(builder, [labels[code] for code in np.flatnonzero(shown).tolist()], [level])
        if of_persons is None:
            compared = _means(before, tally.leaves.sum(axis=0)[: before.size], after, shown, span)
        else:
            compared = _means_of_persons(before, after, codes, of_persons, span)
    entry = _entry(hierarchy.attribute, told, tally.leaves, compared)
    return entry if of_persons is None else {**_without_shares(entry), "not_told": {**NOT_TOLD}}


def compared_locally(
    builder: HierarchyBuilder, hierarchy: Hierarchy, labels: Sequence[Label], tally: LeafTally
) -> ComparedColumn:
    """Compare a quasi-identifier in which each record has a level of its own; `labels` are those of places."""
    compared = None
    if are_numbers(builder, _values(hierarchy)):
        levels = range(hierarchy.level_count)
        before = numbers_of(builder, hierarchy.labels[0], [0], whole=True)
        after = numbers_of(builder, labels, levels, whole=are_whole(before, tally.leaves[0][: before.size]))
        span = span_of(builder, [labels[place] for place in np.flatnonzero(tally.cells).tolist()], levels)
        compared = _means(before, tally.leaves.sum(axis=0)[: before.size], after, tally.cells, span)
    return _entry(hierarchy.attribute, [], tally.leaves, compared)


def compared_as_it_is(name: str, tally: Tally, fewest: int | None, *, by_person: bool = False) -> ComparedColumn:
    """Compare a column whose values are in the file.

    Parameters
    ----------
    fewest : int or None
        Records of a label that is listed; None where no number of them is enough.
    by_person : bool
        Of a job with a subject: nothing but the distribution in the file.
    """
    known = list(tally.of_value)
    sides = np.array([tally.of_value[value] for value in known], np.int64).reshape(len(known), 2).T
    numbers = _numbers(known)
    if fewest is None:
        told = []
    elif numbers is not None and (sides[0] > 0).sum() > MOST_VALUES:
        told = distribution(*binned(numbers, *sides), fewest)
    else:
        order = _by_value(known, numbers)
        told = distribution([_text(known[place]) for place in order], sides[0][order], sides[1][order], fewest)
    if by_person:
        reasons = {**NOT_TOLD, **NO_MEAN, **(NO_LABELS if fewest is None else {})}
        return {**_without_shares(_entry(name, told, sides, None)), "not_told": reasons}
    shown = np.empty(0) if numbers is None else numbers[(sides[0] > 0) & ~np.isnan(numbers)]
    compared = None
    if numbers is not None and shown.size:
        compared = _means(numbers, sides.sum(axis=0), numbers, sides[0], (float(shown.min()), float(shown.max())))
    return _entry(name, told, sides, compared)


def _entry(
    name: str, told: list[LabelCount], sides: NDArray[np.int64], compared: tuple[float, float] | None
) -> ComparedColumn:
    shares = overlap_of_shares(told, int(sides.sum()), int(sides[0].sum()))
    return {
        "column": name,
        "records": int(sides.sum()),
        "labels": told,
        "suppressed": int(sides[1].sum()),
        "untold": 0,
        "step": 1,
        "mean_overlap": None if compared is None else compared[0],
        "mean_moved": None if compared is None else compared[1],
        "proportion_overlap": None if shares is None else shares[0],
        "least_proportion_overlap": None if shares is None else shares[1],
    }


def _without_shares(entry: ComparedColumn) -> ComparedColumn:
    return {**entry, "proportion_overlap": None, "least_proportion_overlap": None}


def _means(
    before: NDArray[np.float64],
    records: NDArray[np.int64],
    after: NDArray[np.float64],
    shown: NDArray[np.int64],
    span: tuple[float, float] | None,
) -> tuple[float, float] | None:
    """Return how much the intervals of two means overlap, and what one value can change that by.

    Parameters
    ----------
    before, after : float64
        Distinct values, with how many there are of each.
    span : pair of float, or None
        Between which all values after are; those before are cut to it.
    """
    if span is None:
        return None
    one, other = of_mean(np.clip(before, *span), records), of_mean(after, shown)
    if one is None or other is None:
        return None
    return overlap(one.interval, other.interval), moved_by_one(one, other, span[1] - span[0])


def _means_of_persons(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    codes: NDArray[np.int32],
    records: OfPersons,
    span: tuple[float, float] | None,
) -> tuple[float, float] | None:
    """Return the same of the means of persons; `codes` are those of the label of each leaf."""
    if span is None:
        return None
    # a value that is not in the hierarchy has a leaf beyond its labels
    values = np.append(np.clip(before, *span), np.full(codes.size - before.size, np.nan))
    one, other = (
        means(of_code[at], records.persons)
        for of_code, at in ((values, records.leaves), (after, codes[records.leaves]))
    )
    return _means(one, np.ones(one.size, np.int64), other, np.ones(other.size, np.int64), span)


def _values(hierarchy: Hierarchy) -> list[Label]:
    return [label for code, label in enumerate(hierarchy.labels[0]) if code != hierarchy.unseen_code]


def _in_order(builder: HierarchyBuilder, labels: Sequence[Label], level: int) -> list[int]:
    """Return places of labels by their order if they have one, others after them by their text, a missing one last."""
    places = [None if label is None else builder.place(label, level) for label in labels]
    return sorted(
        range(len(labels)),
        key=lambda code: (labels[code] is None, places[code] is None, places[code] or 0, labels[code] or ""),
    )


def _by_value(known: Sequence[object], numbers: NDArray[np.float64] | None) -> list[int]:
    keys = [str(value) for value in known] if numbers is None else numbers.tolist()
    return sorted(range(len(known)), key=lambda place: (known[place] is None, keys[place]))


def _numbers(known: Sequence[object]) -> NDArray[np.float64] | None:
    """Return values as numbers, NaN for a missing one; None where one is no number, or all are missing."""
    found = [float("nan") if value is None else value for value in known if value is None or isinstance(value, float)]
    there = any(value is not None for value in known)
    return np.array(found, np.float64) if len(found) == len(known) and there else None


def _text(value: object) -> Label:
    if value is None:
        return None
    return f"{value:.15g}" if isinstance(value, float) else str(value)
