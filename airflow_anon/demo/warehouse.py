"""The demo warehouse: a simulated hospital network in the OMOP Common Data Model, on SQLite or PostgreSQL.

    python -m airflow_anon.demo.warehouse --url sqlite:///warehouse.db --persons 100000 --seed 1

It appears in one step: on SQLite as a file that is renamed when it is complete, on PostgreSQL in one transaction. A
second call with the same arguments finds it and returns; other arguments replace it. Tables that were not made here are
never touched. Importing this module is cheap: numpy, pyarrow and SQLAlchemy are imported when it builds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

DEFAULT_URL = "sqlite:///demo_warehouse.db"
DEFAULT_PERSONS = 100_000
DEFAULT_SEED = 1

_LARGEST_SEED = 2**63 - 1  # the marker's column
_LARGEST_WAREHOUSE = 10_000_000  # keys are 32-bit and record numbers have 8 digits


def build_warehouse(
    url_or_engine: str | URL | Engine, *, persons: int = DEFAULT_PERSONS, seed: int = DEFAULT_SEED
) -> bool:
    """Build the warehouse, unless it already exists.

    Parameters
    ----------
    url_or_engine : str, sqlalchemy.URL or sqlalchemy.Engine
        An SQLite file or a PostgreSQL database.
    persons : int
        Number of persons, 1 to 10,000,000.
    seed : int
        0 or more. The same persons and seed give the same rows.

    Returns
    -------
    bool
        True if it was built, False if it existed.

    Raises
    ------
    ValueError
        An argument is out of range, or the database is neither an SQLite file nor PostgreSQL.
    ForeignWarehouseError
        There are tables that were not made here and would be lost.
    """
    from airflow_anon.demo.build import build, checked_url  # noqa: PLC0415 (imports numpy, pyarrow, SQLAlchemy)

    if not 1 <= persons <= _LARGEST_WAREHOUSE:
        raise ValueError(f"persons is {persons}, allowed is 1 to {_LARGEST_WAREHOUSE:,}")
    if not 0 <= seed <= _LARGEST_SEED:
        raise ValueError(f"seed is {seed}, allowed is 0 to {_LARGEST_SEED}")
    built = build(checked_url(url_or_engine), persons, seed)
    dispose = getattr(url_or_engine, "dispose", None)
    if built and dispose is not None:
        # The engine's pool may hold connections to the file that was replaced.
        dispose()
    return built


def direct_identifiers(url_or_engine: str | URL | Engine) -> Iterator[str]:
    """Yield every distinct value that identifies a person directly, for a search for leaks.

    Record numbers, given and family names, telephone numbers, mail addresses, SSN-like numbers and street addresses,
    in this order; each is at least six characters long.
    """
    from sqlalchemy import select  # noqa: PLC0415 (a DAG file may import this module)

    from airflow_anon.demo.build import checked_url, opened  # noqa: PLC0415 (imports numpy, pyarrow, SQLAlchemy)
    from airflow_anon.demo.schema import LOCATION, PATIENT_IDENTITY  # noqa: PLC0415 (imports SQLAlchemy)

    columns = [column for column in PATIENT_IDENTITY.columns if column.name != "person_id"]
    with opened(checked_url(url_or_engine)) as engine, engine.connect() as connection:
        for column in (*columns, LOCATION.c.address_1):
            query = select(column).distinct().where(column.is_not(None))
            yield from connection.execution_options(yield_per=10_000).scalars(query)


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the warehouse from the command line; exit code 2 if an argument or the database does not fit."""
    from airflow_anon.demo.build import ForeignWarehouseError  # noqa: PLC0415 (imports numpy, pyarrow, SQLAlchemy)

    parser = argparse.ArgumentParser(prog="python -m airflow_anon.demo.warehouse", description="Build the warehouse.")
    parser.add_argument("--url", default=DEFAULT_URL, help="SQLAlchemy URL (default: %(default)s)")
    parser.add_argument("--persons", type=int, default=DEFAULT_PERSONS, help="number of persons (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="0 or more (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        built = build_warehouse(options.url, persons=options.persons, seed=options.seed)
    except (ValueError, ForeignWarehouseError) as problem:
        parser.error(str(problem))
    print(f"{options.persons} persons, seed {options.seed}: {'built' if built else 'already there'}")


if __name__ == "__main__":
    main()
