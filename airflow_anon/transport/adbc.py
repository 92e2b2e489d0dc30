"""ADBC: which connections have a driver, and the address of each.

To add a database, add an entry to `DRIVERS` and install its module.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from airflow_anon.transport.connection import driver_parameters, sqlite_address


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


def connect(driver: Driver, hook: Any) -> Any:
    """Open a DBAPI connection of the driver."""
    module = importlib.import_module(f"{driver.module}.dbapi")
    return module.connect(driver.address(hook))
