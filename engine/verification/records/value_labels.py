"""The labels that the values of a quasi-identifier have at each level, as the definitions say.

A missing value stays missing up to the highest level, where it joins the root if there is one. A value without an entry
in the hierarchy has the label of the root at every level, or its record is suppressed, or it is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.errors import InvalidData
from engine.message import Count, Message
from engine.verification.records.kept import MARK

if TYPE_CHECKING:
    from engine.job.attribute import Attribute

Value = str | None


class ValueLabels:
    """Labels of the values of one quasi-identifier.

    Parameters
    ----------
    attribute : Attribute
        Its entry of the job.
    values : sequence of str or None
        The distinct values: what a builder makes of one may depend on the others.

    Raises
    ------
    InvalidData
        Values have no entry and the job makes that an error, or they have no one root to become.
    """

    def __init__(self, name: str, attribute: Attribute, values: Sequence[Value]) -> None:
        assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
        self.name = name
        self._missing = {None, *attribute.missing}
        self._unseen = attribute.unseen
        texts = sorted({value for value in values if value is not None} - self._missing)
        rows = attribute.hierarchy.rows(texts)
        self._rows = {row[0]: row for row in rows}  # of a leaf listed twice the last row counts
        self._top = attribute.hierarchy.level_count - 1
        # a builder whose entries are the values themselves has none where all are missing or unknown
        roots = {row[-1] for row in rows}
        if not rows and attribute.hierarchy.is_label(MARK, self._top):
            roots = {MARK}
        self._root = roots.pop() if len(roots) == 1 else None
        unseen = sum(value not in self._rows for value in texts)
        if unseen and (attribute.unseen == "error" or self._root is None):
            raise InvalidData(
                Message.of(
                    "column {name!r}: its hierarchy has no entry for {unseen} of the distinct values of the "
                    "population; add them to the hierarchy, or give it one root and set unseen",
                    name=name,
                    unseen=Count(unseen),
                )
            )

    def at(self, value: Value, level: int) -> Value:
        """Return the label of a value at a level, None for a missing one.

        Raises
        ------
        InvalidData
            The hierarchy has no such level.
        """
        if level > self._top:
            raise InvalidData(
                f"column {self.name!r}: the report names a level above {self._top}, the highest of its hierarchy; give "
                "the report of the run"
            )
        if value in self._missing:
            return self._root if level == self._top > 0 else None
        row = self._rows.get(value or "")
        return self._root if row is None else row[level]

    def refuses(self, value: Value) -> bool:
        """Tell whether the value suppresses its record."""
        return self._unseen == "suppress" and value not in self._missing and value not in self._rows
