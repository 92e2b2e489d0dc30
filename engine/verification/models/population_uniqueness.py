"""Population uniqueness, recounted: class sizes counted anew, and the estimate made of them.

Dankar, El Emam, Neisa, Roffey, BMC Med Inform Decis Mak 12:66, 2012. The estimators solve equations by iteration, so
that a second implementation would differ from the first in the digits that decide; what is proven here is what they are
given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.message import Count, Message
from engine.risk.population_uniqueness import estimate, kept_fraction
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.classes import classes_of
from engine.verification.records.records import Records


def recount_population_uniqueness(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the classes of the kept records and estimate the share of unique people.

    An estimate that cannot be made does not hold; without any kept record it holds.

    Raises
    ------
    InvalidJob
        The estimator is unknown, or the sampling fraction is not above 0 and at most 1.
    """
    sizes = classes_of(records).sizes
    share = estimated_share(sizes, records.rows, model["sampling_fraction"], model["estimator"])
    return Finding(
        "population-uniqueness",
        holds=share is None or share <= model["threshold"],
        observed=share if share is not None and math.isfinite(share) else None,
        required=model["threshold"],
        sense="at-most",
        column=None,
        message=Message.of(
            "estimated by {estimator}, equivalence classes: {classes}{failed}",
            classes=Count(sizes.size),
            estimator=model["estimator"],
            failed="; these sizes allow no estimate" if share == math.inf else "",
        ),
    )


def estimated_share(
    sizes: NDArray[np.int64], rows: int, sampling_fraction: float, estimator: str = "dankar"
) -> float | None:
    """Return the estimated share of unique people: infinite where there is no estimate, None without a class.

    Parameters
    ----------
    sizes : int64, shape (C,)
        Kept records of each class.
    rows : int
        Records of the table, suppressed ones included.
    """
    if not sizes.size:
        return None
    distinct, numbers = np.unique(sizes, return_counts=True)
    return estimate(estimator, distinct, numbers, kept_fraction(int(sizes.sum()), rows, sampling_fraction))


RECOUNT = Recount(model="population-uniqueness", judge=recount_population_uniqueness, counts_dropped=True)
