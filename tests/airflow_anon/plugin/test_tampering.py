"""What was changed afterwards is found and shown, and nothing that stands in a ledger breaks a page."""

from __future__ import annotations

import json

import pytest

from airflow_anon.ledger.entry import KINDS
from tests.airflow_anon.plugin.documents import publish, released, series
from tests.airflow_anon.plugin.html import Page
from tests.profiles import spread, thorough

pytestmark = pytest.mark.airflow

RUN = "scheduled__2026-03-01T02:15:00+00:00"
PAGE = f"/dags/stays/runs/{RUN}"


def change(ledger, statement, *values):
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql(statement, values)


@pytest.fixture
def entry(ledger, tmp_path):
    """Give the entry of a release that lies between others."""
    series(ledger, 3)
    document = released()
    publish(document, tmp_path / "share")
    entry = ledger.append(document)
    series(ledger, 2, name="later", dag_id="later")
    return entry


def test_an_untouched_release_is_said_to_be_one(get, entry):
    told = get(f"/api{PAGE}").json()
    assert told["chain"]["intact"]
    assert told["entry"]["integrity"] == {"intact": True, "breaks": [], "beside": []}
    assert told["entry"]["files"]["verdict"] == "intact"
    assert "was changed after it was written" not in get(PAGE).text
    assert get(f"/api{PAGE}/certificate").json()["valid"]


@pytest.mark.parametrize("column", [name for name in KINDS if name not in ("sequence", "dag_id", "run_id", "outcome")])
def test_one_field_of_an_entry(get, ledger, entry, column):
    """Each column, by another value of its kind and by one that is none; the gate tries one of them, in turn."""
    before = getattr(entry, column)
    values = ("tampered", 7, None if KINDS[column][1] else "x")
    for value in values if thorough() else values[list(KINDS).index(column) % 3 :][:1]:
        change(ledger, f"UPDATE release_ledger SET {column} = ? WHERE sequence = ?", value, entry.sequence)
        told = get(f"/api{PAGE}").json()
        assert not told["chain"]["intact"]
        assert not told["entry"]["integrity"]["intact"]
        page = Page(get(PAGE).text)
        assert "This entry was changed after it was written." in page.text
        assert "The ledger is not intact." in Page(get("/").text).text
        change(ledger, f"UPDATE release_ledger SET {column} = ? WHERE sequence = ?", before, entry.sequence)
    assert get(f"/api{PAGE}").json()["entry"]["integrity"]["intact"]


@pytest.mark.parametrize("column", ["dag_id", "run_id", "outcome"])
@pytest.mark.parametrize("value", ["tampered", ""])
def test_a_field_by_which_an_entry_is_found(get, ledger, entry, column, value):
    change(ledger, f"UPDATE release_ledger SET {column} = ? WHERE sequence = ?", value, entry.sequence)
    for path in ("/", "/ledger", "/dags/stays", "/dags/later"):
        answer = get(path)
        assert answer.status_code == 200
        assert "The ledger is not intact." in Page(answer.text).text


def test_one_byte_of_a_document(get, ledger, entry):
    with ledger._engine.connect() as connection:
        query = "SELECT document FROM release_document WHERE sequence = ?"
        text = connection.exec_driver_sql(query, (entry.sequence,)).scalar_one()
    assert '"observed":6.0' in text
    change(
        ledger,
        "UPDATE release_document SET document = ? WHERE sequence = ?",
        text.replace('"observed":6.0', '"observed":9.0', 1),
        entry.sequence,
    )
    assert get("/api/jobs").json()["chain"]["intact"], "a list reads no documents"
    assert "This entry was changed after it was written." in Page(get(PAGE).text).text
    assert not get("/api/ledger?documents=1").json()["intact"]
    told = get(f"/api{PAGE}/certificate").json()
    assert not told["valid"]
    assert "Not valid: do not file this." in Page(get(f"{PAGE}/certificate").text).text


@pytest.mark.parametrize(
    "text",
    spread(
        [
            "",
            "null",
            "[]",
            "{}",
            '{"job": {}, "run": [], "name": 1}',
            '{"records": 3}',
            "not json",
            "\x00",
            "[" * 5_000,
        ],
        3,
    ),
)
def test_a_document_of_another_form_breaks_no_page(get, ledger, entry, text):
    change(ledger, "UPDATE release_document SET document = ? WHERE sequence = ?", text, entry.sequence)
    for path in ("/", "/dags/stays", PAGE, f"{PAGE}/certificate", "/dags/stays/frontier", f"{PAGE}/tasks/publish"):
        for prefix in ("", "/api"):
            assert get(prefix + path if path != "/" else path).status_code == 200
    assert "This entry was changed after it was written." in Page(get(PAGE).text).text


def every_place(value, path=()):
    """Give the path of each value of a document."""
    yield path
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from every_place(below, (*path, key))


def test_any_value_of_a_document_may_be_anything(get, ledger, entry):
    """A value of another kind, everywhere in turn: the page says so, and stands. The gate tries a tenth."""
    document = ledger.document(entry.sequence)
    for number, path in enumerate(list(every_place(document))[:: 1 if thorough() else 10]):
        changed = json.loads(json.dumps(document))
        value = [None, "text", 3, [], {}, -1.5, True, [None], {"x": 1}][number % 9]
        place = changed
        for key in path[:-1]:
            place = place[key]
        if path:
            place[path[-1]] = value
        change(
            ledger,
            "UPDATE release_document SET document = ? WHERE sequence = ?",
            json.dumps(changed if path else value),
            entry.sequence,
        )
        for page in (PAGE, f"{PAGE}/certificate"):
            assert get(page).status_code == 200, (path, value)


def test_an_entry_that_was_deleted(get, ledger, entry):
    change(ledger, "DELETE FROM release_document WHERE sequence = ?", entry.sequence)
    change(ledger, "DELETE FROM release_ledger WHERE sequence = ?", entry.sequence)
    for path in ("/", "/dags/stays", "/ledger"):
        assert "The ledger is not intact." in Page(get(path).text).text
    after = get("/api/dags/later/runs/scheduled__2023-01-01T02:15:00+00:00").json()["entry"]
    assert after["integrity"]["beside"]
    assert get(PAGE).status_code == 404


def test_the_last_entry_that_was_deleted(get, ledger, entry):
    newest = ledger.entries(limit=1)[0].sequence
    change(ledger, "DELETE FROM release_document WHERE sequence = ?", newest)
    change(ledger, "DELETE FROM release_ledger WHERE sequence = ?", newest)
    assert "The ledger is not intact." in Page(get("/").text).text


@pytest.mark.parametrize("name", ["data.parquet", "manifest.json", "job.yaml"])
def test_one_byte_of_a_released_file(get, ledger, entry, tmp_path, name):
    path = next((tmp_path / "share").rglob(name))
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    told = get(f"/api{PAGE}").json()["entry"]
    assert told["files"]["verdict"] == "changed"
    assert {one["name"] for one in told["files"]["files"] if one["state"] == "changed"} == {name}
    text = Page(get(PAGE).text).text
    assert "The files in the share are not those that were released." in text
    assert not get(f"/api{PAGE}/certificate").json()["valid"]
    path.unlink()
    assert {"missing"} == {
        one["state"] for one in get(f"/api{PAGE}").json()["entry"]["files"]["files"] if one["name"] == name
    }


def test_a_share_that_is_not_there_is_no_harm(get, ledger, entry, tmp_path):
    (tmp_path / "share").rename(tmp_path / "elsewhere")
    told = get(f"/api{PAGE}").json()["entry"]
    assert told["files"]["verdict"] == "unreachable"
    assert get(f"/api{PAGE}/certificate").json()["valid"]
    assert "could not be reached" in Page(get(f"{PAGE}/certificate").text).text


def test_a_large_file_is_hashed_on_demand(get, ledger, entry, monkeypatch, tmp_path):
    """A byte changed in a file that is too large to read at once is found when all files are hashed."""
    monkeypatch.setattr("airflow_anon.plugin.pages.release.AT_ONCE", 100)
    path = next((tmp_path / "share").rglob("data.parquet"))
    path.write_bytes(b"x" + path.read_bytes()[1:])
    told = get(f"/api{PAGE}").json()["entry"]["files"]
    assert told["verdict"] == "sizes"
    assert {one["name"]: one["state"] for one in told["files"]}["data.parquet"] == "same-size"
    assert f"{PAGE}?entry={entry.sequence}&files=all#files".replace(":", "%3A").replace("+", "%2B") in "".join(
        Page(get(PAGE).text).links()
    )
    assert get(f"/api{PAGE}?files=all").json()["entry"]["files"]["verdict"] == "changed"
    assert not get(f"/api{PAGE}/certificate").json()["valid"]


@pytest.mark.parametrize(
    "column", spread(["release_id", "run_id", "dag_id", "document", "job", "manifest_sha256", "since"], 3)
)
def test_a_pending_row_of_another_form_breaks_no_page(get, ledger, entry, column):
    ledger.begin(released(run_id="pending", release_id="20260401T000000Z-00000000"))
    for value in (b"\x00\xff", 7, ""):
        change(ledger, f"UPDATE pending_release SET {column} = ?", value)
        for path in ("/", "/api/jobs", "/dags/stays", PAGE, "/dags/stays/runs/pending"):
            assert get(path).status_code in ((200, 404) if path.endswith("pending") else (200,))
