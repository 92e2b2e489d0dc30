"""The risk figures of a release, recounted.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16. A threshold is compared in
fractions, as the decimal it is written as.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from engine.verification.models.population_uniqueness import estimated_share
from engine.verification.records.classes import Classes
from engine.verification.records.records import Records

_WITHHELD = 10
"""Largest cell that US federal health agencies withhold: CMS cell size suppression policy, 2020."""


def recount_risk(
    records: Records, classes: Classes, threshold: float, sampling_fraction: float | None
) -> dict[str, float | None]:
    """Return every risk figure of a report, by its key.

    Parameters
    ----------
    classes : Classes
        Of `records`. A class counts at least as many people as kept records, even if the population has fewer.
    threshold : float
        Probability of being found above which a record is at risk.
    sampling_fraction : float, optional
        Share of the population that is in the table.
    """
    sizes: list[int] = classes.sizes.tolist()
    persons: list[int] = classes.people.tolist()
    people = [max(pair) for pair in zip(sizes, persons, strict=True)]
    kept = sum(sizes)
    below = sum(size for size in sizes if size <= _WITHHELD)
    figures: dict[str, float | None] = {
        "prosecutor": 1 / min(sizes) if sizes else 0.0,
        "journalist": 1 / min(people) if people else 0.0,
        "marketer": math.fsum(c / p for c, p in zip(sizes, people, strict=True)) / kept if kept else 0.0,
        "threshold": threshold,
        "prosecutor_records_at_risk": _at_risk(sizes, sizes, threshold),
        "journalist_records_at_risk": _at_risk(sizes, people, threshold),
        "sample_uniqueness": sizes.count(1) / kept if kept else 0.0,
        "records_below_11": below,
        "share_below_11": below / kept if kept else 0.0,
    }
    if records.population is not None:
        alone = sum(c for c, p in zip(sizes, people, strict=True) if p == 1)
        figures["population_uniqueness"] = alone / kept if kept else 0.0
    if sampling_fraction is not None:
        share = estimated_share(classes.sizes, records.rows, sampling_fraction)
        figures["estimated_population_uniqueness"] = 0.0 if share is None else share if math.isfinite(share) else None
    return figures


def _at_risk(sizes: Sequence[int], people: Sequence[int], threshold: float) -> float:
    """Return the share of records in classes of p people with 1 / p at or above the threshold."""
    numerator, denominator = Fraction(str(threshold)).as_integer_ratio()
    most = denominator // numerator if numerator else math.inf
    found = sum(c for c, p in zip(sizes, people, strict=True) if p <= most)
    return found / sum(sizes) if sizes else 0.0
