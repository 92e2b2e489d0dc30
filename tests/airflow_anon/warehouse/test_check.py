"""A check of a job inside its warehouse says what a check of the extracted records says, and leaves nothing."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.run.check_table import check_job
from engine import InvalidJob, check_lines, load_job
from tests.airflow_anon.warehouse.inside import CONNECTION, connect, execute, tables

pytestmark = [pytest.mark.postgres]

FILL = (
    "SELECT 'p' || i / 2, (i / 2 * 7) %% 50, '8000' || i / 2 %% 5, 'd' || i %% 6, 'somebody' || i "
    "FROM generate_series(1, 600) i"
)
JOB = {
    "name": "inside",
    "unit": "record",
    "source": {"conn_id": CONNECTION, "table": "source"},
    "output": {"conn_id": CONNECTION, "table": "share"},
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10, 20]}},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
        "dx": {"role": "sensitive"},
        "note": {"role": "identifying"},
    },
    "privacy": [{"model": "k-anonymity", "k": 3}],
    "suppression_limit": 0.2,
}
FEW_AGES = {
    "role": "quasi-identifying",
    "hierarchy": {"builder": "age", "maximum": 40, "top_code": "none"},
}


@pytest.fixture
def engine(monkeypatch, postgres_database):
    made = connect(monkeypatch, postgres_database)
    execute(made, "CREATE TABLE source (mrn text, age int, zip text, dx text, note text)", f"INSERT INTO source {FILL}")
    return made


def job_of(backend="sql", **changes):
    document = {**JOB, "backend": backend, **changes}
    if backend != "sql":
        document["output"] = {"path": "share"}
    return load_job(document)


def of_persons(**changes):
    return {"unit": None, "subject": "mrn", "knows": {"rows": 2}, "max_rows": 2, **changes}


def lines(found):
    """Give what a terminal says, but for the time that it took."""
    said = check_lines(found, show_values=True)
    return [line.rpartition(",")[0] if line.startswith("search ") else line for line in said]


@pytest.mark.parametrize("changes", [{}, of_persons()], ids=["records", "persons"])
def test_a_release_that_would_be_made(engine, changes):
    found = check_job(job_of(**changes))
    assert (found.problems, found.exit_code) == ((), 0)
    assert lines(found) == lines(check_job(job_of("arrow", **changes)))
    assert "nothing: this was a check" in "\n".join(lines(found))
    assert tables(engine) == ["source"]


def with_attributes(**attributes):
    return {"attributes": {**JOB["attributes"], **attributes}}


@pytest.mark.parametrize(
    "changes",
    [
        {**with_attributes(age=FEW_AGES), "subject": "mrn", "unit": None},
        with_attributes(age={**FEW_AGES, "unseen": "root"}),
        {"privacy": [{"model": "k-anonymity", "k": 601}]},
        {"attributes": {name: one for name, one in JOB["attributes"].items() if name not in {"dx", "note"}}},
        with_attributes(ward={"role": "insensitive"}),
        with_attributes(note={"role": "insensitive"}),
        {"attributes": {"mrn": {"role": "identifying"}, "ward": JOB["attributes"]["zip"]}},
        {"unit": None},
    ],
    ids=["unseen", "unseen-root", "impossible", "unnamed", "absent", "identifier", "none", "unanswered"],
)
def test_what_is_wrong_is_told_as_of_extracted_records(engine, changes):
    """All of it at once, with the values that no hierarchy knows for the eyes of whoever may see them."""
    found, other = check_job(job_of(**changes)), check_job(job_of("arrow", **changes))
    assert (list(map(str, found.problems)), found.exit_code) == (list(map(str, other.problems)), other.exit_code)
    assert found.unseen == other.unseen
    assert tables(engine) == ["source"]


def test_missing_values_and_unknown_ones_are_told_in_one_round(engine):
    execute(engine, "UPDATE source SET zip = NULL WHERE age = 7")
    zips = {**JOB["attributes"]["zip"], "nulls": "error"}
    found = check_job(job_of(**with_attributes(age=FEW_AGES, zip=zips)))
    told = "\n".join(map(str, found.problems))
    assert "column 'zip'" in told
    assert "missing values" in told
    assert "column 'age'" in told
    assert [int(age) > 40 for age in found.unseen["age"]] == [True] * 9


def test_a_column_of_which_nothing_would_be_left(engine):
    execute(engine, "UPDATE source SET age = abs(hashtext(mrn)) %% 50")
    demanding = {"privacy": [{"model": "k-anonymity", "k": 250}], "suppression_limit": 0}
    found = check_job(job_of(**demanding))
    assert found.emptied
    assert found.emptied == check_job(job_of("arrow", **demanding)).emptied


def test_an_empty_table(engine):
    execute(engine, "DELETE FROM source")
    with pytest.raises(AirflowFailException, match="is empty"):
        check_job(job_of())


def test_a_part_of_the_table_is_refused(engine):
    del engine
    with pytest.raises(InvalidJob, match="leave the sample out"):
        check_job(job_of(), most=10)


def test_a_role_that_may_not_create_is_told_so(engine, monkeypatch):
    """A run would not be able to either."""
    role = f"checking_{os.getpid()}"
    execute(engine, f"CREATE ROLE {role} LOGIN", f"GRANT SELECT ON source TO {role}", "CREATE SCHEMA research")
    try:
        connect(monkeypatch, engine.url.set(username=role).render_as_string(hide_password=False))
        with pytest.raises(AirflowFailException, match="GRANT CREATE, USAGE ON SCHEMA research"):
            check_job(job_of(output={"conn_id": CONNECTION, "table": "research.share"}))
    finally:
        execute(engine, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_the_release_of_before_stays(engine):
    books = "release_id text, manifest_sha256 text, rows bigint, published_at timestamptz"
    execute(engine, "CREATE TABLE share AS SELECT 1 AS age", f"CREATE TABLE share_release ({books})")
    assert check_job(job_of()).exit_code == 0
    assert tables(engine) == ["share", "share_release", "source"]
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM share")) == 1


def test_a_check_that_is_killed_leaves_nothing(engine, monkeypatch):
    """The tables that it made are gone with its transaction, and nobody else ever saw them."""
    import airflow_anon.run.check_inside as inside  # noqa: PLC0415 (what it calls is replaced)

    def killed(job, warehouse, **options):
        list(warehouse.tuples(["age"]))
        assert tables(engine) == ["source"]
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(inside, "check", killed)
    child = os.fork()
    if not child:
        check_job(job_of())
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert tables(engine) == ["source"]


def test_a_server_that_ends_the_transaction_is_told_without_a_trace(engine, monkeypatch):
    import airflow_anon.run.check_inside as inside  # noqa: PLC0415 (what it calls is replaced)

    real = inside.check

    def ended(job, warehouse, **options):
        execute(
            engine,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND state = 'idle in transaction'",
        )
        return real(job, warehouse, **options)

    monkeypatch.setattr(inside, "check", ended)
    with pytest.raises(AirflowException, match="checking table source inside connection"):
        check_job(job_of())
    assert tables(engine) == ["source"]


def test_problems_that_are_known_before_come_first(engine):
    del engine
    job = job_of()
    known = check_job(job_of("arrow", **with_attributes(age=FEW_AGES))).problems[:1]
    found = check_job(job, problems=known)
    assert found.problems == known
    assert found.published is None
    assert replace(found, problems=()).exit_code == InvalidJob.exit_code
