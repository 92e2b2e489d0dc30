"""Texts of a sensitive attribute that a model would count as different values, though they are one, or none.

A class of persons with 5 and NaN, with a diagnosis and an empty field, or with 0 and -0, would be 2-diverse, and tell
the value of each. In: the distinct texts of the attribute. Out: nothing, or the error that says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import InvalidOperation
from typing import Any

from engine.errors import InvalidData
from engine.hierarchy.value_keys import KEYS, OrderName
from engine.message import Count, Message

_NO_NUMBER = "nan"
"""Text of what a float holds in place of a number."""


def refuse_blanks(attribute: str, values: Iterable[str | None], *, is_float: bool) -> None:
    """Refuse texts that hold nothing, and floats that are no number, where a missing value is no value.

    Raises
    ------
    InvalidData
        Names the attribute, and what the job may say.
    """
    texts = {value for value in values if value is not None}
    blanks = {text for text in texts if not text.strip()}
    found = [
        what
        for what, is_there in (
            ("empty texts, written in the job as ''", "" in blanks),
            ("texts of nothing but blanks", bool(blanks - {""})),
            ("floats that are no number, written in the job as 'nan'", is_float and _NO_NUMBER in texts),
        )
        if is_there
    ]
    if found:
        raise InvalidData(
            f"column {attribute!r}: holds {'; '.join(found)}: l-diversity would count them as a value, though a "
            f"missing one is none; list them under attributes.{attribute}.missing, make them NULL in the source, or "
            "say missing: value in the model"
        )


def refuse_equal_numbers(attribute: str, values: Iterable[str | None], order: OrderName) -> None:
    """Refuse numbers that are written in several ways.

    Raises
    ------
    InvalidData
        Names the attribute, how many texts are numbers that others are too, and the fix.
    """
    numbers = [_number(value, order) for value in values if value is not None]
    known = [number for number in numbers if number is not None]
    again = len(known) - len(set(known))
    if again:
        raise InvalidData(
            Message.of(
                "column {attribute!r}: distinct values that are numbers that others are too, such as 0 and -0, or "
                "1 and 1.0: {again}; l-diversity would count them as several; write each number in one way in the "
                "source, or let attributes.{attribute}.coding do so, such as coding: {{round_to: {step}}}",
                attribute=attribute,
                again=Count(again),
                step=1 if order == "integer" else 0.001,
            )
        )


def _number(text: str, order: OrderName) -> Any:
    """Return the number that a text is, if it is a finite one of the type."""
    try:
        return KEYS[order](text)
    except (ValueError, InvalidOperation):
        return None
