"""The order of a sensitive attribute's values, by its data type.

In: the distinct values as text, None for a missing one. Out: their ranks. A missing value comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import InvalidOperation
from typing import Any

from engine.errors import InvalidData
from engine.hierarchy.value_keys import KEYS, OrderName
from engine.message import Count, Message


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
                "column {attribute!r}: {wrong} distinct values are no {order}; correct them in the source or change "
                "attributes.{attribute}.order, allowed are {orders}",
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
