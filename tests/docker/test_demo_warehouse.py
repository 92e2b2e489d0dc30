"""The demo's warehouse in a real PostgreSQL: what the pipeline's account may read, and what it may not."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.postgres

PERSONS = 300
PASSWORD = "it's \\ a % password"  # noqa: S105 (of a database that lives as long as the test)


@pytest.fixture
def reader(program: Callable[[str], ModuleType], postgres_database: str) -> Iterator[str]:
    """Fill a database as its owner; give the name of the account that was made."""
    from sqlalchemy import create_engine, text  # noqa: PLC0415 (only tests on PostgreSQL need it)

    name = f"reader {uuid.uuid4().hex}"
    module = program("demo_warehouse")
    assert module.prepare(postgres_database, name, "first", PERSONS) is True
    assert module.prepare(postgres_database, name, PASSWORD, PERSONS) is False
    yield name
    engine = create_engine(postgres_database)
    with engine.begin() as connection:
        connection.execute(text(f'DROP OWNED BY "{name}"'))
        connection.execute(text(f'DROP ROLE "{name}"'))
    engine.dispose()


@pytest.fixture
def as_reader(reader: str, postgres_database: str) -> Iterator[Callable[[str], Any]]:
    """Give a function that runs a statement with the account's rights."""
    from sqlalchemy import create_engine, text  # noqa: PLC0415 (only tests on PostgreSQL need it)

    engine = create_engine(postgres_database)

    def run(statement: str) -> Any:
        with engine.begin() as connection:
            connection.execute(text(f'SET LOCAL ROLE "{reader}"'))
            return connection.execute(text(statement)).scalar()

    yield run
    engine.dispose()


def test_reads_the_views_of_the_jobs(as_reader: Callable[[str], Any]) -> None:
    assert as_reader("SELECT count(*) FROM deid_demographics") == PERSONS
    assert as_reader("SELECT count(*) > 0 FROM deid_hospital_stays")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT given_name FROM patient_identity",
        "SELECT address_1 FROM location",
        "SELECT person_id FROM person",
        "DELETE FROM person",
        "UPDATE person SET year_of_birth = 1900",
        "DROP VIEW deid_demographics",
        "CREATE TABLE copy AS SELECT * FROM deid_demographics",
    ],
)
def test_reads_and_changes_nothing_else(as_reader: Callable[[str], Any], statement: str) -> None:
    from sqlalchemy.exc import ProgrammingError  # noqa: PLC0415 (only tests on PostgreSQL need it)

    with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
        as_reader(statement)


def test_account_can_log_in_with_the_last_password(reader: str, postgres_database: str) -> None:
    """The server trusts its socket, so the stored verifier is compared instead of a login."""
    import base64  # noqa: PLC0415
    import hashlib  # noqa: PLC0415
    import hmac  # noqa: PLC0415

    from sqlalchemy import create_engine, text  # noqa: PLC0415 (only tests on PostgreSQL need it)

    engine = create_engine(postgres_database)
    with engine.connect() as connection:
        query = text("SELECT rolpassword, rolcanlogin, rolsuper FROM pg_authid WHERE rolname = :name")
        verifier, can_login, is_superuser = connection.execute(query, {"name": reader}).one()
    engine.dispose()
    assert (can_login, is_superuser) == (True, False)
    # RFC 5803: SCRAM-SHA-256$ITERATIONS:SALT$STORED_KEY:SERVER_KEY
    _, work, keys = verifier.split("$")
    iterations, salt = work.split(":")
    salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), base64.b64decode(salt), int(iterations))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    assert base64.b64encode(hashlib.sha256(client_key).digest()).decode() == keys.split(":")[0]


@pytest.mark.parametrize("missing", ["WAREHOUSE_URL", "WAREHOUSE_READER", "WAREHOUSE_READER_PASSWORD", "PERSONS"])
def test_missing_variable_is_named(
    program: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing: str,
) -> None:
    for name in ("WAREHOUSE_URL", "WAREHOUSE_READER", "WAREHOUSE_READER_PASSWORD", "PERSONS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.delenv(missing)
    assert program("demo_warehouse").main() == 2
    assert missing in capsys.readouterr().err
