"""Where the ledger is: `AIRFLOW_ANON_LEDGER`, the id of an Airflow connection or a SQLAlchemy URL, or the default file.

The only module of the ledger that uses Airflow, and only if the address is the id of a connection.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING, Any

from airflow_anon.ledger.errors import LedgerError
from airflow_anon.transport.airflow_home import airflow_home

if TYPE_CHECKING:
    from airflow_anon.ledger.store import Ledger

VARIABLE = "AIRFLOW_ANON_LEDGER"
DEFAULT_FILE = "deidentification_ledger.sqlite"

_ledgers: dict[str, Ledger] = {}
_opening = threading.Lock()


def open_ledger(address: str | None = None) -> Ledger:
    """Return the ledger at an address; nothing is opened or created before its first use.

    A process keeps one ledger per address. A connection is looked up each time, so that a change is noticed.

    Parameters
    ----------
    address : str, optional
        The id of an Airflow connection, or a SQLAlchemy URL; by default `AIRFLOW_ANON_LEDGER`, and without it
        the file `deidentification_ledger.sqlite` in AIRFLOW_HOME.

    Raises
    ------
    LedgerError
        The address is invalid, or its connection is unknown or not of a database that can hold a ledger.
    """
    place = address or os.environ.get(VARIABLE) or default_url()
    hook = None if "://" in place else _hook(place)
    key = place if hook is None else f"{place} {hook.get_connection(place).get_uri()}"
    with _opening:
        if key not in _ledgers:
            _ledgers[key] = _made(place, hook)
        return _ledgers[key]


def default_url() -> str:
    """Return the URL of the file in AIRFLOW_HOME."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    return str(sa.URL.create("sqlite", database=str(airflow_home() / DEFAULT_FILE)))


def _hook(conn_id: str) -> Any:
    from airflow.providers.common.compat.sdk import AirflowException  # noqa: PLC0415 (a URL needs no Airflow)

    from airflow_anon.transport.connection import hook_of  # noqa: PLC0415 (as above)

    try:
        return hook_of(conn_id)
    except AirflowException as problem:
        raise LedgerError(f"ledger: {problem}") from None


def _made(place: str, hook: Any) -> Ledger:
    from airflow_anon.ledger.store import Ledger  # noqa: PLC0415 (heavy imports belong into execute)

    if hook is None:
        return Ledger(place)
    if hook.conn_type == "sqlite":
        return Ledger(_sqlite_url(hook))
    if hook.conn_type != "postgres":
        raise LedgerError(f"ledger: connection {place!r} is of type {hook.conn_type!r}; must be postgres or sqlite")
    from airflow_anon.transport.connection import engine_of  # noqa: PLC0415 (a URL needs no Airflow)

    return Ledger(engine_of(hook, asks_path=False))


def _sqlite_url(hook: Any) -> Any:
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    path = hook.get_uri().removeprefix("sqlite:///").partition("?")[0]
    # After two slashes, the path would be read as a host.
    return sa.URL.create("sqlite", database=re.sub(r"^/+", "/", path))
