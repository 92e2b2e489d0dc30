"""Nobody sees more than Airflow lets them see: every route, by every kind of caller."""

from __future__ import annotations

import json

import pytest

from airflow_anon.plugin.app import make_app
from tests.airflow_anon.plugin.documents import released, series, unreleased
from tests.airflow_anon.plugin.html import Page
from tests.profiles import spread

pytestmark = pytest.mark.airflow

RUN = "scheduled__2026-03-01T02:15:00+00:00"
VALUES = {"dag_id": "stays", "run_id:path": RUN, "run_id": RUN, "task_id": "deidentify", "name": "audit.css"}
PARTS = ("hospital-stays", "20260301T021500Z", "clinical_warehouse", "021**", RUN)
"""What pages on the job say, none of which a stranger may read."""


def routes():
    """Give the address of every route of the app, with its parameters filled in."""
    addresses = []
    for route in make_app().routes:
        path = route.path
        for name, value in VALUES.items():
            path = path.replace(f"{{{name}}}", value)
        assert "{" not in path, f"{route.path}: the test has no value for a parameter"
        addresses.append(path)
    return addresses


@pytest.fixture
def filled(ledger):
    ledger.append(released())
    return ledger


def test_there_are_routes():
    assert len(routes()) == 21
    assert {route.path for route in make_app().routes if "dag_id" not in route.path} == {
        "/",
        "/api/jobs",
        "/ledger",
        "/api/ledger",
        "/ledger.csv",
        "/static/{name}",
    }


@pytest.mark.parametrize("path", routes())
def test_who_is_not_logged_in_is_refused(get, filled, path):
    answer = get(path, None)
    assert answer.status_code == 401
    assert not any(part in answer.text for part in PARTS)


@pytest.mark.parametrize("path", routes())
@pytest.mark.parametrize("token", spread(["eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.", "", "nonsense"], 1))
def test_a_made_up_token_is_refused(client, filled, path, token):
    answer = client(None).get(f"/deidentification{path}", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code in (401, 403)
    assert not any(part in answer.text for part in PARTS)


@pytest.mark.parametrize("user", ["blind", "runs-only", "only-other"])
@pytest.mark.parametrize("path", [path for path in routes() if "/dags/" in path])
def test_who_may_not_see_the_dag_is_refused(get, filled, path, user):
    """Also who may see a DAG and its runs, but not what its tasks returned."""
    answer = get(path, user)
    assert answer.status_code == 403
    shown = answer.text.replace(RUN, "") if RUN in path else answer.text
    assert not any(part in shown for part in PARTS if part != RUN)


@pytest.mark.parametrize("user", ["blind", "runs-only", "only-other"])
@pytest.mark.parametrize("path", [path for path in routes() if "/dags/" not in path])
def test_a_route_without_a_dag_shows_a_stranger_nothing_of_it(get, filled, path, user):
    answer = get(path, user)
    assert answer.status_code == 200
    assert not any(part in answer.text for part in PARTS)


@pytest.mark.parametrize("path", routes())
def test_who_may_see_the_dag_sees_it(get, filled, path):
    # no release waits
    assert get(path, "only-stays").status_code == (404 if path.endswith("/approval") else 200)


def test_a_list_has_only_what_the_user_may_see(get, ledger):
    ledger.append(released())
    ledger.append(released("secret-job", dag_id="other", run_id="o1", release_id="o1"))
    ledger.begin(released("secret-pending", dag_id="other", run_id="o2", release_id="o2"))
    assert [job["job"] for job in get("/api/jobs", "only-stays").json()["jobs"]] == ["hospital-stays"]
    assert {job["job"] for job in get("/api/jobs").json()["jobs"]} == {"hospital-stays", "secret-job", "secret-pending"}
    for path in ("/", "/api/jobs", "/ledger", "/api/ledger", "/ledger.csv", "/dags/stays", "/api/dags/stays"):
        assert "secret" not in get(path, "only-stays").text


def test_the_same_job_in_another_dag_is_not_shown(get, ledger):
    """Two DAGs may run jobs of one name: history, comparison and frontier keep to the DAG that was asked for."""
    ledger.append(released(dag_id="other", run_id="secret-run", release_id="a-secret", rows=7_777_777))
    ledger.append(released(age=3))
    for path in ("/dags/stays", f"/dags/stays/runs/{RUN}", "/dags/stays/frontier"):
        for prefix in ("", "/api"):
            answer = get(prefix + path, "only-stays")
            assert answer.status_code == 200
            assert "secret" not in answer.text
            assert "7777777" not in answer.text
            assert "7,777,777" not in answer.text
    compared = get(f"/api/dags/stays/runs/{RUN}", "only-stays").json()["entry"]["content"]["comparison"]
    assert compared["previous"] is None
    assert get(f"/api/dags/stays/runs/{RUN}").json()["entry"]["content"]["comparison"]["previous"]["dag_id"] == "other"


@pytest.mark.parametrize("suffix", ["", "/certificate", "/tasks/deidentify"])
def test_an_entry_of_another_run_is_as_none(get, ledger, suffix):
    own = ledger.append(released())
    other = ledger.append(released("secret-job", dag_id="other", run_id="o1", release_id="o1"))
    assert get(f"/dags/stays/runs/{RUN}{suffix}?entry={own.sequence}", "only-stays").status_code == 200
    answers = [
        get(f"{prefix}/dags/stays/runs/{RUN}{suffix}?entry={sequence}", "only-stays")
        for prefix in ("", "/api")
        for sequence in (other.sequence, 999, "x", "", f"{own.sequence}%20", "1e0")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 2


def test_the_query_does_not_replace_what_the_path_names(get, ledger):
    """The guard judges the DAG of the path, so another one in the query must not be shown."""
    ledger.append(released())
    ledger.append(released("secret-job", dag_id="other", run_id="o1", release_id="o1"))
    for query in ("dag_id=other", "dag_id=other&run_id=o1", "task_id=x"):
        for path in ("/api/dags/stays", f"/api/dags/stays/runs/{RUN}"):
            answer = get(f"{path}?{query}", "only-stays")
            assert answer.status_code == 200
            assert "secret" not in answer.text
    assert get("/api/dags/other?dag_id=stays", "only-stays").status_code == 403


def test_all_dags_is_no_dag(get, filled):
    """Airflow's own addresses take `~` for every DAG."""
    for path in ("/dags/~", "/api/dags/~", f"/dags/~/runs/{RUN}"):
        assert get(path, "only-stays").status_code == 403
        assert "hospital-stays" not in get(path).text


def test_a_row_without_a_dag_is_not_for_everybody(get, ledger):
    """Airflow takes no DAG for all DAGs; a row that was tampered with may have none."""
    entry = ledger.append(released())
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE release_ledger SET dag_id = '' WHERE sequence = {entry.sequence}")
    for user in ("only-stays", "blind", "admin"):
        assert get("/api/jobs", user).json()["jobs"] == []


def test_a_broken_place_of_another_dag_is_told_without_its_name(get, ledger):
    ledger.append(released())
    other = ledger.append(released("secret-job", dag_id="secret-dag", run_id="o1", release_id="o1"))
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE release_ledger SET rows = 1 WHERE sequence = {other.sequence}")
    for path in ("/ledger", "/api/ledger", f"/dags/stays/runs/{RUN}"):
        answer = get(path, "only-stays")
        assert "may not see" in answer.text
        assert "secret" not in answer.text
    assert not get("/api/ledger", "only-stays").json()["intact"]
    assert "secret-dag" in get("/api/ledger").text


def test_nothing_describes_the_routes_to_a_stranger(get, filled):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert get(path, None).status_code == 404
        assert get(path).status_code == 404


def test_pages_only_answer_get_but_the_one_with_a_form(client, filled):
    """That one takes forms of its own page alone, and this is none; its document under `/api` takes none at all."""
    for path in routes():
        form = path.endswith("/approval") and not path.startswith("/api")
        for method in ("post", "put", "delete", "patch"):
            expected = 403 if method == "post" and form else 405
            assert getattr(client("admin"), method)(f"/deidentification{path}").status_code == expected


def test_every_answer_has_the_security_headers(get, client, filled):
    paths = [*routes(), "/nothing", "/static/nothing.js", "/dags/stays/runs/none"]
    answers = [get(path, user) for path in paths for user in ("admin", "blind", None)]
    answers.append(client("admin").post("/deidentification/"))
    assert {answer.status_code for answer in answers} == {200, 401, 403, 404, 405}
    for answer in answers:
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["base-uri"] == "'none'"
        assert policy["frame-ancestors"] == policy["form-action"] == "'self'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "private" in answer.headers["cache-control"]


def test_a_file_of_the_package_that_is_no_asset_is_not_served(get, filled):
    for name in ("../app.py", "..%2Fapp.py", "%2e%2e/templates/base.html", "app.py", "base.html", "."):
        assert get(f"/static/{name}").status_code == 404


def test_the_library_is_sent_once(get, filled):
    first = get("/static/plotly.min.js")
    assert first.status_code == 200
    again = get("/static/plotly.min.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert get("/static/plotly.min.js", headers={"accept-encoding": "identity"}).content == first.content


def test_errors_say_nothing_of_the_ledger(get, ledger, monkeypatch, tmp_path):
    """Its address may hold a password."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", "postgresql+psycopg2://user:pass-word@127.0.0.1:1/nothing")
    for path in ("/", "/api/jobs"):
        answer = get(path)
        assert answer.status_code == 503
        assert "pass-word" not in answer.text
        assert "127.0.0.1" not in answer.text


def test_a_user_of_many_dags_sees_them_all(get, ledger):
    series(ledger, 3)
    ledger.append(unreleased(name="x", dag_id="other", run_id="1"))
    ledger.append(unreleased(name="y", dag_id="third", run_id="1"))
    found = json.loads(get("/api/jobs").text)
    assert {job["dag_id"] for job in found["jobs"]} == {"stays", "other", "third"}
    assert found["total"] == 3
    assert Page(get("/").text).text.count("Refused") >= 2
