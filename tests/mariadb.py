"""A MariaDB server for the tests: that of the distribution, private, on a unix socket and a port of this machine."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ports import free_port

LOGIN, PASSWORD = "reader", "only-for-tests"
"""Who may read and change everything but nothing of the server itself."""


_FAST = (
    *("--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0"),
    *("--innodb-doublewrite=0", "--innodb-flush-method=nosync", "--sync-frm=0", "--skip-log-bin"),
)
"""It need not outlive the machine."""


@dataclass(frozen=True)
class Server:
    """A running server: its socket, its port, and the process."""

    socket: str
    port: int
    process: subprocess.Popen[bytes]

    def run(self, *statements: str, **settings: Any) -> list[tuple[Any, ...]]:
        """Run statements as its administrator; give the rows of the last one."""
        import pymysql  # noqa: PLC0415 (only tests of the server need it)

        administrator = {"unix_socket": self.socket, "user": getpass.getuser()}
        with (
            pymysql.connect(**administrator, autocommit=True, **settings) as connection,
            connection.cursor() as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())


def missing() -> str | None:
    """Say what is missing for a server; None if nothing is."""
    return None if _program("mariadbd") and _program("mariadb-install-db") else "mariadb-server-core"


@contextmanager
def mariadb(folder: Path) -> Iterator[Server]:
    """Run the server on a folder, whose path must be short, until the block ends."""
    data, user = folder / "data", getpass.getuser()
    made = [
        *(str(_program("mariadb-install-db")), "--no-defaults", f"--datadir={data}", f"--user={user}"),
        *("--auth-root-authentication-method=socket", f"--auth-root-socket-user={user}", "--skip-test-db"),
        *_FAST,
    ]
    with (folder / "log").open("wb") as log:
        subprocess.run(made, stdout=log, stderr=log, check=True)
        socket, port = str(folder / "s"), free_port()
        command = [
            *(str(_program("mariadbd")), "--no-defaults", f"--datadir={data}", f"--user={user}"),
            *(f"--socket={socket}", f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={folder}/pid"),
            *_FAST,
        ]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        server = Server(socket, port, process)
        try:
            _wait_for(server)
            server.run(
                f"CREATE USER {LOGIN}@localhost IDENTIFIED BY '{PASSWORD}'",
                f"GRANT ALL PRIVILEGES ON `clinic%`.* TO {LOGIN}@localhost",
            )
            yield server
        finally:
            process.kill()
            process.wait()


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/libexec")


def _wait_for(server: Server) -> None:
    while not Path(server.socket).exists():
        if server.process.poll() is not None:
            raise RuntimeError("the server ended; its log says why")
        time.sleep(0.05)
    server.run("SELECT 1")
