"""The statements of a job inside its warehouse, by SQLAlchemy Core.

In: the source as a subquery whose columns have known types, and tables of SQLAlchemy. Out: statements. The values of
each counted column get numbers in a table of their own (`numbered`); what becomes of a value stands in a second one
(`Labelled`), so no value is ever sent back to the database, and no cast of it has a say.
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
from airflow_anon.warehouse.expressions import Keyed, SecretRandom, comparable, has_sign, sign

MARK = "*"
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


def _same(table: sa.FromClause, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return whether a row of `numbered` is that of a value."""
    equal = comparable(column) == comparable(table.c.value)
    return sa.and_(equal, sign(column) == table.c.negative) if has_sign(column) else equal


def counts_of(
    records: sa.Subquery, numbers: Mapping[str, sa.Table], weights: Sequence[Sequence[int]], *also: str
) -> sa.Select[Any]:
    """Return the combinations of the numbers of values, 0 where a value is missing, and the records of each.

    Parameters
    ----------
    weights : sequence of sequences of int
        The `strides` of these numbers, by which they are written as few ones.
    *also : str
        Columns of numbers, such as those of persons, whose values are combined with them, last.
    """
    joined: sa.FromClause = records
    for name, table in numbers.items():
        joined = joined.outerjoin(table, _same(table, records.c[name]))
    ids = [sa.func.coalesce(table.c.id, sa.literal_column("0")) for table in numbers.values()]
    codes = [_sum(ids, some).label(f"number{place}") for place, some in enumerate(weights)]
    # in a subquery of its own: databases group by columns in the same way
    coded = sa.select(*codes, *(records.c[name] for name in also)).select_from(joined).subquery("coded")
    return sa.select(*coded.c, sa.func.count()).group_by(*coded.c)


def _sum(numbers: Sequence[sa.ColumnElement[Any]], weights: Sequence[int]) -> sa.ColumnElement[Any]:
    return reduce(add, (one * _whole(weight) for one, weight in zip(numbers, weights, strict=True) if weight))


def _whole(number: int) -> sa.ColumnElement[int]:
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


@dataclass(frozen=True)
class Labelled:
    """A quasi-identifier in a release.

    Attributes
    ----------
    numbers : Table
        Its distinct values (`numbered`).
    labels : Table
        What becomes of each, by `id`: see `labels_columns`.
    missing : tuple of code, place, label, refused, or None
        What becomes of a missing value; None if none was counted.
    refuses : bool
        Whether a value is refused.
    code_in, place_in : int
        In which of the numbers of a class, and in which of those of an order, its codes and places are added up.
    star : int
        The place of `*`.
    """

    numbers: sa.Table
    labels: sa.Table
    missing: tuple[int, int, str | None, int] | None
    refuses: bool
    code_in: int
    place_in: int
    star: int


def labels_columns(text: Any) -> list[sa.Column[Any]]:
    """Return columns for what becomes of values: code, place and text of the label, and whether it is refused.

    Codes and places, the ranks of labels, stand there multiplied as their `strides` say: added up over the
    quasi-identifiers they are the numbers of a class and those of an order.

    Parameters
    ----------
    text : type of SQLAlchemy
        That of a text.
    """
    return [
        sa.Column("id", sa.BigInteger),
        sa.Column("code", sa.BigInteger),
        sa.Column("place", sa.BigInteger),
        sa.Column("label", text),
        sa.Column("refused", sa.Integer),
    ]


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


def suppressed_columns(numbers: int) -> list[sa.Column[Any]]:
    """Return columns for the suppressed classes: the numbers of their codes, as many as there are `strides`."""
    return [sa.Column(f"class{number}", sa.BigInteger) for number in range(numbers)]


def release_into(
    target: sa.Table,
    records: sa.Subquery,
    quasi_identifiers: Mapping[str, Labelled],
    suppressed: sa.Table,
    *,
    drop: bool,
    ordered: Callable[[sa.Select[Any], Sequence[sa.ColumnElement[Any]]], sa.Select[Any]],
    in_order: Callable[[sa.Select[Any]], sa.Select[Any]],
    once: Callable[[sa.Select[Any]], sa.Select[Any]],
    persons: tuple[str, sa.Table] | None = None,
) -> sa.Insert:
    """Return the statement that writes a release, by class, and at random within a class.

    Parameters
    ----------
    target : Table
        Has the columns of the release.
    suppressed : Table
        See `suppressed_columns`.
    drop : bool
        Leave suppressed records out.
    ordered, in_order, once : callable
        See `Dialect`.
    persons : tuple of str and Table, optional
        The column of the numbers of persons, and the numbers of those who are suppressed.
    """
    names = [column.name for column in target.c]
    known = _labelled(records, quasi_identifiers, names if persons is None else [*names, persons[0]])
    labelled = once(known).subquery("labelled")
    same = [labelled.c[column.name] == column for column in suppressed.c]
    hidden = suppressed.c.class0.is_not(None)
    if "refused" in labelled.c:
        hidden = sa.or_(hidden, labelled.c.refused > 0)
    joined: sa.FromClause = labelled.outerjoin(suppressed, sa.and_(*same))
    if persons is not None:
        gone = persons[1]
        joined = joined.outerjoin(gone, labelled.c[f"column{len(names)}"] == gone.c.id)
        hidden = sa.or_(hidden, gone.c.id.is_not(None))
    columns = {name: labelled.c[f"column{number}"] for number, name in enumerate(names)}
    order = []
    for number, ones in enumerate(_groups({name: one.place_in for name, one in quasi_identifiers.items()})):
        last = _whole(sum(quasi_identifiers[name].star for name in ones))
        ranks = labelled.c[f"order{number}"]
        order.append(ranks if drop else sa.case((hidden, last), else_=ranks))
    if not drop:
        for name in quasi_identifiers:
            columns[name] = sa.case((hidden, sa.literal(MARK, target.c[name].type)), else_=columns[name])
    wanted = sa.select(*columns.values()).select_from(joined)
    if drop:
        wanted = wanted.where(sa.not_(hidden))
    return target.insert().from_select(list(columns), in_order(ordered(wanted, [*order, SecretRandom()])))


def _labelled(
    records: sa.Subquery, quasi_identifiers: Mapping[str, Labelled], columns: Sequence[str]
) -> sa.Select[Any]:
    """Return each record with codes, places and labels of its quasi-identifiers, and whether a value is refused.

    Columns of the release are `column0`, ... in their order, codes `class0`, ..., places `order0`, ... (`strides`), and
    `refused`, which is there if a value is refused, is 0 for none; a record with a value that was not counted is left
    out.
    """
    joined: sa.FromClause = records
    told: dict[str, tuple[sa.ColumnElement[Any], ...]] = {}
    counted: list[sa.ColumnElement[bool]] = []
    for name, one in quasi_identifiers.items():
        values = [one.numbers.c.value, *([one.numbers.c.negative] if "negative" in one.numbers.c else [])]
        known = (
            sa.select(*values, one.labels.c.code, one.labels.c.place, one.labels.c.label, one.labels.c.refused)
            .select_from(sa.join(one.numbers, one.labels, one.numbers.c.id == one.labels.c.id))
            .subquery(f"labels{len(told)}")
        )
        column = records.c[name]
        told[name] = (known.c.code, known.c.place, known.c.label, known.c.refused)
        if one.missing is None:
            joined = joined.join(known, _same(known, column))
            continue
        joined = joined.outerjoin(known, _same(known, column))
        told[name] = tuple(
            sa.case((column.is_(None), sa.literal(missing, of_value.type)), else_=of_value)
            for missing, of_value in zip(one.missing, told[name], strict=True)
        )
        counted.append(told[name][0].is_not(None))
    selected = [
        (told[name][2] if name in told else records.c[name]).label(f"column{number}")
        for number, name in enumerate(columns)
    ]
    places = {
        "class": (0, {name: one.code_in for name, one in quasi_identifiers.items()}),
        "order": (1, {name: one.place_in for name, one in quasi_identifiers.items()}),
    }
    for what, (part, number_of) in places.items():
        for number, ones in enumerate(_groups(number_of)):
            selected.append(reduce(add, (told[name][part] for name in ones)).label(f"{what}{number}"))
    refused = [told[name][3] for name, one in quasi_identifiers.items() if one.refuses]
    if refused:
        selected.append(reduce(add, refused).label("refused"))
    return sa.select(*selected).select_from(joined).where(*counted)


def _groups(number_of: Mapping[str, int]) -> list[list[str]]:
    """Return which quasi-identifiers are added up in each number."""
    return [
        [name for name, number in number_of.items() if number == wanted] for wanted in sorted({*number_of.values()})
    ]


def classes_of(table: sa.FromClause, columns: Sequence[str]) -> sa.Select[Any]:
    """Return the combinations of values of some columns of a table, and the records of each."""
    keyed = Keyed([table.c[name] for name in columns])
    told = [column.label(name) for column, name in zip(keyed.shown, columns, strict=True)]
    return sa.select(*told, sa.func.count()).select_from(keyed.records).group_by(*keyed.keys)


def records_of(table: sa.FromClause, columns: Sequence[str]) -> sa.Select[Any]:
    """Return the records of a table, some columns of them, each as often as it occurs; nothing is compared."""
    return sa.select(*(table.c[name] for name in columns), sa.literal_column("1")).select_from(table)
