"""What is written comes back, once, in order, and bit for bit."""

from __future__ import annotations

import dataclasses
import json
import math
import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_anon.ledger import database
from airflow_anon.ledger.chain import canonical_json
from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable, StillPending
from airflow_anon.ledger.store import Ledger
from tests.airflow_anon.ledger.conftest import DATABASES, empty_place
from tests.airflow_anon.ledger.documents import HASH, document
from tests.airflow_anon.ledger.tables import is_unbroken
from tests.profiles import examples

one_database = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(25)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@pytest.fixture(params=DATABASES)
def ledger_url(request, tmp_path):
    """Give the URL of an empty database, over every driver."""
    return empty_place(request, tmp_path)


def test_the_row_is_taken_from_the_document(ledger, ledger_url):
    entry = ledger.append(document(1))
    decided = {
        "job": "visits",
        "dag_id": "nightly",
        "run_id": "run 1",
        "task_group": "visits.",
        "attempt": 1,
        "outcome": "released",
        "release_id": "release-1",
        "rows": 1001,
        "suppressed": 7,
        "suppressed_share": 7 / 1001,
        "information_loss": 0.25,
        "privacy_margin": 0.1,
        "optimal": True,
        "seconds": 1.0,
        "job_sha256": HASH,
        "manifest_sha256": HASH,
    }
    assert {name: getattr(entry, name) for name in decided} == decided
    assert Ledger(ledger_url).entry(1) == entry
    assert Ledger(ledger_url).document(1) == document(1)
    assert is_unbroken(ledger_url)


def test_a_fingerprint_of_an_earlier_version_stays_in_the_chain_and_is_not_told(ledger, ledger_url):
    """It was made without a key, so whoever knows all records but one could find that one by trial."""
    old = {"source": {"rows": 13, "fingerprint": HASH}, "further": 1}
    ledger.append(document(1, **old))
    new = {"source": {"rows": 13, "fingerprint": HASH, "fingerprint_key_id": "ab" * 8}}
    ledger.append(document(2, **new))
    told = Ledger(ledger_url).document(1)
    assert told == document(1, **{**old, "source": {"rows": 13, "fingerprint": None, "fingerprint_key_id": None}})
    assert Ledger(ledger_url).document(2) == document(2, **new)
    assert Ledger(ledger_url).check() == []
    assert is_unbroken(ledger_url)


def test_an_attempt_that_came_nowhere_has_nulls(ledger, ledger_url):
    run = {"dag_id": "nightly", "run_id": "r", "attempt": 2, "task_group": ""}
    entry = ledger.append({"format": 1, "outcome": "failed", "name": "visits", "run": run, "publication": None})
    empty = {name for name, value in dataclasses.asdict(entry).items() if value is None}
    assert empty == {
        *("release_id", "rows", "suppressed", "suppressed_share", "information_loss", "privacy_margin", "optimal"),
        *("seconds", "job_sha256", "manifest_sha256"),
    }
    assert is_unbroken(ledger_url)
    assert ledger.check() == []


@one_database
@given(data=st.data())
def test_numbers_and_texts_come_back_bit_for_bit(ledger, ledger_url, data):
    number = len(ledger.entries()) + 1
    double = st.none() | st.floats(allow_nan=False, allow_infinity=False)
    loss, margin, share = data.draw(double), data.draw(double), data.draw(double)
    name = data.draw(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
    made = document(
        number,
        name=name,
        solution={"information_loss": loss, "optimal": data.draw(st.none() | st.booleans())},
        privacy_margin=margin,
        records={"source": data.draw(st.integers(0, 2**63 - 1)), "suppressed_share": share},
        policy=data.draw(json_values),
    )
    written = ledger.append(made)
    assert ledger.entry(number) == written
    assert (written.job, written.information_loss, written.privacy_margin) == (name, loss, margin)
    assert json.dumps(ledger.document(number), sort_keys=True) == json.dumps(made, sort_keys=True)
    assert ledger.check() == []
    assert is_unbroken(ledger_url)


def test_a_large_document_with_any_text_comes_back(ledger):
    odd = {"nul": "a\0b", "surrogate": "\ud800", "emoji": "\U0001f9ec", "script": "<script>", "long": "é" * 1_000_000}
    ledger.append(document(1, policy=odd))
    assert ledger.document(1)["policy"] == odd
    assert ledger.check() == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"name": "a\0b"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"name": None}, "name"),
        ({"format": 2}, "format"),
        ({"outcome": "done"}, "outcome"),
        ({"publication": None}, "publication"),
        ({"privacy_margin": "0.1"}, "privacy_margin"),
        ({"privacy_margin": 10**400}, "privacy_margin"),
        ({"records": {"source": 1.5}}, "records.source"),
        ({"records": {"source": True}}, "records.source"),
        ({"records": {"source": -1}}, "records.source"),
        ({"solution": {"optimal": 1}}, "solution.optimal"),
        ({"timings": {"search": "fast"}}, "timings.search"),
        ({"run": {"dag_id": "d", "run_id": "r", "task_group": "", "attempt": None}}, "run.attempt"),
        ({"policy": math.nan}, "JSON"),
        ({"policy": {1: "a"}}, "JSON"),
        ({"policy": [math.inf]}, "JSON"),
        ({"policy": {1, 2}}, "JSON"),
    ],
)
def test_what_is_no_document_is_refused_and_changes_nothing(tmp_path, changes, named):
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    ledger.append(document(1))
    with pytest.raises(LedgerError, match=named):
        ledger.append(document(2, **changes))
    assert len(ledger.entries()) == 1
    assert ledger.check() == []


def test_seconds_do_not_depend_on_the_order_of_the_steps(ledger):
    """0.1 + 0.2 + 0.3 is another double than 0.3 + 0.2 + 0.1, and the stored document has its keys sorted."""
    assert ledger.append(document(1, timings={"transform": 0.1, "search": 0.2, "encode": 0.3})).seconds == 0.6
    assert ledger.check() == []


def test_a_retry_returns_the_entry_that_is_there(ledger):
    released, refused = ledger.append(document(1)), ledger.append(document(1, "refused"))
    assert ledger.append(document(1, policy="other")) == released
    assert ledger.append(document(1, "failed")) == refused
    again = document(1, "refused", run={**document(1)["run"], "attempt": 2})
    assert ledger.append(again).sequence == 3
    other_group = document(1, "refused", run={**document(1)["run"], "task_group": "persons."})
    assert ledger.append(other_group).sequence == 4
    assert "policy" not in ledger.document(1)
    assert ledger.check() == []


def test_a_publication_is_pending_until_its_entry(ledger):
    ledger.begin(document(1))
    ledger.begin(document(2))
    ledger.begin(document(1, name="persons"))
    ledger.append(document(1))
    ledger.append(document(3, "refused"))
    assert {(row.job, row.release_id) for row in ledger.pending()} == {
        ("visits", "release-2"),
        ("persons", "release-1"),
    }
    (row,) = ledger.pending("visits")
    assert (row.release_id, row.dag_id, row.run_id, row.manifest_sha256, row.revoked) == (
        *("release-2", "nightly", "run 2", HASH),
        False,
    )
    assert row.document == document(2)
    ledger.withdraw("visits", "release-2")
    ledger.withdraw("visits", "release-2")
    assert [row.job for row in ledger.pending()] == ["persons"]
    ledger.begin(document(1))
    assert ledger.pending("visits") == []
    assert ledger.check() == []


def test_a_publication_that_has_begun_is_completed_once(ledger):
    ledger.begin(document(1))
    entry = ledger.complete("visits", "release-1", HASH)
    assert ledger.document(entry.sequence) == document(1)
    assert ledger.pending() == []
    assert ledger.complete("visits", "release-1", HASH) == entry
    assert ledger.entries() == [entry]
    with pytest.raises(LedgerError, match="entry 1 is of another release"):
        ledger.complete("visits", "release-1", "cd" * 32)
    assert ledger.check() == []


@pytest.mark.parametrize("harm", ["not begun", "withdrawn", "revoked", "of another manifest"])
def test_a_publication_that_was_taken_back_gets_no_entry(ledger, harm):
    """Whoever still publishes finds that its claim is gone."""
    if harm != "not begun":
        ledger.begin(document(1))
    if harm == "withdrawn":
        ledger.withdraw("visits", "release-1")
    if harm == "revoked":
        assert ledger.revoke(ledger.pending()[0])
        assert [row.revoked for row in ledger.pending()] == [True]
    with pytest.raises(LedgerError, match="was taken back"):
        ledger.complete("visits", "release-1", "cd" * 32 if harm == "of another manifest" else HASH)
    assert ledger.entries() == []
    if harm == "revoked":
        with pytest.raises(LedgerError, match="still being removed"):
            ledger.begin(document(1))
        with ledger.taking_back(ledger.pending()[0]) as there:
            assert there
        assert ledger.taken_back(ledger.pending()[0]) is None
    ledger.begin(document(1))
    assert ledger.complete("visits", "release-1", HASH).sequence == 1


def test_who_takes_back_does_so_once_and_only_what_was_revoked(ledger):
    ledger.begin(document(1))
    (begun,) = ledger.pending()
    with ledger.taking_back(begun) as there:
        assert not there
    other = document(1)
    other["publication"] = {**other["publication"], "manifest_sha256": "cd" * 32}
    ledger.begin(other)
    assert not ledger.revoke(begun)
    (again,) = ledger.pending()
    assert ledger.revoke(again)
    with pytest.raises(RuntimeError), ledger.taking_back(again) as there:
        raise RuntimeError
    assert [row.revoked for row in ledger.pending()] == [True]
    with ledger.taking_back(again) as there:
        assert there
    assert [row.revoked for row in ledger.pending()] == [True], "whoever is cut off here leaves it to the next one"
    assert ledger.taken_back(again) is None
    with ledger.taking_back(again) as there:
        assert not there
    with pytest.raises(LedgerError, match="taken back meanwhile"):
        ledger.complete_revoked(again, again.document)
    assert not ledger.revoke(again)
    assert ledger.pending() == ledger.entries() == []


def failed(number):
    """Give the document of the attempt that is to publish, as it is recorded where its publication is taken back."""
    return {**document(number), "outcome": "failed", "publication": None}


def test_the_row_goes_with_the_entry_of_the_attempt(ledger):
    ledger.begin(document(1))
    (begun,) = ledger.pending()
    assert ledger.revoke(begun)
    with pytest.raises(LedgerError):
        ledger.taken_back(begun, {**failed(1), "outcome": "lost"})
    assert [row.revoked for row in ledger.pending()] == [True]
    entry = ledger.taken_back(begun, failed(1))
    assert (entry.outcome, entry.sequence, ledger.pending()) == ("failed", 1, [])
    assert ledger.taken_back(begun, failed(1)) == entry


def test_of_a_release_that_another_process_has_completed_no_failure_is_recorded(ledger):
    ledger.begin(document(1))
    (begun,) = ledger.pending()
    entry = ledger.complete("visits", "release-1", HASH)
    assert ledger.taken_back(begun, failed(1)) == entry
    assert len(ledger.entries()) == 1


def test_an_attempt_that_publishes_again_is_not_recorded_as_failed(ledger):
    ledger.begin(document(1))
    (begun,) = ledger.pending()
    with pytest.raises(StillPending):
        ledger.taken_back(begun, failed(1))
    assert ledger.pending() == [begun]


def test_a_revoked_publication_that_is_whole_is_completed_by_who_revoked_it(ledger):
    ledger.begin(document(1))
    (row,) = ledger.pending()
    with pytest.raises(LedgerError, match="meanwhile"):
        ledger.complete_revoked(row, row.document)
    assert ledger.revoke(row)
    with pytest.raises(LedgerError, match="was taken back"), ledger.holding("visits", "release-1", HASH):
        pass
    entry = ledger.complete_revoked(row, row.document)
    assert ledger.complete_revoked(row, row.document) == entry
    assert ledger.entries() == [entry]
    assert ledger.pending() == ledger.check() == []


def test_an_attempt_ends_once(ledger):
    """While a publication is pending the attempt cannot be recorded as failed; once it is, none begins."""
    ledger.begin(document(1))
    for attempt in (1, 2):
        with pytest.raises(StillPending, match="release-1"):
            ledger.append(document(1, "failed", run={**document(1)["run"], "attempt": attempt}))
    ledger.withdraw("visits", "release-1")
    ledger.append(document(1, "failed"))
    with pytest.raises(LedgerError, match=r"its attempt was recorded as failed \(entry 1\)"):
        ledger.begin(document(1))
    assert ledger.pending() == []
    ledger.begin(document(1, run={**document(1)["run"], "attempt": 2}))


def test_a_publication_begins_with_a_release_in_its_own_run_only(ledger):
    ledger.begin(document(1))
    again = document(1)
    again["publication"] = {**again["publication"], "manifest_sha256": "cd" * 32}
    ledger.begin(again)
    assert [row.manifest_sha256 for row in ledger.pending()] == ["cd" * 32]
    with pytest.raises(LedgerError, match="run 1"):
        ledger.begin(document(1, run={**document(1)["run"], "run_id": "run 2"}))
    with pytest.raises(LedgerError, match="must be released"):
        ledger.begin(document(3, "refused"))


attempts = st.lists(
    st.tuples(
        st.sampled_from(["visits", "persons"]),
        st.sampled_from(["nightly", "weekly"]),
        st.integers(1, 3),
        st.sampled_from(["released", "refused", "failed"]),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=examples(40))
@given(attempts=attempts)
def test_readings_agree_with_a_list_of_all_entries(tmp_path_factory, attempts):
    ledger = Ledger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.sqlite'}")
    for job, dag_id, number, outcome in attempts:
        run = {"dag_id": dag_id, "run_id": f"run {number}", "attempt": 1, "task_group": f"{job}."}
        ledger.append(document(number, outcome, name=job, run=run))
    every = ledger.entries()
    assert [entry.sequence for entry in every] == list(range(len(every), 0, -1))
    assert ledger.entries(limit=2) == every[:2]
    assert ledger.latest() == [
        one for one in every if one == next(e for e in every if (e.job, e.dag_id) == (one.job, one.dag_id))
    ]
    of_job = [entry for entry in every if entry.job == "visits"]
    assert ledger.of_job("visits") == of_job
    assert ledger.of_job("visits", limit=1) == of_job[:1]
    assert ledger.of_job("visits", outcome="refused") == [entry for entry in of_job if entry.outcome == "refused"]
    assert ledger.of_run("nightly", "run 1") == [e for e in every if (e.dag_id, e.run_id) == ("nightly", "run 1")]
    for entry in every:
        before = [e for e in every if e.sequence < entry.sequence and (e.job, e.outcome) == (entry.job, "released")]
        assert ledger.current_before(entry) == max(before, key=lambda e: (e.release_id, e.sequence), default=None)
        assert ledger.entry(entry.sequence) == entry
    for number in (1, 2, 3):
        there = [e for e in every if e.job == "visits" and e.release_id == f"release-{number}"]
        assert ledger.released("visits", f"release-{number}") == next(iter(there), None)


def test_what_no_database_can_hold_is_in_no_ledger(ledger):
    ledger.append(document(1))
    for text in ("a\0b", "\ud800"):
        assert ledger.of_job(text) == ledger.of_run(text, "r") == []
        assert ledger.released("visits", text) is None
    assert ledger.entry(10**30) is None
    assert ledger.entry(-1) is None
    with pytest.raises(LedgerError, match="entry 1000"):
        ledger.document(10**30)


@pytest.mark.parametrize(
    "url",
    [
        "secret",
        "postgresql://user:secret@host:port/db",
        "mysql://user:secret@localhost/db",
        "postgresql+asyncpg://user:secret@localhost/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?password=secret",
    ],
)
def test_an_address_of_no_ledger_is_refused_without_its_password(url):
    with pytest.raises(LedgerError) as raised:
        Ledger(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["mysql://user@localhost/db", "postgresq://user@localhost/db"])
def test_a_driver_of_another_database_is_not_asked_for(url):
    with pytest.raises(LedgerError, match="must be a SQLite or PostgreSQL database"):
        Ledger(url)


def test_an_unreachable_server_is_told_without_its_password():
    ledger = Ledger("postgresql://user:secret@127.0.0.1:1/db?application_name=secret")
    with pytest.raises(LedgerUnreachable) as raised:
        ledger.entries()
    assert "secret" not in str(raised.value) + ledger.address
    assert raised.value.__suppress_context__


def test_a_file_that_is_no_database_is_told(tmp_path):
    (tmp_path / "ledger.sqlite").write_text("something else, and long enough to be read as a database " * 100)
    with pytest.raises(LedgerUnreachable):
        Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite'}").entries()


def test_a_ledger_in_an_engine_of_the_caller(ledger_url):
    engine = sa.create_engine(ledger_url)
    Ledger(engine).append(document(1))
    assert [entry.sequence for entry in Ledger(ledger_url).entries()] == [1]
    engine.dispose()


def test_canonical_json_does_not_depend_on_the_order_of_keys():
    assert canonical_json({"b": 1.0, "a": "é"}) == canonical_json({"a": "é", "b": 1.0}) == '{"a":"\\u00e9","b":1.0}'


def test_a_file_that_another_process_holds_is_told_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "WAIT_FOR_LOCK_SECONDS", 0.01)
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.sqlite")
    ledger.append(document(1))
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnreachable, match=r"database is locked; another process holds it .*let that end$"):
            ledger.append(document(2))
    ledger.append(document(2))


def test_a_folder_that_is_away_is_told_with_what_to_do(tmp_path):
    with pytest.raises(LedgerUnreachable, match=r"cannot be created \(No such file or directory\); its folder must be"):
        Ledger(f"sqlite:///{tmp_path}/away/ledger.sqlite").append(document(1))
    assert not (tmp_path / "away").exists()


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("attempt to write a readonly database", "let the user that runs this write the file and its folder"),
        ("unable to open database file", "correct its path, .*; mount or restore its folder"),
        ("database or disk is full", "make room on its disk"),
    ],
)
def test_what_sqlite_says_is_told_with_what_to_do(tmp_path, text, remedy):
    """The user of the tests may be root, whom no mode keeps from writing."""
    engine = database.engine_of(f"sqlite:///{tmp_path}/ledger.sqlite")
    database.make_file(engine)
    with pytest.raises(LedgerUnreachable, match=f"{text}; {remedy}"), database.writing(engine):
        raise sqlite3.OperationalError(text)
