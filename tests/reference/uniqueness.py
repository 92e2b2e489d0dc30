"""Population uniqueness from first principles: slow sums, exact fractions and bisection instead of Newton's method.

A histogram maps a class size to the number of classes that have it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction


def counts(histogram):
    """Return the records, the classes, and the classes of one and of two."""
    records = sum(size * number for size, number in histogram.items())
    return records, sum(histogram.values()), histogram.get(1, 0), histogram.get(2, 0)


def seated(records, theta, alpha, seed):
    """Draw a sample of Pitman's distribution: each record joins a class or opens one (the Chinese restaurant)."""
    draw, classes = random.Random(seed), [1]
    for i in range(1, records):
        weights = [theta + alpha * len(classes), *(size - alpha for size in classes)]
        (table,) = draw.choices(range(len(weights)), weights)
        if table:
            classes[table - 1] += 1
        else:
            classes.append(1)
        assert math.isclose(sum(weights), theta + i)
    return dict(Counter(classes))


def zayatz(histogram, population):
    """Return the share of population uniques: Bayes' rule over hypergeometric probabilities."""
    records, classes, uniques, _ = counts(histogram)
    if not uniques:
        return Fraction(0)

    def once(size):
        ways = size * math.comb(population - size, records - 1)
        return Fraction(ways, math.comb(population, records))

    seen = sum(Fraction(number, classes) * once(size) for size, number in histogram.items())
    unique_if_seen_once = Fraction(uniques, classes) * once(1) / seen
    return uniques * unique_if_seen_once / Fraction(records, population) / population


def pitman_gradient(histogram, theta, alpha):
    """Return the derivatives of the log-likelihood by theta and alpha, exactly, at the doubles given."""
    records, classes, _, _ = counts(histogram)
    theta, alpha = Fraction(theta), Fraction(alpha)
    opened = [1 / (theta + i * alpha) for i in range(1, classes)]
    by_theta = sum(map(float, opened)) - math.fsum(float(1 / (theta + i)) for i in range(1, records))
    within = [number * float(1 / (i - alpha)) for size, number in histogram.items() for i in range(1, size) if size > 1]
    by_alpha = math.fsum(float(i * x) for i, x in enumerate(opened, 1)) - math.fsum(within)
    return by_theta, by_alpha


def pitman_parameters(histogram):
    """Return the theta and alpha in (0, 1) that maximize the likelihood, by bisection; None if alpha is not there."""
    records, classes, _, _ = counts(histogram)
    larger = [sum(number for size, number in histogram.items() if size > i) for i in range(1, max(histogram))]

    def theta_at(alpha):
        def by_theta(theta):
            opened = math.fsum(1 / (theta + i * alpha) for i in range(1, classes))
            return opened - math.fsum(1 / (theta + i) for i in range(1, records))

        return bisected(by_theta, -alpha * (1 - 1e-12), 1e6)

    def by_alpha(alpha):
        theta = theta_at(alpha)
        opened = math.fsum(i / (theta + i * alpha) for i in range(1, classes))
        return opened - math.fsum(number / (i - alpha) for i, number in enumerate(larger, 1))

    if by_alpha(1e-6) <= 0:
        return None
    alpha = bisected(by_alpha, 1e-6, 1 - 1e-9)
    return theta_at(alpha), alpha


def bisected(function, low, high):
    """Return where a function turns from positive to negative."""
    for _ in range(60):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def expected_uniques(theta, alpha, population):
    """Return the expected classes of one among the records of Pitman's distribution, without its limit for many."""
    factors = (math.log((theta + alpha + i) / (theta + 1 + i)) for i in range(population - 1))
    return population * math.exp(math.fsum(factors))


def shlosser(histogram, fraction):
    """Return the reference solver's estimate of the classes of the population; None where it divides by 0."""
    f = Fraction(fraction)
    _, classes, uniques, _ = counts(histogram)
    items = histogram.items()
    once = sum(i * f * (1 - f) ** (i - 1) * s for i, s in items)
    once_squared = sum(i * f**2 * (1 - f**2) ** (i - 1) * s for i, s in items)
    weight = sum((1 - f) ** i * (1 + f) ** i * s - 1 for i, s in items)
    unseen = sum((1 - f) ** i * s for i, s in items)
    return classes + uniques * once_squared / weight * (unseen / once) ** 2 if weight and once else None


def slide_negative_binomial(alpha, beta, fraction, seen):
    """Return the probability that `seen` of a class are drawn, each record with probability `fraction`.

    A class has m + 1 records with the negative binomial probability of m.
    """
    terms, m, probability = [], 0, beta**alpha
    while m < 20000 and (m < 50 or probability > 1e-30):
        size = m + 1
        if size >= seen:
            terms.append(probability * math.comb(size, seen) * fraction**seen * (1 - fraction) ** (size - seen))
        probability *= (alpha + m) / (m + 1) * (1 - beta)
        m += 1
    return math.fsum(terms)
