"""The metrics of a run as an OpenTelemetry collector receives them, against the entry that the run wrote."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from airflow_anon.ledger import Entry, Ledger
from tests.airflow_anon.entries import entry_of
from tests.airflow_anon.nights.night import World
from tests.places import ROOT

pytestmark = pytest.mark.airflow

OURS = "airflow.deidentification."
GAUGES = ("rows", "suppressed_share", "information_loss", "privacy_margin")
# Longer than a run: what arrives was flushed when the process of its task ended.
STANDARD = {"OTEL_METRIC_EXPORT_INTERVAL": "3600000"}

DAG_FILE = """
import os
from airflow_anon.jobs import deidentification_dag
dag = deidentification_dag(os.environ["JOB"], schedule=None)
"""

# `dag.test()` runs its tasks in its own process, which sends no metrics. Here each has a process that the supervisor of
# a worker forks, so that the client is set up, and what it holds is sent, as it is there.
RUN = """
import os
from pathlib import Path
from types import SimpleNamespace
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.executors.workloads import BundleInfo, ExecuteTask
from airflow.models.taskinstance import TaskInstance
from airflow.sdk.execution_time import supervisor
from airflow.utils.session import create_session


def in_worker(ti, task):
    with create_session() as session:
        row = session.get(TaskInstance, ti.id)
        work = ExecuteTask.make(row, Path("nightly.py"), None, BundleInfo(name="dags-folder"))
    supervisor.supervise_task(
        ti=work.ti,
        bundle_info=work.bundle_info,
        dag_rel_path=work.dag_rel_path,
        token="",
        client=supervisor.InProcessTestSupervisor._api_client(task.dag),
        subprocess_logs_to_stdout=True,
    )
    with create_session() as session:
        state = session.get(TaskInstance, ti.id).state
    return SimpleNamespace(msg=None, ti=SimpleNamespace(state=state, task=task))


supervisor.run_task_in_process = in_worker
folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
DagBundlesManager().sync_bundles_to_db()
bag = DagBag(dag_folder=str(folder), bundle_path=folder)
sync_bag_to_db(bag, "dags-folder", None)
(dag,) = bag.dags.values()
run = dag.test(logical_date=None)
print({instance.task_id: str(instance.state) for instance in run.get_task_instances()})
"""

# What Airflow's task runner does before it runs a task; then entries are sent.
SEND = """
import json, sys
from airflow.sdk.configuration import conf
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics import stats_utils
from airflow_anon.ledger import Entry
from airflow_anon.observe.metrics import emit
stats.initialize(
    factory=stats_utils.get_stats_factory(), export_legacy_names=conf.getboolean("metrics", "legacy_names_on")
)
for columns in json.load(sys.stdin):
    emit(Entry(**columns), 5)
"""


class Point(NamedTuple):
    """One data point: `value` of a gauge or counter, sum in milliseconds of a histogram with `count` observations."""

    kind: str
    name: str
    attributes: tuple[tuple[str, str], ...]
    value: float
    count: int = 1


class Collector(ThreadingHTTPServer):
    """An OpenTelemetry collector that keeps what it receives."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.points: list[Point] = []
        self._thread = threading.Thread(target=self.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/metrics" or self.headers["Content-Type"] != "application/x-protobuf":
            self.send_error(404)
            return
        assert self.headers.get("Content-Encoding", "identity") == "identity"
        self.server.points += points_of(ExportMetricsServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()
        self.wfile.write(ExportMetricsServiceResponse().SerializeToString())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def points_of(request: ExportMetricsServiceRequest) -> Iterator[Point]:
    """Yield the data points of our metrics, without the prefix that all of them have."""
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                if not metric.name.startswith(OURS):
                    continue
                assert kind != "sum" or metric.sum.is_monotonic
                assert kind != "exponential_histogram" or metric.unit == "ms"
                for point in getattr(metric, kind).data_points:
                    yield _point(kind, metric.name.removeprefix(OURS), point)


def _point(kind: str, name: str, point: Any) -> Point:
    attributes = tuple(sorted((pair.key, pair.value.string_value) for pair in point.attributes))
    if kind == "exponential_histogram":
        return Point(kind, name, attributes, point.sum, point.count)
    return Point(kind, name, attributes, getattr(point, point.WhichOneof("value")))


def promised(entry: Entry) -> list[Point]:
    """Give the points of an entry of which nothing is withheld: with the job as attribute, and in the name."""
    expected = []
    for attributes, behind in (((("job", entry.job),), ""), ((), f".{entry.job}")):
        expected += [
            Point("gauge", name + behind, attributes, getattr(entry, name))
            for name in GAUGES
            if getattr(entry, name) is not None
        ]
        if entry.seconds is not None:
            expected.append(Point("exponential_histogram", "seconds" + behind, attributes, 1000 * entry.seconds))
        expected.append(Point("sum", entry.outcome + behind, attributes, 1))
    return expected


def assert_received(received: list[Point], expected: list[Point]) -> None:
    """Assert that each point was received once and none but these; times pass through whole microseconds."""
    received, expected = sorted(received), sorted(expected)
    assert [point._replace(value=None) for point in received] == [point._replace(value=None) for point in expected]
    for found, told in zip(received, expected, strict=True):
        tolerance = 0.001 if told.kind == "exponential_histogram" else 0
        assert abs(found.value - told.value) <= tolerance, told.name


def newest(points: list[Point]) -> list[Point]:
    """Give the last point of each series: a process that ends may send the same totals twice."""
    return list({(point.kind, point.name, point.attributes): point for point in points}.values())


def process(*arguments: str, environment: Mapping[str, str], text: str = "") -> str:
    """Run Python with Airflow's metrics on; give what it printed."""
    command = [sys.executable, *arguments]
    everything = {**os.environ, "PYTHONPATH": str(ROOT), "AIRFLOW__METRICS__OTEL_ON": "True", **environment}
    done = subprocess.run(command, input=text, env=everything, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture
def collector() -> Iterator[Collector]:
    listening = Collector()
    yield listening
    listening.stop()


@pytest.fixture
def environment(collector: Collector) -> dict[str, str]:
    """Give the standard variables, which Airflow reads since its own settings are deprecated."""
    return {**STANDARD, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}


@pytest.fixture
def own_airflow(world: World, migrated_metadata: Path) -> Path:
    """Give the home of an Airflow of its own."""
    home = world.folder / "airflow"
    (home / "dags").mkdir(parents=True)
    (home / "dags/nightly.py").write_text(DAG_FILE)
    shutil.copy(migrated_metadata, home)
    return home


def run_in_workers(home: Path, job: Path, environment: Mapping[str, str]) -> Entry:
    """Run a job in an Airflow of its own, each task in a process as of a worker; give the entry of the run."""
    url = f"sqlite:///{home.parent / 'ledger.sqlite'}"
    everything = {
        **environment,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW_ANON_LEDGER": url,
        "JOB": str(job),
    }
    told = process("-c", RUN, environment=everything)
    entries = Ledger(url).entries()
    assert len(entries) == 1, told[-3000:]
    return entries[0]


@pytest.mark.thorough
def test_the_task_that_publishes_sends_what_its_entry_says(
    world: World, own_airflow: Path, collector: Collector, environment: dict[str, str]
) -> None:
    """Once each: `record_attempt`, which runs after it in a process of its own, finds the entry and sends nothing."""
    released = run_in_workers(own_airflow, world.job("hospital_stays", dag={"retries": 0}), environment)
    assert (released.outcome, released.job) == ("released", "hospital-stays")
    assert all(getattr(released, name) is not None for name in (*GAUGES, "seconds"))
    assert_received(collector.points, promised(released))


@pytest.mark.thorough
def test_the_task_that_records_an_attempt_sends_what_its_entry_says(
    world: World, own_airflow: Path, collector: Collector, environment: dict[str, str]
) -> None:
    """The process of the task that failed sends nothing."""
    job = world.impossible_stays()
    job.write_text(job.read_text().replace("k: 1000000", "k: 900"))
    refused = run_in_workers(own_airflow, job, environment)
    assert (refused.outcome, refused.information_loss) == ("refused", None)
    assert refused.rows is None
    assert_received(collector.points, promised(refused))


def send(environment: Mapping[str, str], *entries: Entry) -> None:
    """Send entries from a process that is set up as a worker sets up one for a task."""
    text = json.dumps([vars(entry) for entry in entries])
    process("-c", SEND, environment=environment, text=text)


def test_two_attempts_in_one_process(collector: Collector, environment: dict[str, str]) -> None:
    """Gauges hold the last attempt of each job; counters and histograms hold all of them."""
    first, second = entry_of(1, information_loss=0.5, seconds=1.5), entry_of(2, seconds=2.5)
    other = entry_of(3, job="labs", outcome="refused", privacy_margin=0.0)
    send({**environment, "AIRFLOW__METRICS__LEGACY_NAMES_ON": "False"}, first, second, other)
    tags = (("job", "stays"),)
    expected = [point for point in (*promised(second), *promised(other)) if point.attributes]
    expected = [point for point in expected if point.attributes != tags or point.kind == "gauge"]
    expected += [
        Point("sum", "released", tags, 2),
        Point("exponential_histogram", "seconds", tags, 4000.0, count=2),
    ]
    assert_received(newest(collector.points), expected)


def test_deltas_add_up_over_processes(collector: Collector, environment: dict[str, str]) -> None:
    """A total begins at zero in each process, and each task has one; what was sent as a delta is not sent again."""
    delta = {**environment, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"}
    for number in (1, 2):
        send(delta, entry_of(number))
    totals = [point for point in collector.points if point.kind != "gauge"]
    expected = [point for point in promised(entry_of()) if point.kind != "gauge"]
    assert_received(totals, [*expected, *expected])


def test_what_is_withheld_or_unknown_is_not_received(collector: Collector, environment: dict[str, str]) -> None:
    """A gauge of which no value was sent is not there, rather than 0."""
    nothing = {"suppressed_share": None, "information_loss": None, "privacy_margin": None, "seconds": None}
    send(environment, entry_of(outcome="failed", rows=4, **nothing))
    assert_received(
        newest(collector.points), [Point("sum", "failed", (("job", "stays"),), 1), Point("sum", "failed.stays", (), 1)]
    )


def test_a_name_that_is_too_long_is_left_out_and_the_one_with_the_attribute_arrives(
    collector: Collector, environment: dict[str, str]
) -> None:
    """The longest name of a job, with as many dots as it may have: OpenTelemetry allows 255 characters in all."""
    job = "a" + "." * 127
    send(environment, entry_of(job=job))
    assert {point.name for point in collector.points if point.attributes} == {*GAUGES, "seconds", "released"}
    assert {point.attributes for point in collector.points if point.attributes} == {(("job", "a" + "__" * 127),)}
    assert [point for point in collector.points if not point.attributes] == []


def test_host_and_port_of_airflow_s_configuration(collector: Collector) -> None:
    """Deprecated since Airflow 3.2, and still read."""
    send(
        {
            "AIRFLOW__METRICS__OTEL_HOST": "127.0.0.1",
            "AIRFLOW__METRICS__OTEL_PORT": str(collector.server_port),
            "AIRFLOW__METRICS__OTEL_INTERVAL_MILLISECONDS": "3600000",
        },
        entry_of(),
    )
    assert_received(newest(collector.points), promised(entry_of()))
