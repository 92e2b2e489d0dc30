"""PublishReleaseOperator: real folders, real SQLite files, a real PostgreSQL, and a failure at every step."""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import itertools
import json
import os
import re
import sqlite3
import stat
import threading
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from sqlalchemy import MetaData, Table, create_engine, inspect, make_url

from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import PublishReleaseOperator
from airflow_anon.run.release_id import release_id
from airflow_anon.share.folder_share import FolderShare
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.share.target_table import TargetTable
from airflow_anon.transport.connection import hook_of
from engine import check_manifest, load_job, write_manifest
from engine.job.hierarchies_stated import hierarchies_stated
from tests.airflow_anon.publication.publishing import ASSET, METRICS, TABLE, VALIDATION, Staged, job, run_context
from tests.profiles import only


@pytest.fixture
def staged(tmp_path):
    return Staged(tmp_path / "staging")


@pytest.fixture
def share(tmp_path):
    return tmp_path / "share"


def current_of(share):
    return str((share / "stays/current").readlink())


def entries(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_release_id_comes_from_the_run_alone():
    """Logical date in UTC and the first 8 digits of the SHA-256 of DAG_ID/RUN_ID."""
    digest = hashlib.sha256(b"nightly/scheduled__2026-03-01").hexdigest()[:8]
    assert release_id(run_context()) == f"20260301T023000Z-{digest}"
    assert release_id(run_context(logical=False)) == release_id(run_context())
    east = run_context()
    east["dag_run"].logical_date = dt.datetime(2026, 3, 1, 3, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    assert release_id(east) == release_id(run_context())
    assert release_id(run_context(run_id="other")) != release_id(run_context())


def test_release_in_a_share_folder(staged, share):
    """All files, the validation among them, a manifest that holds and says which release it is; `current` names it."""
    context = run_context()
    result = staged.publish({"path": str(share)}, context)
    identity = release_id(context)
    folder = share / "stays" / identity
    entry = open_ledger().released("stays", identity)
    told = {"ledger_sequence": entry.sequence, "ledger_sha256": entry.entry_sha256}
    assert result == {**METRICS, "release_id": identity, "path": str(folder), **told}
    assert entries(folder) == ["data.parquet", "job.yaml", "manifest.json", "report.json", "validation.json"]
    manifest = check_manifest(folder)
    assert (manifest["release_id"], manifest["name"]) == (identity, "stays")
    assert pq.read_table(folder / "data.parquet").equals(TABLE)
    assert current_of(share) == identity
    assert entries(share / "stays") == [identity, "current"]
    assert context["outlet_events"][ASSET].extra == result


@pytest.mark.parametrize(("umask", "file_mode", "folder_mode"), [(0o022, 0o644, 0o755), (0o027, 0o640, 0o750)])
def test_modes_for_the_readers(staged, share, umask, file_mode, folder_mode):
    """The publisher's own umask has no say."""
    own = os.umask(0o077)
    try:
        folder = Path(staged.publish({"path": str(share)}, umask=umask)["path"])
    finally:
        os.umask(own)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {file_mode}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent, share)} == {folder_mode}


def test_same_run_twice_changes_nothing(tmp_path, staged, share):
    """Not a byte, even if the run was cleared and made another release: the published one and its metrics count."""
    first = staged.publish({"path": str(share)})
    before = {path: (path.read_bytes(), path.stat().st_ino) for path in Path(first["path"]).iterdir()}
    again = Staged(tmp_path / "again", TABLE.slice(1))
    assert again.publish({"path": str(share)}, metrics={"rows": 2}) == first
    assert {path: (path.read_bytes(), path.stat().st_ino) for path in Path(first["path"]).iterdir()} == before


@pytest.mark.parametrize("kind", ["folder", "table"])
def test_drift_remembers_the_table_that_was_released_alone(tmp_path, staged, share, monkeypatch, kind):
    """A retry remembers it again; a run that was cleared and made another release does not."""
    remembered = []
    monkeypatch.setattr(PublishReleaseOperator, "_remember", lambda self, _: remembered.append(self.release))
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", f'{{"conn_type": "sqlite", "host": "{tmp_path}/research.db"}}')
    output = {"path": str(share)} if kind == "folder" else {"conn_id": "research_share", "table": "stays"}
    for _ in range(2):
        staged.publish(output)
    later = Staged(tmp_path / "later", validation={**VALIDATION, "validated_at": "2026-03-02T02:31:00+00:00"})
    later.publish(output)
    Staged(tmp_path / "other", TABLE.slice(1)).publish(output)
    assert remembered == [*[str(staged.release)] * 2, str(later.release)]


def test_newer_release_becomes_current_and_an_older_one_does_not(tmp_path, share):
    """A backfill of an earlier day is published without taking `current` back."""
    for day in (2, 3, 1):
        Staged(tmp_path / str(day)).publish({"path": str(share)}, run_context(day))
    assert len(entries(share / "stays")) == 4
    assert current_of(share).startswith("20260303")


def test_current_that_names_no_release_is_replaced(staged, share):
    """A link into nowhere does not hold up the next release, however new its name looks."""
    (share / "stays").mkdir(parents=True)
    (share / "stays/current").symlink_to("99990101T000000Z-00000000")
    result = staged.publish({"path": str(share)})
    assert current_of(share) == result["release_id"]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_current_that_is_no_link_is_refused_before_anything_is_published(staged, share, kind):
    current = share / "stays/current"
    current.mkdir(parents=True)
    if kind == "file":
        current.rmdir()
        current.write_text("mine")
    with pytest.raises(AirflowFailException, match=rf"/stays/current: is a {kind} instead of a link"):
        staged.publish({"path": str(share)})
    assert entries(share / "stays") == ["current"]
    with pytest.raises(AirflowFailException, match="instead of a link"):
        FolderShare(share=share, name="stays").make_current("20260301T023000Z-00000000")
    assert entries(share / "stays") == ["current"]


def test_a_file_system_without_links_is_refused_before_anything_is_published(staged, share, monkeypatch):
    """FAT, a file system of user space and a share of Windows say so in three ways; readers would have no `current`."""
    for told in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP):

        def refused(self, *_, told=told):
            raise OSError(told, os.strerror(told), str(self))

        monkeypatch.setattr(Path, "symlink_to", refused)
        with pytest.raises(AirflowFailException, match=r"/stays: its file system makes no symbolic links.*mfsymlinks"):
            staged.publish({"path": str(share)})
        assert list((share / "stays").iterdir()) == []
    monkeypatch.undo()
    (share / "stays/.current.probe.0").symlink_to("current")
    result = staged.publish({"path": str(share)})
    assert sorted(path.name for path in (share / "stays").iterdir()) == [result["release_id"], "current"]


def spoil_data(staged):
    with (staged.release / "data.parquet").open("ab") as file:
        file.write(b"x")


def spoil_data_and_manifest(staged):
    spoil_data(staged)
    write_manifest(staged.release)


def spoil_validation(staged):
    (staged.folder / "validation.json").write_text('{"success": true}')


SPOILED = {
    "data": (spoil_data, "is not the release that was made"),
    "data and manifest": (spoil_data_and_manifest, "is not the release that was made"),
    "file missing": (lambda staged: (staged.release / "report.json").unlink(), "is not the release that was made"),
    "file added": (lambda staged: (staged.release / "more").write_text(""), "is not the release that was made"),
    "folder added": (lambda staged: (staged.release / "more").mkdir(), "is not the release that was made"),
    "no manifest": (lambda staged: (staged.release / "manifest.json").unlink(), "is not the release that was made"),
    "validation missing": (lambda staged: (staged.folder / "validation.json").unlink(), "validation.json: is missing"),
    "validation replaced": (spoil_validation, "is not the one of this run"),
}


@pytest.mark.parametrize("case", SPOILED)
@pytest.mark.parametrize("published", [False, True])
def test_changed_release_is_refused(staged, share, case, published):
    """Whatever was changed between the tasks ends the task for good; the share stays as it was."""
    if published:
        staged.publish({"path": str(share)})
    before = entries(share / "stays")
    spoil, message = SPOILED[case]
    spoil(staged)
    with pytest.raises(AirflowFailException, match=message):
        staged.publish({"path": str(share)})
    assert entries(share / "stays") == before


@pytest.mark.parametrize("validation", [{"success": False}, {"success": "yes"}, {"expectations": 9}, [True]])
def test_validation_must_say_success(tmp_path, share, validation):
    staged = Staged(tmp_path / "staging", validation=validation)
    with pytest.raises(AirflowFailException, match="does not say success"):
        staged.publish({"path": str(share)})
    assert entries(share / "stays") == []


@pytest.mark.parametrize("name", ["manifest_sha256", "validation_sha256"])
@pytest.mark.parametrize("value", [None, "", "None", "0" * 63])
def test_missing_hash_is_no_permission(staged, share, name, value):
    """An XCom that did not come is not taken for an unchecked release."""
    told = "is missing, because the task before" if value is None else "must be a SHA-256"
    with pytest.raises(AirflowFailException, match=f"{name}: {told}"):
        staged.publish({"path": str(share)}, **{name: value})
    assert entries(share) == []


def test_broken_release_in_the_share(staged, share):
    """A folder that stands in the way and is no valid release is neither replaced nor made current."""
    result = staged.publish({"path": str(share)})
    (Path(result["path"]) / "data.parquet").write_bytes(b"broken")
    with pytest.raises(AirflowFailException, match="find out who changed it"):
        staged.publish({"path": str(share)})
    assert (Path(result["path"]) / "data.parquet").read_bytes() == b"broken"


def test_leftovers_of_a_killed_try_are_removed(staged, share):
    """Of this release only; another run may be writing."""
    identity = release_id(run_context())
    (share / "stays" / f".{identity}.0123.partial").mkdir(parents=True)
    (share / "stays/.20260302T023000Z-00000000.0123.partial").mkdir()
    staged.publish({"path": str(share)})
    assert entries(share / "stays") == [".20260302T023000Z-00000000.0123.partial", identity, "current"]


@pytest.mark.parametrize(("place", "left_out"), [("own.key", None), (None, "not-compared")])
def test_examples_of_levels_are_of_the_hierarchies_under_the_key_that_is_named(
    staged, share, tmp_path, monkeypatch, place, left_out
):
    """A task that is not given the key of the others cannot tell, and gives none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    Path("age.csv").write_text("20;[20, 40[;*\n50;[40, 60[;*\n")
    Path("own.key").write_text("k" * 32)
    Path("own.key").chmod(0o600)
    report = json.loads((staged.release / "report.json").read_text())
    report["hierarchies"] = hierarchies_stated(load_job(job({"path": str(share)})), b"k" * 32)
    (staged.release / "report.json").write_text(json.dumps(report))
    staged.manifest_sha256 = write_manifest(staged.release)
    done = staged.publish({"path": str(share)}, fingerprint_key=place and str(tmp_path / place))
    age = open_ledger().document(done["ledger_sequence"])["levels"]["age"]
    assert age.get("examples_left_out") == left_out
    assert (age["examples"] is None) == (left_out is not None)


def test_other_arguments(staged, share, monkeypatch):
    """Output instead of the job's; addresses that cannot be published to; metrics that came as text."""
    assert staged.publish({"path": "nowhere/"}, publish_to={"path": f"file://{share}"})["path"].startswith(str(share))
    with pytest.raises(AirflowFailException, match="mount the store"):
        staged.publish({"path": "sftp://host/share"})
    monkeypatch.setattr("airflow_anon.transport.object_store._is_there", lambda _: False)
    with pytest.raises(AirflowFailException, match="client is not installed; install airflow-anon"):
        staged.publish({"path": "s3://bucket/share"})
    with pytest.raises(AirflowFailException, match="metrics: must be a mapping"):
        staged.publish({"path": str(share)}, metrics="{'rows': 3}")
    with pytest.raises(AirflowFailException, match="has no output"):
        staged.publish(None)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request, monkeypatch, tmp_path):
    """Give an engine that stands for a reader of the SQL share, connection `research_share`."""
    if request.param == "sqlite":
        document = {"conn_type": "sqlite", "host": str(tmp_path / "share.db")}
        engine = create_engine(f"sqlite:///{tmp_path / 'share.db'}")
    else:
        address = request.getfixturevalue("postgres_database")
        url = make_url(address)
        extra = {"host": url.query["host"]}
        document = {"conn_type": "postgres", "login": url.username, "schema": url.database, "extra": extra}
        engine = create_engine(address)
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", json.dumps(document))
    yield engine
    engine.dispose()


SQL = {"conn_id": "research_share", "table": "stays"}


def rows_of(engine, table="stays"):
    with engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(f"SELECT * FROM {table}")]


def tables_of(engine):
    return sorted(inspect(engine).get_table_names())


def test_table_of_a_sql_share(staged, database):
    """The table holds the release, its bookkeeping which; nothing else stays in the database or in staging."""
    result = staged.publish(SQL)
    entry = open_ledger().released("stays", release_id(run_context()))
    told = {"ledger_sequence": entry.sequence, "ledger_sha256": entry.entry_sha256}
    assert result == {**METRICS, "release_id": release_id(run_context()), "path": None, **told}
    assert entry.manifest_sha256 == staged.manifest_sha256
    assert rows_of(database) == [("[20, 40[", "I10"), ("[40, 60[", None), ("*", "E11")]
    ((identity, manifest_sha256, rows, published_at, salt, of_job),) = rows_of(database, "stays_release")
    assert (identity, manifest_sha256, rows) == (result["release_id"], staged.manifest_sha256, 3)
    assert re.fullmatch("[0-9a-f]{64}", salt)
    assert of_job == "stays"
    assert published_at is not None
    assert tables_of(database) == ["stays", "stays_release"]
    assert entries(staged.folder) == ["release", "validation.json"]


def test_next_release_replaces_the_records(tmp_path, database):
    """The same run twice changes nothing, an older one neither; a newer one replaces all records."""
    first = Staged(tmp_path / "1", TABLE)
    second = Staged(tmp_path / "2", TABLE.slice(1))
    first.publish(SQL, run_context(2))
    second.publish(SQL, run_context(2))
    assert len(rows_of(database)) == 3
    second.publish(SQL, run_context(3))
    assert rows_of(database) == [("[40, 60[", None), ("*", "E11")]
    with pytest.raises(AirflowFailException, match="holds a newer release and the job's output has no path"):
        first.publish(SQL, run_context(1))
    assert len(rows_of(database)) == 2
    assert [entry.release_id[:8] for entry in open_ledger().of_job("stays")] == ["20260303", "20260302"]
    assert open_ledger().pending() == []
    assert [row[2] for row in rows_of(database, "stays_release")] == [3, 2]


def test_release_with_other_columns(tmp_path, database):
    """The table takes the columns of the new release."""
    Staged(tmp_path / "1").publish(SQL, run_context(1))
    Staged(tmp_path / "2", pa.table({"age": ["*"], "sex": ["f"], "stay": [7]})).publish(SQL, run_context(2))
    assert rows_of(database) == [("*", "f", 7)]
    assert tables_of(database) == ["stays", "stays_release"]


def test_table_that_is_not_a_release(staged, database):
    """A table with records that no publication made is left alone, whatever the job says."""
    with database.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE stays (patient TEXT)")
        connection.exec_driver_sql("INSERT INTO stays VALUES ('Erika')")
    with pytest.raises(AirflowFailException, match="has records and is not a release"):
        staged.publish(SQL)
    assert rows_of(database) == [("Erika",)]


def test_view_is_not_replaced(staged, database):
    with database.begin() as connection:
        connection.exec_driver_sql("CREATE VIEW stays AS SELECT 1 AS one")
    with pytest.raises(AirflowFailException, match="is a view"):
        staged.publish(SQL)


TYPES = {
    "text": (pa.string(), "ä'\"%s", None),
    "whole": (pa.int32(), -7, None),
    "real": (pa.float64(), 1.5, None),
    "yes": (pa.bool_(), True, 1),
    "price": (pa.decimal128(10, 2), Decimal("1.10"), "1.10"),
    "born": (pa.date32(), dt.date(1969, 7, 20), "1969-07-20"),
    "seen": (
        pa.timestamp("us"),
        dt.datetime(2026, 3, 1, 10, 0, 0, 5),  # noqa: DTZ001 (a column without a zone)
        "2026-03-01 10:00:00.000005",
    ),
    "raw": (pa.binary(), b"\x00\xff", None),
    "kind": (pa.dictionary(pa.int32(), pa.string()), "calm", None),
}


@pytest.mark.parametrize("use_adbc", [True, False])
def test_values_keep_their_types(tmp_path, database, use_adbc):
    """What a reader gets is what the release holds; SQLite, which has fewer types, gives dates and decimals as text."""
    sqlite = database.dialect.name == "sqlite"
    columns = {name: pa.array([value, None], kind) for name, (kind, value, _) in TYPES.items()}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    share = SqlShare(hook_of("research_share"), "stays", use_adbc=use_adbc)
    assert share.publish("20260301T000000Z-00000000", "0" * 64, tmp_path / "data.parquet") == "loaded"
    expected = [stored if sqlite and stored is not None else value for _, value, stored in TYPES.values()]
    first, second = rows_of(database)
    assert [bytes(value) if isinstance(value, memoryview) else value for value in first] == expected
    assert second == (None,) * len(TYPES)


UNFIT = {
    "more than a bigint": (
        pa.array([1, 2**64 - 1], pa.uint64()),
        "int64, from -9223372036854775808 to 9223372036854775807",
    ),
    "less than a microsecond": (pa.array([1, 2], pa.timestamp("ns")), r"timestamp\[us\]"),
    "a moment too far": (pa.array([1, 2**60], pa.timestamp("ms")), r"timestamp\[us\]"),
    "a time of nanoseconds": (pa.array([1, 2], pa.time64("ns")), r"time64\[us\]"),
}


@pytest.mark.parametrize("use_adbc", [True, False])
@pytest.mark.parametrize("kind", UNFIT)
def test_a_value_that_no_table_holds_is_refused_before_anything_is_written(tmp_path, database, use_adbc, kind):
    column, text = UNFIT[kind]
    pq.write_table(pa.table({"age": ["*", "*"], "seen": column}), tmp_path / "data.parquet")
    share = SqlShare(hook_of("research_share"), "stays", use_adbc=use_adbc)
    with pytest.raises(
        AirflowFailException, match=f"^column 'seen': holds a value that does not fit {text}; cast"
    ) as told:
        share.publish("20260301T000000Z-00000000", "0" * 64, tmp_path / "data.parquet")
    assert "1844" not in str(told.value)
    assert inspect(database).get_table_names() == []


def test_folder_and_table_hold_the_same_release(tmp_path, database, share):
    """Both outputs; the bookkeeping names the manifest in the share."""
    both = {"path": str(share), **SQL}
    result = Staged(tmp_path / "staging").publish(both)
    content = (Path(result["path"]) / "manifest.json").read_bytes()
    assert rows_of(database, "stays_release")[0][1] == hashlib.sha256(content).hexdigest()
    assert len(rows_of(database)) == 3


FAILURES = {
    "while copying": ("airflow_anon.share.staged_release.shutil.copyfile", "old"),
    "while writing the manifest": ("airflow_anon.share.folder_share.write_manifest", "old"),
    "before the rename": ("airflow_anon.share.folder_share.FolderShare._settle", "old"),
    "before the table": ("airflow_anon.publication.job_table.SqlShare.publish", "written"),
    "while loading": ("airflow_anon.share.sql_share.load", "written"),
    "in the switch": ("airflow_anon.share.target_table.TargetTable.fill", "written"),
    "before current": ("airflow_anon.share.folder_share.FolderShare.make_current", "loaded"),
}


@pytest.mark.parametrize(
    ("step", "columns"),
    only(
        itertools.product(FAILURES, ["same", "other"]),
        lambda case: case[1] == ("other" if case[0] == "in the switch" else "same"),
    ),
)
def test_failure_leaves_nothing_half_done_and_the_retry_completes(
    monkeypatch, tmp_path, database, share, step, columns
):
    """After a failure at any step readers find the old release whole, or the new one; the next try finishes."""
    both = {"path": str(share), **SQL}
    Staged(tmp_path / "1").publish(both, run_context(1))
    old = rows_of(database)
    table = TABLE.slice(1) if columns == "same" else pa.table({"age": ["*"] * 2, "sex": ["f"] * 2})
    new = Staged(tmp_path / "2", table)
    target, state = FAILURES[step]

    def fail(*_arguments, **_named):
        raise RuntimeError("record-value")

    with monkeypatch.context() as patched:
        patched.setattr(target, fail)
        with pytest.raises((RuntimeError, AirflowException)):
            new.publish(both, run_context(2))
    identity = release_id(run_context(2))
    assert entries(share / "stays") == sorted(
        [release_id(run_context(1)), "current"] + ([] if state == "old" else [identity])
    )
    assert current_of(share) == release_id(run_context(1))
    assert tables_of(database) == ["stays", "stays_release"]
    assert rows_of(database) == ([tuple(row.values()) for row in table.to_pylist()] if state == "loaded" else old)
    new.publish(both, run_context(2))
    assert current_of(share) == identity
    assert rows_of(database) == [tuple(row.values()) for row in table.to_pylist()]
    assert [row[2] for row in rows_of(database, "stays_release")] == [3, 2]
    assert tables_of(database) == ["stays", "stays_release"]


def test_failure_after_the_switch_within_the_transaction(monkeypatch, tmp_path, database):
    """Records replaced but not booked: the transaction takes them back, DDL and all."""
    for day, table in ((1, TABLE), (2, TABLE.slice(1)), (3, pa.table({"sex": ["f"]}))):
        staged = Staged(tmp_path / str(day), table)
        if day == 1:
            staged.publish(SQL, run_context(day))
            continue
        original, filled = TargetTable.fill, []

        def fill_and_fail(*arguments, original=original, filled=filled, **named):
            original(*arguments, **named)
            filled.append(True)
            raise RuntimeError("record-value")

        with monkeypatch.context() as patched:
            patched.setattr(TargetTable, "fill", fill_and_fail)
            with pytest.raises(AirflowException) as raised:
                staged.publish(SQL, run_context(day))
        assert filled == [True]
        assert "record-value" not in str(raised.value)
        assert len(rows_of(database)) == 3
        assert len(rows_of(database, "stays_release")) == 1
        assert tables_of(database) == ["stays", "stays_release"]


def test_table_left_by_a_killed_try_is_removed(staged, database):
    """The staging table's name follows from the release id, so that the next try finds it."""
    digest = hashlib.sha256(f"stays/{release_id(run_context())}".encode()).hexdigest()[:16]
    with database.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE load_{digest} (other INTEGER)")
    staged.publish(SQL)
    assert tables_of(database) == ["stays", "stays_release"]


@pytest.mark.slow
@pytest.mark.parametrize("alternating", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_readers_never_see_a_mixture(tmp_path, database, alternating):
    """While releases are switched, every read of another connection finds one whole release."""
    releases = {}
    for day in range(1, 7):
        name = "other" if alternating and day % 2 else "diagnosis"
        table = pa.table({"age": [f"release {day}"] * (1000 * day), name: ["x"] * (1000 * day)})
        releases[day] = Staged(tmp_path / str(day), table)
    releases[1].publish(SQL, run_context(1))
    seen, problems, done = Counter(), [], threading.Event()

    def read():
        while not done.is_set():
            try:
                found = Counter(row[0] for row in rows_of(database))
            except Exception as problem:  # noqa: BLE001 (reported below)
                problems.append(repr(problem))
                return
            if [count for name, count in found.items() if count != 1000 * int(name.split()[1])] or len(found) != 1:
                problems.append(dict(found))
            seen.update(found.keys())

    reader = threading.Thread(target=read)
    reader.start()
    for day in range(2, 7):
        releases[day].publish(SQL, run_context(day))
    done.set()
    reader.join()
    assert problems == []
    assert sum(seen.values()) > 1
    assert Counter(row[0] for row in rows_of(database)) == {"release 6": 6000}


@pytest.mark.postgres
@pytest.mark.parametrize("columns", ["same", "other"])
def test_postgres_privileges_survive(tmp_path, monkeypatch, postgres_database, columns):
    """Readers keep their access, whether the table stays or is replaced; also in a schema with capitals."""
    url = make_url(postgres_database)
    document = {
        "conn_type": "postgres",
        "login": url.username,
        "schema": url.database,
        "extra": {"host": url.query["host"]},
    }
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", json.dumps(document))
    engine = create_engine(postgres_database)
    output = {"conn_id": "research_share", "table": "Research.stays"}
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE SCHEMA "Research"')
        connection.exec_driver_sql('DROP ROLE IF EXISTS "Reader of stays"')
        connection.exec_driver_sql('CREATE ROLE "Reader of stays"')
    Staged(tmp_path / "1").publish(output, run_context(1))
    with engine.begin() as connection:
        connection.exec_driver_sql('GRANT SELECT ON "Research".stays TO "Reader of stays", PUBLIC')
    table = TABLE.slice(1) if columns == "same" else pa.table({"sex": ["f", "m"]})
    Staged(tmp_path / "2", table).publish(output, run_context(2))
    with engine.begin() as connection:
        granted = connection.exec_driver_sql(
            "SELECT grantee, privilege_type FROM information_schema.role_table_grants "
            "WHERE table_name = 'stays' AND grantee IN ('Reader of stays', 'PUBLIC') ORDER BY grantee"
        ).all()
        count = connection.exec_driver_sql('SELECT count(*) FROM "Research".stays').scalar()
        connection.exec_driver_sql('DROP OWNED BY "Reader of stays"')
        connection.exec_driver_sql('DROP ROLE "Reader of stays"')
    engine.dispose()
    assert [tuple(row) for row in granted] == [("PUBLIC", "SELECT"), ("Reader of stays", "SELECT")]
    assert count == 2


def test_table_that_readers_hold_is_not_half_switched(staged, tmp_path, monkeypatch):
    """A SQLite share that another process keeps locked gives a clear error and keeps the old release."""
    path = tmp_path / "share.db"
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", json.dumps({"conn_type": "sqlite", "host": str(path)}))
    monkeypatch.setattr("airflow_anon.transport.connection.WAIT_FOR_LOCK_MILLISECONDS", 1)
    staged.publish(SQL, run_context(1))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(AirflowException, match="database is locked"):
        Staged(tmp_path / "2", TABLE.slice(1)).publish(SQL, run_context(2))
    holder.execute("ROLLBACK")
    assert holder.execute("SELECT count(*) FROM stays").fetchone() == (3,)
    holder.close()


def test_share_folder_survives_two_publishers(tmp_path, share):
    """Of two tries of one run at the same time one writes; the other fails or finds the release; nothing is mixed."""
    folder = FolderShare(share=share, name="stays")

    def fill_while_another_finishes(partial):
        (partial / "data.parquet").write_bytes(b"slow")
        other = FolderShare(share=share, name="stays")
        other.add("id", lambda inner: (inner / "data.parquet").write_bytes(b"fast") and {})
        return {}

    with pytest.raises(AirflowException, match="another process took over"):
        folder.add("id", fill_while_another_finishes)
    assert (folder.release("id") / "data.parquet").read_bytes() == b"fast"
    check_manifest(folder.release("id"))
    assert entries(share / "stays") == ["id"]


PERCENT = {"age %": ["[20, 40[", "*"], "50%s": [1, None], "%(age)s": ["I10", "E11"], 'a "b" %%': [0.5, 1.5]}


@pytest.mark.parametrize("use_adbc", [True, False])
def test_names_with_percent_signs(tmp_path, database, use_adbc):
    """In columns, and in the table, whose privileges are read too; loaded, filled again and replaced."""
    columns = pa.table(PERCENT)
    others = columns.rename_columns([*list(PERCENT)[:-1], "other %"])
    reader = inspect(database)
    for place, table in enumerate([columns, columns.slice(1), others]):
        data = tmp_path / f"{place}.parquet"
        pq.write_table(table, data)
        sql = SqlShare(hook_of("research_share"), "st%ays", use_adbc=use_adbc)
        assert sql.publish(f"release-{place}", "0" * 64, data) == "loaded"
        assert sql.newest() == f"release-{place}"
        reader.clear_cache()
        assert sorted(reader.get_table_names()) == ["st%ays", "st%ays_release"]
        found = Table("st%ays", MetaData(), autoload_with=database)
        assert [column.name for column in found.columns] == table.column_names
        with database.connect() as connection:
            assert [tuple(row) for row in connection.execute(found.select())] == [
                tuple(row.values()) for row in table.to_pylist()
            ]
