"""The records of a source with the numbers of their persons, in helper tables of one transaction.

In: the source with the column of persons. Out: the records that stay, as a subquery; and, once the release is written,
the table that a recount reads, which alone outlives the transaction. Identifiers stand in a table of a few moments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlalchemy as sa

from airflow_anon.share.made_table import people_name
from airflow_anon.warehouse import persons
from engine import InvalidData, PersonsRead

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
    target : Table
        Of the release; helper tables have its schema.
    analyze : callable
        Tells the planner how large a new table is.

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
        target: sa.Table,
        analyze: Callable[[sa.Table], None],
    ) -> None:
        self._connection = connection
        self._source = source
        self._columns = columns
        self._subject = subject
        self._most = most
        self._target = target
        self._people: sa.Table | None = None
        self._places: dict[str, int] = {}
        self.person = persons.free_name(columns.names)
        names = persons.numbered_persons(f"{target.name}_persons", target.schema)
        names.create(connection)
        connection.execute(persons.number_persons(names, source.c[subject]))
        analyze(names)
        dialect = connection.dialect.name
        self._staged = persons.staged_table(f"{target.name}_staged", target.schema, columns, self.person, dialect)
        self._staged.create(connection)
        connection.execute(persons.stage(self._staged, source, subject, names, in_places=most is not None))
        analyze(self._staged)
        self.read = PersonsRead(
            self._number(persons.missing_of(self._staged, self.person, names)),
            self._number(persons.alike_of(names)),
            0 if most is None else self._number(persons.beyond_of(self._staged, self.person, most)),
        )
        names.drop(connection)
        self.records = persons.staying(self._staged, self.person, most).subquery("records")

    def keep(self, columns: Sequence[str]) -> None:
        """Make the table that a recount reads, of some columns, and drop the records.

        Raises
        ------
        InvalidData
            The source, asked again, has other records or persons.
        """
        schema = pa.schema([self._columns.field(name) for name in columns])
        name = people_name(self._target.name)
        people = persons.people_table(name, self._target.schema, schema, self._connection.dialect.name)
        people.create(self._connection)
        self._connection.execute(persons.keep_people(people, self._staged, columns, self.person, self._most))
        self._staged.drop(self._connection)
        self._people, self._places = people, {name: place for place, name in enumerate(columns)}
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
        if self._people is None:
            raise InvalidData("subject: the release is not written yet, so its persons cannot be counted again")
        table = self._people
        values = [table.c[f"value{self._places[name]}"] for name in columns]
        return sa.select(*values, table.c.person, table.c.further, table.c.records)

    def _number(self, question: sa.Select[Any]) -> int:
        return int(self._connection.scalar(question) or 0)
