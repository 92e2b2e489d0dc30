"""Population uniqueness by the slide negative binomial model.

Chen, Keller-McNulty, Estimation of identification disclosure risk in microdata. J Off Stat 14(1), 1998: the size of a
population class, less 1, is negative binomial with parameters alpha and beta, so that K beta^alpha of the K classes
have one record. As in Dankar et al., BMC Med Inform Decis Mak 12:66, 2012, additional file 1, K is estimated by the
modified Shlosser estimator (Haas, Stokes, Estimating the number of classes in a finite population. JASA 93(444), 1998),
and alpha and beta by setting the expected classes of one and of two in the sample equal to those seen.

The figures are those of the reference solver, which departs from these papers in two places: in the estimate of K, 1 is
subtracted from (1 + f)^i times its weight and not from (1 + f)^i; and the expected number of classes of two is
multiplied, not divided, by (1 - (1 - f)(1 - beta))^(alpha + 2), while Newton's steps use the derivatives of the
published equation. It therefore finds a root for sampling fractions near 1 only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engine.risk.newton import GRID, Pair, System, Values, solve
from engine.risk.sample import Sample, sample_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def snb(sizes: NDArray[np.int64], numbers: NDArray[np.int64], sampling_fraction: float) -> float:
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
        Above 0, or 0 for a sample without a class of one; infinite, as an unknown risk, if Newton's method finds no
        root, if the root is not a negative binomial distribution, and if K is not defined.

    Raises
    ------
    InvalidJob
        If `sampling_fraction` is out of range.
    """
    sample = sample_of(sizes, numbers, sampling_fraction)
    if not sample.uniques:
        return 0.0
    population_classes = shlosser(sample)
    found = parameters(sample, population_classes) if population_classes > 0 else None
    if found is None:
        return math.inf
    alpha, beta = found
    # at a beta of 1 each class has one record
    if not (alpha > 0 and 0 < beta <= 1):
        return math.inf
    share = population_classes * math.exp(alpha * math.log(beta)) / sample.population
    return share if share > 0 else math.inf


def shlosser(sample: Sample) -> float:
    """Estimate the classes of the population: see above for the reference solver's variant; may not be a number.

    It is not where a class is so large that (1 + f)^i exceeds the doubles and (1 - f)^i falls below them.
    """
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    f = np.float64(sample.fraction)
    i, s = sample.sizes.astype(np.float64), sample.numbers.astype(np.float64)
    with np.errstate(all="ignore"):
        unseen = (1 - f) ** i * s
        once = (i * f * (1 - f) ** (i - 1)) @ s
        once_squared = (i * f**2 * (1 - f**2) ** (i - 1)) @ s
        weight = (unseen * (1 + f) ** i - 1).sum()
        return float(sample.classes + sample.uniques * (once_squared / weight) * (unseen.sum() / once) ** 2)


def parameters(sample: Sample, population_classes: float) -> Pair | None:
    """Return the alpha and beta at which the reference solver stops; None if it finds none."""
    starts = ((1.0, 1.0), *GRID)
    return solve(_system(sample, population_classes), starts, may_visit=lambda _alpha, _beta: True)


def _system(sample: Sample, population_classes: float) -> System:
    """Return the equations for the classes of one and of two, and their derivatives by alpha and beta."""
    f = sample.fraction
    g = 1 - f

    def evaluate(alpha: float, beta: float) -> Values:
        e = g * (1 - beta)
        w = 1 - e
        ones, ones_by = _ones(alpha, beta, f)
        m = 2 - (1 - alpha) * e
        slope = f * f * alpha * math.pow(beta, alpha) * m / 2
        twos = slope * (1 - beta)
        damping = math.pow(w, alpha + 2)
        twos_by = (
            twos / damping * (1 / alpha + math.log(beta) - math.log(w) + e / m),
            twos / damping * (alpha / beta + (1 - alpha) * g / m - (alpha + 2) * g / w) - slope / damping,
        )
        k = population_classes
        values = (k * ones - sample.uniques, k * twos * damping - sample.pairs)
        return values, ((k * ones_by[0], k * ones_by[1]), (k * twos_by[0], k * twos_by[1]))

    return evaluate


def _ones(alpha: float, beta: float, f: float) -> tuple[float, Pair]:
    """Return the probability that one record of a class is drawn, and its derivatives by alpha and beta."""
    g = 1 - f
    w = 1 - g * (1 - beta)
    base = math.pow(beta / w, alpha)
    factor = alpha * (1 - w) / w + 1
    by_alpha = f * base * (math.log(beta / w) * factor + (1 - w) / w)
    by_beta = f * base * alpha * (f * factor / beta - g / w) / w
    return f * base * factor, (by_alpha, by_beta)
