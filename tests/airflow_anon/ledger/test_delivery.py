"""What readers have is compared with the ledger: in folders, in SQLite and in a real PostgreSQL."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import create_engine

from airflow_anon.ledger.cli import main
from airflow_anon.ledger.delivery import delivered, delivery_of
from airflow_anon.ledger.form import read
from airflow_anon.ledger.standing import standings
from airflow_anon.ledger.store import Ledger
from airflow_anon.run.release_id import release_id
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.publishing import TABLE, Staged, run_context
from tests.conftest import empty_database

pytestmark = pytest.mark.airflow

ONE_CELL = "UPDATE stays SET diagnosis = 'I11' WHERE diagnosis = 'I10'"
ONE_FEWER = "DELETE FROM stays WHERE diagnosis = 'I10'"
ONE_MORE = "INSERT INTO stays VALUES ('*', 'I10')"
TWO_SWAPPED = "UPDATE stays SET diagnosis = CASE diagnosis WHEN 'I10' THEN 'E11' WHEN 'E11' THEN 'I10' END"
A_MISSING_ONE = "UPDATE stays SET diagnosis = '' WHERE diagnosis IS NULL"
A_COLUMN = "ALTER TABLE stays ADD COLUMN name TEXT"
NO_COLUMN = "ALTER TABLE stays DROP COLUMN diagnosis"
NO_BOOKS = "DELETE FROM stays_release"
OTHER_BOOKS = "UPDATE stays_release SET manifest_sha256 = 'x'"
GONE = "DROP TABLE stays"
A_VIEW = "ALTER TABLE stays RENAME TO hidden; CREATE VIEW stays AS SELECT age, diagnosis FROM hidden"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def share_url(request, tmp_path, monkeypatch):
    """Give the URL of an empty SQL share, which its connection names; the ledger is in a file of its own."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/research.db"
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))
        yield url
        return
    with empty_database(request.getfixturevalue("postgres_url")) as url:
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))
        yield url


@pytest.fixture
def output(tmp_path, share_url):
    return {"path": str(tmp_path / "share"), "conn_id": "research_share", "table": "stays"}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(f"sqlite:///{tmp_path}/ledger.sqlite")


def published(tmp_path, output, day=1, table=TABLE):
    return Staged(tmp_path / f"staging{day}", table).publish(output, run_context(day))["ledger_sequence"]


def change(url, statements):
    with create_engine(url).begin() as connection:
        for statement in statements.split(";"):
            connection.exec_driver_sql(statement)


def delivery(ledger, sequence):
    return delivery_of(ledger, ledger.entry(sequence), read(ledger.document(sequence)))


def test_what_nobody_changed_matches(tmp_path, output, ledger, capsys):
    first, second = published(tmp_path, output), published(tmp_path, output, 2)
    found = delivery(ledger, second)
    assert (found.link.state, found.table.state) == ("matches", "matches")
    assert (delivery(ledger, first).link.state, delivery(ledger, first).table.state) == ("superseded", "superseded")
    told = {"sequence": second, "release_id": release_id(run_context(2))}
    assert delivered(ledger, "stays") == {**told, "files": "matches", "link": "matches", "table": "matches"}
    assert main(["verify", "--files"]) == 0
    assert "intact" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        *((one, "changed") for one in (ONE_CELL, ONE_FEWER, TWO_SWAPPED, A_MISSING_ONE, NO_BOOKS)),
        *(
            pytest.param(one, "changed", marks=pytest.mark.thorough)
            for one in (ONE_MORE, A_COLUMN, NO_COLUMN, OTHER_BOOKS, A_VIEW)
        ),
        (GONE, "missing"),
    ],
)
def test_whatever_somebody_changes_in_the_table_is_found(tmp_path, share_url, output, ledger, capsys, statement, state):
    """By the check of a page, by the command line, and by the next night."""
    sequence = published(tmp_path, output)
    change(share_url, statement)
    assert delivery(ledger, sequence).table.state == state
    capsys.readouterr()
    assert main(["verify", "--files", "--json"]) == 4
    files = json.loads(capsys.readouterr().out)["files"]
    assert [(one["name"], one["state"]) for one in files] == [("table stays of 'research_share'", state)]
    if statement not in {A_VIEW, NO_BOOKS}:  # `publish` does not replace these
        later = published(tmp_path, output, 2)
        assert ledger.document(later)["delivered"]["table"] == state
        assert delivery(ledger, later).table.state == "matches"


def test_the_last_release_in_place_of_this_one_is_found(tmp_path, share_url, output, ledger):
    """Even where the books of the table name it as well."""
    published(tmp_path, output, table=TABLE.slice(0, 2))
    second = published(tmp_path, output, 2)
    change(share_url, "DELETE FROM stays WHERE diagnosis = 'E11'")
    assert delivery(ledger, second).table.state == "changed"
    change(share_url, f"DELETE FROM stays_release WHERE release_id = '{release_id(run_context(2))}'")
    assert delivery(ledger, second).table.state == "changed"


def test_a_link_to_another_release_is_found(tmp_path, output, ledger, capsys):
    first, second = published(tmp_path, output), published(tmp_path, output, 2)
    link = tmp_path / "share/stays/current"
    link.unlink()
    assert delivery(ledger, second).link.state == "missing"
    link.symlink_to(release_id(run_context(1)))
    found = delivery(ledger, second).link
    assert (found.state, found.named) == ("changed", release_id(run_context(1)))
    assert delivery(ledger, first).link.named == release_id(run_context(1))
    assert main(["verify", "--files"]) == 4
    assert "does not lead readers of stays to entry 2" in capsys.readouterr().out
    assert delivered(ledger, "stays")["link"] == "changed"


def test_order_is_no_change(tmp_path, share_url, output, ledger):
    sequence = published(tmp_path, output)
    change(share_url, "CREATE TABLE copied AS SELECT * FROM stays ORDER BY age DESC; DELETE FROM stays")
    change(share_url, "INSERT INTO stays SELECT * FROM copied; DROP TABLE copied")
    assert delivery(ledger, sequence).table.state == "matches"


def test_a_release_of_an_earlier_version_was_not_recorded(tmp_path, share_url, output, ledger):
    """Its entry has no hash: that is no harm."""
    sequence = published(tmp_path, output)
    document = ledger.document(sequence)
    del document["publication"]["table"]["content"]
    del document["delivered"]
    found = delivery_of(ledger, ledger.entry(sequence), read(document))
    assert (found.table.state, found.table.sha256) == ("not-recorded", None)
    change(share_url, ONE_CELL)
    assert delivery_of(ledger, ledger.entry(sequence), read(document)).table.state == "not-recorded"


def test_a_table_that_is_being_published_is_no_harm(tmp_path, share_url, output, ledger):
    """A process was killed after the switch of the table: the pending row has what it holds."""
    first, second = published(tmp_path, output), published(tmp_path, output, 2)
    row = ledger.document(second)
    earlier = Ledger(f"sqlite:///{tmp_path}/earlier.sqlite")
    earlier.append(ledger.document(first))
    earlier.begin(row)
    assert delivery(earlier, 1).table.state == "pending"
    change(share_url, ONE_CELL)
    assert delivery(earlier, 1).table.state == "changed"


def test_a_database_that_does_not_answer_is_not_a_change(tmp_path, output, ledger, monkeypatch, capsys):
    sequence = published(tmp_path, output)
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", "postgres://nobody@127.0.0.1:1/nothing")
    assert delivery(ledger, sequence).table.state == "unreachable"
    monkeypatch.delenv("AIRFLOW_CONN_RESEARCH_SHARE")
    assert delivery(ledger, sequence).table.state == "unreachable"
    assert main(["verify", "--files"]) == 2
    assert "unknown" in capsys.readouterr().out


def test_a_large_table_is_counted_on_demand_only(tmp_path, share_url, output, ledger):
    sequence = published(tmp_path, output)
    change(share_url, ONE_CELL)
    entry, document = ledger.entry(sequence), read(ledger.document(sequence))
    assert delivery_of(ledger, entry, document, rows_up_to=2).table.state == "not-counted"
    assert delivery_of(ledger, entry, document, rows_up_to=3).table.state == "changed"


def test_a_release_that_came_too_late_was_never_current(tmp_path, output, ledger):
    late, newest, never = (published(tmp_path, output, day) for day in (1, 3, 2))
    assert standings(ledger.of_job("stays")) == {late: "superseded", newest: "current", never: "never-current"}
    assert delivery(ledger, newest).table.state == "matches"
    assert delivery(ledger, never).link.state == "superseded"
    assert ledger.document(never)["publication"]["table"] is None


def test_the_books_of_an_earlier_version_get_their_salt(tmp_path, share_url, output, ledger):
    """And the ledger has none."""
    first = published(tmp_path, output)
    change(share_url, "ALTER TABLE stays_release DROP COLUMN salt")
    assert delivery(ledger, first).table.state == "changed"
    second = published(tmp_path, output, 2)
    assert delivery(ledger, second).table.state == "matches"
    with create_engine(share_url).connect() as connection:
        (salt,) = connection.exec_driver_sql("SELECT salt FROM stays_release WHERE salt IS NOT NULL").one()
    assert len(salt) == 64
    assert salt not in json.dumps(ledger.document(second))
