"""The risk figures of a report, from the sizes of the equivalence classes.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

SMALL = 11
"""Records of the smallest class that counts as large enough in `records_below_11`."""
LATER = {"records_below_11", "share_below_11"}
"""Figures that reports of earlier versions do not have."""


def risk_figures(sizes: Sequence[int], people: Sequence[int] | None, threshold: float) -> dict[str, float | None]:
    """Return the figures by the keys of the report.

    Parameters
    ----------
    sizes : sequence of int
        Kept records of each class.
    people : sequence of int, optional
        People of the population in each class, at least its records. Without it the records are the people.
    threshold : float
        Records with a higher probability of being found are at risk; read as the decimal number as written.
    """
    persons = list(sizes) if people is None else [max(pair) for pair in zip(sizes, people, strict=True)]
    kept = sum(sizes)
    pairs = list(zip(sizes, persons, strict=True))
    figures: dict[str, float | None] = {
        "prosecutor": 1 / min(sizes, default=math.inf),
        "journalist": 1 / min(persons, default=math.inf),
        "marketer": _share(math.fsum(size / person for size, person in pairs), kept),
        "threshold": threshold,
        "prosecutor_records_at_risk": _share(sum(size for size in sizes if _is_found(size, threshold)), kept),
        "journalist_records_at_risk": _share(sum(s for s, person in pairs if _is_found(person, threshold)), kept),
        "records_below_11": sum(size for size in sizes if size < SMALL),
        "share_below_11": _share(sum(size for size in sizes if size < SMALL), kept),
        "sample_uniqueness": _share(sum(size == 1 for size in sizes), kept),
    }
    if people is not None:
        figures["population_uniqueness"] = _share(sum(size for size, person in pairs if person == 1), kept)
    return figures


def _is_found(people: int, threshold: float) -> bool:
    """Tell whether one of so many is found with a probability at or above the threshold."""
    return Fraction(1, people) >= Fraction(str(threshold))


def _share(part: float, kept: int) -> float:
    return part / kept if kept else 0.0
