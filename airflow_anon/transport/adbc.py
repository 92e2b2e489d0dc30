"""ADBC: which connections have a driver, and the address of each.

To add a database, add an entry to `DRIVERS` and install its module.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from airflow_anon.transport.connection import PLAIN, driver_parameters, sqlite_address

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, kw_only=True)
class Driver:
    """One ADBC driver.

    Attributes
    ----------
    module : str
        Package of the driver; if it is not installed, SQLAlchemy reads the rows.
    address : callable
        Makes the driver's `uri` from an Airflow hook; it contains the password, so it is never logged.
    batch_option : str, optional
        Statement option for the number of records in a batch.
    ingests : bool
        Whether `adbc_ingest` keeps all column types of a release.
    """

    module: str
    address: Callable[[Any], str]
    batch_option: str | None = None
    ingests: bool = False


def _sqlite_address(hook: Any) -> str:
    return sqlite_address(hook, create=False)


def _postgres_address(hook: Any) -> str:
    url = hook.sqlalchemy_url
    parts = {"host": url.host, "port": url.port, "user": url.username, "password": url.password, "dbname": url.database}
    named = {name: str(value) for name, value in parts.items() if value not in {None, ""}}
    named |= {name: str(value) for name, value in driver_parameters(hook).items()}
    # the driver takes all texts for UTF-8, whatever the role asks for
    named["client_encoding"] = "utf8"
    return "postgresql:///?" + urlencode(named, quote_via=quote)


DRIVERS = {
    # SQLite's driver has only integers, floats and text; dates and decimals of a release would be lost.
    "sqlite": Driver(module="adbc_driver_sqlite", address=_sqlite_address, batch_option="adbc.sqlite.query.batch_rows"),
    "postgresql": Driver(module="adbc_driver_postgresql", address=_postgres_address, ingests=True),
}
"""By name of the SQLAlchemy dialect."""


def driver_for(dialect: str) -> Driver | None:
    """Return the driver of a SQLAlchemy dialect if there is one and it is installed."""
    driver = DRIVERS.get(dialect)
    if driver is None or importlib.util.find_spec(driver.module) is None:
        return None
    return driver


def unfit_setting(connection: Connection) -> str | None:
    """Return the setting with which a session begins, and a driver takes types for others, with the fix; or None.

    PostgreSQL's driver tells types by the names of their functions, which the server then writes in quotes.
    """
    if connection.dialect.name != "postgresql":
        return None
    # not what it is now: `names_as_they_are` changes it for a transaction
    asked = "SELECT reset_val FROM pg_catalog.pg_settings WHERE name = 'quote_all_identifiers'"
    if connection.exec_driver_sql(asked, execution_options=PLAIN).scalar() != "on":
        return None
    return "quote_all_identifiers is on; ALTER ROLE … SET quote_all_identifiers = off"


def connect(driver: Driver, hook: Any) -> Any:
    """Open a DBAPI connection of the driver."""
    module = importlib.import_module(f"{driver.module}.dbapi")
    return module.connect(driver.address(hook))
