"""The digamma and trigamma functions: finite sums of 1 / (x + i) and 1 / (x + i)^2 in closed form.

Abramowitz, Stegun, Handbook of Mathematical Functions, 1964: recurrence 6.3.5 and 6.4.6, reflection 6.3.7 and 6.4.7,
asymptotic series 6.3.18 and 6.4.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SHIFT = 12
"""Arguments are raised by this number; above it, the first omitted term of either series is below 3e-15."""


def digamma_trigamma(x: Array, *, truncated: bool = False) -> tuple[Array, Array]:
    """Return the first and the second derivative of ln gamma at each `x`, shape (X,); not finite at the poles.

    The error is below 1e-13 of the larger of 1 and the result; near a pole it is the effect of the rounding of `x`.

    Parameters
    ----------
    x : float64, shape (X,)
    truncated : bool
        Return, as the second, what the reference solver takes for it: between 1e-4 and 12 it sums 1 / (x + i)^2 as
        long as x + i is below 8, and leaves out the rest of the series.
    """
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    with np.errstate(all="ignore"):
        positive = np.where(x < 0, 1 - x, x)
        steps = positive + np.arange(float(SHIFT))[:, None]
        inverse = 1 / steps
        squares = inverse * inverse
        psi_shifted, psi1_shifted = _asymptotic(1 / (positive + SHIFT))
        psi, psi1 = psi_shifted - inverse.sum(0), psi1_shifted + squares.sum(0)
        if truncated:
            short = (positive > 1e-4) & (positive < 12)  # noqa: PLR2004 (see above)
            psi1 = np.where(short, (squares * (steps < 8)).sum(0), psi1)  # noqa: PLR2004
        return _reflect(x, psi, psi1) if x.min() < 0 else (psi, psi1)


def _asymptotic(z: Array) -> tuple[Array, Array]:
    """Return both at 1 / z."""
    import numpy as np  # noqa: PLC0415

    r = z * z
    psi = -np.log(z) - z / 2 - r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r / 132))))
    return psi, z + r / 2 + z * r * (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * (1 / 30 - r * 5 / 66))))


def _reflect(x: Array, psi: Array, psi1: Array) -> tuple[Array, Array]:
    """Turn the values at 1 - x into those at x, for negative x."""
    import numpy as np  # noqa: PLC0415

    angle = np.pi * x
    return (
        np.where(x < 0, psi - np.pi / np.tan(angle), psi),
        np.where(x < 0, (np.pi / np.sin(angle)) ** 2 - psi1, psi1),
    )
