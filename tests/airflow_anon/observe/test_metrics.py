"""The metrics of an attempt: what a StatsD server receives from a process that is configured as a worker is."""

from __future__ import annotations

import os
import socket
from collections import Counter

import pytest

from airflow_anon.ledger.form_parts import Series
from airflow_anon.observe import metrics
from tests.airflow_anon.entries import entry_of


def worker(entries, smallest):
    """Do what Airflow's task runner does before it runs a task; then send entries."""
    from airflow.sdk.configuration import conf  # noqa: PLC0415 (needs the environment)
    from airflow.sdk.observability import stats  # noqa: PLC0415
    from airflow.sdk.observability.metrics import stats_utils  # noqa: PLC0415

    old = conf.getboolean("metrics", "legacy_names_on")
    stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=old)
    for entry in entries:
        metrics.emit(entry, smallest)


def command(entries, _):
    """Send entries as a command does, which sets the client up itself."""
    for entry in entries:
        metrics.emit_from_command(entry)


@pytest.fixture
def server():
    """Give a socket that listens as a StatsD server does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(5)
        yield listening


def received(server, *entries, smallest=5, sending=worker, **settings):
    """Give the packets that a process sends for some entries, without the prefix that all of ours have.

    The process is a fork of this one, as that of a task is of the supervisor.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.environ |= {
                "AIRFLOW__METRICS__STATSD_ON": "True",
                "AIRFLOW__METRICS__STATSD_PORT": str(server.getsockname()[1]),
                **{f"AIRFLOW__METRICS__{name.upper()}": value for name, value in settings.items()},
            }
            sending(entries, smallest)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    server.sendto(b"end", server.getsockname())
    packets = list(iter(lambda: server.recv(4096).decode(), "end"))
    ours = "airflow.deidentification."
    return Counter(packet.removeprefix(ours) for packet in packets if packet.startswith(ours))


@pytest.mark.airflow
def test_a_release_sends_its_figures(server):
    assert received(server, entry_of(seconds=2.5)) == Counter(
        f"{name}{job}:{value}"
        for name, value in {
            "rows": "1000|g",
            "suppressed_share": "0.02|g",
            "information_loss": "0.3|g",
            "privacy_margin": "0.1|g",
            "seconds": "2500.000000|ms",
            "released": "1|c",
        }.items()
        for job in ("", ".stays")
    )


@pytest.mark.airflow
def test_what_is_withheld_or_unknown_is_not_sent(server):
    nothing = {"suppressed_share": None, "information_loss": None, "seconds": None}
    refused = entry_of(outcome="refused", privacy_margin=0.0, **nothing)
    failed = entry_of(outcome="failed", privacy_margin=None, rows=None, **nothing)
    sent = received(server, refused, failed, legacy_names_on="False")
    assert sent == Counter(["rows:1000|g", "privacy_margin:0.0|g", "refused:1|c", "failed:1|c"])


@pytest.mark.airflow
def test_a_recall_is_counted_by_the_command(server):
    nothing = dict.fromkeys(["rows", "suppressed", "suppressed_share", "information_loss", "privacy_margin", "seconds"])
    for said in ("recalled", "given-up"):
        entry = entry_of(outcome=said, optimal=None, manifest_sha256=None, **nothing)
        assert received(server, entry, sending=command) == Counter([f"{said}:1|c", f"{said}.stays:1|c"])


@pytest.mark.airflow
def test_tags_where_the_server_knows_them_and_plain_names_otherwise(server):
    """A dot would begin another part of the name; what no name may hold is replaced."""
    sent = received(server, entry_of(job="stays.2026-é", seconds=None), statsd_influxdb_enabled="True")
    assert sent["released,job=stays__2026-_:1|c"] == 1
    assert sent["released.stays__2026-_:1|c"] == 1
    assert len(sent) == 10


@pytest.mark.airflow
def test_nothing_is_sent_where_metrics_are_off(server):
    assert received(server, entry_of(), statsd_on="False") == Counter()


@pytest.fixture
def sent(monkeypatch):
    """Give the gauges that are set from now on, by name."""
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 (needs the environment)

    gauges = {}

    class Client:
        gauge = staticmethod(lambda name, value, **_: gauges.update({name: value}))
        timing = incr = staticmethod(lambda *_, **__: None)

    monkeypatch.setattr(sdk, "Stats", Client, raising=False)
    return gauges


@pytest.mark.parametrize(("rows", "smallest", "told"), [(4, 5, False), (5, 5, True), (0, 5, True), (1000, None, False)])
def test_a_source_of_fewer_records_than_the_smallest_class_is_not_counted(sent, rows, smallest, told):
    """Nor is one of which it is not known whether it is."""
    metrics.emit(entry_of(outcome="refused", rows=rows), smallest)
    assert sent["deidentification.privacy_margin"] == 0.1
    assert {value for name, value in sent.items() if name.startswith("deidentification.rows")} == (
        {rows} if told else set()
    )


def test_a_series_has_figures_but_none_of_few_persons(sent):
    changed = {"age": {"before": 1, "now": 3}}
    series = Series(name="s", release_id="r", smallest_trace=7, covered_share=0.5, levels_changed=changed)
    metrics.emit(entry_of(17), 5, series)
    assert sent["deidentification.smallest_trace"] == 7
    assert sent["deidentification.covered_share"] == 0.5
    assert sent["deidentification.levels_changed"] == 1
    assert "deidentification.held_back_share" not in sent
    sent.clear()
    metrics.emit(entry_of(17), 11, series)
    assert "deidentification.smallest_trace" not in sent


def test_a_client_that_fails_harms_nothing_and_is_logged(monkeypatch, caplog):
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 (needs the environment)

    class Broken:
        @staticmethod
        def gauge(*_, **__):
            raise OSError("no route to the server")

    monkeypatch.setattr(sdk, "Stats", Broken, raising=False)
    metrics.emit(entry_of(17), 5)
    assert "The metrics of entry 17 were not sent (OSError)" in caplog.text
