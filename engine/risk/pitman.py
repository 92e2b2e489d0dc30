"""Population uniqueness by Pitman's sampling formula.

Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment. J Off Stat 17(4), 2001: the class
sizes of the population and of the sample follow Pitman's two-parameter distribution; theta and alpha maximize the
likelihood of the sample; the expected classes of one among N records are gamma(theta + 1) / gamma(theta + alpha)
N^alpha for large N. The parameters are either alpha in (0, 1) and theta above -alpha, or a negative alpha and theta a
multiple of it, so that theta + i alpha is above 0 for each class (Pitman, Exchangeable and partially exchangeable
random partitions. Probab Theory Relat Fields 102, 1995). Starts, steps and accuracy are those of the reference solver,
and so is the estimate if it comes from such parameters; otherwise there is none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from engine.risk.newton import GRID, Pair, System, Values, is_root, solve
from engine.risk.polygamma import digamma_trigamma
from engine.risk.sample import Sample, sample_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _ClassSums(NamedTuple):
    """What the derivatives of the log-likelihood sum over the classes, i from 1 to u - 1."""

    inverse: float  # 1 / (theta + i alpha)
    inverse_i: float  # i / (theta + i alpha)
    square: float  # 1 / (theta + i alpha)^2
    square_i: float  # i / (theta + i alpha)^2
    square_ii: float  # i^2 / (theta + i alpha)^2


def pitman(sizes: NDArray[np.int64], numbers: NDArray[np.int64], sampling_fraction: float) -> float:
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
        From 0 to 1: 0 for a sample without a class of one; infinite, as an unknown risk, if Newton's method finds no
        root, if the root lies outside the distribution's parameters, and if the estimate exceeds the population or is
        too small for a double.

    Raises
    ------
    InvalidJob
        If `sampling_fraction` is out of range.
    """
    sample = sample_of(sizes, numbers, sampling_fraction)
    if not sample.uniques:
        return 0.0
    found = parameters(sample)
    return math.inf if found is None else _share(*found, sample)


def parameters(sample: Sample) -> Pair | None:
    """Return theta and alpha, where both derivatives of the log-likelihood are 0 up to the accuracy; None if not found.

    The root found first may lie outside the distribution's parameters.
    """
    if sample.records == 1:
        # its likelihood is 1 for all parameters
        return None
    starts = (*_moment_start(sample), *GRID)
    direct = _system(sample, is_closed=False)
    found = solve(_system(sample, is_closed=True), starts, may_visit=_may_visit)
    # the closed forms cancel where alpha is near 0: then, as in the reference solver, each term is added
    if found is not None and is_root(direct(*found)[0]):
        return found
    return solve(direct, starts, may_visit=_may_visit)


def _may_visit(theta: float, alpha: float) -> bool:
    del alpha
    return theta >= 0


def _moment_start(sample: Sample) -> tuple[Pair, ...]:
    """Return the estimates from the classes of one and of two; empty where they are undefined."""
    n, u, s1, s2 = float(sample.records), float(sample.classes), float(sample.uniques), float(sample.pairs or 1)
    c = s1 * (s1 - 1) / s2
    denominator = 2 * s1 * u + s1 * c - n * c
    if not denominator:
        return ()
    theta = (n * u * c - s1 * (n - 1) * (2 * u + c)) / denominator
    return ((theta, (theta * (s1 - n) + (n - 1) * s1) / (n * u)),)


def _system(sample: Sample, *, is_closed: bool) -> System:
    """Return the gradient and the Hessian matrix of the log-likelihood as functions of theta and alpha.

    Closed forms take the reference solver's truncated trigamma function. It steers the steps only: the roots do not
    depend on it, but which of them is found first, and whether any is, does.
    """
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    numbers = sample.numbers.astype(np.float64)

    def evaluate(theta: float, alpha: float) -> Values:
        x = np.concatenate([[sample.records + theta, 1 + theta, 1 - alpha], sample.sizes - alpha])
        psi, psi1 = digamma_trigamma(x, truncated=is_closed)
        with np.errstate(all="ignore"):
            within, within_square = float(numbers @ (psi[3:] - psi[2])), float(numbers @ (psi1[2] - psi1[3:]))
            records, records_square = float(psi[0] - psi[1]), float(psi1[1] - psi1[0])
        c = (_closed if is_closed else _summed)(sample.classes, theta, alpha)
        gradient = (c.inverse - records, c.inverse_i - within)
        return gradient, ((records_square - c.square, -c.square_i), (-c.square_i, -c.square_ii - within_square))

    return evaluate


def _closed(classes: int, theta: float, alpha: float) -> _ClassSums:
    """Sum in closed form: two of the sums by polygamma functions, the others follow."""
    import numpy as np  # noqa: PLC0415

    ratio = theta / alpha
    psi, psi1 = digamma_trigamma(np.array([classes + ratio, 1 + ratio]), truncated=True)
    inverse, square = float(psi[0] - psi[1]) / alpha, float(psi1[1] - psi1[0]) / (alpha * alpha)
    inverse_i = (classes - 1 - theta * inverse) / alpha
    square_i = (inverse - theta * square) / alpha
    return _ClassSums(inverse, inverse_i, square, square_i, (inverse_i - theta * square_i) / alpha)


def _summed(classes: int, theta: float, alpha: float) -> _ClassSums:
    """Sum term by term."""
    import numpy as np  # noqa: PLC0415

    i = np.arange(1.0, classes)
    with np.errstate(all="ignore"):
        inverse = 1 / (theta + i * alpha)
        weighted = i * inverse
        return _ClassSums(
            inverse=float(inverse.sum()),
            inverse_i=float(weighted.sum()),
            square=float(inverse @ inverse),
            square_i=float(inverse @ weighted),
            square_ii=float(weighted @ weighted),
        )


def _share(theta: float, alpha: float, sample: Sample) -> float:
    # any other zero of the derivatives is no estimate, because some probability is negative there
    is_infinite_population = 0 < alpha < 1
    is_finite_population = alpha < 0 < theta + (sample.classes - 1) * alpha
    if not (is_infinite_population or is_finite_population):
        return math.inf
    whole = math.log(sample.population)
    exponent = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + (alpha - 1) * whole
    share = math.exp(exponent) if exponent <= 0 else math.inf
    return share if share > 0 else math.inf
