"""The slow, obvious twin of the engine: every transformation of the lattice, record by record, in plain Python.

Follows the definitions literally. Used only by tests; shares no code with the engine.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Answer:
    """The best transformation by full enumeration."""

    levels: tuple[int, ...]
    loss: float
    suppressed: int


def generalize(hierarchy, value, level):
    """Return the label of a value: the last row that lists it counts."""
    return [row for row in hierarchy if row[0] == value][-1][level]


def share(hierarchy, label, level):
    """Return the share of rows that carry a label at a level."""
    return Fraction(sum(row[level] == label for row in hierarchy), len(hierarchy))


def factors(f):
    """Return g and s of the definitions."""
    f = Fraction(f).limit_denominator(1000)
    return (Fraction(1) if f <= Fraction(1, 2) else 1 - 2 * (f - Fraction(1, 2))), (
        2 * f if f < Fraction(1, 2) else Fraction(1)
    )


def failing(classes, models):
    """Return the keys of the classes that fail a model; a class is a list of records' sensitive mappings."""
    bad = set()
    for key, members in classes.items():
        for model in models:
            if model["model"] == "k-anonymity" and len(members) < model["k"]:
                bad.add(key)
            if model["model"] == "l-diversity" and len({m[model["attribute"]] for m in members}) < model["l"]:
                bad.add(key)
    return bad


def attribute_loss(measure, hierarchy, level, kept, suppressed, f):
    """Return the loss of one attribute; kept and suppressed are lists of leaf values."""
    g, s = factors(f)
    n = len(kept) + len(suppressed)
    if measure == "loss":
        size = len(hierarchy)
        if size == 1:
            return Fraction(0)
        total = Fraction(0)
        for values, gone in ((kept, False), (suppressed, True)):
            for value, count in Counter(values).items():
                part = share(hierarchy, generalize(hierarchy, value, level), level)
                total += count * (g * part + s * (1 - part) if gone else g * part)
        least = g * Fraction(n, size)
        return max(Fraction(0), (total - least) / (n - least))
    height = len(hierarchy[0]) - 1
    if height == 0:
        return Fraction(0)
    return (len(kept) * Fraction(level, height) * g + len(suppressed) * s) / n


def aggregate(name, losses, weights):
    """Combine the losses of the attributes."""
    top = max(weights)
    weighted = [float(x) * (w / top) for x, w in zip(losses, weights, strict=True)]
    if name == "arithmetic-mean":
        return sum(weighted) / len(weighted)
    if name == "geometric-mean":
        return math.prod(x + 1 for x in weighted) ** (1 / len(weighted)) - 1
    return sum(weighted) if name == "sum" else max(weighted)


def evaluate(records, hierarchies, levels, models, measure, combine, weights, f):
    """Return loss and suppressed records of one transformation; records are (tuple, sensitive mapping) pairs."""
    classes = defaultdict(list)
    for values, sensitive in records:
        key = tuple(generalize(h, v, x) for h, v, x in zip(hierarchies, values, levels, strict=True))
        classes[key].append((values, sensitive))
    bad = failing({key: [s for _, s in members] for key, members in classes.items()}, models)
    kept = [v for key, members in classes.items() if key not in bad for v, _ in members]
    gone = [v for key, members in classes.items() if key in bad for v, _ in members]
    losses = [
        attribute_loss(measure, h, levels[a], [v[a] for v in kept], [v[a] for v in gone], f)
        for a, h in enumerate(hierarchies)
    ]
    return aggregate(combine, losses, weights), len(gone)


def solve(records, hierarchies, models, limit, measure, combine, weights, f, low=None, high=None):
    """Enumerate the lattice; ties go to the lower sum of levels, then to the smaller vector."""
    low = low or [0] * len(hierarchies)
    high = high or [len(h[0]) - 1 for h in hierarchies]
    best = None
    for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        loss, suppressed = evaluate(records, hierarchies, levels, models, measure, combine, weights, f)
        if suppressed <= math.floor(limit * len(records)):
            key = (float(f"{loss:.12g}"), sum(levels), levels)
            if best is None or key < best[0]:
                best = (key, Answer(levels, loss, suppressed))
    return None if best is None else best[1]
