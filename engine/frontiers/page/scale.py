"""An axis of a picture: positions of values, and the values of its ticks.

In: the values to be shown. Out: a share of the axis' length for each value, 0 at its start, and round tick values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic axis from `low` to `high`."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def around(cls, values: Iterable[float], *, logarithmic: bool) -> Scale:
        """Return an axis that shows all values with some margin; a linear one begins at 0.

        Parameters
        ----------
        values : iterable of float
            At least 0, and above 0 on a logarithmic axis.
        logarithmic : bool
            Whether equal distances are equal ratios.
        """
        found = list(values)
        low, high = min(found, default=0.0), max(found, default=0.0)
        if logarithmic:
            return cls(low / 1.3, high * 1.3, logarithmic=True)
        return cls(0.0, 1.06 * high or 1.0, logarithmic=False)

    def place(self, value: float) -> float:
        """Return the position of a value, 0 at the start of the axis and 1 at its end."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return about three to ten round values of the axis, ascending."""
        return self._logarithmic_ticks() if self.logarithmic else self._linear_ticks()

    def _linear_ticks(self) -> list[float]:
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in STEPS if power * factor >= rough)
        return [count * step for count in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]

    def _logarithmic_ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        factors = (1,) if len(powers) > 5 else (1, 2, 5)  # noqa: PLR2004 (more labels would touch each other)
        marks = (factor * 10.0**power for power in powers for factor in factors)
        return [mark for mark in marks if self.low <= mark <= self.high]
