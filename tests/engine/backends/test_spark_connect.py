"""A run counted by a Spark Connect server, which is a process of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engine.backends.test_contract import TYPES, document_of, texts_of
from tests.engine.backends.test_failures import left
from tests.places import ROOT
from tests.ports import free_port
from tests.spark import QUICK, need_spark

# in a process that has no other session of Spark
COMPARED = """
import json, sys
from tests.engine.backends.test_contract import told

document, address = json.loads(sys.argv[1]), sys.argv[2]
expected = told({**document, "backend": "arrow"})
found = told({**document, "backend": "spark", "spark": {"remote": address}})
assert isinstance(expected[0], dict), expected
assert found == expected, found
from pyspark import SparkContext
assert SparkContext._gateway is None
"""


@pytest.fixture
def server(tmp_path_factory):
    """Start a server and give its address."""
    need_spark()
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    settings = {**QUICK, "spark.connect.grpc.binding.port": str(port), "spark.local.dir": str(folder)}
    command = [str(Path(find_spec("pyspark").origin).parent / "bin/spark-submit")]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with (folder / "log").open("w") as log:
        started = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        while not listens(port):
            assert started.poll() is None, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        started.kill()
        started.wait()


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.thorough
def test_a_server_counts_as_the_engine_does(server, tmp_path):
    columns = {name: TYPES[name] for name in ("text", "float", "berlin")}
    pq.write_table(pa.table(columns), tmp_path / "source.parquet")
    texts = [*texts_of(TYPES["text"]), *texts_of(TYPES["float"])]
    document = document_of(["text", "float"], tmp_path / "source.parquet", texts, suppression_limit=1.0)
    document |= {"allow_empty_information": True, "output": {"path": str(tmp_path / "release")}}
    document["attributes"]["berlin"] = {"role": "insensitive"}
    done = subprocess.run(
        [sys.executable, "-c", COMPARED, json.dumps(document), server],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert left(tmp_path) == ["release", "source.parquet", "source.parquet.hierarchy.csv"]
