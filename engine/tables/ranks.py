"""The order of a sensitive attribute's values, by its data type.

In: the distinct values as text, None for a missing one. Out: their ranks. A missing value comes first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from engine.errors import InvalidData

OrderName = Literal["text", "integer", "decimal", "date"]


def _moment(value: str) -> dt.datetime:
    # aware moments compare across offsets without conversion, which could leave the calendar at its end
    moment = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.timezone.utc)


def _decimal(value: str) -> Decimal:
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError("not a number")
    return number


_KEYS: Mapping[OrderName, Callable[[str], Any]] = {
    "text": str,
    "integer": int,
    "decimal": _decimal,
    "date": _moment,
}


def ranks(attribute: str, values: Sequence[str | None], order: OrderName) -> list[int]:
    """Return the rank of each value, 0 for the first.

    Raises
    ------
    InvalidData
        Values are not of the type. The message gives their number, but no values.
    """
    keys: list[tuple[bool, Any, str]] = []
    wrong = 0
    for value in values:
        if value is None:
            keys.append((False, None, ""))
            continue
        try:
            keys.append((True, _KEYS[order](value), value))
        except (ValueError, InvalidOperation):
            wrong += 1
    if wrong:
        raise InvalidData(
            f"column {attribute!r}: {wrong} distinct values are no {order}; correct them in the source or change "
            f"attributes.{attribute}.order, allowed are {', '.join(_KEYS)}"
        )
    missing = [i for i, key in enumerate(keys) if not key[0]]
    present = sorted((i for i, key in enumerate(keys) if key[0]), key=lambda i: keys[i][1:])
    positions = missing + present
    result = [0] * len(keys)
    for rank, position in enumerate(positions):
        result[position] = rank
    return result
