"""The databases whose statements are known, and in which of them jobs run."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.dialects.bigquery import BIGQUERY
from airflow_anon.dialects.dialect import Dialect
from airflow_anon.dialects.mariadb import MARIADB
from airflow_anon.dialects.oracle import ORACLE
from airflow_anon.dialects.postgresql import POSTGRESQL
from airflow_anon.dialects.snowflake import SNOWFLAKE
from airflow_anon.dialects.sqlserver import SQL_SERVER
from airflow_anon.dialects.trino import TRINO

DIALECTS = {dialect.name: dialect for dialect in (POSTGRESQL, MARIADB, SQL_SERVER, ORACLE, SNOWFLAKE, BIGQUERY, TRINO)}
PROVEN = tuple(name for name, dialect in DIALECTS.items() if dialect.unproven is None)


def proven_dialect(name: str) -> Dialect:
    """Return a database in which jobs run, by the name of its dialect.

    Raises
    ------
    AirflowFailException
        Nobody has run one there; with the reason, and the databases in which they run.
    """
    dialect = DIALECTS.get(name)
    if dialect is None or dialect.unproven is not None:
        why = "nothing of it was tried" if dialect is None else dialect.unproven
        raise AirflowFailException(
            f"backend sql: runs in {' and '.join(PROVEN)}, and this connection is of {name}: {why}; set backend: auto"
        )
    return dialect
