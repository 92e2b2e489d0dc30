"""The digamma and trigamma functions: finite sums of 1 / (x + i) and 1 / (x + i)^2 in closed form.

Abramowitz, Stegun, Handbook of Mathematical Functions, 1964: recurrence 6.3.5 and 6.4.6, reflection 6.3.7 and 6.4.7,
asymptotic series 6.3.18 and 6.4.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHIFT = 12
"""Arguments are raised by so much: above it, the first term left out of either series is below 3e-15."""


def digamma_trigamma(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first and the second derivative of ln gamma at each `x`, shape (X,); not finite at the poles.

    The error is below 1e-13 of the larger of 1 and the result; near a pole, what the rounding of `x` makes of it.
    """
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    with np.errstate(all="ignore"):
        negative = x < 0
        psi, psi1 = _positive(np.where(negative, 1 - x, x))
        if negative.any():
            angle = np.pi * x
            psi = np.where(negative, psi - np.pi / np.tan(angle), psi)
            psi1 = np.where(negative, (np.pi / np.sin(angle)) ** 2 - psi1, psi1)
    return psi, psi1


def _positive(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import numpy as np  # noqa: PLC0415

    steps = 1 / (x + np.arange(SHIFT)[:, None])
    z = 1 / (x + SHIFT)
    r = z * z
    psi = -np.log(z) - z / 2 - r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132)))))
    psi1 = z + r / 2 + z * r * (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * (1 / 30 - r * (5 / 66)))))
    return psi - steps.sum(0), psi1 + (steps * steps).sum(0)
