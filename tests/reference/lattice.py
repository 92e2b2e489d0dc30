"""The slow, obvious twin of the search: every transformation of the lattice, record by record, in plain Python.

Follows the definitions literally. Used only by tests; shares no code with the engine.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

from tests.reference.privacy import failing
from tests.reference.utility import generalize, information_loss


@dataclass(frozen=True)
class Answer:
    """The best transformation by full enumeration."""

    levels: tuple[int, ...]
    loss: float
    suppressed: int


def grouped(records, hierarchies, levels):
    """Return the equivalence classes of a transformation; records are (tuple, sensitive mapping) pairs."""
    classes = defaultdict(list)
    for values, sensitive in records:
        key = tuple(generalize(h, v, x) for h, v, x in zip(hierarchies, values, levels, strict=True))
        classes[key].append((values, sensitive))
    return dict(classes)


def evaluate(records, hierarchies, levels, models, measure, combine, weights, f, tree=None):
    """Return loss and suppressed records of one transformation; `tree` is the hierarchy of the sensitive attribute."""
    classes = grouped(records, hierarchies, levels)
    bad = failing({key: [s for _, s in members] for key, members in classes.items()}, models, tree)
    values = {key: [v for v, _ in members] for key, members in classes.items()}
    loss = information_loss(values, bad, hierarchies, levels, measure, combine, weights, f)
    return loss, sum(len(classes[key]) for key in bad)


def solve(records, hierarchies, models, limit, measure, combine, weights, f, tree=None, low=None, high=None):
    """Enumerate the lattice; ties go to the lower sum of levels, then to the smaller vector.

    An infinite loss is worse than any number, but a solution.
    """
    low = low or [0] * len(hierarchies)
    high = high or [len(h[0]) - 1 for h in hierarchies]
    best = None
    for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        loss, suppressed = evaluate(records, hierarchies, levels, models, measure, combine, weights, f, tree)
        if suppressed <= math.floor(limit * len(records)):
            key = (float(f"{loss:.12g}"), sum(levels), levels)
            if best is None or key < best[0]:
                best = (key, Answer(levels, loss, suppressed))
    return None if best is None else best[1]
