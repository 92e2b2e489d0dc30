"""What the values of an ordered domain are compared by, as the type that the job names for them says.

Readers of job files import this, so it needs no arrays; `engine.tables.counting.ranks` ranks the values of a table by
it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal

OrderName = Literal["text", "integer", "decimal", "date"]


def _moment(value: str) -> dt.datetime:
    # aware moments compare across offsets as they are; conversion of one at the end of the calendar would leave it
    moment = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.timezone.utc)


def _decimal(value: str) -> Decimal:
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError("not a number")
    return number


KEYS: Mapping[OrderName, Callable[[str], Any]] = {"text": str, "integer": int, "decimal": _decimal, "date": _moment}
"""Each raises ValueError or ArithmeticError for a text that is not of the type."""
