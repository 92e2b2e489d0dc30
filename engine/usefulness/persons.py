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

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.tables.sources.person_codes import codes_of_persons
from engine.tables.sources.person_texts import person_texts
from engine.tables.sources.table import Table


class Persons(NamedTuple):
    """Whose records are.

    Attributes
    ----------
    codes : int64, shape (records,)
        The person of each, by number.
    names : list of text
        Of the persons.
    """

    codes: NDArray[np.int64]
    names: list[str]

    def of(self, records: NDArray[np.bool_]) -> Persons:
        """Return the persons of some of the records."""
        found, codes = np.unique(self.codes[records], return_inverse=True)
        return Persons(codes.reshape(-1), [self.names[code] for code in found.tolist()])


def persons_of(records: Table, subject: str) -> Persons:
    """Return the person of each record."""
    texts = pa.chunked_array(
        [person_texts(batch.column(0), subject) for batch in records.batches([subject])], pa.string()
    )
    codes = codes_of_persons(texts, subject)[0]
    first = np.unique(codes, return_index=True)[1]
    return Persons(codes, texts.take(pa.array(first)).to_pylist())


def means(values: NDArray[np.float64], persons: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each person's numbers, in no order; who has none is not there.

    Parameters
    ----------
    values : float64, shape (records,)
        NaN is none.
    persons : int64, shape (records,)
    """
    there = np.flatnonzero(~np.isnan(values))
    # in the order of the numbers, so that the last digits of a sum do not follow that of the source
    there = there[np.argsort(values[there], kind="stable")]
    sums = np.bincount(persons[there], weights=values[there])
    counts = np.bincount(persons[there])
    found: NDArray[np.float64] = sums[counts > 0] / counts[counts > 0]
    return found
