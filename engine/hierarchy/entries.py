"""What is told of values that a hierarchy has no entry for: how many there are, and which it takes."""

from __future__ import annotations

from collections.abc import Collection

from engine.hierarchy.builder import HierarchyBuilder
from engine.message import Count, Message

ADVICE = (
    "airflow-anon check --show-values shows them; add them to the hierarchy or give the column another one, correct "
    'them in the source, name those that mean a missing value in missing (an empty cell of a CSV file is ""), or say '
    "unseen: suppress or root for a quasi-identifying column"
)


def without_entry(name: str, values: Collection[str], records: int, builder: HierarchyBuilder) -> Message:
    """Tell how many distinct values of a column, in how many records, have no entry, and how many nearly have one."""
    told = Message.of(
        "column {name!r}: its hierarchy has no entry for {values} of the distinct values, in {records} of the records; "
        "it takes {admitted}",
        name=name,
        values=Count(len(values)),
        records=Count(records),
        admitted=builder.admits,
    )
    nearly = builder.nearly(values)
    if not nearly:
        return told
    return Message(
        told,
        ", and would take ",
        Count(nearly),
        " of those with other blanks, in other case or without a minus before 0",
    )
