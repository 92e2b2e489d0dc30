"""Whether a policy of a PostgreSQL table decides which of its records are read: a role may see a part and not know it.

In: a table over a connection. Out: a warning in the log of the task; no error, since a role for one ward may be meant.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow_anon.transport.connection import names_of
from airflow_anon.transport.relation import quoted_table

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_anon.transport.relation import Relation

_log = logging.getLogger(__name__)


def warn_of_row_security(connection: Connection, relation: Relation) -> None:
    """Warn where row-level security is in force for the role of a connection, on the table itself.

    A query and the tables behind a view are not looked at.
    """
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    if relation.table is None or connection.dialect.name != "postgresql":
        return
    # without the connection's own options: they send a statement as it is
    asked = text("SELECT pg_catalog.row_security_active(CAST(:name AS regclass))")
    plain = {"name": quoted_table(relation.table, names_of(connection.dialect))}
    if connection.execute(asked, plain, execution_options={"no_parameters": False}).scalar():
        _log.warning(
            "%s: row-level security decides which of its records are read; those that it hides from this role are not "
            "in the release. To read all, let the role own the table, or give it BYPASSRLS",
            relation,
        )
