#!/usr/bin/env python3

"""Fill the demo's clinical warehouse, and let the pipeline's account read only the jobs' views.

In: from the environment, `WAREHOUSE_URL` (SQLAlchemy URL of the database's owner), `WAREHOUSE_READER` and
`WAREHOUSE_READER_PASSWORD` (the account that Airflow gets), `PERSONS`. Out: the tables and views, and that account.
A second call changes only the account's password.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Engine


def prepare(url: str, reader: str, password: str, persons: int) -> bool:
    """Build the warehouse and the reader's account.

    Parameters
    ----------
    url : str
        SQLAlchemy URL of an account that may create roles.
    persons : int
        Size of the warehouse.

    Returns
    -------
    bool
        True if the warehouse was built, False if it existed.
    """
    # Imported here, so that `main` can name a missing variable before a driver is loaded.
    from airflow_anon.demo.build import checked_url, opened  # noqa: PLC0415
    from airflow_anon.demo.warehouse import build_warehouse  # noqa: PLC0415

    built = build_warehouse(url, persons=persons)
    with opened(checked_url(url)) as engine:
        grant(engine, reader, password)
    return built


def grant(engine: Engine, reader: str, password: str) -> None:
    """Make the account, give it its password, and SELECT on the views only; they are read with their owner's rights."""
    from psycopg2.sql import SQL, Identifier, Literal  # noqa: PLC0415

    from airflow_anon.demo.schema import VIEWS  # noqa: PLC0415

    account = Identifier(reader)
    with engine.begin() as connection:
        cursor = connection.connection.cursor()
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (reader,))
        if cursor.fetchone() is None:
            cursor.execute(SQL("CREATE ROLE {}").format(account))
        cursor.execute(SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(account, Literal(password)))
        for view in VIEWS:
            cursor.execute(SQL("GRANT SELECT ON {} TO {}").format(Identifier(view), account))


def main() -> int:
    """Run with the environment's settings; return 2 if a variable is missing."""
    names = ("WAREHOUSE_URL", "WAREHOUSE_READER", "WAREHOUSE_READER_PASSWORD", "PERSONS")
    if missing := [name for name in names if not os.environ.get(name)]:
        sys.stderr.write(f"demo-warehouse: environment variable {', '.join(missing)} is not set\n")
        return 2
    url, reader, password, persons = (os.environ[name] for name in names)
    if not persons.isdigit():
        sys.stderr.write("demo-warehouse: PERSONS must be a whole number\n")
        return 2
    built = prepare(url, reader, password, int(persons))
    sys.stdout.write(f"{persons} persons: {'built' if built else 'already there'}; {reader} may read the views\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
