"""Pseudonyms and shifted dates in words: which key made them, and how far dates moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_anon.ledger import form_parts as parts


def pseudonyms_in_words(name: str, column: parts.Attribute) -> str:
    """Say by which key the pseudonyms of a column are made, and with which column they are the same."""
    family = "" if column.family in {None, name} else f" of the family {column.family}"
    return f"pseudonyms{family} by {_key_in_words(column)}"


def shift_in_words(shift: parts.Shift | None) -> str:
    """Say how far the dates of a person are shifted, and by which key."""
    if shift is None or shift.days is None:
        return "shifted by the days of each person"
    weeks = "whole weeks, " if shift.weeks else ""
    return f"shifted by the days of each person ({weeks}at most {shift.days} days) by {_key_in_words(shift)}"


def _key_in_words(of: parts.Attribute | parts.Shift) -> str:
    if of.key_conn_id is None and of.key_file is None:
        return "a key of this release alone"
    return f"the key {of.key_id or 'of unknown id'}, which stays over releases"
