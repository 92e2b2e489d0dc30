"""The records of a source with the numbers of their persons, in helper tables of one transaction or session.

In: the source with the column of persons. Out: the records that stay, as a subquery; and, once the release is written,
the table that a recount reads, which alone outlives them. Identifiers stand beside numbers in a table of a few moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import sqlalchemy as sa

from airflow_anon.dialects.registry import DIALECTS
from airflow_anon.share.sql_types import sql_type
from airflow_anon.warehouse import persons
from airflow_anon.warehouse.statements import MakeTable
from engine import InvalidData, PersonsRead, RowsBeyond

if TYPE_CHECKING:
    from sqlalchemy import Connection


class Filled(Protocol):
    """Prepares a table that is full for being looked up by some columns."""

    def __call__(self, table: sa.Table, *keys: Sequence[str]) -> None:
        """Prepare it."""


class StagedPersons:
    """The records with their persons.

    Parameters
    ----------
    source : Subquery
    columns : pyarrow Schema
        Those that may be released or are counted.
    subject : str
        The column of the source that says whose a record is.
    most : int or None
        Rows of a person that stay.
    make : callable
        Makes a helper table.
    filled : callable
        Prepares one that is full.

    Attributes
    ----------
    person : str
        The column of the numbers.
    records : Subquery
        The columns and `person`, of the records that stay.
    read : PersonsRead
    """

    def __init__(
        self,
        connection: Connection,
        source: sa.Subquery,
        columns: pa.Schema,
        subject: str,
        most: int | None,
        make: MakeTable,
        filled: Filled,
    ) -> None:
        self._connection = connection
        self._source = source
        self._columns = columns
        self._subject = subject
        self._most = most
        self._people: sa.Table | None = None
        self._places: dict[str, int] = {}
        self.person = persons.free_name(columns.names)
        self._dialect = connection.dialect.name
        text = sql_type(pa.field("text", pa.string()), self._dialect)
        names = make("persons", persons.numbered_persons(text))
        connection.execute(persons.number_persons(names, source.c[subject], DIALECTS[self._dialect].plain))
        filled(names, ["id"], ["value"])
        self._staged = make("staged", persons.staged_columns(columns, self.person, self._dialect))
        connection.execute(persons.stage(self._staged, source, subject, names, in_places=most is not None))
        filled(self._staged)
        is_float = isinstance(source.c[subject].type, sa.Float)
        self.read = PersonsRead(
            self._number(persons.missing_of(self._staged, self.person, names, is_float=is_float)),
            self._number(persons.alike_of(names)),
            RowsBeyond(0, 0) if most is None else self._beyond(most),
        )
        names.drop(connection)
        self.records = persons.staying(self._staged, self.person, most).subquery("records")

    def make_people(self, name: str, columns: Sequence[str], make: MakeTable) -> None:
        """Make the table that a recount reads, of some columns, which is empty until `keep`."""
        schema = pa.schema([self._columns.field(one) for one in columns])
        self._people = make(name, persons.people_columns(schema, self._dialect))
        self._places = {one: place for place, one in enumerate(columns)}

    def keep(self) -> None:
        """Fill the table that a recount reads, and drop the records.

        Raises
        ------
        InvalidData
            The source, asked again, has other records or persons.
        """
        people = self._written
        self._connection.execute(persons.keep_people(people, self._staged, [*self._places], self.person, self._most))
        self._staged.drop(self._connection)
        counted = sa.select(sa.func.sum(people.c.records), sa.func.count(sa.distinct(people.c.person)))
        again = persons.counted_again(self._source, self._subject)
        if tuple(self._connection.execute(counted).one()) != tuple(self._connection.execute(again).one()):
            raise InvalidData(
                "the source changed while it was counted: it has other records or persons when it is asked again; a "
                "view whose content depends on the time or on chance cannot be released in its warehouse: read a "
                "table, or set backend: auto"
            )

    def people_of(self, columns: Sequence[str]) -> sa.Select[Any]:
        """Return some columns of the table that a recount reads, with `person`, `further` and `records`."""
        table = self._written
        values = [table.c[f"value{self._places[name]}"] for name in columns]
        return sa.select(*values, table.c.person, table.c.further, table.c.records)

    @property
    def _written(self) -> sa.Table:
        if self._people is None:
            raise InvalidData("subject: the release is not written yet, so its persons cannot be counted again")
        return self._people

    def _beyond(self, most: int) -> RowsBeyond:
        return RowsBeyond(*self._connection.execute(persons.beyond_of(self._staged, self.person, most)).one())

    def _number(self, question: sa.Select[Any]) -> int:
        return int(self._connection.scalar(question) or 0)
