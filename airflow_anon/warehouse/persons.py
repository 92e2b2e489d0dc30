"""Statements that give the records of a source their persons, inside the database.

In: the source as a subquery, with the column of persons. Out: statements. Each distinct text of that column gets a
number at random (`numbered_persons`), so no number tells of an identifier, nor of their order; the table of both is
dropped a few statements later. The records that are released get the number in its place (`staged`), and of each
person as many as may stay are chosen at random. What a recount needs of them, combinations of values and a person with
their records, is kept beside the release (`people_columns`) until that is published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from airflow_anon.share.sql_types import sql_columns, sql_type
from airflow_anon.warehouse.expressions import Bytewise, Keyed, SecretRandom, comparable

_COUNTED = ("person", "further", "records")
"""Columns of the table that a recount reads, after the values."""


def numbered_persons(text: Any) -> list[sa.Column[Any]]:
    """Return columns for persons: `id` from 0, the text that identifies, and `plain`, without case and blanks.

    Parameters
    ----------
    text : type of SQLAlchemy
        That of a text in tables of ours.
    """
    return [sa.Column("id", sa.BigInteger), sa.Column("value", text), sa.Column("plain", text)]


def number_persons(
    table: sa.Table,
    subject: sa.ColumnElement[Any],
    plain: Callable[[sa.ColumnElement[Any]], sa.ColumnElement[Any]],
) -> sa.Insert:
    """Return the statement that fills the table of `numbered_persons`; for `plain` see `Dialect`."""
    value = _text(subject).label("value")
    found = sa.select(value).where(subject.is_not(None)).distinct().subquery("found")
    # in a subquery of its own, since it may be made of a window function
    drawn = sa.select(found.c.value, SecretRandom().label("drawn")).subquery("drawn")
    number = sa.func.row_number().over(order_by=drawn.c.drawn) - 1
    asked = sa.select(number, drawn.c.value, plain(drawn.c.value))
    return table.insert().from_select([column.name for column in table.c], asked)


def alike_of(table: sa.Table) -> sa.Select[Any]:
    """Return how many texts of persons are another one but for case or blanks."""
    return sa.select(sa.func.count() - sa.func.count(sa.distinct(comparable(table.c.plain)))).select_from(table)


def staged_columns(columns: pa.Schema, person: str, dialect: str) -> list[sa.Column[Any]]:
    """Return columns for the records: their own, `person`, and the place of the record among those of the person."""
    counts = [sa.Column(name, sa.BigInteger) for name in (person, place_of(person))]
    return [*sql_columns(columns, dialect), *counts]


def free_name(columns: Sequence[str]) -> str:
    """Return a name for the column of persons that no other column has, nor that of their places."""
    name = "person"
    while {name, place_of(name)} & {column.casefold() for column in columns}:
        name += "_"
    return name


def place_of(person: str) -> str:
    """Return the name of the column of places."""
    return f"{person}_place"


def stage(table: sa.Table, source: sa.Subquery, subject: str, persons: sa.Table, *, in_places: bool) -> sa.Insert:
    """Return the statement that fills the table of `staged_columns`.

    Parameters
    ----------
    subject : str
        The column of `source` that identifies.
    in_places : bool
        Whether the places are needed; they are at random.
    """
    *names, person, drawn = (column.name for column in table.c)
    same = _text(source.c[subject]) == comparable(persons.c.value)
    random = [SecretRandom().label(drawn)] if in_places else []
    known = (
        sa.select(*(source.c[name] for name in names), persons.c.id.label(person), *random)
        .select_from(source.outerjoin(persons, same))
        .subquery("known")
    )
    place: sa.ColumnElement[Any] = sa.literal(1, sa.BigInteger())
    if in_places:
        place = sa.func.row_number().over(partition_by=known.c[person], order_by=known.c[drawn])
    kept = (known.c[name] for name in (*names, person))
    return table.insert().from_select([*names, person, drawn], sa.select(*kept, place))


def missing_of(table: sa.Table, person: str, persons: sa.Table, *, is_float: bool) -> sa.Select[Any]:
    """Return how many records have no person, or one without a name, or of floats one that is no number."""
    blank = persons.c.plain.in_(["", "nan"] if is_float else [""])
    unknown = sa.or_(table.c[person].is_(None), blank)
    joined = table.outerjoin(persons, table.c[person] == persons.c.id)
    return sa.select(sa.func.count()).select_from(joined).where(unknown)


def staying(table: sa.Table, person: str, most: int | None) -> sa.Select[Any]:
    """Return the records that stay, without their places."""
    columns = [column for column in table.c if column.name != place_of(person)]
    asked = sa.select(*columns)
    return asked if most is None else asked.where(table.c[place_of(person)] <= most)


def beyond_of(table: sa.Table, person: str, most: int) -> sa.Select[Any]:
    """Return how many records do not stay, and of how many persons they are."""
    asked = sa.select(sa.func.count(), sa.func.count(sa.distinct(table.c[person])))
    return asked.select_from(table).where(table.c[place_of(person)] > most)


def counted_again(source: sa.Subquery, subject: str) -> sa.Select[Any]:
    """Return the records and the persons of the source, counted without any table of numbers."""
    return sa.select(sa.func.count(), sa.func.count(sa.distinct(_text(source.c[subject])))).select_from(source)


def people_columns(columns: pa.Schema, dialect: str) -> list[sa.Column[Any]]:
    """Return columns for what a recount reads: `value0`, ... of the columns, `person`, whether `further`, `records`."""
    values = [sa.Column(f"value{place}", sql_type(field, dialect)) for place, field in enumerate(columns)]
    return [*values, *(sa.Column(name, sa.BigInteger) for name in _COUNTED)]


def keep_people(table: sa.Table, staged: sa.Table, columns: Sequence[str], person: str, most: int | None) -> sa.Insert:
    """Return the statement that fills the table of `people_columns`; rows beyond the most have no values there."""
    stays = sa.true() if most is None else staged.c[place_of(person)] <= most
    values = [
        sa.case((stays, staged.c[name]), else_=sa.null()).label(f"value{place}") for place, name in enumerate(columns)
    ]
    further = sa.case((stays, 0), else_=1).label("further")
    rows = sa.select(*values, staged.c[person].label("person"), further).subquery("rows_of_persons")
    wanted = [rows.c[f"value{place}"] for place in range(len(columns))]
    keyed = Keyed(wanted, also=[rows.c.person, rows.c.further])
    whose = [keyed.records.c.person, keyed.records.c.further]
    asked = sa.select(*keyed.shown, *whose, sa.func.count()).group_by(*keyed.keys, *whose)
    return table.insert().from_select([column.name for column in table.c], asked)


def _text(subject: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """Return the text by which persons are told, compared by its bytes; both zeros of a float are one number."""
    text = subject if isinstance(subject.type, sa.String) else sa.cast(subject, sa.Text)
    if isinstance(subject.type, sa.Float):
        text = sa.case((subject == 0, "0"), else_=text)
    return Bytewise(text)
