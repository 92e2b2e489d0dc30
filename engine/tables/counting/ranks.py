"""The order of a sensitive attribute's values, by its data type.

In: the type of its column, and the distinct values as text, None for a missing one. Out: their ranks. A missing value
comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import InvalidOperation
from typing import Any

import pyarrow as pa

from engine.errors import InvalidData, InvalidJob
from engine.hierarchy.value_keys import KEYS, OrderName
from engine.message import Count, Message
from engine.tables.sources.column_types import plain_type

_UNLIKE_TEXT: tuple[tuple[OrderName, str], ...] = (("decimal", "numbers"), ("date", "dates"))


def order_of(kind: pa.DataType) -> OrderName:
    """Return the order that the values of a column have by its type; text for all but numbers and dates."""
    kind = plain_type(kind)
    if pa.types.is_integer(kind) or pa.types.is_duration(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "decimal"
    return "date" if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else "text"


def refuse_other_types(attribute: str, values: Iterable[str | None]) -> None:
    """Refuse to order values as text that are not text, such as the numbers of a CSV file.

    Raises
    ------
    InvalidJob
        More than half of the distinct values, missing and blank ones left out, are numbers or ISO dates.
    """
    texts = [value for value in values if value is not None and value.strip()]
    for order, what in _UNLIKE_TEXT:
        if 2 * sum(_is_of(order, value) for value in texts) > len(texts):
            raise InvalidJob(
                f"column {attribute!r}: is text that looks like {what}, and a privacy model depends on how its values "
                f"are ordered; set attributes.{attribute}.order to {', '.join(KEYS)}, whichever fits"
            )


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
            keys.append((True, KEYS[order](value), value))
        except (ValueError, InvalidOperation):
            wrong += 1
    if wrong:
        raise InvalidData(
            Message.of(
                "column {attribute!r}: distinct values that are no {order}: {wrong}; correct them in the source or "
                "change attributes.{attribute}.order, allowed are {orders}",
                attribute=attribute,
                wrong=Count(wrong),
                order=order,
                orders=", ".join(KEYS),
            )
        )
    missing = [i for i, key in enumerate(keys) if not key[0]]
    present = sorted((i for i, key in enumerate(keys) if key[0]), key=lambda i: keys[i][1:])
    positions = missing + present
    result = [0] * len(keys)
    for rank, position in enumerate(positions):
        result[position] = rank
    return result


def _is_of(order: OrderName, value: str) -> bool:
    try:
        KEYS[order](value)
    except (ValueError, InvalidOperation):
        return False
    return True
