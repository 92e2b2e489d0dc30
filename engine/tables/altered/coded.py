"""Numbers of single columns coded record by record: bottom and top coding, and rounding between the ends.

In: a source and the columns whose numbers are read. Out: a `Table` in which these columns are numbers: whole ones as
int64, decimals of their own type, all others as double, whatever they were in the source. What becomes of a number
depends on nothing but itself, so that a class of equal records stays one. (Hundepool et al., Statistical Disclosure
Control, Wiley 2012, sections 3.2.4, 3.2.5 and 3.4.2.)

A number at an end or beyond it becomes the end, and so does one that rounding carries beyond. So what is coded stays as
it is if it is coded again, ends that are no multiple of the step too. Rounding is exact: the number as it is written,
by the step as it is written, from the middle to the even multiple.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import InvalidData
from engine.hierarchy.value_keys import OrderName
from engine.message import Count, Message
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import plain_type, type_name
from engine.tables.sources.table import Table

_EXACT = Context(prec=80)
_LARGEST = 1 << 63
_EXACT_DOUBLES = 1 << 53
_CERTAIN = 1e7
"""Up to so many steps, a quotient of doubles is off by less than a ten-millionth of a step."""


@dataclass(frozen=True)
class Numbers:
    """How the numbers of a column are read and coded.

    Attributes
    ----------
    key : str
        Key of the job that asks for numbers, for errors.
    order : {"integer", "decimal"} or None
        What texts are read as.
    missing : set of str
        Texts that mean a missing value.
    bottom, top, round_to : int, float or None
    """

    key: str
    order: OrderName | None = None
    missing: frozenset[str] = frozenset()
    bottom: float | None = None
    top: float | None = None
    round_to: float | None = None

    def released_type(self, name: str, kind: pa.DataType) -> pa.DataType:
        """Return the type of the coded column, whose type in the source is `kind`.

        Raises
        ------
        InvalidData
            It holds no numbers, or only whole ones and a setting is none.
        """
        kind = plain_type(kind)
        if pa.types.is_decimal(kind):
            found = kind
        elif pa.types.is_integer(kind) or (_is_text(kind) and self.order == "integer"):
            found = pa.int64()
        elif pa.types.is_floating(kind) or (_is_text(kind) and self.order == "decimal"):
            found = pa.float64()
        else:
            fix = (
                "say order: integer or order: decimal"
                if _is_text(kind)
                else f"convert it in the source query, or leave {self.key} out"
            )
            raise InvalidData(f"column {name!r}: is {type_name(kind)}, and {self.key} needs numbers; {fix}")
        self._check_settings(name, found)
        return found

    def _check_settings(self, name: str, kind: pa.DataType) -> None:
        for key, value in (("bottom", self.bottom), ("top", self.top), ("round_to", self.round_to)):
            if value is None:
                continue
            if kind == pa.int64() and (value != int(value) or not -_LARGEST <= value < _LARGEST):
                raise InvalidData(
                    f"column {name!r}: holds whole numbers, and coding.{key} is {value}; give a whole number, or "
                    "convert the column to double in the source query"
                )
            if pa.types.is_decimal(kind) and Decimal(str(value)) != _fitting(Decimal(str(value)), kind):
                raise InvalidData(
                    f"column {name!r}: holds decimals with {kind.scale} digits after the point, and coding.{key} is "
                    f"{value}; give a number with as many digits at most"
                )

    def of(self, number: Decimal) -> Decimal:
        """Return a number coded."""
        within = self._between_ends(number)
        if self.round_to is not None and within == number and within not in self._ends:
            step = Decimal(str(self.round_to))
            within = self._between_ends(
                _EXACT.multiply(_EXACT.divide(number, step).to_integral_value(ROUND_HALF_EVEN), step)
            )
        return abs(within) if within.is_zero() else within  # -0 and 0 would be two values

    @property
    def _ends(self) -> list[Decimal]:
        return [Decimal(str(end)) for end in (self.bottom, self.top) if end is not None]

    def _between_ends(self, number: Decimal) -> Decimal:
        number = number if self.bottom is None else max(number, Decimal(str(self.bottom)))
        return number if self.top is None else min(number, Decimal(str(self.top)))


class CodedTable:
    """A source with columns of coded numbers; columns that it lacks are nobody's concern here.

    Raises
    ------
    InvalidData
        A column holds no numbers.
    """

    def __init__(self, source: Table, columns: Mapping[str, Numbers]) -> None:
        self._source = source
        self._columns = {name: one for name, one in columns.items() if name in source.schema.names}
        self.schema = pa.schema(
            [
                field.with_type(self._columns[field.name].released_type(field.name, field.type))
                if field.name in self._columns
                else field
                for field in source.schema
            ],
            source.schema.metadata,
        )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`.

        Raises
        ------
        InvalidData
            Also if a text is no number.
        """
        for batch in self._source.batches(columns):
            made = [
                self._coded(name, batch.column(name)) if name in self._columns else batch.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(made, names=list(columns)) if columns else batch

    def _coded(self, name: str, column: pa.Array) -> pa.Array:
        numbers, kind = self._columns[name], self.schema.field(name).type
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        if not numbers.missing and (pa.types.is_signed_integer(plain.type) or plain.type == pa.float64()):
            made = _whole(plain, numbers) if kind == pa.int64() else _doubles(plain, numbers)
            if made is not None:
                return made
        encoded = as_text(column, name).dictionary_encode(null_encoding="encode")
        texts = encoded.dictionary.to_pylist()
        read = [None if text is None or text in numbers.missing else _read(text, kind) for text in texts]
        wrong = np.array(
            [
                value is None and text is not None and text not in numbers.missing
                for value, text in zip(read, texts, strict=True)
            ],
            np.bool_,
        )
        if wrong.any():
            records = int(wrong[encoded.indices.to_numpy(zero_copy_only=False)].sum())
            raise InvalidData(
                Message.of(
                    "column {name!r}: has no number that {kind} can hold, which {key} needs, in {records} of its "
                    "records; correct them in the source, or list their texts under missing",
                    name=name,
                    records=Count(records),
                    kind=type_name(kind),
                    key=numbers.key,
                )
            )
        coded = [None if value is None else numbers.of(value) for value in read]
        return _array(name, coded, kind).take(encoded.indices)


def _whole(column: pa.Array, numbers: Numbers) -> pa.Array | None:
    """Code whole numbers all at once; None where a multiple could be too large for int64."""
    values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if numbers.round_to is not None:
        step = int(numbers.round_to)
        if values.size and max(-int(values.min()), int(values.max()), step) >= _LARGEST >> 2:
            return None
        below, rest = np.divmod(values, step)
        rounded = (below + ((2 * rest > step) | ((2 * rest == step) & (below % 2 == 1)))) * step
    else:
        rounded = values
    if numbers.bottom is not None:
        rounded = np.where(values <= int(numbers.bottom), int(numbers.bottom), np.maximum(rounded, int(numbers.bottom)))
    if numbers.top is not None:
        rounded = np.where(values >= int(numbers.top), int(numbers.top), np.minimum(rounded, int(numbers.top)))
    return pa.array(rounded, pa.int64(), mask=column.is_null().to_numpy(zero_copy_only=False))


def _doubles(column: pa.Array, numbers: Numbers) -> pa.Array | None:
    """Code doubles all at once; None where one is not finite, or the step is no quotient of numbers that doubles hold.

    A multiple is a quotient of two whole numbers that doubles hold exactly, so it is the double nearest to it. Beside
    the middle of two multiples, and of very many steps, the digits decide as they are written.
    """
    values = column.fill_null(0.0).to_numpy(zero_copy_only=False)
    if not np.isfinite(values).all():
        return None
    coded, open_ = values, np.zeros(values.size, np.bool_)
    if numbers.round_to is not None:
        above, below = Decimal(str(numbers.round_to)).as_integer_ratio()
        if max(above, below) >= _EXACT_DOUBLES:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            steps = values * below / above
            size = np.abs(steps)
            open_ = ~(np.abs(steps - np.floor(steps) - 0.5) >= 1 / _CERTAIN)
            open_ |= ~((size < _CERTAIN) & (size * above < _EXACT_DOUBLES))
            coded = np.rint(steps) * above / below
    if numbers.bottom is not None:
        bottom = float(numbers.bottom)
        coded = np.where(values <= bottom, bottom, np.maximum(coded, bottom))
    if numbers.top is not None:
        top = float(numbers.top)
        coded = np.where(values >= top, top, np.minimum(coded, top))
    coded = coded + 0.0  # there is no -0
    texts = pa.array(values[open_]).cast(pa.string()).to_pylist()
    coded[open_] = [float(numbers.of(Decimal(text))) for text in texts]
    return pa.array(coded, pa.float64(), mask=column.is_null().to_numpy(zero_copy_only=False))


def _read(text: str, kind: pa.DataType) -> Decimal | None:
    """Return the number that a text is, if a column of this type can hold it."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or not text.isascii() or "_" in text:
        return None
    if kind == pa.int64():
        fits = number == number.to_integral_value() and -_LARGEST <= number < _LARGEST
        return number if fits else None
    return number


def _array(name: str, numbers: Sequence[Decimal | None], kind: pa.DataType) -> pa.Array:
    try:
        if kind == pa.int64():
            return pa.array([None if number is None else int(number) for number in numbers], kind)
        if kind == pa.float64():
            found = pa.array([None if number is None else float(number) for number in numbers], kind)
            if pc.all(pc.is_finite(found)).as_py() is False:
                raise InvalidData(f"column {name!r}: a number is too large for double; correct it in the source")
            return found
        return pa.array([None if number is None else _fitting(number, kind) for number in numbers], kind)
    except (pa.ArrowException, OverflowError, ArithmeticError):  # a message may quote a value
        raise InvalidData(
            f"column {name!r}: a coded number does not fit {type_name(kind)}; widen the column in the source query"
        ) from None


def _fitting(number: Decimal, kind: pa.DataType) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_EVEN, _EXACT)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
