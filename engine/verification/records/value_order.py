"""The order of sensitive values by their data type, for the ordered distance of t-closeness.

Values that are equal in the type, such as `1` and `01`, follow each other as text; a missing value comes first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from engine.errors import InvalidData
from engine.message import Count, Message

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_WRONG = (-1,)


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
                "column {attribute!r}: {wrong} distinct values are no {order}; correct them in the source or change "
                "attributes.{attribute}.order, allowed are {orders}",
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


_KEYS: Mapping[str, Callable[[str], Any]] = {
    "text": str.encode,  # UTF-8 sorts as code points do
    "integer": int,
    "decimal": _number,
    "date": _seconds,
}
