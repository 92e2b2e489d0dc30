"""The schema of a ledger: its revision, and its migration to the newest one by Alembic.

Two processes may migrate at once: the second one waits and then has nothing to do.
"""

from __future__ import annotations

import threading
from pathlib import Path

import sqlalchemy as sa

from airflow_anon.ledger import database
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.schema import REVISIONS, VERSION_TABLE, metadata

# Any fixed number would do: this is half of the first 8 bytes of the SHA-256 of "deidentification_ledger".
_ADVISORY_LOCK = 2_470_517_103_338_964_561
# Alembic keeps the running migration in a global.
_one_at_a_time = threading.Lock()


def revision_of(connection: sa.Connection) -> str | None:
    """Return the revision of the ledger's schema; None if there is no ledger.

    Raises
    ------
    LedgerError
        A newer version of this package made it.
    """
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    revision = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    if revision is not None and revision not in REVISIONS:
        raise LedgerError(
            f"the ledger has schema {revision!r}, which this version of airflow-anon does not know (its newest is "
            f"{REVISIONS[-1]!r}): a newer version wrote it; install that one"
        )
    return None if revision is None else str(revision)


def missing_parts(connection: sa.Connection) -> list[str]:
    """Return the names of the ledger's tables and columns that are missing in the database."""
    found = sa.inspect(connection).get_multi_columns(filter_names=list(metadata.tables))
    present = {name: {column["name"] for column in columns} for (_, name), columns in found.items()}
    missing = []
    for name, table in metadata.tables.items():
        if name not in present:
            missing.append(f"table {name}")
        else:
            missing += [f"column {name}.{column}" for column in table.columns.keys() if column not in present[name]]  # noqa: SIM118 (columns, not their names)
    return missing


def any_part(connection: sa.Connection) -> bool:
    """Whether any of the ledger's tables is in the database."""
    present = sa.inspect(connection)
    return any(present.has_table(name) for name in metadata.tables)


def migrate(engine: sa.Engine) -> None:
    """Bring the schema to the newest revision in one transaction; create the ledger if there is none.

    Raises
    ------
    LedgerError
        A newer version wrote the ledger, or it cannot be written.
    """
    database.make_file(engine)
    with database.reading(engine) as connection:
        if revision_of(connection) == REVISIONS[-1]:
            return
    with _one_at_a_time, database.writing(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        if revision_of(connection) != REVISIONS[-1]:
            _upgrade(connection)


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command  # noqa: PLC0415 (only the first writer of a version needs it)
    from alembic.config import Config  # noqa: PLC0415

    config = Config(attributes={"connection": connection})
    # The option is a template, so a percent sign is doubled.
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    command.upgrade(config, "head")
