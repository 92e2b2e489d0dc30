"""An S3 server for the tests: SeaweedFS, from its wheel, and a connection to it that may be cut."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.ports import free_port

LOGIN, PASSWORD = "publisher", "only-for-tests"
WEED = Path(sys.prefix) / "bin/weed"


@contextmanager
def seaweed(folder: Path) -> Iterator[int]:
    """Run the server on a folder until the block ends; give the port of its S3 interface."""
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    (folder / "data").mkdir(parents=True)
    login = {"accessKey": LOGIN, "secretKey": PASSWORD}
    identity = {"name": "publisher", "credentials": [login], "actions": ["Admin", "Read", "Write", "List"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    command = [
        *(str(WEED), "server", f"-dir={folder}/data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"),
        *(
            "-master.telemetry=false",
            "-s3.iam=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.config={folder}/s3.json",
            "-volume.max=20",
        ),
        *(f"-{name}.port={port}" for name, port in ports.items()),
        *(f"-{name}.port.grpc={free_port()}" for name in ports),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _made_bucket(ports["s3"], process)
            yield ports["s3"]
        finally:
            process.kill()  # its graceful end takes half a minute
            process.wait()


def store_at(port: int) -> Any:
    """Give a client of the server, as a reader has one."""
    import s3fs  # noqa: PLC0415 (only tests of the server need it)

    return s3fs.S3FileSystem(**options(port), use_listings_cache=False, skip_instance_cache=True)


def options(port: int) -> dict[str, Any]:
    """Give what a reader tells the client."""
    return {"key": LOGIN, "secret": PASSWORD, "endpoint_url": f"http://127.0.0.1:{port}"}


def connection(port: int) -> str:
    """Give an Airflow connection, as JSON; a request that fails is tried once more."""
    extra = {
        "endpoint_url": f"http://127.0.0.1:{port}",
        "region_name": "us-east-1",
        "config_kwargs": {"retries": {"max_attempts": 1}, "connect_timeout": 5},
    }
    return json.dumps({"conn_type": "aws", "login": LOGIN, "password": PASSWORD, "extra": extra})


def _made_bucket(port: int, process: Any) -> None:
    while process.poll() is None:
        with suppress(Exception):  # the server begins: any answer but success means to wait
            store_at(port).mkdir("research")
            return
        time.sleep(0.2)
    raise RuntimeError(f"the server {WEED} ended while it began")


class Cable:
    """Forwards to a port what comes to its own, until so many bytes went through; then it is cut."""

    def __init__(self, port: int) -> None:
        self.left: float = float("inf")
        self._target = port
        self._sockets: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()
        self._cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._server.accept()
                if self.left <= 0:
                    ours.close()
                    continue
                theirs = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [ours, theirs]
                threading.Thread(target=self._forward, args=(ours, theirs, True), daemon=True).start()
                threading.Thread(target=self._forward, args=(theirs, ours, False), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with suppress(OSError):
            while block := source.recv(4096):
                if counts:
                    self.left -= len(block)
                    if self.left <= 0:
                        self._cut()
                        return
                target.sendall(block)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _cut(self) -> None:
        while self._sockets:
            with suppress(OSError):
                self._sockets.pop().shutdown(socket.SHUT_RDWR)
