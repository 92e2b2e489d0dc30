"""Airflow's connection type `mariadb`: a MariaDB server, by PyMySQL.

Airflow's own provider for MySQL needs a compiled client library; this needs none.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.common.sql.hooks.sql import DbApiHook

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine


class MariaDbHook(DbApiHook):
    """A MariaDB server.

    The connection's host, port, login, password and schema (the database) are what they say; its extra holds parameters
    of PyMySQL, such as ``unix_socket``, ``ssl_ca`` and ``ssl_verify_identity``.
    """

    conn_name_attr = "mariadb_conn_id"
    default_conn_name = "mariadb_default"
    conn_type = "mariadb"
    hook_name = "MariaDB"
    ignored_extra_options: ClassVar[Collection[str]] = frozenset()

    @property
    def sqlalchemy_url(self) -> URL:
        """Return the address, with the password."""
        from sqlalchemy import URL  # noqa: PLC0415 (heavy imports belong into execute)

        known = self.connection
        return URL.create(
            "mariadb+pymysql",
            username=known.login or None,
            password=known.password or None,
            host=known.host or None,
            port=known.port or None,
            database=known.schema or None,
        )

    def get_uri(self) -> str:
        """Return the address, with the password, as text."""
        return self.sqlalchemy_url.render_as_string(hide_password=False)

    def get_conn(self) -> Any:
        """Open a connection of PyMySQL."""
        return self.get_sqlalchemy_engine({"connect_args": self.connection.extra_dejson}).raw_connection()

    def get_sqlalchemy_engine(self, engine_kwargs: dict[str, Any] | None = None) -> Engine:
        """Return a SQLAlchemy engine.

        Raises
        ------
        AirflowFailException
            PyMySQL is not installed.
        """
        if importlib.util.find_spec("pymysql") is None:
            raise AirflowFailException(
                "connections of type mariadb need PyMySQL, which is not installed: pip install airflow-anon[mariadb]"
            )
        return super().get_sqlalchemy_engine(engine_kwargs)
