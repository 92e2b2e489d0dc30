"""One column before and after: its distribution, and how much confidence intervals overlap.

In: the tally of a column. Out: its entry of the report, with all digits.

- A **quasi-identifier** is compared at its released labels; its mean by the middle of each label
  (`engine.usefulness.numbers`). Where each record has levels of its own (local recoding) labels overlap, so that there
  is a mean and no distribution.
- **Any other column** has its values in the file; they are compared because records may be left out.

A suppressed record shows no quasi-identifier, and no column at all where it is left out of the file. Means and shares
of the release are of the records that show one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.usefulness.distribution import binned, distribution
from engine.usefulness.document import ComparedColumn, LabelCount
from engine.usefulness.intervals import of_mean, of_proportion, overlap
from engine.usefulness.numbers import are_numbers, are_whole, numbers_of
from engine.usefulness.records import LeafTally, Tally

MOST_VALUES = 20
"""Distinct numbers up to which each is a label of its own; more are put into bins."""


def compared_generalized(
    builder: HierarchyBuilder, hierarchy: Hierarchy, level: int, tally: LeafTally, fewest: int
) -> ComparedColumn:
    """Compare a quasi-identifier of which all values have one level."""
    labels, codes = hierarchy.labels[level], hierarchy.codes[level]
    shown, unshown = (np.bincount(codes, weights=side, minlength=len(labels)).astype(np.int64) for side in tally.leaves)
    order = _in_order(builder, labels, level)
    told = distribution([labels[place] for place in order], shown[order], unshown[order], fewest)
    means = None
    if are_numbers(builder, _values(hierarchy)):
        before = numbers_of(builder, hierarchy.labels[0], [0], whole=True)
        after = numbers_of(builder, labels, [level], whole=are_whole(before))
        means = _overlap_of_means(before, tally.leaves.sum(axis=0)[: before.size], after, shown)
    return _entry(hierarchy.attribute, told, tally.leaves, means)


def compared_locally(
    builder: HierarchyBuilder, hierarchy: Hierarchy, labels: Sequence[Label], tally: LeafTally
) -> ComparedColumn:
    """Compare a quasi-identifier in which each record has a level of its own; `labels` are those of places."""
    means = None
    if are_numbers(builder, _values(hierarchy)):
        before = numbers_of(builder, hierarchy.labels[0], [0], whole=True)
        after = numbers_of(builder, labels, range(hierarchy.level_count), whole=are_whole(before))
        means = _overlap_of_means(before, tally.leaves.sum(axis=0)[: before.size], after, tally.cells)
    return _entry(hierarchy.attribute, [], tally.leaves, means)


def compared_as_it_is(name: str, tally: Tally, fewest: int) -> ComparedColumn:
    """Compare a column whose values are in the file."""
    known = list(tally.of_value)
    sides = np.array([tally.of_value[value] for value in known], np.int64).reshape(len(known), 2).T
    numbers = _numbers(known)
    if numbers is not None and (sides[0] > 0).sum() > MOST_VALUES:
        told = distribution(*binned(numbers, *sides), fewest)
    else:
        order = _by_value(known, numbers)
        told = distribution([_text(known[place]) for place in order], sides[0][order], sides[1][order], fewest)
    means = None if numbers is None else _overlap_of_means(numbers, sides.sum(axis=0), numbers, sides[0])
    return _entry(name, told, sides, means)


def _entry(name: str, told: list[LabelCount], sides: NDArray[np.int64], mean_overlap: float | None) -> ComparedColumn:
    shares = [
        overlap(of_proportion(one["before"], int(sides.sum())), of_proportion(one["after"], int(sides[0].sum())))
        for one in told
    ]
    return {
        "column": name,
        "records": int(sides.sum()),
        "labels": told,
        "suppressed": int(sides[1].sum()),
        "untold": 0,
        "step": 1,
        "mean_overlap": mean_overlap,
        "proportion_overlap": float(np.mean(shares)) if shares else None,
        "least_proportion_overlap": min(shares) if shares else None,
    }


def _overlap_of_means(
    before: NDArray[np.float64], records: NDArray[np.int64], after: NDArray[np.float64], shown: NDArray[np.int64]
) -> float | None:
    one, other = of_mean(before, records), of_mean(after, shown)
    return None if one is None or other is None else overlap(one, other)


def _values(hierarchy: Hierarchy) -> list[Label]:
    return [label for code, label in enumerate(hierarchy.labels[0]) if code != hierarchy.unseen_code]


def _in_order(builder: HierarchyBuilder, labels: Sequence[Label], level: int) -> list[int]:
    """Return places of labels by their order if they have one, others after them as they come."""
    places = [None if label is None else builder.place(label, level) for label in labels]
    return sorted(range(len(labels)), key=lambda code: (places[code] is None, places[code] or 0))


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
