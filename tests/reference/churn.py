"""The slow, obvious twin of what churn is expected to cost: every number of persons who come or leave, one by one."""

from __future__ import annotations

import math


def expected(sizes, least, nights, arrivals, departures, covering=True):
    """Return the expected shares of who waits and of who covers, of classes of some sizes."""
    waiting = covered = 0.0
    for size in sizes:
        waits, of_new = arriving(arrivals * size, least, nights, 0, departures, covering)
        waiting += waits
        covered += min(size, of_new + covers(size, least, nights, departures, covering))
    return waiting / sum(sizes), covered / sum(sizes)


def covers(size, least, nights, departures, covering):
    """Return how many cover in a trace of so many persons, after so many nights."""
    if not covering or not nights:
        return 0.0
    found = 0.0
    for gone in range(size + 1):
        share = math.comb(size, gone) * departures**gone * (1 - departures) ** (size - gone)
        out = max(gone, least) if gone else 0
        if gone and size - out < least:
            found += share * (size - gone)
        else:
            found += share * (out - gone + covers(size - out, least, nights - 1, departures, covering))
    return found


def arriving(mean, least, nights, waiting, departures, covering):
    """Return how many wait in the end where some do now, and how many of those who come in cover until then."""
    if not nights:
        return waiting, 0.0
    waits = covered = 0.0
    for come in range(least + 12):
        share = math.exp(-mean) * mean**come / math.factorial(come)
        here = waiting + come
        if here < least:
            own, more = arriving(mean, least, nights - 1, here, departures, covering)
        else:
            own, more = arriving(mean, least, nights - 1, 0, departures, covering)
            more += covers(here, least, nights - 1, departures, covering)
        waits += share * own
        covered += share * more
    return waits, covered
