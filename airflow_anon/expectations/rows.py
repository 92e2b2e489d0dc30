"""All records of the source, or of the released subset, are accounted for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from airflow_anon.expectations.base import ReleaseExpectation
from engine import Count, Finding, Message

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable


class ExpectRowsAccountedFor(ReleaseExpectation):
    """The rows of the release and the dropped records are together the records to release, as counted by the report.

    Parameters
    ----------
    source_rows : int
        Number of extracted rows.
    reported_source_rows : int
        Rows of the source by the report; if a subset is released, the rows of the population.
    listed_rows : int
        Rows to release: those of the subset's file, or all.
    reported_rows : int
        Released and suppressed rows, by the report.
    reported_suppressed : int
        Suppressed records, by the report.
    suppressed : {"star", "drop"}
        Whether suppressed records are in the release, or left out.
    released_rows : int
        Rows of the release, by the report.
    below : int
        Where the report withholds how few records were left out: more than that; else 0. Then the figures that it
        withholds are those of the extraction, and neither the published parameters nor the result tell them.
    below_of : {"records", "persons"}
        What `below` counts: the records that were left out, or the persons whose they are.
    """

    source_rows: int
    reported_source_rows: int
    listed_rows: int
    reported_rows: int
    reported_suppressed: int
    suppressed: Literal["star", "drop"]
    released_rows: int
    below: int
    below_of: Literal["records", "persons"]

    success_keys: ClassVar[tuple[str, ...]] = (
        "source_rows",
        "reported_source_rows",
        "listed_rows",
        "reported_rows",
        "reported_suppressed",
        "suppressed",
        "released_rows",
        "below",
        "below_of",
    )
    counts: ClassVar[tuple[str, ...]] = (*success_keys[:5], "released_rows")
    template: ClassVar[str] = (
        "The rows of the release and the records left out must be $listed_rows of the $source_rows records of the "
        "source ($reported_rows of $reported_source_rows in the report, $reported_suppressed of them suppressed: "
        "$suppressed)."
    )

    template_withheld: ClassVar[str] = (
        "The release must have the rows that its report counts, and of fewer than $below $below_of may any be left out."
    )

    def judge(self, release: ClassTable) -> Finding:
        """Count the rows."""
        if self.below:
            return self._few(release.rows)
        dropped = self.reported_suppressed if self.suppressed == "drop" else 0
        expected = self.listed_rows - dropped
        return Finding(
            self.expectation_type,
            holds=(
                release.rows == expected == self.released_rows
                and self.reported_rows == self.listed_rows
                and self.reported_source_rows == self.source_rows
            ),
            observed=release.rows,
            required=expected,
            column=None,
            message=Message.joined("; ", self._found(release.rows, expected)),
        )

    def _few(self, rows: int) -> Finding:
        agrees = self.reported_source_rows == self.source_rows
        left_out = self.listed_rows - rows
        few = left_out > 0 and (left_out < self.below or self.below_of == "persons")
        return Finding(
            self.expectation_type,
            holds=rows == self.released_rows and few and agrees,
            observed=rows,
            required=self.released_rows,
            column=None,
            message=(
                "the records of the source must be the rows of the release, and those of fewer than "
                f"{self.below} {self.below_of} left out"
            ),
        )

    def _found(self, rows: int, expected: int) -> Iterator[Message]:
        yield _two("rows: {one}, accounted for: {other}", rows, expected)
        if self.released_rows != expected:
            yield Message("the report gives another number of rows of the release")
        if self.reported_source_rows != self.source_rows:
            counted = "{one} were extracted and the report counted {other}"
            yield _two(counted, self.source_rows, self.reported_source_rows)
        if self.listed_rows not in {self.source_rows, self.reported_rows}:
            counted = "the subset lists {one} and the report counted {other}"
            yield _two(counted, self.listed_rows, self.reported_rows)


def _two(template: str, one: int, other: int) -> Message:
    return Message.of(template, one=Count(one), other=Count(other))
