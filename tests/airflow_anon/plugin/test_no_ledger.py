"""What the pages say where there is no ledger, or nothing in it: never that it is intact."""

from __future__ import annotations

import pytest

from tests.airflow_anon.plugin.documents import released
from tests.airflow_anon.plugin.html import Page

pytestmark = pytest.mark.airflow
PATHS = {"/": "/api/jobs", "/dags/stays": "/api/dags/stays", "/ledger": "/api/ledger"}


def state_of(told):
    found = told.get("chain", told)
    return found["exists"], found["intact"]


@pytest.mark.parametrize("path", PATHS)
def test_a_ledger_that_is_not_there_is_not_intact(get, monkeypatch, tmp_path, path):
    """It may be one that was removed, or an address that was mistyped."""
    place = tmp_path / "none.sqlite"
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{place}")
    assert state_of(get(PATHS[path]).json()) == (False, False)
    text = Page(get(path).text).text
    assert "There is no release ledger yet." in text
    assert "intact" not in text
    assert not place.exists(), "a page makes no ledger"


def test_an_empty_ledger_is_said_to_be_empty(get):
    assert "The ledger has no entry that you may see." in Page(get("/ledger").text).text


@pytest.mark.parametrize("path", PATHS)
def test_a_ledger_that_was_removed_is_no_longer_intact(get, ledger, monkeypatch, tmp_path, path):
    ledger.append(released())
    assert state_of(get(PATHS[path]).json()) == (True, True)
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path / 'moved.sqlite'}")
    assert state_of(get(PATHS[path]).json()) == (False, False)
