"""Sort keys of the values of an ordered domain, by their type.

The order is the same as that of a sensitive attribute (`engine.tables.ranks`). Readers of a job file use this module,
because they import no arrays.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any


def _moment(value: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.timezone.utc)


def _decimal(value: str) -> Decimal:
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError("not a number")
    return number


KEYS: Mapping[str, Callable[[str], Any]] = {"text": str, "integer": int, "decimal": _decimal, "date": _moment}
"""Each function raises ValueError or ArithmeticError for a text that is not of the type."""
