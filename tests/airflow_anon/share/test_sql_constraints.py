"""A table whose constraints no release of a job can meet is refused before the run."""

from __future__ import annotations

import logging

import pytest
import sqlalchemy as sa
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.share.sql_constraints import refuse_before_run
from engine import load_job
from tests.airflow_anon.nights.night import connection_of

JOB = {
    "name": "stays",
    "unit": "record",
    "source": {"conn_id": "clinic", "table": "clinic.stays"},
    "attributes": {
        "area": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10, 20]}},
        "dx": {"role": "sensitive"},
        "mrn": {"role": "identifying"},
    },
    "privacy": [{"model": "k-anonymity", "k": 3}],
    "output": {"conn_id": "share", "table": "people"},
}
PLAIN = "CREATE TABLE people (area text, age text, dx text{})"


@pytest.fixture
def postgres(postgres_database, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(postgres_database))
    return sa.create_engine(postgres_database, poolclass=sa.NullPool)


def ask(engine, *statements):
    with engine.begin() as connection:
        for one in statements:
            connection.exec_driver_sql(one)


NEVER = [
    pytest.param([PLAIN.format(", UNIQUE (age, area)")], "its key 'people_age_area_key'", id="unique"),
    pytest.param([PLAIN.format(", PRIMARY KEY (area)")], "its key 'people_pkey'", id="primary key"),
    pytest.param(
        [PLAIN.format(", CONSTRAINT apart EXCLUDE USING btree (age WITH =)")], "its key 'apart'", id="an exclusion"
    ),
    pytest.param([PLAIN.format(""), "CREATE UNIQUE INDEX own ON people (area)"], "its key 'own'", id="unique index"),
    pytest.param(
        [
            PLAIN.format("") + " PARTITION BY LIST (age)",
            "CREATE TABLE old PARTITION OF people (CONSTRAINT old_once UNIQUE (area)) DEFAULT",
        ],
        "its key 'old_once'",
        id="of a partition",
    ),
    pytest.param(
        ["CREATE TABLE people (area text, age text, dx text GENERATED ALWAYS AS (area || age) STORED)"],
        r"fills its column 'dx' itself \(GENERATED ALWAYS\)",
        id="generated",
    ),
    pytest.param(
        ["CREATE TABLE people (area text, age text, dx bigint GENERATED ALWAYS AS IDENTITY)"],
        r"fills its column 'dx' itself \(GENERATED ALWAYS\)",
        id="identity",
    ),
    pytest.param(
        [PLAIN.format(""), "CREATE RULE keep AS ON DELETE TO people DO INSTEAD NOTHING"],
        "a rule that rewrites what is written into it: 'keep'",
        id="what the switch refuses too",
    ),
]


@pytest.mark.postgres
@pytest.mark.parametrize(("statements", "told"), NEVER)
def test_what_no_release_can_meet_is_refused(postgres, statements, told):
    ask(postgres, *statements)
    with pytest.raises(AirflowFailException, match=f"output table 'people': .*{told}"):
        refuse_before_run(load_job(JOB))


MAYBE = [
    pytest.param([PLAIN.format(", CHECK (age <> '*')")], "'people_age_check'", id="check"),
    pytest.param([PLAIN.format(", UNIQUE (area, dx)")], "'people_area_dx_key'", id="unique with another column"),
    pytest.param(["CREATE TABLE people (area text NOT NULL, age text, dx text)"], "'NOT NULL of area'", id="not null"),
    pytest.param(
        [PLAIN.format(""), "CREATE UNIQUE INDEX part ON people (area) WHERE dx = 'rare'"], "'part'", id="partial"
    ),
    pytest.param([PLAIN.format(""), "CREATE UNIQUE INDEX by ON people (lower(dx), age)"], "'by'", id="an expression"),
    pytest.param(
        [PLAIN.format(", CONSTRAINT same EXCLUDE USING gist (int4range(1, length(age)) WITH &&)")],
        "'same'",
        id="another exclusion",
    ),
]


@pytest.mark.postgres
@pytest.mark.parametrize(("statements", "told"), MAYBE)
def test_what_a_release_may_not_meet_is_warned_of(postgres, caplog, statements, told):
    ask(postgres, *statements)
    with caplog.at_level(logging.WARNING):
        refuse_before_run(load_job(JOB))
    assert f"a release that does not meet {told}" in caplog.text


@pytest.mark.postgres
@pytest.mark.parametrize(
    "statements",
    [
        [],
        [PLAIN.format("")],
        # it is replaced, and the key with it
        ["CREATE TABLE people (area text, age text UNIQUE)"],
    ],
)
def test_a_table_that_takes_each_release_is_silent(postgres, caplog, statements):
    ask(postgres, *statements)
    with caplog.at_level(logging.WARNING):
        refuse_before_run(load_job(JOB))
    assert caplog.text == ""


@pytest.mark.parametrize("address", [None, "postgresql://nobody@127.0.0.1:9/nowhere"])
def test_a_share_that_is_not_reached_from_here_ends_no_run(monkeypatch, caplog, address):
    """It may be away for an hour, or open to the task alone that publishes, which tells of it."""
    monkeypatch.delenv("AIRFLOW_CONN_SHARE", raising=False)
    if address is not None:
        monkeypatch.setenv("AIRFLOW_CONN_SHARE", address)
    with caplog.at_level(logging.WARNING):
        refuse_before_run(load_job(JOB))
    assert "output table 'people' is not looked at before the run" in caplog.text


def test_columns_that_sqlite_takes_for_one_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", f"sqlite:///{tmp_path}/share.sqlite")
    twins = {**JOB, "attributes": {**JOB["attributes"], "Dx": {"role": "insensitive"}}}
    others = {
        **JOB,
        "attributes": {**JOB["attributes"], "Ärzte": {"role": "insensitive"}, "ärzte": {"role": "sensitive"}},
    }
    refuse_before_run(load_job(others))
    with pytest.raises(AirflowFailException, match="columns 'dx' and 'Dx' differ in upper and lower case alone"):
        refuse_before_run(load_job(twins))
    with sa.create_engine("sqlite://").connect() as connection:
        connection.exec_driver_sql('CREATE TABLE people ("Ärzte" text, "ärzte" text)')
        with pytest.raises(sa.exc.OperationalError):
            connection.exec_driver_sql('CREATE TABLE others ("dx" text, "Dx" text)')
