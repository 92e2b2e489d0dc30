"""The metrics of a run under `airflow standalone`: what its tasks send, against the entry that they wrote."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from airflow_anon.demo import standalone
from airflow_anon.demo.environment import DemoFolders, airflow_environment, password
from airflow_anon.demo.warehouse import build_warehouse
from airflow_anon.ledger import Ledger
from tests.places import ROOT
from tests.ports import free_port

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

OURS = "airflow.deidentification."


class Server:
    """A StatsD server that keeps what it receives, packet by packet."""

    def __init__(self) -> None:
        self.packets: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    def ours(self) -> list[str]:
        return [packet.removeprefix(OURS) for packet in self.packets if packet.startswith(OURS)]

    def stop(self) -> None:
        self._socket.sendto(b"end", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while (packet := self._socket.recv(4096)) != b"end":
            self.packets.append(packet.decode())


@pytest.fixture
def server() -> Iterator[Server]:
    listening = Server()
    yield listening
    listening.stop()


@pytest.fixture
def ledger(server: Server, tmp_path: Path) -> Iterator[Ledger]:
    """Give the ledger of a real Airflow that runs one job once, with the shipped DAG file."""
    folders = DemoFolders(tmp_path)
    for folder in (folders.airflow, folders.share):
        folder.mkdir()
    folders.staging.mkdir(mode=0o700)
    build_warehouse(folders.warehouse_url, persons=1_000)
    _write_dags(tmp_path / "dags")
    password(folders)
    port, url = free_port(), f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    environment = {
        **airflow_environment(folders, port),
        "PYTHONPATH": str(ROOT),
        "AIRFLOW_ANON_LEDGER": url,
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__METRICS__STATSD_ON": "True",
        "AIRFLOW__METRICS__STATSD_PORT": str(server.port),
    }
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], env=environment, check=True, capture_output=True)
    group = standalone.start(environment, tmp_path / "standalone.log")
    try:
        standalone.wait_until_ready(port, group)
        yield Ledger(url)
    finally:
        standalone.stop(group)


def _write_dags(dags: Path) -> None:
    shutil.copytree(ROOT / "dags/jobs/hierarchies", dags / "jobs/hierarchies")
    shutil.copy(ROOT / "dags/nightly_deidentification.py", dags)
    job = yaml.safe_load((ROOT / "dags/jobs/hospital_stays.yaml").read_text())
    job["dag"] = {"schedule": "@once", "retries": 0}
    (dags / "jobs/hospital_stays.yaml").write_text(yaml.safe_dump(job))


def test_the_task_that_publishes_sends_what_its_entry_says(server: Server, ledger: Ledger) -> None:
    """Once each: `record_attempt`, which runs after it, finds the entry and sends nothing."""
    # The last task of a run, which runs whatever happened.
    while not any(
        packet.startswith("airflow.ti.finish.") and ".remove_staging." in packet for packet in server.packets
    ):
        time.sleep(0.5)
    (released,) = ledger.entries()
    assert released.outcome == "released"
    figures = {name: getattr(released, name) for name in ("rows", "suppressed_share", "information_loss")}
    figures["privacy_margin"] = released.privacy_margin
    expected = [f"{name}{job}:{value}|g" for name, value in figures.items() for job in ("", ".hospital-stays")]
    expected += ["released:1|c", "released.hospital-stays:1|c"]
    assert sorted(packet for packet in server.ours() if not packet.endswith("|ms")) == sorted(expected)
    times = dict(packet.removesuffix("|ms").split(":") for packet in server.ours() if packet.endswith("|ms"))
    assert set(times) == {"seconds", "seconds.hospital-stays"}
    assert all(float(value) == pytest.approx(1000 * released.seconds) for value in times.values())
