"""What arrivals and departures are expected to cost a series at some levels: who waits, and who covers.

In: the persons of each class, and the shares of a class that come and leave per night. Out: expected shares of the
persons. The model: to a class of c persons Poisson(arrivals · c) new ones come per night, and of r persons of one trace
Binomial(r, departures) leave, each night, class and trace for itself. Persons of one class on the first night have one
trace; so have those who come in together. Nobody moves, no value changes, nobody returns, classes keep their size, and
the models ask for sizes alone.

What is decided of them is as in `engine.series.held_back`: new persons of a class wait until they are `least`; if fewer
than `least` leave a trace, others are withheld as covers until so many are gone, and all where fewer would be left.
Both are Markov chains, of which the expectation is computed and nothing is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST = 2000
"""Persons of a trace up to which its shrinking is followed; larger ones are as if they did not shrink."""
_TAIL = 8.0
"""Standard deviations beyond which nothing is expected."""


class Expected(NamedTuple):
    """Expected shares of the persons, 0 to 1: of new ones who wait, and of those who are withheld as covers."""

    held_back: float
    covered: float


@dataclass(frozen=True)
class Churn:
    """How a series changes from night to night.

    Attributes
    ----------
    arrivals, departures : float
        Shares of the persons per night, 0 to 1.
    least : int
        Persons of the smallest class that satisfies the models, at least 1.
    covers : bool
        Whether others are withheld for who is gone.
    """

    arrivals: float
    departures: float
    least: int
    covers: bool = True


def expected(churn: Churn, sizes: NDArray[np.int64], nights: int) -> Expected:
    """Return what is expected some nights after the first one.

    Parameters
    ----------
    sizes : int64, shape (C,)
        Persons of each class, at least 1.
    nights : int
        Releases after the first one, all of which are remembered.
    """
    if nights < 1 or not sizes.size:
        return Expected(0.0, 0.0)
    found, classes = np.unique(sizes, return_counts=True)
    largest = max(int(found[-1]), churn.least + _most_of(churn.arrivals * int(found[-1])))
    covers = _covers(churn, min(largest, MOST), nights)
    waiting = covered = 0.0
    for size, number in zip(found.tolist(), classes.tolist(), strict=True):
        waits, of_new = _of_arrivals(churn, size, nights, covers)
        waiting += number * waits
        covered += number * min(size, of_new + _of_trace(churn, size, nights, covers))
    return Expected(waiting / float(sizes.sum()), covered / float(sizes.sum()))


def _covers(churn: Churn, most: int, nights: int) -> NDArray[np.float64]:
    """Return the expected covers of a trace by the nights since it began and its persons then.

    Returns
    -------
    float64, shape (nights, M)
        Of 0, 1, … persons, at least up to `most`.
    """
    sizes = np.arange(max(most, 2 * churn.least) + 1)
    found = np.zeros((nights + 1, sizes.size))
    if not churn.covers or not churn.departures:
        return found
    shares = [_binomial(sizes, gone, churn.departures) for gone in range(_most_of(sizes[-1] * churn.departures) + 1)]
    for night in range(1, nights + 1):
        before = found[night - 1]
        found[night] = shares[0] * before
        for gone, share in enumerate(shares[1:], start=1):
            left = np.maximum(sizes - max(gone, churn.least), 0)
            all_out = left < churn.least
            covers = np.where(all_out, np.maximum(sizes - gone, 0), max(gone, churn.least) - gone)
            found[night] += share * (covers + np.where(all_out, 0.0, before[left]))
    return found


def _of_trace(churn: Churn, size: int, nights: int, covers: NDArray[np.float64]) -> float:
    """Return the expected covers of the persons of a class who have been there from the first night on."""
    if size < covers.shape[1]:
        return float(covers[nights, size])
    if not churn.covers:
        return 0.0
    fewer = range(1, churn.least)
    once = sum((churn.least - gone) * _poisson(size * churn.departures, gone) for gone in fewer)
    return nights * once


def _of_arrivals(churn: Churn, size: int, nights: int, covers: NDArray[np.float64]) -> tuple[float, float]:
    """Return how many new persons of a class are expected to wait in the end, and the covers of those who came in."""
    mean = churn.arrivals * size
    come = np.array([_poisson(mean, number) for number in range(churn.least + _most_of(mean))])
    waiting = np.zeros(churn.least)
    waiting[0] = 1.0
    covered = 0.0
    for night in range(nights):
        here = np.convolve(waiting, come)
        together = np.minimum(np.arange(churn.least, here.size), covers.shape[1] - 1)
        covered += float(here[churn.least :] @ covers[nights - 1 - night, together])
        waiting = here[: churn.least].copy()
        waiting[0] += 1 - waiting.sum()
    return float(np.arange(churn.least) @ waiting), covered


def _most_of(mean: float) -> int:
    """Return the most that is expected of a Poisson or binomial number."""
    return math.ceil(mean + _TAIL * (1 + math.sqrt(mean)))


def _poisson(mean: float, number: int) -> float:
    if not mean:
        return float(number == 0)
    return math.exp(number * math.log(mean) - mean - math.lgamma(number + 1))


def _binomial(sizes: NDArray[np.int64], number: int, chance: float) -> NDArray[np.float64]:
    """Return the chance that so many of each number of persons leave, float64."""
    if chance >= 1:
        certain: NDArray[np.float64] = (sizes == number).astype(np.float64)
        return certain
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, sizes.size + number + 1)))])
    rest = np.maximum(sizes - number, 0)
    likely = logs[sizes] - logs[number] - logs[rest] + number * math.log(chance) + rest * math.log1p(-chance)
    found: NDArray[np.float64] = np.where(sizes >= number, np.exp(likely), 0.0)
    return found
