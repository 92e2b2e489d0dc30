"""Step 1 of docs/flow.md for a job with tables: one statement copies them to one Parquet file in staging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_anon.observe.lineage import ExtractTablesLineage
from airflow_anon.operators.extract import ExtractTableOperator
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.linked_read import linked_reading
from airflow_anon.transport.query_text import what_was_read
from airflow_anon.transport.relation import Relation, one_select, split_table

if TYPE_CHECKING:
    from airflow_anon.transport.database_read import Reading


class ExtractLinkedTablesOperator(ExtractTablesLineage, ExtractTableOperator):
    """Copy the declared columns of several warehouse tables into one file of the run's staging folder.

    All tables are read by one statement, so that no record of one is newer than those of another. The file has the
    records of all tables; its column ``table`` says of which one each is, and columns that a table lacks are missing.

    Parameters
    ----------
    tables : mapping of table name to mapping
        Of each: ``table`` or ``query`` as of `ExtractTableOperator`, and ``columns``, a list of its columns.
    attributes : mapping of str to str
        Role of every column of all tables; a column has the same role in each table that has it.

    Returns
    -------
    dict
        As of `ExtractTableOperator`; ``read`` has ``tables``, by name what was read.

    Examples
    --------
    >>> ExtractLinkedTablesOperator(
    ...     task_id="extract",
    ...     conn_id="warehouse",
    ...     tables={
    ...         "person": {"table": "clinic.person", "columns": ["person_id", "sex"]},
    ...         "visit": {"query": "SELECT person_id, ward FROM clinic.visit", "columns": ["person_id", "ward"]},
    ...     },
    ...     attributes={"person_id": "identifying", "sex": "quasi-identifying", "ward": "quasi-identifying"},
    ...     subject="person_id",
    ...     staging="/var/lib/deidentification/{{ dag.dag_id }}/{{ run_id }}",
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = ("conn_id", "tables", "staging", "filename")
    template_fields_renderers: ClassVar[dict[str, str]] = {"tables": "json"}

    def __init__(self, *, tables: Mapping[str, Mapping[str, Any]], **kwargs: Any) -> None:
        self.tables = {name: dict(one) for name, one in tables.items()}
        super().__init__(**kwargs)

    def _check_relation(self) -> None:
        if not self.tables:
            raise ValueError("tables: name at least one")
        for name, one in self.tables.items():
            if (one.get("table") is None) == (one.get("query") is None):
                raise ValueError(f"tables.{name}: name either a table or a query")

    def _what(self) -> str:
        return f"the tables {', '.join(self.tables)}"

    def _looked_at(self, hook: Any) -> Reading:
        roles = self._roles()
        parts = {
            name: look_at(
                hook,
                _relation(one),
                {column: roles[column] for column in one["columns"]},
                self.transport,
                self.batch_rows,
            )
            for name, one in self.tables.items()
        }
        return linked_reading(parts, list(self.attributes))

    def _read(self, dialect: str) -> Mapping[str, Any]:
        return {
            "tables": {n: what_was_read(one.get("table"), one.get("query"), dialect) for n, one in self.tables.items()}
        }


def _relation(one: Mapping[str, Any]) -> Relation:
    relation = Relation(table=one.get("table"), query=one.get("query"))
    if relation.table is not None:
        split_table(relation.table)
    else:
        one_select(relation.query or "")
    return relation
