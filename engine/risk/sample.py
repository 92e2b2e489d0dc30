"""A sample as the estimators of population uniqueness see it: how many classes it has of each size.

In: the histogram of the class sizes, and which share of the population the sample is. Out: the counts that the
estimators share, in the notation of Dankar et al., BMC Med Inform Decis Mak 12:66, 2012, additional file 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import InvalidJob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Sample(NamedTuple):
    """The equivalence classes of a sample and the population it was drawn from.

    Attributes
    ----------
    sizes : int64, shape (H,)
        Distinct class sizes, in records.
    numbers : int64, shape (H,)
        Classes of each size.
    records, classes : int
        Records n and classes u of the sample.
    uniques, pairs : int
        Classes of one record, s1, and of two records, s2.
    population : int
        Records N of the population.
    fraction : float
        n / N.
    """

    sizes: NDArray[np.int64]
    numbers: NDArray[np.int64]
    records: int
    classes: int
    uniques: int
    pairs: int
    population: int
    fraction: float


def population_size(records: int, sampling_fraction: float) -> int:
    """Return the records of the population, rounded to a whole number, half up.

    Raises
    ------
    InvalidJob
        If `sampling_fraction` is not above 0 and at most 1.
    """
    if not 0 < sampling_fraction <= 1:
        raise InvalidJob("sampling_fraction must be above 0 and at most 1: the records of the table per person")
    return math.floor(records / sampling_fraction + 0.5)


def sample_of(sizes: NDArray[np.int64], numbers: NDArray[np.int64], sampling_fraction: float) -> Sample:
    """Count what the estimators need.

    Parameters
    ----------
    sizes : int64, shape (H,)
        Distinct class sizes, in any order.
    numbers : int64, shape (H,)
        Classes of each size, at least 1.
    sampling_fraction : float
        Records of these classes as a share of the population, above 0 and at most 1.

    Raises
    ------
    InvalidJob
        If `sampling_fraction` is out of range.
    """
    records = int(sizes @ numbers)
    population = population_size(records, sampling_fraction)
    return Sample(
        sizes=sizes,
        numbers=numbers,
        records=records,
        classes=int(numbers.sum()),
        uniques=int(numbers[sizes == 1].sum()),
        pairs=int(numbers[sizes == 2].sum()),  # noqa: PLR2004 (a pair)
        population=population,
        fraction=records / population if population else 1.0,
    )
