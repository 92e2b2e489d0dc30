"""Population uniqueness by the decision rule of Dankar, El Emam, Neisa and Roffey.

Estimating the re-identification risk of clinical data sets. BMC Med Inform Decis Mak 12:66, 2012: Pitman's estimate for
sampling fractions up to 0.1, above it the lower of the slide negative binomial and the Zayatz estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.risk.pitman import pitman
from engine.risk.sample import sample_of
from engine.risk.snb import snb
from engine.risk.zayatz import zayatz

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALL_FRACTION = 0.1
"""Up to this sampling fraction the sample is too small for the other two estimators."""


def dankar(sizes: NDArray[np.int64], numbers: NDArray[np.int64], sampling_fraction: float) -> float:
    """Estimate the share of the population's records that are unique in the population.

    Parameters
    ----------
    sizes : int64, shape (H,)
        Distinct sizes of the sample's classes, in records.
    numbers : int64, shape (H,)
        Classes of each size.
    sampling_fraction : float
        Records of these classes as a share of the population, above 0 and at most 1.

    Returns
    -------
    float
        From 0 to 1, or infinite if Pitman's estimate is. As in the reference solver's criterion, Zayatz' estimate
        replaces an undefined slide negative binomial estimate, but not Pitman's.

    Raises
    ------
    InvalidJob
        If `sampling_fraction` is out of range.
    """
    if sample_of(sizes, numbers, sampling_fraction).fraction <= SMALL_FRACTION:
        return pitman(sizes, numbers, sampling_fraction)
    return min(snb(sizes, numbers, sampling_fraction), zayatz(sizes, numbers, sampling_fraction))
