"""The statements of a job inside its warehouse, by SQLAlchemy Core.

In: the source as a subquery whose columns have known types, and tables of SQLAlchemy. Out: statements. The values of
each counted column get numbers in a table of their own (`numbered`), by which they are counted and, in the release,
replaced (`release_statement`): no value is ever sent back to the database, and no cast of it has a say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import sqlalchemy as sa

from airflow_anon.transport.connection import names_of
from airflow_anon.transport.relation import Relation
from airflow_anon.warehouse.expressions import Keyed, comparable, has_sign, sign

MakeTable = Callable[[str, Sequence[sa.Column[Any]]], sa.Table]
"""Makes a table of some columns, by what it is for or by its name."""
_WIDEST = 2**63 - 1
_FIRST, _LAST = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
"""What drivers can read."""


@dataclass(frozen=True)
class Expression:
    """A column of the source: its name, its SQL, and its type."""

    name: str
    sql: str
    type: Any


def source_of(relation: Relation, columns: Sequence[Expression], dialect: sa.Dialect) -> sa.Subquery:
    """Return the source as a subquery with these columns; its words are those of the job, not ours."""
    preparer = names_of(dialect)
    listed = ", ".join(f"{column.sql} AS {preparer.quote(column.name)}" for column in columns)
    words = f"SELECT {listed} FROM {relation.from_clause(preparer)}"
    # a colon before a word would be a parameter
    text = sa.text(words.replace(":", "\\:"))
    return text.columns(*(sa.column(column.name, column.type) for column in columns)).subquery("records")


def numbered(column: sa.ColumnElement[Any]) -> list[sa.Column[Any]]:
    """Return columns for the distinct values of a column: `id` from 1, `value`, and `negative` where it has a sign."""
    signs = [sa.Column("negative", sa.Integer)] if has_sign(column) else []
    return [sa.Column("id", sa.BigInteger), sa.Column("value", column.type), *signs]


def number_values(table: sa.Table, column: sa.ColumnElement[Any]) -> sa.Insert:
    """Return the statement that fills the table of `numbered`."""
    keyed = Keyed([column], column.is_not(None))
    told = [*keyed.shown, *keyed.keys[1:]]
    asked = sa.select(*(one.label(f"key{place}") for place, one in enumerate(told)))
    distinct = asked.group_by(*keyed.keys).subquery("found")
    number = sa.func.row_number().over(order_by=distinct.c.key0)
    return table.insert().from_select([one.name for one in table.c], sa.select(number, *distinct.c))


def is_value_of(table: sa.FromClause, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return whether a row of `numbered` is that of a value."""
    equal = comparable(column) == comparable(table.c.value)
    return sa.and_(equal, sign(column) == table.c.negative) if has_sign(column) else equal


def combined(records: sa.Subquery, columns: Sequence[str], *also: str) -> list[sa.Column[Any]]:
    """Return columns for combinations of values: `value0`, ... of the columns, the others by their names, `records`."""
    values = [sa.Column(f"value{place}", records.c[name].type) for place, name in enumerate(columns)]
    return [*values, *(sa.Column(name, sa.BigInteger) for name in (*also, "records"))]


def combine(table: sa.Table, records: sa.Subquery, columns: Sequence[str], *also: str) -> sa.Insert:
    """Return the statement that fills the table of `combined`."""
    keyed = Keyed([records.c[name] for name in columns], also=[records.c[name] for name in also])
    others = [keyed.records.c[name] for name in also]
    asked = sa.select(*keyed.shown, *others, sa.func.count()).group_by(*keyed.keys, *others)
    return table.insert().from_select([column.name for column in table.c], asked)


def codes_of(
    records: sa.FromClause,
    numbers: Mapping[str, sa.Table],
    weights: Sequence[Sequence[int]],
    *also: str,
) -> sa.Select[Any]:
    """Return for each of some records the numbers of its values, 0 where a value is missing.

    Parameters
    ----------
    numbers : mapping of column of `records` to table
        The values of these columns (`numbered`).
    weights : sequence of sequences of int
        The `strides` of these numbers, by which they are written as few ones.
    *also : str
        Columns of numbers, such as those of persons, last.
    """
    joined: sa.FromClause = records
    for name, table in numbers.items():
        joined = joined.outerjoin(table, is_value_of(table, records.c[name]))
    ids = [sa.func.coalesce(table.c.id, sa.literal_column("0")) for table in numbers.values()]
    codes = [_sum(ids, some).label(f"number{place}") for place, some in enumerate(weights)]
    return sa.select(*codes, *(records.c[name] for name in also)).select_from(joined)


def counts_of(codes: sa.Select[Any]) -> sa.Select[Any]:
    """Return the combinations of numbers in `codes_of`, and the records of each."""
    # in a subquery of its own: databases group by columns in the same way
    coded = codes.subquery("coded")
    return sa.select(*coded.c, sa.func.count()).group_by(*coded.c)


def _sum(numbers: Sequence[sa.ColumnElement[Any]], weights: Sequence[int]) -> sa.ColumnElement[Any]:
    return reduce(add, (one * whole(weight) for one, weight in zip(numbers, weights, strict=True) if weight))


def whole(number: int) -> sa.ColumnElement[int]:
    """Return a whole number of 64 bits."""
    return sa.literal(number, sa.BigInteger())


def figures_of(column: sa.ColumnElement[Any], missing: Sequence[str], fewer_than: int) -> sa.Select[Any]:
    """Return records with a value, distinct values, ordered pairs that agree, records of rare values."""
    known = [column.is_not(None)]
    if missing:
        known.append(comparable(column).not_in([comparable(sa.literal(text, column.type)) for text in missing]))
    keyed = Keyed([column], *known)
    n = (
        sa.select(sa.func.count().label("n"))
        .select_from(keyed.records)
        .group_by(*keyed.keys)
        .subquery("values_of_column")
        .c.n
    )
    rare = sa.case((n < fewer_than, n), else_=0)
    wide = sa.cast(n, sa.Numeric(38, 0))
    return sa.select(sa.func.sum(n), sa.func.count(), sa.func.sum(wide * (n - 1)), sa.func.sum(rare))


def copy_into(table: sa.Table, records: sa.Subquery) -> sa.Insert:
    """Return the statement that copies the source, so that everything after it is of one moment."""
    names = [column.name for column in table.c]
    return table.insert().from_select(names, sa.select(*(records.c[name] for name in names)))


def is_far(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return whether a moment is before the year 1 or after 9999, as infinite ones are."""
    return sa.or_(column < _moment(column, _FIRST), column > _moment(column, _LAST))


def occur(conditions: Sequence[sa.ColumnElement[bool]]) -> sa.Select[Any]:
    """Return for each condition 1 if it holds of a record, else 0."""
    return sa.select(*(sa.func.max(sa.case((condition, 1), else_=0)) for condition in conditions))


def _moment(column: sa.ColumnElement[Any], moment: str) -> sa.ColumnElement[Any]:
    text = moment[: len("0001-01-01")] if isinstance(column.type, sa.Date) else moment
    return sa.cast(sa.literal(text, sa.String(26)), column.type)


def strides(sizes: Sequence[int]) -> list[list[int]]:
    """Return how to write numbers below some sizes as one, or as several where that would have more than 63 bits.

    A database compares and sorts one whole number in a fraction of the time that it needs for many.

    Returns
    -------
    list of lists of int
        For each number by what each of the given ones is multiplied, 0 for those that are not in it; sorted by these
        numbers, rows are in the order of the given ones.
    """
    found: list[list[int]] = []
    product, start = 1, 0
    for place, size in enumerate([*sizes, _WIDEST + 1]):
        if product * size > _WIDEST and place > start:
            weights = [math.prod(sizes[one + 1 : place]) for one in range(start, place)]
            found.append([*[0] * start, *weights, *[0] * (len(sizes) - place)])
            product, start = 1, place
        product *= size
    return found


def stride_of(weights: Sequence[Sequence[int]], place: int) -> tuple[int, int]:
    """Return in which of the numbers of `strides` the given number at a place is, and by what it is multiplied."""
    return next((number, some[place]) for number, some in enumerate(weights) if some[place])


def classes_of(table: sa.FromClause, columns: Sequence[str]) -> sa.Select[Any]:
    """Return the combinations of values of some columns of a table, and the records of each."""
    keyed = Keyed([table.c[name] for name in columns])
    told = [column.label(name) for column, name in zip(keyed.shown, columns, strict=True)]
    return sa.select(*told, sa.func.count()).select_from(keyed.records).group_by(*keyed.keys)


def records_of(table: sa.FromClause, columns: Sequence[str]) -> sa.Select[Any]:
    """Return the records of a table, some columns of them, each as often as it occurs; nothing is compared."""
    return sa.select(*(table.c[name] for name in columns), sa.literal_column("1")).select_from(table)
