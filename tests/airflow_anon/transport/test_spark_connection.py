"""An Airflow connection says where Spark is; what it says has an effect, or is refused by its name."""

from __future__ import annotations

import json

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.spark_connection import spark_access
from engine import load_job

JOB = {
    "name": "stays",
    "unit": "record",
    "source": {"path": "stays.parquet"},
    "attributes": {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}},
    "privacy": [{"model": "k-anonymity", "k": 2}],
    "suppression_limit": 0.1,
    "backend": "spark",
}


@pytest.fixture
def access(monkeypatch):
    """Give `access(connection)`: what a job gets of it."""

    def of(**connection):
        monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(connection))
        return spark_access(load_job({**JOB, "spark": {"conn_id": "cluster"}}))

    return of


@pytest.mark.parametrize(
    ("connection", "settings"),
    [
        ({"conn_type": "spark_connect", "host": "sc://spark.clinic.example"}, "sc://spark.clinic.example"),
        (
            {
                "conn_type": "spark_connect",
                "host": "spark.clinic.example",
                "port": 443,
                "login": "night",
                "password": "a;b=c/d",
                "extra": {"use_ssl": True},
            },
            "sc://spark.clinic.example:443/;user_id=night;token=a%3Bb%3Dc%2Fd;use_ssl=true",
        ),
    ],
)
def test_a_connection_of_a_connect_server_is_its_address(access, connection, settings):
    assert access(**connection).configuration == {"spark.remote": settings}


def test_the_address_is_read_by_pyspark_as_the_connection_says_it(access):
    pytest.importorskip("pyspark", reason="needs the extra 'spark'")
    from engine.backends.spark_session import channel_builder  # noqa: PLC0415 (the extra)

    secret = "a;b=c/d %"  # noqa: S105 (of no server)
    found = access(conn_type="spark_connect", host="h", port=1, login="ä;", password=secret)
    builder = channel_builder(found.configuration["spark.remote"])
    assert (builder.endpoint, builder.userId, builder.token, builder.secure) == ("h:1", "ä;", secret, True)
    assert "a;b" not in repr(found)


def test_a_connection_of_a_cluster_is_its_master(access):
    extra = {"deploy-mode": "client", "spark-binary": "spark-submit", "queue": "night"}
    found = access(conn_type="spark", host="spark://spark.clinic.example", port=7077, extra=extra)
    assert found.configuration == {"spark.master": "spark://spark.clinic.example:7077", "spark.yarn.queue": "night"}


@pytest.mark.parametrize(
    ("connection", "said"),
    [
        ({"conn_type": "postgres", "host": "h"}, "is of type postgres, must be spark_connect or spark"),
        ({"conn_type": "spark_connect"}, "names no host"),
        ({"conn_type": "spark", "host": "yarn", "extra": {"keytab": "k", "principal": "p"}}, "keytab, principal would"),
        ({"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}, "deploy-mode is cluster"),
        ({"conn_type": "spark_connect", "host": "h", "extra": {"certificate": "geheim"}}, "certificate would have no"),
    ],
)
def test_what_has_no_effect_is_refused(access, connection, said):
    with pytest.raises(AirflowFailException, match=f"connection 'cluster': .*{said}") as refused:
        access(**connection)
    assert "geheim" not in str(refused.value)


def test_a_connection_that_is_not_there_is_named():
    with pytest.raises(AirflowFailException, match=r"connection 'absent' is not defined.*AIRFLOW_CONN_ABSENT"):
        spark_access(load_job({**JOB, "spark": {"conn_id": "absent"}}))
    assert dict(spark_access(load_job(JOB)).configuration) == {}
