"""The form of `codebook.json`: what each column of a release holds, and how it is read.

Everything in it follows from the released file, the job and its hierarchies, which all readers have: it tells nothing
that they could not count themselves.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

FORM = 1
"""Of a release of one table."""
LINKED_FORM = 2
"""Of a release of several tables, which this version knows too; a reader refuses a higher one."""

MOST = 2_000
"""Labels of a column that are listed; of a column with more, such as one of postcodes, only their number is told."""

What = Literal[
    "exact",
    "generalized",
    "one-label",
    "mixed",
    "pseudonym",
    "shifted",
    "coded",
    "aggregated",
    "noisy",
    "randomized",
    "as-in-the-source",
]
"""What was done to a column. Of those that make classes: nothing, or values were joined under labels, or all of them
under one, or each record has a label of a level of its own. Of the others: pseudonyms took the place of identifiers,
dates were moved, numbers were coded, each class has one aggregate or each of its groups one mean, numbers
have random noise, some categories were changed at random, or nothing was done."""


class Ends(TypedDict):
    """What a label stands for, if these are numbers or dates.

    `value` is the only one of them; or `begin` is the smallest and `below` the first one above all, and a side without
    an end is absent. Dates are ISO 8601.
    """

    value: NotRequired[int | float | str]
    begin: NotRequired[int | float | str]
    below: NotRequired[int | float | str]


class Described(Ends):
    """A label of a quasi-identifier, with the records of the file that have it."""

    label: str
    records: int


class DescribedColumn(TypedDict):
    """A column of the release.

    `type`: in the Parquet file. Of a quasi-identifier: `level` and the number of `levels` of its hierarchy, of which 0
    is the value itself and the last one the highest (of a `mixed` column instead the `lowest` and `highest` that a
    record may have); `notation`, how its labels are read; the `labels` that occur, in their order if they are
    `ordered`, and none if they are more than `MOST`. Of these and of sensitive columns: `distinct` values or labels in
    the file, a missing one not counted, and records whose value is `missing`. `shifted`: its dates were moved, by the
    same number of days for all dates of a person, before anything else. `coding`: `bottom`, `top` and `round_to` of its
    numbers; `aggregate`: mean, median, mode or interval of each class, or mdav. `noise`: its standard deviation as
    `percent` of that of the column. `pram`: the `pd` and `alpha` of its matrix.
    """

    column: str
    type: str
    role: str
    what: What
    level: NotRequired[int]
    levels: NotRequired[int]
    lowest: NotRequired[int]
    highest: NotRequired[int]
    notation: NotRequired[str]
    shifted: NotRequired[bool]
    coding: NotRequired[dict[str, float]]
    aggregate: NotRequired[str]
    noise: NotRequired[dict[str, float]]
    pram: NotRequired[dict[str, float]]
    missing: NotRequired[int]
    distinct: NotRequired[int]
    ordered: NotRequired[bool]
    labels: NotRequired[list[Described]]


class DescribedTable(TypedDict):
    """One of several linked tables: its file in the release, its records there, and its columns."""

    table: str
    file: str
    records: int
    columns: list[DescribedColumn]


class Codebook(TypedDict):
    """`codebook.json`. Of a release of several tables `tables` describes each, and `columns` is empty.

    `records`: of the file. `suppressed`: those of them with `*` in every quasi-identifier because they were suppressed;
    `left_out`: whether suppressed records may be missing from the file. `counted`: what the criteria count. `sample`:
    the probability with which each record of the source was drawn, if not all were.
    """

    form: int
    name: str
    records: int
    suppressed: int
    left_out: bool
    counted: Literal["records", "persons"]
    criteria: list[str]
    sample: NotRequired[float]
    columns: list[DescribedColumn]
    tables: NotRequired[list[DescribedTable]]
