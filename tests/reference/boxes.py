"""The slow, obvious twin of the boxes of the default search: record by record, with dictionaries and fractions.

A box is all level vectors from `low` to `high`. Records are tuples of leaf values, hierarchies lists of rows, as in
`tests.reference.lattice`. Shares no code with the engine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction

from tests.reference.utility import attribute_loss, generalize


@dataclass(frozen=True)
class WholeCosts:
    """Costs as whole numbers.

    `base` is what all records cost at the lowest levels of the lattice, `rises[a][level]` what attribute a costs more
    at a level, `more[a][level][label]` what a record with that label costs more if it is suppressed.
    """

    base: int
    rises: list
    more: list


def key_of(record, hierarchies, levels):
    """Return the labels of a record."""
    return tuple(generalize(rows, leaf, x) for rows, leaf, x in zip(hierarchies, record, levels, strict=True))


def members(records, hierarchies, levels):
    """Return the records of each class of a transformation."""
    found = defaultdict(list)
    for record in records:
        found[key_of(record, hierarchies, levels)].append(record)
    return dict(found)


def suppressed(records, hierarchies, levels, minimum):
    """Return the records in classes below a size."""
    classes = members(records, hierarchies, levels).values()
    return [record for those in classes if len(those) < minimum for record in those]


def weight(costs, key, levels):
    """Return what a record with these labels costs more if it is suppressed."""
    return sum(costs.more[a][level][label] for a, (level, label) in enumerate(zip(levels, key, strict=True)))


def whole_cost(costs, hierarchies, levels, gone):
    """Return the whole-number cost of generalizing everything to some levels while these records are suppressed."""
    rise = sum(costs.rises[a][level] for a, level in enumerate(levels))
    return costs.base + rise + sum(weight(costs, key_of(record, hierarchies, levels), levels) for record in gone)


def undecided(records, hierarchies, low, high, minimum, costs):
    """Return the rows of a box by class, both in a sorted list: (labels, records, weight).

    A row is the records that look alike at `low`; of its labels those of attributes with more than one level are
    given. Classes of `high` that fail are left out, as are those in which every row has enough records by itself.
    """
    found = []
    for those in members(records, hierarchies, high).values():
        rows = Counter(key_of(record, hierarchies, low) for record in those)
        if len(those) < minimum or min(rows.values()) >= minimum:
            continue
        free = [a for a, (bottom, top) in enumerate(zip(low, high, strict=True)) if bottom < top]
        found.append(sorted((tuple(key[a] for a in free), n, n * weight(costs, key, low)) for key, n in rows.items()))
    return sorted(found)


def exact_loss(problem, levels, gone):
    """Return the loss of a transformation that suppresses these records, as a fraction; means and sums alone."""
    kept = Counter(values for values, _ in problem["records"])
    kept.subtract(gone)
    left = list(kept.elements())
    losses = [
        Fraction(
            attribute_loss(problem["measure"], rows, level, [v[a] for v in left], [v[a] for v in gone], problem["f"])
        )
        for a, (rows, level) in enumerate(zip(problem["hierarchies"], levels, strict=True))
    ]
    weights = [Fraction(each) for each in problem["weights"]]
    total = sum(loss * each for loss, each in zip(losses, weights, strict=True))
    return total / (sum(weights) if problem["combine"] == "arithmetic-mean" else max(weights))
