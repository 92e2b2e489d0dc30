"""The metrics of runs under `airflow standalone`: what their tasks send, against the entries that they wrote."""

from __future__ import annotations

from collections import Counter

import pytest

from airflow_anon.ledger import Ledger
from tests.audit_world import JOBS, MARKUP

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

OURS = "airflow.deidentification."
GAUGES = ("rows", "suppressed_share", "information_loss", "privacy_margin")


@pytest.fixture(scope="module")
def ours(audit_world):
    """Give the packets of this package, without the prefix that all of them have."""
    return [packet.removeprefix(OURS) for packet in audit_world.metrics.packets if packet.startswith(OURS)]


@pytest.fixture(scope="module")
def entries(audit_world):
    return Ledger(audit_world.folders.ledger_url).entries()


def test_the_task_that_publishes_sends_what_its_entry_says(ours, entries):
    """Once each: `record_attempt`, which runs after it, finds the entry and sends nothing."""
    (released,) = [entry for entry in entries if entry.job == MARKUP]
    assert released.outcome == "released"
    packets = [packet for packet in ours if f".{MARKUP}:" in packet]
    # too few records are left out for the entry to tell their share, or how many there were; that is not sent
    assert released.suppressed_share is released.rows is None
    told = {name: getattr(released, name) for name in GAUGES if name not in {"suppressed_share", "rows"}}
    expected = [f"{name}.{MARKUP}:{figure}|g" for name, figure in told.items()] + [f"released.{MARKUP}:1|c"]
    assert sorted(packet for packet in packets if not packet.endswith("|ms")) == sorted(expected)
    (time,) = [packet for packet in packets if packet.endswith("|ms")]
    name, milliseconds = time.removesuffix("|ms").split(":")
    assert name == f"seconds.{MARKUP}"
    assert float(milliseconds) == pytest.approx(1000 * released.seconds, abs=0.001)  # sent to the microsecond
    assert {packet.replace(f".{MARKUP}", "") for packet in packets} <= set(ours)


def test_each_attempt_of_each_job_is_counted_once(ours, entries):
    expected = Counter(f"{entry.outcome}{job}:1|c" for entry in entries for job in ("", f".{entry.job}"))
    assert {entry.job for entry in entries} == JOBS
    assert Counter(packet for packet in ours if packet.endswith("|c")) == expected
