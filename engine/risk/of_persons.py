"""The risk figures of a release in which persons are counted: of the smallest class that each of them is in.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16, with persons for records: who
knows any one of a person's rows finds the person among those of its class, at best in the smallest one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.risk.at_risk import records_at_risk
from engine.risk.figures import FEWEST


def risks_of_persons(smallest: NDArray[np.int64], *, threshold: float = 0.09) -> dict[str, float]:
    """Compute the risk figures of the persons in a file.

    Parameters
    ----------
    smallest : int64, shape (P,)
        Persons of the smallest class of each person who is in the file, at least 1; may be empty (then all risks are
        0).
    threshold : float
        Probability of being found from which on a person is at risk.

    Returns
    -------
    dict of float
        By the keys of `engine.risk.figures.risks`, where records are persons here. The journalist has no population, so
        the file is taken in its place.
    """
    sizes, persons = np.unique(smallest, return_counts=True)
    number = int(persons.sum())
    highest = 1.0 / float(sizes[0]) if number else 0.0
    # of the persons with one smallest class, all are at risk or none
    risky = [records_at_risk(np.array([size]), threshold) > 0 for size in sizes.tolist()]
    at_risk = _share(persons[np.array(risky, np.bool_)], number)
    few = persons[sizes < FEWEST]
    return {
        "prosecutor": highest,
        "journalist": highest,
        "marketer": math.fsum((persons / sizes).tolist()) / number if number else 0.0,
        "threshold": threshold,
        "prosecutor_records_at_risk": at_risk,
        "journalist_records_at_risk": at_risk,
        "sample_uniqueness": _share(persons[sizes == 1], number),
        "records_below_11": int(few.sum()),
        "share_below_11": _share(few, number),
    }


def _share(part: NDArray[np.int64], number: int) -> float:
    return int(part.sum()) / number if number else 0.0
