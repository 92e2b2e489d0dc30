"""A database without transactions over its tables is no share, and is refused as early as its type is known."""

from __future__ import annotations

import json

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.jobs.possible_output import check_output
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from engine import InvalidJob, load_job

JOB = {
    "name": "stays",
    "source": {"conn_id": "warehouse", "table": "stays"},
    "attributes": {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}},
    "unit": "record",
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "output": {"conn_id": "research", "table": "stays"},
}
WHY = "output.conn_id: is a database of {}, in which a table is not replaced together with its bookkeeping"


@pytest.mark.parametrize(
    ("connection", "refused"),
    [
        ("mariadb://reader@db/clinic", "mariadb"),
        ("mysql+pymysql://reader@db/clinic", "mysql"),
        (json.dumps({"conn_type": "mssql", "host": "db"}), "mssql"),
        ("postgres://reader@db/clinic", None),
        ("postgresql+psycopg2://reader@db/clinic", None),
        (json.dumps({"conn_type": "sqlite", "host": "/share.db"}), None),
        (json.dumps(["broken"]), None),  # told when it is used
        (None, None),
    ],
)
def test_a_connection_of_the_environment_is_refused_where_dag_files_are_read(monkeypatch, connection, refused):
    monkeypatch.delenv("AIRFLOW_CONN_RESEARCH", raising=False)
    if connection is not None:
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH", connection)
    if refused is None:
        check_output(load_job(JOB))
    else:
        with pytest.raises(InvalidJob, match=WHY.format(refused)):
            check_output(load_job(JOB))


def test_what_is_made_inside_mariadb_is_published_there(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH", "mariadb://reader@db/clinic")
    inside = {**JOB, "backend": "sql", "source": {"conn_id": "research", "table": "clinic.stays"}}
    document = {**inside, "output": {"conn_id": "research", "table": "research.stays"}}
    check_output(load_job(document))
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH", "snowflake://reader@account/clinic")
    with pytest.raises(InvalidJob, match="of snowflake, and backend sql runs in postgresql and mariadb; set backend"):
        check_output(load_job(document))


def test_a_share_of_such_a_database_is_never_opened(monkeypatch):
    pytest.importorskip("pymysql")
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH", "mariadb://reader@127.0.0.1:1/clinic")
    with pytest.raises(AirflowFailException, match=WHY.format("mariadb")):
        SqlShare(hook_of("research"), "stays")
