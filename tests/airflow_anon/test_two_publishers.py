"""Runs of one job that publish at the same time, each in a process of its own, into one share and one ledger."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from airflow_anon.ledger.store import Ledger
from airflow_anon.release_id import release_id
from engine import check_manifest
from tests.airflow_anon.publishing import TABLE, Staged, run_context

ROUNDS = 3
PUBLISH = """
import sys
from pathlib import Path
from tests.airflow_anon.publishing import Staged, run_context

folder, day, output = Path(sys.argv[1]), int(sys.argv[2]), dict(pair.split("=", 1) for pair in sys.argv[3:])
staged, context = Staged.there(folder / str(day)), run_context(day)
print("ready", flush=True)
sys.stdin.readline()
staged.publish(output, context)
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def databases(request, tmp_path):
    """Give the URLs of the ledger and of the share's database, both empty."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ledger.sqlite", f"sqlite:///{tmp_path}/research.db"
        return
    server = create_engine(request.getfixturevalue("postgres_url"), isolation_level="AUTOCOMMIT")
    names = [f"two_publishers_{uuid.uuid4().hex}" for _ in range(2)]
    with server.connect() as connection:
        for name in names:
            connection.execute(text(f"CREATE DATABASE {name}"))
    yield tuple(server.url.set(database=name).render_as_string(hide_password=False) for name in names)
    with server.connect() as connection:
        for name in names:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


def connection_of(url):
    """Give the connection of a database as Airflow reads it from the environment."""
    made = make_url(url)
    if made.get_backend_name() == "sqlite":
        return url
    host = made.host or made.query["host"]
    return f'{{"conn_type": "postgres", "host": "{host}", "schema": "{made.database}", "login": "{made.username}"}}'


def publish_at_once(folder, days, output, environment):
    """Publish the staged releases of these days, all from the same moment on; give the exit statuses and errors."""
    arguments = [f"{name}={value}" for name, value in output.items()]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PUBLISH, str(folder), str(day), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            cwd=Path(__file__).parents[2],
        )
        for day in days
    ]
    for process in processes:
        while process.stdout.readline() not in ("ready\n", ""):
            pass
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    return [(process.communicate()[1], process.returncode) for process in processes]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "both"])
def test_both_releases_have_their_entry_and_the_newer_one_is_current(tmp_path, databases, kind):
    """A table holds the newer one; the older one is in its folder, and in the table's books only if it came first."""
    ledger_url, share_url = databases
    output = {"path": str(tmp_path / "share")}
    if kind == "both":
        output |= {"conn_id": "research_share", "table": "stays"}
    environment = {"AIRFLOW_ANON_LEDGER": ledger_url, "AIRFLOW_CONN_RESEARCH_SHARE": connection_of(share_url)}
    days = range(1, 2 * ROUNDS + 1)
    for day in days:
        Staged(tmp_path / str(day), TABLE.slice(day % 2))
    ledger, job_folder = Ledger(ledger_url), tmp_path / "share/stays"
    for first in days[::2]:
        results = publish_at_once(tmp_path, (first, first + 1), output, environment)
        assert [status for _, status in results] == [0, 0], results
        assert (job_folder / "current").readlink().name == release_id(run_context(first + 1))
    assert ledger.check() == []
    assert ledger.pending() == []
    entries = {entry.release_id: entry for entry in ledger.entries()}
    assert set(entries) == {release_id(run_context(day)) for day in days}
    assert {path.name for path in job_folder.iterdir()} == {*entries, "current"}
    assert all(check_manifest(job_folder / found, entry.manifest_sha256) for found, entry in entries.items())
    if kind == "both":
        tables_agree(share_url, ledger, entries)


def tables_agree(share_url, ledger, entries):
    """Assert that the table holds the newest release, and that its books and the entries name the same releases."""
    engine = create_engine(share_url)
    with engine.connect() as connection:
        booked = dict(connection.execute(text("SELECT release_id, manifest_sha256 FROM stays_release")).all())
        rows = connection.scalar(text("SELECT count(*) FROM stays"))
    engine.dispose()
    claimed = {
        found: entry.manifest_sha256
        for found, entry in entries.items()
        if ledger.document(entry.sequence)["publication"]["table"] is not None
    }
    assert booked == claimed
    assert max(booked) == max(entries)
    assert rows == TABLE.slice((2 * ROUNDS) % 2).num_rows
