"""Refuses a database in whose sessions somebody else's function could be called, in tasks that read or publish.

In: a connection of a driver, as it was opened. Out: nothing, or an error that names who may create where our names are
looked up.

The path is refused, and not replaced by one of `pg_catalog` alone: a query of a job is looked up by it, and so is, when
it is called, what is within a function of a view, a domain, a policy or a trigger. Where that compares by an operator
of its own (as `citext` does), another path would find the one of plain text, and read other records without an error.
Drivers ask the catalog, too, before a statement of ours could set anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.others_in_path import ask_in_new_sessions, others_in_path

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


class SearchPathRefused(AirflowFailException):
    """Somebody else may create in the search path of a role, or has put what has the name of one of PostgreSQL's."""


def refuse_in_new_sessions(engine: Engine) -> Engine:
    """Let each new session of an engine of PostgreSQL begin with `refuse_others`; return the engine."""
    return ask_in_new_sessions(engine, refuse_others)


def refuse_others_in(connection: Connection) -> None:
    """Do what `refuse_others` does within the transaction of a connection of SQLAlchemy."""
    refuse_others(connection.connection)


def refuse_others(connection: Any) -> None:
    """Refuse a search path in which somebody else may create, or has put what has the name of one of PostgreSQL's.

    Parameters
    ----------
    connection : DBAPI connection
        Of PostgreSQL.

    Raises
    ------
    SearchPathRefused
        Names them, and the fix.
    """
    found = others_in_path(connection)
    if found is not None:
        harm = "read the records of a source and change a release"
        raise SearchPathRefused(found.refusal(harm, "= '', and write the schema before each table of the job"))
