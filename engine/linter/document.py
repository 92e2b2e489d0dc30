"""The form of the linter's part of a report. Shares are from 0 to 1; nothing in it is a value of a record."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

Kind = Literal[
    "repeats",
    "repeats-unknown",
    "nearly-unique",
    "rare-values",
    "hardly-varies",
    "frequent-day",
    "no-model",
    "unused-hierarchy",
    "homogeneous-classes",
]
"""What is wrong with a column; docs/criteria.md says when each is found.

`repeats` and `repeats-unknown` are only in reports of earlier versions: such a job is refused now.
"""


class LintedColumn(TypedDict):
    """How a released column varies in the source, among the records that have a value, to two digits.

    `distinction`: its distinct values, as a share of these records; None if no record has a value. `separation`: the
    share of pairs of these records that differ in it; None with fewer than two. `records`: how many these are; of them
    follow the digits that are published, and it is not.
    """

    column: str
    role: str
    distinction: float | None
    separation: float | None
    records: NotRequired[int]
    accept: NotRequired[Literal["unique"]]


class LintedClasses(TypedDict):
    """The homogeneous classes of a sensitive column in the file: all records of the class have the same value.

    `homogeneous`: their number; `records_share`: the share of the file's records in them. A class in which every value
    is missing is none of them.
    """

    column: str
    homogeneous: int
    records_share: float


class LintFinding(TypedDict):
    """Something about a column that a reader must know; the report's `warnings` say it in words, in the same order."""

    kind: Kind
    column: str


class Lint(TypedDict):
    """What the linter measured and found; `unit` is what the job says is counted, None if it need not say it."""

    unit: Literal["record", "person"] | None
    columns: list[LintedColumn]
    classes: list[LintedClasses]
    findings: list[LintFinding]
