"""Additive noise: a number plus a normal draw whose standard deviation is a percentage of that of the column.

In: the numbers of a column and draws from 0 to 1. Out: numbers of the same type. (Method `additive` of sdcMicro's
addNoise: Templ, Kowarik, Meindl, Statistical disclosure control for micro-data using the R package sdcMicro, Journal of
Statistical Software 67(4), 2015, section 4.3; Brand, Microdata protection through noise addition, 2002.)

What is released is rounded to the third digit of the noise's standard deviation, or to the last digit that the column
can have: finer digits would tell of the draw, and of the number below it, without telling anything of the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from statistics import NormalDist

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.sources.column_types import type_name

_DIGITS = 2
"""Digits behind the first one of the standard deviation that stay."""
_LARGEST = 2.0**62


@dataclass(frozen=True)
class Spread:
    """The noise of a column.

    Attributes
    ----------
    deviation : float
        Its standard deviation.
    exponent : int
        Released numbers are multiples of this power of ten.
    """

    deviation: float
    exponent: int

    @classmethod
    def of(cls, name: str, columns: Iterable[pa.Array], kind: pa.DataType, percent: float) -> Spread:
        """Return the noise of a column that is read once, batch by batch.

        Parameters
        ----------
        columns : iterable of int64, double or decimal arrays
        kind : pyarrow DataType
            Theirs.

        Raises
        ------
        InvalidData
            Its numbers do not differ, or are whole and the noise is less than 1 of them; or too large.
        """
        total = _Moments()
        for column in columns:
            total.add(column.drop_null().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        deviation = total.deviation * percent / 100
        if not math.isfinite(deviation):
            raise InvalidData(f"column {name!r}: its numbers are too large for noise; take noise out")
        if deviation == 0:
            raise InvalidData(
                f"column {name!r}: fewer than two of its numbers differ, so that noise of any percent is none; take "
                "noise out, or give the column the role identifying"
            )
        unit = 0 if kind == pa.int64() else -kind.scale if pa.types.is_decimal(kind) else None
        if unit is not None and deviation < 10.0**unit:
            raise InvalidData(
                f"column {name!r}: noise.percent of {percent:g} is less than the step of {type_name(kind)}, so that "
                "many numbers would stay as they are; raise percent, or convert the column to double in the source "
                "query"
            )
        exponent = math.floor(math.log10(deviation)) - _DIGITS
        return cls(deviation, exponent if unit is None else max(unit, exponent))

    def added(self, name: str, column: pa.Array, uniform: NDArray[np.float64]) -> pa.Array:
        """Return numbers with noise.

        Parameters
        ----------
        uniform : float64, shape (n,)
            Above 0 and below 1.

        Raises
        ------
        InvalidData
            A number does not fit the type.
        """
        numbers = column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
        normal = NormalDist()
        drawn = np.fromiter(map(normal.inv_cdf, uniform.tolist()), np.float64, uniform.size)
        steps = np.rint(_multiples(numbers + self.deviation * drawn, self.exponent))
        absent = column.is_null().to_numpy(zero_copy_only=False)
        try:
            return self._typed(steps, absent, column.type)
        except (pa.ArrowException, OverflowError, ArithmeticError):  # a message may quote a value
            raise InvalidData(
                f"column {name!r}: a number with noise does not fit {type_name(column.type)}; widen the column in the "
                "source query"
            ) from None

    def _typed(self, steps: NDArray[np.float64], absent: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
        if pa.types.is_decimal(kind):
            made = [Decimal(int(step)).scaleb(self.exponent) for step in steps.tolist()]
            return pa.array([None if gone else one for one, gone in zip(made, absent, strict=True)], kind)
        numbers = _multiples(steps, -self.exponent) + 0.0  # there is no -0
        if kind == pa.int64():
            if (np.abs(numbers) >= _LARGEST).any():
                raise OverflowError
            return pa.array(numbers.astype(np.int64), kind, mask=absent)
        return pa.array(numbers, kind, mask=absent)


def _multiples(numbers: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Divide by a power of ten, which doubles hold exactly where it is large and not where it is small."""
    return numbers / 10.0**exponent if exponent >= 0 else numbers * 10.0**-exponent


class _Moments:
    """Number, mean and sum of squared differences of what was added, joined batch by batch (Chan et al. 1979)."""

    def __init__(self) -> None:
        self._number, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, numbers: NDArray[np.float64]) -> None:
        if not numbers.size:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(numbers.mean())
            squares = float(np.square(numbers - mean).sum())
        both, apart = self._number + numbers.size, mean - self._mean
        self._squares += squares + apart * apart * self._number * numbers.size / both
        self._mean += apart * numbers.size / both
        self._number = both

    @property
    def deviation(self) -> float:
        """Of a sample; 0 of fewer than two."""
        return math.sqrt(self._squares / (self._number - 1)) if self._number > 1 else 0.0
