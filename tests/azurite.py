"""A server of Azure's blob storage for the tests: Azurite, from its npm package, whose folder is in `AZURITE`."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The login that Azurite documents; it opens nothing else."""
_SECONDS = 30


@contextmanager
def azurite(folder: Path) -> Iterator[int]:
    """Run the server on a folder until the block ends; give its port. Skips where something is not installed."""
    for module, package in (
        ("adlfs", "adlfs"),
        ("airflow.providers.microsoft.azure", "apache-airflow-providers-microsoft-azure"),
    ):
        with suppress(ModuleNotFoundError):
            if importlib.util.find_spec(module) is not None:
                continue
        pytest.skip(f"needs the package {package} (docs/shares.md)")
    program = Path(os.environ.get("AZURITE", "node_modules/azurite")) / "dist/src/blob/main.js"
    node = shutil.which("node")
    if node is None or not program.is_file():
        pytest.skip("needs node, and the folder of the npm package azurite in AZURITE (docs/shares.md)")
    port = free_port()
    command = [node, str(program), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", f"{folder}/data"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--silent", "--disableTelemetry", "--skipApiVersionCheck"], stdout=log, stderr=log
        )
        try:
            _make_container(port, process)
            yield port
        finally:
            process.kill()
            process.wait()


def client(port: int) -> Any:
    """Give a client of the server, as a reader has one."""
    import adlfs  # noqa: PLC0415 (only where it is installed)

    return adlfs.AzureBlobFileSystem(**options(port), use_listings_cache=False, skip_instance_cache=True)


def options(port: int) -> dict[str, Any]:
    """Give what a reader tells the client."""
    return {"connection_string": _login(port)}


def connection(port: int) -> str:
    """Give an Airflow connection, as JSON."""
    return json.dumps({"conn_type": "wasb", "extra": {"connection_string": _login(port)}})


def _login(port: int) -> str:
    address = f"http://127.0.0.1:{port}/{ACCOUNT}"
    return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={address};"


def _make_container(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(5 * _SECONDS):
        if process.poll() is not None:
            break
        with suppress(Exception):  # the server begins: any answer but success means to wait
            client(port).mkdir("research")
            return
        time.sleep(0.2)
    raise RuntimeError("azurite does not answer")
