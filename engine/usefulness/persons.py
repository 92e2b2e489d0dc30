"""Whose the records are that are measured: each person weighs one, however many records he or she has.

In: the records that were counted, and which of them the file shows. Out: the person of each record, one record of each
drawn person for models, and the mean of each person's numbers.

A mean over persons of the means of their records is that of J. M. Williamson, S. Datta and G. A. Satten, Marginal
analyses of clustered data when cluster size is informative, Biometrics 59, 2003: records weigh one divided by those of
their person. Persons being independent, its variance is that of the persons' means divided by their number: the
cluster-robust one of K.-Y. Liang and S. L. Zeger, Longitudinal data analysis using generalized linear models,
Biometrika 73, 1986, with n / (n - 1). One record of each person, drawn at random, weighs the same on average: E. B.
Hoffman, P. K. Sen and C. R. Weinberg, Within-cluster resampling, Biometrika 88, 2001; and no person is in training and
test.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.tables.sources.person_codes import codes_of_persons
from engine.tables.sources.person_texts import person_texts
from engine.tables.sources.table import Table


def persons_of(records: Table, subject: str) -> NDArray[np.int64]:
    """Return the person of each record by number, int64, shape (records,)."""
    texts = [person_texts(batch.column(0), subject) for batch in records.batches([subject])]
    return codes_of_persons(pa.chunked_array(texts, pa.string()), subject)[0]


def one_of_each(persons: NDArray[np.int64], most: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Draw persons, and of each one record: how many records a person has changes neither who is drawn nor which.

    Parameters
    ----------
    persons : int64, shape (records,)
        Of each record.
    most : int
        Persons that are drawn at most.

    Returns
    -------
    bool, shape (records,)
    """
    number = numbered(persons)
    counts = np.bincount(number)
    drawn = random.permutation(counts.size)[:most]
    # each person has a share of its own, whatever the other ones have
    place = (random.random(counts.size) * counts).astype(np.int64)
    by_person = np.argsort(number, kind="stable")
    chosen = np.zeros(persons.size, np.bool_)
    chosen[by_person[(np.cumsum(counts) - counts + place)[drawn]]] = True
    return chosen


def numbered(persons: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the persons of records numbered from 0, in the order of their first records."""
    _, first, found = np.unique(persons, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[found.reshape(-1)]


def means(values: NDArray[np.float64], persons: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each person's numbers, in no order; who has none is not there.

    Parameters
    ----------
    values : float64, shape (records,)
        NaN is none.
    persons : int64, shape (records,)
    """
    there = ~np.isnan(values)
    sums = np.bincount(persons[there], weights=values[there])
    counts = np.bincount(persons[there])
    found: NDArray[np.float64] = sums[counts > 0] / counts[counts > 0]
    return found
