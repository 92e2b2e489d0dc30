"""Groups of alike records, noise and randomization by the words of their papers, slowly."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist, stdev


def mdav(records, k):
    """Return groups of records, sets of places, by MDAV-generic; distances must not tie.

    Domingo-Ferrer, Torra 2005: while 3k records or more are left, the record farthest from their average and its k - 1
    nearest are a group, and so are the record farthest from that record and its k - 1 nearest; of 2k to 3k - 1 one more
    group is made about the record farthest from the average; the rest is a group.
    """
    left, groups = set(range(len(records))), []

    def average():
        return [math.fsum(records[i][a] for i in left) / len(left) for a in range(len(records[0]))]

    def about(seed):
        near = set(sorted(left, key=lambda i: math.dist(records[i], records[seed]))[:k])
        left.difference_update(near)
        groups.append(near)

    while len(left) >= 3 * k:
        middle = average()
        first = max(left, key=lambda i: math.dist(records[i], middle))
        second = max(left, key=lambda i: math.dist(records[i], records[first]))
        about(first)
        about(second)
    if len(left) >= 2 * k:
        middle = average()
        about(max(left, key=lambda i: math.dist(records[i], middle)))
    if left:
        groups.append(set(left))
    return groups


def standardized(records):
    """Return records of which each column has mean 0 and standard deviation 1."""
    columns = []
    for column in zip(*records, strict=True):
        mean = math.fsum(column) / len(column)
        deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in column) / len(column))
        columns.append([(one - mean) / deviation if deviation else 0.0 for one in column])
    return list(zip(*columns, strict=True))


def invariant_matrix(counts, pd, alpha):
    """Return the matrix of invariant PRAM, exactly: alpha P Q + (1 - alpha) I, Q by Bayes' rule."""
    number, total = len(counts), sum(counts)
    shares = [Fraction(count, total) for count in counts]
    pd, alpha = Fraction(pd), Fraction(alpha)
    first = [[pd if i == j else (1 - pd) / (number - 1) for j in range(number)] for i in range(number)]
    after = [sum(shares[i] * first[i][k] for i in range(number)) for k in range(number)]
    back = [[first[j][k] * shares[j] / after[k] for j in range(number)] for k in range(number)]
    both = [[sum(first[i][k] * back[k][j] for k in range(number)) for j in range(number)] for i in range(number)]
    return [[alpha * both[i][j] + (1 - alpha) * (i == j) for j in range(number)] for i in range(number)]


def noisy(numbers, percent, uniform, unit=None):
    """Return numbers with noise, rounded to the third digit of its standard deviation or to the power of ten `unit`."""
    deviation = stdev(numbers) * percent / 100
    exponent = math.floor(math.log10(deviation)) - 2
    exponent = exponent if unit is None else max(exponent, unit)
    step = Fraction(10) ** exponent
    drawn = [number + NormalDist(0, deviation).inv_cdf(one) for number, one in zip(numbers, uniform, strict=True)]
    return [round(Fraction(one) / step) * step for one in drawn]
