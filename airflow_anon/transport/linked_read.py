"""The records of several tables as one stream: one statement, so that all tables are read as they are at one time.

In: readings of the tables of one connection. Out: one `Reading` of `SELECT ... UNION ALL SELECT ...`. Its first column
says of which table a record is; a column that a table lacks is missing there, in the type that it has elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.column import Column
from airflow_anon.transport.connection import names_of
from airflow_anon.transport.database_read import Reading
from engine import TABLE_COLUMN


@dataclass
class LinkedReading(Reading):
    """Several tables of one connection that were inspected and can be read once, together.

    Attributes
    ----------
    parts : mapping of table name to Reading
    """

    parts: Mapping[str, Reading] = field(default_factory=dict)

    def _select(self) -> str:
        return "\nUNION ALL\n".join(self._select_of(name, part) for name, part in self.parts.items())

    def _select_of(self, name: str, part: Reading) -> str:
        preparer = names_of(self.engine.dialect)
        own = {column.name: column.expression for column in part.columns}
        listed = [f"'{name}' AS {preparer.quote(TABLE_COLUMN)}"]
        for column in self.columns[1:]:
            expression = own.get(column.name) or self._missing(column.name)
            listed.append(f"{expression} AS {preparer.quote(column.name)}")
        return f"SELECT {', '.join(listed)} FROM {part.relation.from_clause(preparer)}"

    def _missing(self, name: str) -> str:
        """Return a missing value in the type of a column: a literal one has none, and databases guess another."""
        preparer = names_of(self.engine.dialect)
        part, column = next(
            (one, column) for one in self.parts.values() for column in one.columns if column.name == name
        )
        return f"(SELECT {column.expression} FROM {part.relation.from_clause(preparer)} WHERE 1 = 0)"


def linked_reading(parts: Mapping[str, Reading], order: Sequence[str]) -> LinkedReading:
    """Return the reading of all tables together.

    Parameters
    ----------
    parts : mapping of table name to Reading
        Of one connection; the names have no quotes.
    order : sequence of str
        The columns of all tables, in the order of the output.

    Raises
    ------
    AirflowFailException
        A column has types in two tables that are not the same.
    """
    first = next(iter(parts.values()))
    columns = [Column(TABLE_COLUMN, "", _text())]
    for name in order:
        found = {table: one for table, part in parts.items() for one in part.columns if one.name == name}
        if found:
            _check_types(name, found)
            columns.append(next(iter(found.values())))
    present = tuple(dict.fromkeys(name for part in parts.values() for name in part.present))
    return LinkedReading(
        first.hook, first.relation, columns, first.transport, first.batch_rows, first.engine, present, parts
    )


def _check_types(name: str, found: Mapping[str, Column]) -> None:
    types = {table: str(column.type) for table, column in found.items()}
    if len(set(types.values())) > 1:
        told = ", ".join(f"{kind} in {table}" for table, kind in types.items())
        raise AirflowFailException(
            f"column {name!r}: has several types over the tables of the job ({told}), so that equal values would "
            "differ; give it one type, such as by CAST in a query"
        )


def _text() -> object:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    return pa.string()
