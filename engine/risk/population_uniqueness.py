"""The estimators of population uniqueness a job can name.

Each takes the histogram of the class sizes of the kept records and the share of the population that these are, and
returns the share of the population's records that are unique in it: infinite if it is unknown, so that no threshold is
met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from engine.errors import InvalidJob
from engine.risk.dankar import dankar
from engine.risk.pitman import pitman
from engine.risk.sample import population_size
from engine.risk.snb import snb
from engine.risk.zayatz import zayatz

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Estimator: TypeAlias = "Callable[[NDArray[np.int64], NDArray[np.int64], float], float]"

ESTIMATORS: Mapping[str, Estimator] = MappingProxyType(
    {"dankar": dankar, "pitman": pitman, "zayatz": zayatz, "snb": snb}
)


def estimate(name: str, sizes: NDArray[np.int64], numbers: NDArray[np.int64], sampling_fraction: float) -> float:
    """Estimate the share of the population's records that are unique in the population.

    Parameters
    ----------
    name : str
        A key of `ESTIMATORS`.
    sizes : int64, shape (H,)
        Distinct sizes of the classes kept, in records; may be empty.
    numbers : int64, shape (H,)
        Classes of each size.
    sampling_fraction : float
        The kept records as a share of the population: see `kept_fraction`.

    Returns
    -------
    float
        0 if no class has one record, infinite if the estimator is not defined for these sizes.

    Raises
    ------
    InvalidJob
        If no estimator has that name, or `sampling_fraction` is not above 0 and at most 1.
    """
    if name not in ESTIMATORS:
        raise InvalidJob(f"estimator must be one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name](sizes, numbers, sampling_fraction)


def kept_fraction(kept: int, records: int, sampling_fraction: float) -> float:
    """Return the kept records as a share of the population from which the whole table was drawn.

    Parameters
    ----------
    kept : int
        Records not suppressed, from 1 to `records`.
    records : int
        Records of the table.
    sampling_fraction : float
        The whole table as a share of the population, above 0 and at most 1. The population does not shrink by
        suppression; it is rounded to a whole number.

    Raises
    ------
    InvalidJob
        If `sampling_fraction` is out of range.
    """
    return kept / population_size(records, sampling_fraction)
