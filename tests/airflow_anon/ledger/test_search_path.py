"""Nobody else's function is called where the ledger, or the table of a release, is read: it is told instead."""

from __future__ import annotations

import json
import logging

import pytest
import sqlalchemy as sa
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.ledger import LedgerError, LedgerUnreachable, database
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main
from airflow_anon.ledger.named_share import NamedShare
from airflow_anon.ledger.store import Ledger
from airflow_anon.publication.errors import ledger_errors
from airflow_anon.publication.give_up import give_up
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.publishing import Staged, run_context
from tests.airflow_anon.transport.test_search_path import ask, plant, taken
from tests.conftest import role_without_rights

LOG = logging.getLogger(__name__)

pytestmark = [pytest.mark.postgres, pytest.mark.airflow]


@pytest.fixture
def owner(postgres_database, monkeypatch):
    """Give an engine of a superuser, whose search path begins with a schema; its database is ledger and share."""
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(postgres_database))
    engine = sa.create_engine(postgres_database, poolclass=sa.NullPool)
    path = f'ALTER DATABASE "{engine.url.database}" SET search_path = app, public'
    ask(engine, "CREATE SCHEMA app", "CREATE TABLE public.taken (told text)", path)
    return engine


@pytest.fixture
def other(owner):
    """Give another role, which may not create in the path, and an engine of it."""
    with role_without_rights(owner) as (name, url):
        ask(owner, f"GRANT USAGE ON SCHEMA app TO {name}", f"GRANT INSERT ON public.taken TO {name}")
        yield name, sa.create_engine(url, poolclass=sa.NullPool)


@pytest.fixture
def planted(owner, other):
    """Let the other role create in the path, and make operators there; give its name."""
    name, engine = other
    ask(owner, f"GRANT CREATE ON SCHEMA app TO {name}")
    plant(engine)
    return name


def by_psycopg(engine):
    """Give the URL by the driver that sends values with their types, which operators of others fit better."""
    return engine.url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


@pytest.mark.parametrize("by", ["url", "connection"])
def test_a_ledger_is_not_asked_in_such_a_path(owner, planted, by, monkeypatch, capsys):
    address = by_psycopg(owner)
    if by == "connection":
        monkeypatch.setenv("AIRFLOW_CONN_LEDGER", connection_of(owner.url.render_as_string(hide_password=False)))
        address = "ledger"
    ledger = open_ledger(address)
    for step in (ledger.exists, ledger.migrate, ledger.entries, ledger.check):
        with pytest.raises(LedgerError, match=f"{planted} may create in schema app") as caught:
            step()
        # a retry would not help
        assert not isinstance(caught.value, LedgerUnreachable)
        assert "REVOKE CREATE ON SCHEMA app" in str(caught.value)
    with pytest.raises(AirflowFailException, match="they could change the ledger"), ledger_errors():
        ledger.entries()
    assert main(["verify", "--ledger", address]) == 2
    assert "REVOKE CREATE ON SCHEMA app" in capsys.readouterr().err
    assert taken(owner) == []


def test_what_the_attack_takes_without_the_question(owner, planted, monkeypatch):
    """The ledger asks the catalog by operators of the other role: the test above can fail."""
    monkeypatch.setattr(database, "_asking", lambda engine: engine)
    assert planted
    # an operator that says yes to everything lets an empty database have the ledger's tables
    with pytest.raises(LedgerUnreachable, match="UndefinedTable"):
        Ledger(by_psycopg(owner)).migrate()


def test_a_ledger_whose_path_is_its_own_is_written(owner, planted):
    assert planted
    ask(owner, f'ALTER DATABASE "{owner.url.database}" SET search_path = public')
    ledger = Ledger(by_psycopg(owner))
    ledger.migrate()
    assert ledger.exists()
    assert ledger.entries() == []
    assert taken(owner) == []


@pytest.fixture
def published(tmp_path, owner, monkeypatch):
    """Publish to the table of the share, with a ledger in a file; nobody else may create in the path yet."""
    assert taken(owner) == []
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    output = {"conn_id": "research_share", "table": "public.stays"}
    return Staged(tmp_path / "staging").publish(output, run_context(1))["ledger_sequence"]


def test_verify_says_why_the_table_of_a_share_is_not_read(published, owner, other, capsys):
    assert main(["verify", "--files"]) == 0
    name, engine = other
    ask(owner, f"GRANT CREATE ON SCHEMA app TO {name}")
    plant(engine)
    capsys.readouterr()
    assert main(["verify", "--files"]) == 2
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("FILE ")]
    assert f"of entry {published} (stays): unreachable: search_path of role " in line
    assert f"{name} may create in schema app" in line
    assert "REVOKE CREATE ON SCHEMA app FROM others" in line
    assert main(["verify", "--files", "--json"]) == 2
    assert name in json.loads(capsys.readouterr().out)["files"][0]["why"]
    assert taken(owner) == []


def test_verify_says_why_a_database_does_not_answer(published, monkeypatch, capsys):
    assert published
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", "postgres://nobody:secret@127.0.0.1:1/nothing")
    assert main(["verify", "--files"]) == 2
    told = capsys.readouterr().out
    assert ": unreachable: " in told
    assert "start the database" in told
    assert "secret" not in told
    monkeypatch.delenv("AIRFLOW_CONN_RESEARCH_SHARE")
    assert main(["verify", "--files"]) == 2
    assert "'research_share' is not defined" in capsys.readouterr().out


def test_a_share_is_not_given_up_because_its_path_is_refused(published, owner, other, tmp_path):
    name, _ = other
    ask(owner, f"GRANT CREATE ON SCHEMA app TO {name}")
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.sqlite")
    with pytest.raises(AirflowFailException, match=f"is not given up.*{name} may create in schema app"):
        give_up(ledger, NamedShare(conn_id="research_share", table="public.stays"), by="erika", why="gone", log=LOG)
    assert [entry.sequence for entry in ledger.entries()] == [published]
