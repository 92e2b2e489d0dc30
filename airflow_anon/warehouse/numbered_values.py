"""The values of columns as numbers, and the combinations in which they occur.

In: columns of the records, in a database. Out: for each its distinct values, read once, which have the numbers from 1
there (`statements.numbered`; 0 is a missing value); combinations as dictionaries of these values, with their records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from airflow_anon.warehouse import statements
from airflow_anon.warehouse.read_parts import array_of, read_numbers, read_parts

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_anon.warehouse.helper_tables import HelperTables


class NumberedValues:
    """The distinct values of the columns that were counted so far.

    Parameters
    ----------
    schema : pyarrow Schema
        The columns and their types.
    helpers : HelperTables
    combines : bool
        Whether combinations of values are written first, and numbered there; see `Dialect.combines`.

    Attributes
    ----------
    tables : dict of str to Table
        Of each column that was counted, the table of its values and their numbers.
    has_missing : set of str
        Columns of which a missing value was counted.
    """

    def __init__(self, connection: Connection, schema: pa.Schema, helpers: HelperTables, *, combines: bool) -> None:
        self._connection = connection
        self._combines = combines
        self._schema = schema
        self._helpers = helpers
        self._values: dict[str, pa.Array] = {}
        self.tables: dict[str, sa.Table] = {}
        self.has_missing: set[str] = set()

    def combinations(
        self, records: sa.Subquery, columns: Sequence[str], *also: str
    ) -> Iterator[tuple[pa.RecordBatch, list[NDArray[np.int64]]]]:
        """Count combinations of values, and of other numbers; yield the values, the other numbers and the records."""
        stage = self._combined(records, columns, also) if self._combines else None
        where = {name: name if stage is None else f"value{place}" for place, name in enumerate(columns)}
        found = records if stage is None else stage
        for name in columns:
            self._number(name, found.c[where[name]])
        sizes = [len(self._values[name]) + 1 for name in columns]
        weights = statements.strides(sizes)
        numbers = {where[name]: self.tables[name] for name in columns}
        if stage is None:
            asked = statements.counts_of(statements.codes_of(records, numbers, weights, *also))
        else:
            asked = statements.codes_of(stage, numbers, weights, *also, "records")
        for told in read_numbers(self._connection, asked, columns):
            arrays = []
            for place, name in enumerate(columns):
                number, weight = statements.stride_of(weights, place)
                arrays.append(self._coded(name, told[number] // weight % sizes[place]))
            yield pa.record_batch(arrays, names=list(columns)), told[len(weights) :]
        if stage is not None:
            stage.drop(self._connection)

    def _combined(self, records: sa.Subquery, columns: Sequence[str], also: Sequence[str]) -> sa.Table:
        """Write the combinations of values, which are read several times and are fewer than the records."""
        stage = self._helpers.make("combined", statements.combined(records, columns, *also))
        self._connection.execute(statements.combine(stage, records, columns, *also))
        return stage

    def values_of(self, name: str) -> pa.Array:
        """Return the values of a column in the order of their numbers, and last a missing one if it was counted."""
        values = self._values[name]
        return pa.concat_arrays([values, pa.nulls(1, values.type)]) if name in self.has_missing else values

    def _number(self, name: str, column: sa.ColumnElement[object]) -> None:
        """Give the distinct values of a column numbers, and read them."""
        if name in self.tables:
            return
        table = self._helpers.make(f"values{len(self.tables)}", statements.numbered(column))
        self._connection.execute(statements.number_values(table, column))
        self._helpers.filled(table, ["id"], ["value"])
        asked = sa.select(table.c.value).order_by(table.c.id)
        field = self._schema.field(name)
        answer = read_parts(self._connection, asked, [name])
        parts = [array_of([value for (value,) in rows], field) for rows in answer]
        self._values[name] = pa.concat_arrays(parts) if parts else pa.array([], field.type)
        self.tables[name] = table

    def _coded(self, name: str, numbers: NDArray[np.int64]) -> pa.DictionaryArray:
        missing = numbers == 0
        if missing.any():
            self.has_missing.add(name)
        places = pa.array((numbers - 1).astype(np.int32), mask=missing)
        return pa.DictionaryArray.from_arrays(places, self._values[name])
