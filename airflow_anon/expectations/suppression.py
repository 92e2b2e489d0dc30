"""Suppressed records: within the limit, and as many as the report says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from airflow_anon.expectations.base import ReleaseExpectation
from engine import Count, Finding, Message

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable


class ExpectSuppressionWithinLimit(ReleaseExpectation):
    """No more records are suppressed than the job allows, and the release shows as many as its report counts.

    Parameters
    ----------
    limit : float
        Share of the records of the source, 0 to 1.
    source_rows : int
    reported_suppressed : int
        Suppressed records, by the report.
    suppressed : {"star", "drop"}
        Whether suppressed records are in the release with `*` in every quasi-identifier, or left out.
    root_is_mark : bool
        Whether `*` is a label of the chosen level of every quasi-identifier. Then kept records can look the same as
        suppressed ones, and the release has at least as many such records as were suppressed.
    quasi_identifiers : list of str
    below : int
        Where the report withholds how few records were left out: more than that; else 0. Then neither the published
        parameters nor the result tell it.
    below_of : {"records", "persons"}
        What `below` counts: the records that were left out, or the persons whose they are.
    """

    limit: float
    source_rows: int
    reported_suppressed: int
    suppressed: Literal["star", "drop"]
    root_is_mark: bool
    quasi_identifiers: list[str]
    below: int
    below_of: Literal["records", "persons"]

    success_keys: ClassVar[tuple[str, ...]] = (
        "limit",
        "source_rows",
        "reported_suppressed",
        "suppressed",
        "root_is_mark",
        "quasi_identifiers",
        "below",
        "below_of",
    )
    counts: ClassVar[tuple[str, ...]] = ("source_rows", "reported_suppressed")
    template: ClassVar[str] = (
        "At most the share $limit of $source_rows records may be suppressed, and exactly $reported_suppressed must be."
    )

    template_withheld: ClassVar[str] = (
        "At most the share $limit of the records may be suppressed, and those of fewer than $below $below_of must be "
        "left out."
    )

    def read_columns(self) -> list[str]:
        """Quasi-identifiers."""
        return self.quasi_identifiers

    def judge(self, release: ClassTable) -> Finding:
        """Count the records that are `*` in every quasi-identifier."""
        starred = int(release.sizes[release.starred].sum())
        if self.below:
            return self._few(self.source_rows - release.rows, agrees=self._agrees(starred))
        agrees = self._agrees(starred)
        observed = self.reported_suppressed if agrees else starred
        allowed = math.floor(self.limit * self.source_rows)
        message = Message.of(
            "suppressed records: {observed} of {rows}, allowed: {allowed}",
            observed=Count(observed),
            rows=Count(self.source_rows),
            allowed=allowed,
        )
        if not agrees:
            message = Message(message, "; the report says ", Count(self.reported_suppressed))
        return Finding(
            self.expectation_type,
            holds=agrees and observed <= allowed,
            observed=observed,
            required=allowed,
            column=None,
            message=message,
        )

    def _few(self, left_out: int, *, agrees: bool) -> Finding:
        few = left_out > 0 and (left_out < self.below or self.below_of == "persons")
        return Finding(
            self.expectation_type,
            holds=agrees and few and left_out <= math.floor(self.limit * self.source_rows),
            observed=None,
            required=None,
            column=None,
            message=(
                f"records of fewer than {self.below} persons must be left out, and no more than the limit allows"
                if self.below_of == "persons"
                else f"fewer than {self.below} records must be left out, and no more than the limit allows"
            ),
        )

    def _agrees(self, starred: int) -> bool:
        expected = self.reported_suppressed if self.suppressed == "star" else 0
        return starred == expected or (starred > expected and self.root_is_mark)
