"""What a file of SQLite tells in its statistics of a release that was recalled."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.share.test_sql_obstacles import data

ROWS = [("m", "area no. 17"), ("w", "area no. 23")]


def test_statistics_tell_nothing_of_a_recalled_release(tmp_path, monkeypatch):
    """A program with STAT4, which not every build has, has analysed the file: samples of indexed columns are in it."""
    file = tmp_path / "share.db"
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", f"sqlite:///{file}")
    share = SqlShare(hook_of("share"), "people")
    assert share.publish("r1", "1" * 64, data(tmp_path, ROWS)) == "loaded"
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("CREATE INDEX by_area ON people (area)")
        reader.execute("CREATE TABLE others (x)")
        reader.execute("INSERT INTO others VALUES (1)")
        reader.execute("ANALYZE")
        reader.execute("PRAGMA writable_schema = ON")
        reader.execute("CREATE TABLE IF NOT EXISTS sqlite_stat4 (tbl, idx, neq, nlt, ndlt, sample)")
        reader.execute("DELETE FROM sqlite_stat4")
        of_tables = [("People", area) for _, area in ROWS] + [("others", "1")]  # its letters are as in the statement
        reader.executemany("INSERT INTO sqlite_stat4 VALUES (?, 'by_area', '1', '0', '0', CAST(? AS BLOB))", of_tables)
    assert b"area no. 17" in file.read_bytes()
    assert share.empty("r1", "1" * 64)
    with closing(sqlite3.connect(file)) as reader:
        told = [{tbl for (tbl,) in reader.execute(f"SELECT tbl FROM sqlite_stat{kind}")} for kind in (1, 4)]
    assert told == [{"others", "people_release"}, {"others"}]
    assert b"area no." not in file.read_bytes()
