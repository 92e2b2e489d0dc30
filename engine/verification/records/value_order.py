"""The order of sensitive values by their data type, for the ordered distance of t-closeness.

The type is the one that the job names, or that of the output's column. Values that are equal in the type, such as `1`
and `01`, follow each other as text; a missing value comes first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from engine.errors import InvalidData, InvalidJob
from engine.message import Count, Message

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_WRONG = (-1,)


def order_by_type(attribute: str, kind: pa.DataType, values: Sequence[str | None]) -> str:
    """Return the order of a column's values where the job names none.

    Parameters
    ----------
    kind : pyarrow DataType
        Type of the output's column.
    values : sequence of str or None
        Its distinct values.

    Raises
    ------
    InvalidJob
        It is a column of texts most of which are numbers or dates, so that their order as text is hardly meant.
    """
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    for order, kinds in _TYPES.items():
        if any(is_kind(kind) for is_kind in kinds):
            return order
    texts = [value for value in values if value and not value.isspace()]
    for order in ("decimal", "date"):
        unlike = sum(_key(value, order) is not _WRONG for value in texts)
        if unlike > len(texts) - unlike:
            raise InvalidJob(
                f"attributes.{attribute}.order: the values look like {order}s but their column is text, so that their "
                f"order is not known; name it, allowed are {', '.join(_KEYS)}"
            )
    return "text"


def in_order(attribute: str, values: Sequence[str | None], order: str) -> list[int]:
    """Return the positions of distinct values in their order, the first value's first.

    Parameters
    ----------
    order : {"text", "integer", "decimal", "date"}
        Text is ordered by code points; a date without a time zone counts as UTC.

    Raises
    ------
    InvalidData
        Values are not of the type; their number is named, they are not.
    """
    keys = [_key(value, order) for value in values]
    wrong = keys.count(_WRONG)
    if wrong:
        raise InvalidData(
            Message.of(
                "column {attribute!r}: distinct values that are no {order}: {wrong}; correct them in the source or "
                "change attributes.{attribute}.order, allowed are {orders}",
                attribute=attribute,
                wrong=Count(wrong),
                order=order,
                orders=", ".join(_KEYS),
            )
        )
    return sorted(range(len(keys)), key=keys.__getitem__)


def _key(value: str | None, order: str) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    try:
        return (1, _KEYS[order](value), value.encode())
    except (ValueError, InvalidOperation, OverflowError):
        return _WRONG


def _number(value: str) -> Decimal:
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError("not finite")
    return number


def _seconds(value: str) -> dt.timedelta:
    utc = value[:-1] + "+00:00" if value.endswith("Z") else value
    moment = dt.datetime.fromisoformat(utc)
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.timezone.utc)) - _EPOCH


_TYPES: Mapping[str, tuple[Callable[[pa.DataType], bool], ...]] = {
    "integer": (pa.types.is_integer, pa.types.is_duration),
    "decimal": (pa.types.is_floating, pa.types.is_decimal),
    "date": (pa.types.is_date, pa.types.is_timestamp),
}

_KEYS: Mapping[str, Callable[[str], Any]] = {
    "text": str.encode,  # UTF-8 sorts as code points do
    "integer": int,
    "decimal": _number,
    "date": _seconds,
}
