"""`airflow standalone` as a process that is healthy after the start and leaves no process behind when it is stopped.

Airflow orphans its components when its first process is terminated, so it runs in a separate process group, and the
whole group is stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

_COMPONENTS = ("metadatabase", "scheduler", "dag_processor")
_STOP_SECONDS = 20.0


def start(environment: Mapping[str, str], log: Path) -> int:
    """Start Airflow in the background; return its process group."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return process.pid


def is_healthy(port: int) -> bool:
    """Whether the API answers and every component is healthy."""
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/api/v2/monitor/health", timeout=5) as answer:
            health = json.load(answer)
    except (urllib.error.URLError, OSError, ValueError):
        return False
    return all((health.get(name) or {}).get("status") == "healthy" for name in _COMPONENTS)


def wait_until_ready(port: int, group: int, seconds: float = 300.0) -> None:
    """Wait for a healthy Airflow.

    Raises
    ------
    RuntimeError
        Airflow ended, or was not healthy in time.
    """
    end = time.monotonic() + seconds
    while not is_healthy(port):
        if not _alive(group) or time.monotonic() > end:
            raise RuntimeError("Airflow did not become healthy; its log tells why")
        time.sleep(0.5)


def wait_for_dags(
    base: str, group: int, login: Mapping[str, str], names: Collection[str], seconds: float = 300.0
) -> None:
    """Wait until Airflow, at its base URL, has read the DAGs of these names.

    Parameters
    ----------
    login : mapping
        `username` and `password` of somebody who sees them.

    Raises
    ------
    RuntimeError
        Airflow ended, or had not read them in time.
    """
    end = time.monotonic() + seconds
    while not _dags(base, login).issuperset(names):
        if not _alive(group) or time.monotonic() > end:
            raise RuntimeError("Airflow did not read its DAGs; its log, or the import errors in its UI, tell why")
        time.sleep(0.5)


def _dags(base: str, login: Mapping[str, str]) -> set[str]:
    """Return the names of all DAGs, or none while the API server does not answer."""
    body, kind = json.dumps(dict(login)).encode(), {"Content-Type": "application/json"}
    try:
        token = _asked(urllib.request.Request(f"{base}/auth/token", body, kind))["access_token"]  # noqa: S310
        listing = urllib.request.Request(f"{base}/api/v2/dags", headers={"Authorization": f"Bearer {token}"})  # noqa: S310
        return {dag["dag_id"] for dag in _asked(listing)["dags"]}
    except (urllib.error.URLError, OSError, ValueError):
        return set()


def _asked(request: urllib.request.Request) -> Any:
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 (our own Airflow)
        return json.load(answer)


def stop(group: int) -> None:
    """Stop Airflow and everything it started."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if not _signal(group, number):
            return
        end = time.monotonic() + _STOP_SECONDS
        while _alive(group) and time.monotonic() < end:
            time.sleep(0.2)


def _signal(group: int, number: signal.Signals) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _alive(group: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(group, os.WNOHANG)  # an ended child keeps its group until it is reaped
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
