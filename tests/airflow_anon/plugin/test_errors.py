"""Errors: a page for a person, JSON for a program, and the way to the login for somebody who is not logged in."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

import airflow_anon.plugin.app as module
from tests.airflow_anon.plugin.conftest import PREFIX, client_of, made_app
from tests.airflow_anon.plugin.documents import released
from tests.airflow_anon.plugin.html import Page

pytestmark = pytest.mark.airflow

PATHS = {
    "/nowhere": 404,
    "/dags/stays/nowhere/at/all": 404,
    "/dags/stays/runs/none/certificate": 404,
    "/static/no.css": 404,
}


def is_page(answer):
    return answer.headers["content-type"].startswith("text/html") and "<h1>" in answer.text


@pytest.mark.parametrize(("path", "status"), PATHS.items())
def test_an_address_of_nothing_is_a_page(get, path, status):
    answer = get(path)
    assert answer.status_code == status
    assert is_page(answer)
    assert "Nothing here" in answer.text
    assert "default-src" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/api/nowhere", "/api/dags/stays/nowhere", "/api/dags/stays/runs/none/certificate"])
def test_below_api_it_is_json(get, path):
    answer = get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"detail"}


def test_another_method_is_refused_in_the_same_form(client):
    assert is_page(client("admin").post(f"{PREFIX}/ledger"))
    answer = client("admin").post(f"{PREFIX}/api/ledger")
    assert (answer.status_code, set(answer.json())) == (405, {"detail"})


def test_an_error_that_nobody_foresaw_is_a_page_without_its_text(api_app, passwords, ledger, monkeypatch):
    def broken(*_):
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(module, "Reading", broken)
    client = client_of(api_app, "admin", passwords, raising=False)
    answers = [client.get(f"{PREFIX}{path}") for path in ("/ledger", "/api/ledger")]
    assert [answer.status_code for answer in answers] == [500, 500]
    assert is_page(answers[0])
    assert answers[1].json() == {"detail": module.FAILED}
    assert not any("secret of the server" in answer.text for answer in answers)


def login_of(answer):
    (link,) = [found for found in Page(answer.text).links() if "/auth/login" in found]
    address = urlsplit(link)
    return address.path, parse_qs(address.query)["next"]


@pytest.mark.parametrize("path", ["/", "/ledger?documents=1", "/dags/stays/runs/a%3Fb%20c/certificate?entry=3"])
def test_who_is_not_logged_in_is_led_to_the_login_and_back(get, client, path):
    """Airflow accepts the address, and asks for the login."""
    answer = get(path, None)
    assert answer.status_code == 401
    place, then = login_of(answer)
    assert (place, then) == ("/api/v2/auth/login", [f"{PREFIX}{path}"])
    asked = client(None).get(place, params={"next": then[0]})
    assert asked.status_code == 307
    assert parse_qs(urlsplit(asked.headers["location"]).query)["next"] == then


def test_the_login_is_below_the_base_path(airflow_settings, ledger, passwords):
    base = "/some/base"
    answer = client_of(made_app(f"{base}/"), None, passwords, base).get(f"{base}{PREFIX}/ledger")
    assert login_of(answer) == (f"{base}/api/v2/auth/login", [f"{base}{PREFIX}/ledger"])


def test_who_is_logged_in_needs_no_login(get, ledger):
    ledger.append(released())
    answer = get("/dags/stays", "blind")
    assert answer.status_code == 403
    assert is_page(answer)
    assert "auth/login" not in answer.text
