"""Prosecutor, journalist and marketer risk from equivalence classes, and the shares of records at risk.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16; formulas as in the
definitions. Without a population table the released table is used in its place.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.risk.at_risk import records_at_journalist_risk, records_at_risk, sample_uniqueness
from engine.risk.population_uniqueness import estimate, kept_fraction

FEWEST = 11
"""Smallest cell that US federal health agencies publish: CMS cell size suppression policy, 2020 (1 to 10 withheld)."""


def risks(
    kept: NDArray[np.int64], population: NDArray[np.int64] | None = None, *, threshold: float = 0.09
) -> dict[str, float]:
    """Compute the risk figures of the kept records.

    Parameters
    ----------
    kept : int64, shape (C,)
        Records of each kept equivalence class; may be empty (then nobody can be found: all risks are 0).
    population : int64, shape (C,), optional
        Records of the population in each of them. The population contains the kept records, so a smaller number counts
        as the number of kept records.
    threshold : float
        Probability of being found from which on a record is at risk.

    Returns
    -------
    dict of float, each from 0 to 1
        `prosecutor` and `journalist`: the highest probability of finding one record, and as `..._records_at_risk` the
        share of records at or above the threshold; `marketer`: the share of records an attack on all of them is
        expected to find; `sample_uniqueness`, and with a population `population_uniqueness`: the share of records alone
        in their class; `records_below_11` and `share_below_11`: the number and the share of records in classes of fewer
        than 11.
    """
    people = kept if population is None else np.maximum(population, kept)
    records = int(kept.sum())
    figures = {
        "prosecutor": 1.0 / float(kept.min()) if records else 0.0,
        "journalist": 1.0 / float(people.min()) if records else 0.0,
        "marketer": math.fsum((kept / people).tolist()) / records if records else 0.0,
        "threshold": threshold,
        "prosecutor_records_at_risk": records_at_risk(kept, threshold),
        "journalist_records_at_risk": records_at_journalist_risk(kept, people, threshold),
        "sample_uniqueness": sample_uniqueness(kept),
        "records_below_11": int(kept[kept < FEWEST].sum()),
        "share_below_11": float(kept[kept < FEWEST].sum()) / records if records else 0.0,
    }
    if population is not None:
        figures["population_uniqueness"] = float(kept[people == 1].sum()) / records if records else 0.0
    return figures


def estimated_uniqueness(kept: NDArray[np.int64], records: int, sampling_fraction: float) -> float | None:
    """Estimate the share of people who are unique in the population, by the rule of Dankar et al. 2012.

    Parameters
    ----------
    kept : int64, shape (C,)
        Records of each kept equivalence class.
    records : int
        Records of the table, suppressed ones included.
    sampling_fraction : float
        Share of the population that is in the table.

    Returns
    -------
    float or None
        None if it cannot be estimated.
    """
    if not kept.size:
        return 0.0
    sizes, numbers = np.unique(kept, return_counts=True)
    share = estimate("dankar", sizes, numbers, kept_fraction(int(kept.sum()), records, sampling_fraction))
    return share if math.isfinite(share) else None
