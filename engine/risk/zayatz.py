"""Population uniqueness by the equivalence class model of Zayatz.

Zayatz, Estimation of the percent of unique population elements on a microdata file using the sample. US Bureau of the
Census, SRD RR-91/08, 1991. The classes of the population are assumed to have the sizes of the sample's classes; Bayes'
rule then gives the probability that a class of one record in the sample is a class of one in the population.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.risk.sample import Sample, sample_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEGLIGIBLE = 800.0
"""A probability of e to the minus this is 0 as a double."""


def zayatz(sizes: NDArray[np.int64], numbers: NDArray[np.int64], sampling_fraction: float) -> float:
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
        From 0 to 1, always defined: 0 for a sample without a class of one, and the sample's own share of uniques where
        the sample is the population.

    Raises
    ------
    InvalidJob
        If `sampling_fraction` is out of range.
    """
    sample = sample_of(sizes, numbers, sampling_fraction)
    if not sample.uniques:
        return 0.0
    seen_once = float(sample.numbers @ _seen_once(sample))
    # N / n times s1 P(F = 1 | f = 1) uniques among N records
    return sample.uniques * (sample.uniques * sample.fraction / seen_once) / sample.records


def _seen_once(sample: Sample) -> NDArray[np.float64]:
    """Return the probability that one record of a class is drawn, shape (H,), for population classes of `sizes`.

    Hypergeometric: for a class of j records, j n / N prod_{i < j - 1} (N - n - i) / (N - 1 - i).
    """
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    n, total = sample.records, sample.population
    factors = int(sample.sizes.max()) - 1
    if n > 1:
        # each factor is at most 1 - (n - 1) / (N - 1): the product of more than this many is 0
        factors = min(factors, int(NEGLIGIBLE * (total - 1) / (n - 1)) + 1)
    taken = np.minimum((n - 1) / (total - 1.0 - np.arange(factors)), 1.0)
    with np.errstate(divide="ignore"):
        logarithms = np.concatenate([[0.0], np.cumsum(np.log1p(-taken))])
    product = np.exp(logarithms[np.minimum(sample.sizes - 1, factors)])
    once: NDArray[np.float64] = sample.sizes * sample.fraction * product
    return once
