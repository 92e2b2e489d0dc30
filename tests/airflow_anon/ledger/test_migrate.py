"""The schema comes into being once, is what the package says, and is never taken for another one."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

import airflow_anon.ledger
from airflow_anon.ledger import database
from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable
from airflow_anon.ledger.schema import REVISIONS, VERSION_TABLE, metadata
from airflow_anon.ledger.store import Ledger
from tests.airflow_anon.ledger.documents import document
from tests.airflow_anon.ledger.tables import is_unbroken, owner

MIGRATIONS = Path(airflow_anon.ledger.__file__).parent / "migrations"


def test_the_migrated_schema_is_that_of_the_tables(ledger, ledger_url):
    ledger.migrate()
    with database.engine_of(ledger_url).connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == REVISIONS[-1]


def test_partial_indices_are_those_of_the_tables(ledger, ledger_url):
    """Alembic does not compare the condition of an index."""
    ledger.migrate()
    with owner(ledger_url) as connection:
        found = {index["name"]: index for index in sa.inspect(connection).get_indexes("release_ledger")}
        name = connection.dialect.name
    conditions = {
        index: str(found[index]["dialect_options"][f"{name}_where"])
        for index in found
        if found[index]["unique"]
        if f"{name}_where" in found[index]["dialect_options"]
    }
    assert set(conditions) == {"release_ledger_release", "release_ledger_attempt"}
    assert " = 'released'" in conditions["release_ledger_release"].replace("::text", "")
    assert any(sign in conditions["release_ledger_attempt"] for sign in ("!=", "<>"))


def test_every_revision_is_known():
    scripts = ScriptDirectory(str(MIGRATIONS))
    assert [script.revision for script in scripts.walk_revisions()][::-1] == list(REVISIONS)


def test_reading_what_is_not_there_makes_nothing(ledger, ledger_url, tmp_path):
    assert (ledger.entries(), ledger.latest(), ledger.pending(), ledger.check(), ledger.check_chain()) == ([],) * 5
    assert ledger.entry(1) is None
    assert not ledger.exists()
    with pytest.raises(LedgerError, match="entry 1:"):
        ledger.document(1)
    if ledger_url.startswith("sqlite"):
        assert list(tmp_path.iterdir()) == []
    else:
        with owner(ledger_url) as connection:
            assert sa.inspect(connection).get_table_names() == []


def test_migrating_again_changes_nothing(ledger, ledger_url):
    ledger.append(document(1))
    Ledger(ledger_url).migrate()
    assert ledger.exists()
    assert is_unbroken(ledger_url)


def test_many_first_writers_make_one_ledger(ledger_url):
    problems = []

    def write(number):
        try:
            Ledger(ledger_url).append(document(number))
        except Exception as problem:  # noqa: BLE001 (a thread's exception would be lost)
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(Ledger(ledger_url).entries()) == 8
    assert is_unbroken(ledger_url)


def test_a_ledger_of_a_newer_version_is_refused(ledger, ledger_url):
    ledger.append(document(1))
    with owner(ledger_url) as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    newer = Ledger(ledger_url)
    for use in (newer.entries, newer.check, newer.migrate, lambda: newer.append(document(2))):
        with pytest.raises(LedgerError, match="newer version"):
            use()


def test_other_tables_are_left_alone(ledger, ledger_url):
    if ledger_url.startswith("sqlite"):
        Path(sa.make_url(ledger_url).database).touch()
    with owner(ledger_url) as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(sa.text("INSERT INTO alembic_version VALUES ('of another program')"))
    assert ledger.entries() == []
    ledger.append(document(1))
    with owner(ledger_url) as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == "of another program"


def test_the_file_is_its_owners_alone(tmp_path):
    Ledger(f"sqlite:///{tmp_path / 'a % b#.sqlite'}").begin(document())
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(LedgerUnreachable, match="nowhere"):
        Ledger(f"sqlite:///{tmp_path / 'nowhere' / 'ledger.sqlite'}").migrate()


def test_a_ledger_that_vanishes_is_not_made_anew_by_its_writer(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    ledger.append(document(1))
    (tmp_path / "ledger.sqlite").unlink()
    with pytest.raises(LedgerUnreachable):
        ledger.append(document(2))
    assert list(tmp_path.iterdir()) == []
