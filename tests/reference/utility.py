"""The slow, obvious twins of the utility measures, as the definitions say, in fractions up to the first logarithm.

A transformation is a mapping of class to its records, tuples of leaf values, and the set of its suppressed classes.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from tests.reference.tuples import UNSEEN

ATTRIBUTE_WISE = ("loss", "non-uniform-entropy", "precision", "height")
CLASS_WISE = ("discernibility", "average-class-size", "ambiguity", "kl-divergence")


def generalize(hierarchy, value, level):
    """Return the label of a value: the last row that lists it counts, and one without a row becomes the root."""
    if value is UNSEEN:
        return hierarchy[0][-1]
    return [row for row in hierarchy if row[0] == value][-1][level]


def share(hierarchy, value, level):
    """Return the share of rows that carry the label of a value at a level; one without a row may be any of them."""
    if value is UNSEEN:
        return Fraction(1)
    label = generalize(hierarchy, value, level)
    return Fraction(sum(row[level] == label for row in hierarchy), len(hierarchy))


def factors(f):
    """Return g and s of the definitions."""
    f = Fraction(str(f))
    half = Fraction(1, 2)
    return (Fraction(1) if f <= half else 1 - 2 * (f - half)), (2 * f if f < half else Fraction(1))


def loss(hierarchy, level, kept, suppressed, f):
    g, s = factors(f)
    size, n = len(hierarchy), len(kept) + len(suppressed)
    if size == 1:
        return Fraction(0)
    parts = {value: share(hierarchy, value, level) for value in {*kept, *suppressed}}
    total = sum(g * parts[v] for v in kept) + sum(parts[v] + s * (1 - parts[v]) for v in suppressed)
    least = g * Fraction(n, size)
    return max(Fraction(0), (total - least) / (n - least))


def precision(hierarchy, level, kept, suppressed, f):
    g, s = factors(f)
    height = len(hierarchy[0]) - 1
    if height == 0:
        return Fraction(0)
    return (len(kept) * Fraction(level, height) * g + len(suppressed) * s) / (len(kept) + len(suppressed))


def non_uniform_entropy(hierarchy, level, kept, suppressed, f):
    g, s = factors(f)
    leaves = Counter([*kept, *suppressed])
    labels = Counter(generalize(hierarchy, v, level) for v in leaves.elements())
    open_bits = -math.fsum(
        count * math.log2(Fraction(count, labels[generalize(hierarchy, v, level)])) for v, count in leaves.items()
    )
    gone = Counter(generalize(hierarchy, v, level) for v in suppressed)
    lost_bits = -math.fsum(count * math.log2(Fraction(count, len(suppressed))) for count in gone.values())
    return g * open_bits + s * lost_bits


def height(hierarchy, level, kept, suppressed, f):
    return Fraction(level)


_ATTRIBUTE = {"loss": loss, "precision": precision, "non-uniform-entropy": non_uniform_entropy, "height": height}


def attribute_loss(measure, hierarchy, level, kept, suppressed, f):
    """Return the loss of one attribute; kept and suppressed are lists of leaf values."""
    return _ATTRIBUTE[measure](hierarchy, level, kept, suppressed, f)


def aggregate(name, losses, weights):
    """Combine the losses of the attributes; ranked ones are compared from the largest on."""
    if name == "arithmetic-mean":
        return float(
            sum(Fraction(float(x)) * Fraction(w) for x, w in zip(losses, weights, strict=True))
            / sum(map(Fraction, weights))
        )
    top = max(weights)
    weighted = [float(x) * (w / top) for x, w in zip(losses, weights, strict=True)]
    if name == "rank":
        return tuple(sorted(weighted, reverse=True))
    if name == "geometric-mean":
        return math.prod(x + 1 for x in weighted) ** (1 / len(weighted)) - 1
    return sum(weighted) if name == "sum" else max(weighted)


def combinations(hierarchies, values, levels):
    """Count the combinations of leaves that a record may stand for."""
    return math.prod(share(h, v, level) * len(h) for h, v, level in zip(hierarchies, values, levels, strict=True))


def discernibility(classes, bad, hierarchies, levels, f):
    n = sum(map(len, classes.values()))
    return sum(n * len(members) if key in bad else len(members) ** 2 for key, members in classes.items())


def average_class_size(classes, bad, hierarchies, levels, f):
    g, s = factors(f)
    divisor = (len(classes) - len(bad)) * s + (g if bad else 0)
    return Fraction(sum(map(len, classes.values()))) / divisor if divisor else math.inf


def ambiguity(classes, bad, hierarchies, levels, f):
    everything = math.prod(map(len, hierarchies))
    return sum(
        everything if key in bad else combinations(hierarchies, values, levels)
        for key, members in classes.items()
        for values in members
    )


def kl_divergence(classes, bad, hierarchies, levels, f):
    n = sum(map(len, classes.values()))
    gone = sum(len(classes[key]) for key in bad)
    tuples = Counter(values for members in classes.values() for values in members)
    bits = []
    for key, members in classes.items():
        for values in members:
            p = Fraction(tuples[values], n)
            if key in bad:
                q = Fraction(gone, n) / math.prod(map(len, hierarchies))
            else:
                q = Fraction(len(members), n) / combinations(hierarchies, values, levels)
            bits.append(float(p) * math.log2(p / q))
    return math.fsum(bits)


_CLASSES = {
    "discernibility": discernibility,
    "average-class-size": average_class_size,
    "ambiguity": ambiguity,
    "kl-divergence": kl_divergence,
}


def information_loss(classes, bad, hierarchies, levels, measure, combine, weights, f):
    """Return the information loss of a transformation, infinity where the definitions divide by zero."""
    if measure in _CLASSES:
        return float(_CLASSES[measure](classes, bad, hierarchies, levels, f))
    kept = [v for key, members in classes.items() if key not in bad for v in members]
    gone = [v for key, members in classes.items() if key in bad for v in members]
    losses = [
        attribute_loss(measure, h, levels[a], [v[a] for v in kept], [v[a] for v in gone], f)
        for a, h in enumerate(hierarchies)
    ]
    return aggregate(combine, losses, weights)


def class_loss(members, n, hierarchies, levels, measure, combine, weights, f):
    """Return what keeping a class loses, exactly and in a form that compares; None where the measure has no say.

    `members` are the leaf tuples of its records, `n` counts those of the table. Loss: the shares of the released
    values above those of leaves, normalized as the loss of the table is, but not weighed against suppression.
    """
    if measure == "ambiguity":
        return sum(combinations(hierarchies, values, levels) for values in members)
    if measure != "loss":
        return None
    g, _ = factors(f)
    losses = []
    for a, (rows, weight) in enumerate(zip(hierarchies, weights, strict=True)):
        size = len(rows)
        above = sum(share(rows, values[a], levels[a]) * size - 1 for values in members)
        lost = above / (n * (size - g)) if size > 1 else Fraction(0)
        losses.append(lost * Fraction(weight) / Fraction(max(weights)))
    if combine == "rank":
        return sorted(losses, reverse=True)
    if combine == "maximum":
        return max(losses)
    # the mean orders classes as the sum does, and the root as the product under it
    return math.prod(loss + 1 for loss in losses) if combine == "geometric-mean" else sum(losses)
