"""Numbers in nested half-open intervals: `23`, `[20, 25[`, `[20, 30[`, `*`.

Intervals start at `origin` plus multiples of their width; the outermost are cut at the bounds. All arithmetic is
decimal and exact, so rounding never moves a value into a neighbouring interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, Extent, HierarchyBuilder, Row
from engine.hierarchy.nesting import check_multiples

DOMAIN_LIMIT = 100_000
"""The largest number of integers in a fixed domain."""

_REACH = Decimal("1e30")  # values beyond have no row: with the pattern below it bounds the digits of every result
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,39}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?")
_LABEL = re.compile(r"\[([^ ]+), ([^ ]+)\[")
_EXACT = Context(prec=500, traps=[Inexact, InvalidOperation, DivisionByZero])

NOTATION = "[a, b[ stands for numbers from a up to b, without b itself, < a for those below a, >= b for b and above"
"""How labels of intervals are read."""


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004 (pydantic turns only a ValueError into a message)
    return value


_READ = BeforeValidator(_no_bool)
_WRITE = PlainSerializer(lambda n: int(n) if n == int(n) else str(n), return_type=int | str, when_used="json")
Number = Annotated[Decimal, Field(max_digits=25, decimal_places=10, allow_inf_nan=False), _READ, _WRITE]
Width = Annotated[Decimal, Field(max_digits=25, decimal_places=10, allow_inf_nan=False, gt=0), _READ, _WRITE]


class Interval(HierarchyBuilder):
    """Intervals of a fixed width per level."""

    notation: ClassVar[str] = NOTATION

    builder: Literal["interval"] = "interval"
    type: Literal["integer", "decimal"] = Field(
        default="integer", description="How values are written: whole numbers without leading zeros, or decimals."
    )
    widths: tuple[Width, ...] = Field(
        min_length=1, description="Width of the intervals of level 1, 2, ...; each a multiple of the one before."
    )
    origin: Number = Field(default=Decimal(0), description="A number at which an interval starts on every level.")
    lower: Number | None = Field(default=None, description="Smallest value.")
    upper: Number | None = Field(default=None, description="Values are below it.")
    open_ended: bool = Field(
        default=False,
        strict=True,
        description="Values outside the bounds become '< lower' and '>= upper' instead of having no row.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_multiples(self.widths)
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError(f"upper is {self.upper}; it must be above lower, {self.lower}")
        if self.open_ended and self.lower is None and self.upper is None:
            raise ValueError("open_ended: needs lower, upper or both")
        if self.type == "integer":
            self._whole()
        return self

    def _whole(self) -> None:
        for key in ("origin", "lower", "upper"):
            number = getattr(self, key)
            if number is not None and number != int(number):
                raise ValueError(f"{key} is {number}; it must be a whole number, or set type: decimal")
        for position, width in enumerate(self.widths):
            if width != int(width):
                raise ValueError(f"widths.{position} is {width}; it must be a whole number, or set type: decimal")
        if len(self._domain()) > DOMAIN_LIMIT:
            raise ValueError(
                f"lower to upper are {len(self._domain())} integers, at most {DOMAIN_LIMIT} are allowed; narrow the "
                "bounds, leave one out, or set type: decimal: then the values of the data are the leaves"
            )

    @property
    def level_count(self) -> int:
        """The value, one level per width, `*`."""
        return len(self.widths) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """Every integer between two bounds; else, and outside of them, the numbers among `values`."""
        rows = dict(self._domain_rows())
        for value in values:
            number = self._value(value)
            if value not in rows and number is not None:
                rows[value] = (value, *self._labels(number), SUPPRESSED)
        return list(rows.values())

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        whole = "whole numbers without leading zeros or a minus before 0 (type: decimal takes others)"
        numbers = whole if self.type == "integer" else "numbers"
        if not self.open_ended:
            numbers += "" if self.lower is None else f" from {plain(self.lower)} {'on' if self.upper is None else 'to'}"
            numbers += "" if self.upper is None else f" below {plain(self.upper)}"
        return numbers

    @property
    def example_value(self) -> str:
        """The middle between the bounds; with one or none, of the widest interval at the bound, or at the origin."""
        start, width = self.origin if self.lower is None else self.lower, self.widths[-1]
        if self.upper is not None:
            start = start if self.lower is not None else _EXACT.subtract(self.upper, width)
            width = _EXACT.subtract(self.upper, start)
        half = _EXACT.divide_int(width, 2) if self.type == "integer" else _EXACT.divide(width, 2)
        return plain(_EXACT.add(start, half))

    def is_label(self, label: str, level: int) -> bool:
        """Read the label as a value or an interval, and compare it with that written again."""
        if level == 0:
            return self._value(label) is not None
        if level == self.level_count - 1:
            return label == SUPPRESSED
        if self.open_ended and label in self._open_labels():
            return True
        match = _LABEL.fullmatch(label)
        start = _parse(match[1]) if match else None
        return start is not None and self._label(start, self.widths[level - 1]) == label

    def _extent(self, label: str, level: int) -> Extent | None:
        """Read the ends of an interval, or a value."""
        del level
        return extent_of(label)

    def _domain(self) -> range:
        if self.type != "integer" or self.lower is None or self.upper is None:
            return range(0)
        return range(int(self.lower), int(self.upper))

    def _domain_rows(self) -> Iterator[tuple[str, Row]]:
        for number in self._domain():
            yield str(number), (str(number), *self._labels(Decimal(number)), SUPPRESSED)

    def _value(self, text: str) -> Decimal | None:
        """Read a leaf; None for a value without a row."""
        if self.type == "integer" and not _INTEGER.fullmatch(text):
            return None
        number = read_number(text)
        return number if number is not None and (self.open_ended or self._inside(number)) else None

    def _inside(self, number: Decimal) -> bool:
        return (self.lower is None or number >= self.lower) and (self.upper is None or number < self.upper)

    def _labels(self, number: Decimal) -> list[str]:
        return [self._label(number, width) for width in self.widths]

    def _label(self, number: Decimal, width: Decimal) -> str:
        if self.lower is not None and number < self.lower:
            return f"< {plain(self.lower)}"
        if self.upper is not None and number >= self.upper:
            return f">= {plain(self.upper)}"
        start = _EXACT.add(self.origin, _EXACT.multiply(_floor(_EXACT.subtract(number, self.origin), width), width))
        end = _EXACT.add(start, width)
        start = start if self.lower is None else max(start, self.lower)
        end = end if self.upper is None else min(end, self.upper)
        return f"[{plain(start)}, {plain(end)}["

    def _open_labels(self) -> Iterator[str]:
        if self.lower is not None:
            yield f"< {plain(self.lower)}"
        if self.upper is not None:
            yield f">= {plain(self.upper)}"


def read_number(text: str) -> Decimal | None:
    """Read a number of the data; None for a text that is none, or is beyond the numbers that have a row."""
    number = _parse(text)
    return None if number is None or abs(number) >= _REACH else number


def _parse(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def extent_of(label: str) -> Extent:
    """Read the ends of the label of an interval, or a number."""
    match = _LABEL.fullmatch(label)
    if match:
        return Decimal(match[1]), Decimal(match[2])
    sign, blank, bound = label.partition(" ")
    if blank:
        return (None, Decimal(bound)) if sign == "<" else (Decimal(bound), None)
    return Decimal(label), Decimal(label)


def _floor(number: Decimal, width: Decimal) -> Decimal:
    """How many whole widths fit below `number`; negative left of 0."""
    quotient = _EXACT.divide_int(number, width)
    return _EXACT.subtract(quotient, 1) if _EXACT.multiply(quotient, width) > number else quotient


def plain(number: Decimal) -> str:
    """Write a number without exponent, trailing zeros or negative zero."""
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
