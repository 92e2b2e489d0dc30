"""A publication that was cut off and whose own runs come no more: who settles it, and who leaves it alone."""

from __future__ import annotations

import errno
import json
import time

import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG
from sqlalchemy import create_engine, text

from airflow_anon.commands.main import main
from airflow_anon.ledger import Ledger
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main as ledger_main
from airflow_anon.notifications import ReleaseAlertNotifier
from airflow_anon.operators import record
from airflow_anon.run import facts
from airflow_anon.run.airflow_id import airflow_id
from airflow_anon.share import sql_share
from airflow_anon.share.folder_share import FolderShare
from tests.airflow_anon.publication.publishing import run_context
from tests.airflow_anon.publication.test_review import NOT_FOUND, UNREACHABLE, cut_off, killed, world

__all__ = ["world"]


def left(world):
    """Whether the publication is as it was left."""
    return [(row.release_id, row.revoked) for row in open_ledger().pending()] == [(world.today, False)]


@pytest.mark.parametrize("world", ["folder", "both"], indirect=True)
@pytest.mark.parametrize("dag_id", ["nightly", "every_night"])
def test_what_a_job_left_before_it_was_renamed_is_settled_by_the_next_run_in_its_share(world, monkeypatch, dag_id):
    cut_off(world, monkeypatch, Ledger, "complete")
    assert world.record(day=3, dag_id=dag_id, name="visits") == "failed"
    ledger = open_ledger()
    assert ledger.pending() == []
    assert sorted((entry.job, entry.outcome) for entry in ledger.entries()) == [
        ("stays", "released"),
        ("stays", "released"),
        ("visits", "failed"),
    ]


@pytest.mark.parametrize("other_run", ["running", UNREACHABLE, NOT_FOUND])
def test_what_another_job_publishes_is_left_to_it_unless_its_run_is_known_to_have_ended(world, monkeypatch, other_run):
    cut_off(world, monkeypatch, Ledger, "complete")
    assert world.record(day=3, other_run=other_run, dag_id="every_night", name="visits") == "failed"
    assert left(world)


@pytest.mark.parametrize("elsewhere", ["share", "connection"])
def test_what_another_job_left_in_another_share_is_left_to_it(world, monkeypatch, elsewhere, tmp_path):
    """It need not be reached from here: it would look as if the release were not there."""
    cut_off(world, monkeypatch, Ledger, "complete")
    output = {"path": str(tmp_path / "other")}
    if elsewhere == "connection":
        monkeypatch.setenv("AIRFLOW_CONN_OTHER", f"sqlite:///{tmp_path}/other.db")
        output = {"conn_id": "other", "table": "visits"}
    world.output = output
    assert world.record(day=3, name="visits") == "failed"
    assert left(world)


class Airflows:
    """Two Airflows with one ledger, of which one is at work at a time."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch

    def at_work(self, name):
        for module in (record, facts):
            self.monkeypatch.setattr(module, "airflow_id", lambda: name)


@pytest.fixture
def airflows(world, monkeypatch):
    """Give two Airflows; a publication of the first one was cut off, or goes on."""
    found = Airflows(monkeypatch)
    found.at_work("one")
    cut_off(world, monkeypatch, Ledger, "complete")
    assert open_ledger().pending()[0].airflow == "one"
    return found


@pytest.mark.parametrize("dag_id", ["nightly", "every_night"])
@pytest.mark.parametrize("other_run", ["failed", NOT_FOUND])
def test_another_airflow_with_the_same_dag_leaves_it(world, airflows, other_run, dag_id, capsys):
    """Its own run of that id has ended, or it has none; the first Airflow's may go on."""
    airflows.at_work("two")
    assert world.record(day=3, other_run=other_run, dag_id=dag_id) == "failed"
    assert left(world)
    assert f"`airflow-anon settle stays/{world.today}`" in capsys.readouterr().out
    airflows.at_work("one")
    assert world.record(day=3, attempt=2) == "failed"
    assert sorted(world.outcomes()) == ["failed", "failed", "released", "released"]


def test_the_notifier_of_the_night_that_leaves_it_tells(world, airflows):
    """The log of a task is read by nobody; by default only what is pending for hours is told."""
    airflows.at_work("two")
    assert world.record(day=3) == "failed"
    told = []
    context = {"dag_run": {"dag_id": "nightly", "dag_run_id": run_context(3)["dag_run"].run_id}}
    for settings in ({}, {"pending_hours": 0}):
        time.sleep(1.1)  # a row says since when to the second
        ReleaseAlertNotifier(send_to=[lambda found: told.extend(found["alerts"])], **settings).notify(context)
    assert [alert["kind"] for alert in told] == ["failed", "failed", "pending"]
    assert f"by `airflow-anon settle stays/{world.today}`" in told[-1]["text"]
    assert left(world)


def test_a_run_of_the_same_id_in_another_airflow_neither_settles_nor_goes_on(world, airflows):
    airflows.at_work("two")
    with pytest.raises(AirflowFailException, match=r"left to another Airflow.*settle stays/"):
        world.record(day=2)
    with pytest.raises(AirflowFailException, match="in another Airflow has begun to publish it; let one of the two"):
        world.publish(attempt=2)
    assert left(world)
    airflows.at_work("one")
    world.publish(attempt=2)
    assert world.outcomes() == ["released", "released"]


@pytest.mark.parametrize(("begun_by", "now"), [(None, "two"), ("one", None)])
def test_where_one_of_the_two_has_no_id_it_is_as_it_was(world, monkeypatch, begun_by, now):
    """Rows of earlier versions have none, and an Airflow that keeps no variable."""
    airflows = Airflows(monkeypatch)
    airflows.at_work(begun_by)
    cut_off(world, monkeypatch, Ledger, "complete")
    assert ("airflow" in open_ledger().pending()[0].document["run"]) == (begun_by is not None)
    airflows.at_work(now)
    assert world.record(day=3) == "failed"
    assert sorted(world.outcomes()) == ["failed", "released", "released"]


def test_the_hidden_leftovers_of_another_airflows_run_are_left(world, monkeypatch):
    """A cleared run of the same id may be at work there."""
    airflows = Airflows(monkeypatch)
    airflows.at_work("one")
    assert world.record(day=2) == "failed"
    hidden = world.share / f".{world.today}.1234.partial"
    hidden.mkdir()
    airflows.at_work("two")
    world.record(day=3)
    assert hidden.exists()
    airflows.at_work("one")
    world.record(day=3, attempt=2)
    assert not hidden.exists()


def goes_away(monkeypatch):
    """Let the database of the share go while a release is loaded: what is there by then cannot be dropped."""

    def fails(*_, **__):
        raise OSError(errno.ECONNRESET, "gone")

    def load(*_, **__):
        monkeypatch.setattr(sa.Table, "drop", fails)
        fails()

    monkeypatch.setattr(sql_share, "load", load)


@pytest.mark.parametrize("world", ["both", "table"], indirect=True)
def test_a_table_that_could_not_be_dropped_is_dropped_by_the_next_run(world, monkeypatch):
    """The database is away still when the run ends."""
    with monkeypatch.context() as patched:
        goes_away(patched)
        with pytest.raises(AirflowException):
            world.publish()
        assert world.record() == "failed"
    assert len(waiting(world)) == 1
    world.publish(3)
    assert world.record(day=3, state="success") == "released"
    assert waiting(world) == []
    assert world.outcomes() == ["released", "failed", "released"]


@pytest.mark.parametrize("world", ["both"], indirect=True)
def test_a_table_of_a_run_that_goes_on_is_left_to_it(world, monkeypatch):
    with monkeypatch.context() as patched:
        goes_away(patched)
        with pytest.raises(AirflowException):
            world.publish()
        assert world.record() == "failed"
    assert world.record(day=3, other_run="running") == "failed"
    assert len(waiting(world)) == 1


def waiting(world):
    """Name the tables of releases that wait."""
    engine = create_engine(f"sqlite:///{world.folder}/research.db")
    names = [name for name in sa.inspect(engine).get_table_names() if name.startswith("load_")]
    engine.dispose()
    return names


def settled(capsys, *arguments):
    capsys.readouterr()
    status = main(["settle", *arguments])
    found = capsys.readouterr()
    return status, found.out + found.err


@pytest.mark.parametrize("world", ["both"], indirect=True)
def test_somebody_takes_back_on_the_command_line_what_is_not_whole(world, monkeypatch, capsys):
    cut_off(world, monkeypatch, sql_share, "load")
    status, said = settled(capsys, f"stays/{world.today}")
    assert (status, "not complete: it is taken back" in said) == (0, True)
    assert world.outcomes() == ["released", "failed"]
    assert not world.is_there()
    reason = open_ledger().document(2)["reason"]
    assert reason == {
        "task": "publish",
        "error": "NotPublished",
        "message": "the publication was cut off, and settled on the command line",
    }


def test_somebody_completes_on_the_command_line_what_is_whole(world, monkeypatch, capsys):
    cut_off(world, monkeypatch, Ledger, "complete")
    assert ledger_main(["verify"]) == 0
    assert f"if none does, `airflow-anon settle stays/{world.today}`" in capsys.readouterr().out
    status, said = settled(capsys, f"stays/{world.today}")
    assert (status, "is complete (entry 2)" in said) == (0, True)
    assert world.outcomes() == ["released", "released"]
    status, said = settled(capsys, f"stays/{world.today}")
    assert (status, "is complete (entry 2)" in said) == (0, True)
    assert world.outcomes() == ["released", "released"]


@pytest.mark.parametrize("world", ["folder", "both"], indirect=True)
@pytest.mark.parametrize(
    ("owner", "step"),
    [
        (Ledger, "revoke"),
        (FolderShare, "hide"),
        (Ledger, "taking_back"),
        (FolderShare, "remove_leftovers"),
        (Ledger, "taken_back"),
    ],
)
def test_a_taking_back_that_was_killed_is_ended_by_the_same_command(world, monkeypatch, capsys, owner, step):
    """Nothing stays hidden in the share, and the attempt has its entry; said once more, the command changes nothing."""
    cut_off(world, monkeypatch, Ledger, "complete")
    (world.share / world.today / "data.parquet").write_bytes(b"changed")  # what is not whole is taken back
    if "table" in world.output:
        emptied(world)
    with monkeypatch.context() as patched:
        patched.setattr(owner, step, killed)
        with pytest.raises(KeyboardInterrupt):
            main(["settle", f"stays/{world.today}"])
    for _ in range(2):
        status, said = settled(capsys, f"stays/{world.today}")
        assert (status, "it is taken back, and its attempt is failed (entry 2)" in said) == (0, True)
        assert world.outcomes() == ["released", "failed"]
        assert not [path.name for path in world.share.iterdir() if world.today in path.name]


def emptied(world):
    """Let the table forget the release of today: what is in a table is never taken back."""
    engine = create_engine(f"sqlite:///{world.folder}/research.db")
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM stays_release WHERE release_id = :today"), {"today": world.today})
    engine.dispose()


@pytest.mark.parametrize("world", ["folder"], indirect=True)
def test_what_cannot_be_removed_is_hidden_and_the_attempt_has_its_entry(world, monkeypatch, capsys):
    """As where a reader holds a file open on another machine: the next publication removes it."""
    cut_off(world, monkeypatch, Ledger, "complete")
    (world.share / world.today / "data.parquet").unlink()

    def held(*_):
        raise OSError(errno.EBUSY, "Device or resource busy", str(world.share))

    with monkeypatch.context() as patched:
        patched.setattr(FolderShare, "remove_leftovers", held)
        status, said = settled(capsys, f"stays/{world.today}")
    assert (status != 0, "cannot be written (Device or resource busy)" in said) == (True, True)
    assert world.outcomes() == ["released", "failed"]
    assert world.record(day=3) == "failed"
    assert not [path.name for path in world.share.iterdir() if world.today in path.name]


def test_what_was_never_begun_is_not_settled(world, capsys):
    status, said = settled(capsys, "stays/20990101T000000Z-00000000")
    assert (status, "no publication of it is pending, and it has no entry" in said) == (2, True)


def test_somebody_leads_readers_on_the_command_line_to_what_was_cut_off_after_its_entry(world, monkeypatch, capsys):
    """No row is pending then, and no run may come for a day."""
    cut_off(world, monkeypatch, FolderShare, "make_current")
    assert (world.share / "current").readlink().name != world.today
    capsys.readouterr()
    assert ledger_main(["verify", "--files"]) == 4
    assert f"cut off after the entry: clear its run, or say `airflow-anon settle stays/{world.today}`" in (
        capsys.readouterr().out
    )
    assert settled(capsys, f"stays/{world.today}")[0] == 0
    assert (world.share / "current").readlink().name == world.today
    assert ledger_main(["verify", "--files"]) == 0
    assert world.outcomes() == ["released", "released"]


def test_a_recalled_release_is_not_settled(world, monkeypatch, capsys):
    """Readers would be led to it; `verify` names no such command either."""
    world.publish()
    assert main(["recall", f"stays/{world.today}", "--reason", "wrong join"]) == 0
    (world.share / world.today).mkdir()
    (world.share / "current").symlink_to(world.today)
    capsys.readouterr()
    assert ledger_main(["verify", "--files"]) == 4
    assert "airflow-anon settle" not in capsys.readouterr().out
    status, said = settled(capsys, f"stays/{world.today}")
    assert (status, "was recalled (entry 3" in said) == (2, True)


def test_a_share_that_is_not_mounted_is_not_settled(world, monkeypatch, capsys):
    cut_off(world, monkeypatch, Ledger, "complete")
    (world.folder / "share").rename(world.folder / "away")
    status, said = settled(capsys, f"stays/{world.today}")
    assert (status != 0, "must be mounted" in said) == (True, True)
    (world.folder / "away").rename(world.folder / "share")
    assert settled(capsys, f"stays/{world.today}")[0] == 0
    assert world.outcomes() == ["released", "released"]


def test_a_ledger_that_is_not_there_has_nothing_to_settle(tmp_path, capsys):
    status, said = settled(capsys, "stays/1", "--ledger", f"sqlite:///{tmp_path}/none.sqlite")
    assert (status, "does not exist" in said) == (2, True)
    assert not (tmp_path / "none.sqlite").exists()


def test_the_id_of_an_airflow_is_in_the_document_of_an_entry(world, airflows):
    airflows.at_work("one")
    assert world.record(day=2) == "released"
    engine = create_engine(f"sqlite:///{world.folder}/ledger.sqlite")
    with engine.connect() as connection:
        kept = json.loads(connection.scalar(text("SELECT document FROM release_document WHERE sequence = 2")))
    engine.dispose()
    assert kept["run"]["airflow"] == "one"


@pytest.mark.airflow
def test_all_tasks_of_an_airflow_have_one_id_and_elsewhere_there_is_none(run_dag, tmp_path):
    assert airflow_id() is None, "no task runs"

    def tell(number):
        (tmp_path / str(number)).write_text(str(airflow_id()))

    with DAG("identity", schedule=None) as dag:
        for number in (1, 2):
            PythonOperator(task_id=f"tell_{number}", python_callable=tell, op_args=[number])
    run_dag(dag, logical_date=None)
    one, two = ((tmp_path / name).read_text() for name in "12")
    assert one == two
    assert len(one) == len("01234567-89ab-cdef-0123-456789abcdef")
