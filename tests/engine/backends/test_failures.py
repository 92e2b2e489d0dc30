"""What goes wrong in counting and placing says so, tells no value of a record, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import engine.job.counting
import engine.pipeline.unverified
from engine import InvalidData, InvalidJob, load_job, run
from engine.backends.duckdb_backend import DuckDb
from engine.file_state import FileState
from engine.tables.sources.source import open_data, open_path
from tests.engine.backends.test_contract import BACKENDS, document_of

pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")

PERSON = "Jane-Roe-4711"


def job_on(path, **changes):
    """Return a job on a file with the column `q` that writes a release beside it."""
    changes = {"output": {"path": str(path.parent / "release")}, **changes}
    document = document_of(["q"], path, [PERSON, "new"], **changes)
    document["attributes"]["s"] = {"role": "insensitive"}
    return document


def table(*values):
    return pa.table({"q": list(values), "s": [f"s{value}" for value in values]})


def left(folder):
    return sorted(path.name for path in folder.iterdir())


BEFORE = ["people.parquet", "people.parquet.hierarchy.csv"]


def test_duckdb_that_is_not_installed_is_asked_for_by_the_name_of_its_extra(tmp_path, monkeypatch):
    pq.write_table(table(*"aabb"), tmp_path / "people.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InvalidJob, match=r"install the extra 'duckdb' \(pip install 'airflow-anon\[duckdb\]'\)"):
        run(job_on(tmp_path / "people.parquet", backend="duckdb"))
    assert left(tmp_path) == BEFORE
    assert run(job_on(tmp_path / "people.parquet", backend="auto")).report["backend"] == "arrow"


def test_the_backend_is_said_in_the_report_and_the_job_of_a_release(tmp_path):
    pq.write_table(table(*"aabb"), tmp_path / "people.parquet")
    for backend in BACKENDS:
        result = run(job_on(tmp_path / "people.parquet", backend=backend, memory_limit="2.5 GB"))
        assert result.report["backend"] == result.published["backend"] == backend
        written = load_job(tmp_path / "release" / "job.yaml")
        assert (written.backend, written.memory_limit, written.memory_bytes) == (backend, "2.5 GB", 2_500_000_000)


@pytest.mark.parametrize("limit", ["4", "4 GiB", "-1GB", "4gb", "GB", ""])
def test_a_memory_limit_is_a_number_and_a_unit(tmp_path, limit):
    with pytest.raises(InvalidJob, match="memory_limit"):
        load_job(job_on(tmp_path / "people.parquet", memory_limit=limit))


CHANGES = {
    "one less": table(*"aab", PERSON),
    "one more": table(*"aabbb", PERSON),
    "other class": table(*"abbb", PERSON),
    "new value": table(*"aabb", "new"),
    "new null": table(*"aab", None, PERSON),
    "empty": table().set_column(0, "q", pa.array([], pa.string())).set_column(1, "s", pa.array([], pa.string())),
}


def tells_nothing(monkeypatch):
    """Let the file system give every state of a file the same size and times."""
    monkeypatch.setattr(FileState, "of", classmethod(lambda cls, _: cls(0, 0, 0)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("suppressed", ["star", "drop"])
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_file_that_changes_after_it_was_counted_is_refused(tmp_path, monkeypatch, backend, suppressed, change):
    """Also where nothing but its records tells that it did."""
    tells_nothing(monkeypatch)
    path = tmp_path / "people.parquet"
    pq.write_table(table(*"aabb", PERSON), path)
    document = job_on(path, backend=backend, output={"path": str(tmp_path / "release"), "suppressed": suppressed})
    search = engine.pipeline.unverified._search

    def changing(*arguments):
        pq.write_table(CHANGES[change], path)
        return search(*arguments)

    monkeypatch.setattr(engine.pipeline.unverified, "_search", changing)
    with pytest.raises(InvalidData) as problem:
        run(document)
    assert PERSON not in str(problem.value)
    assert left(tmp_path) == BEFORE


def with_times_of(path, change):
    """Change a file, and set the time of its last change to what it was."""
    before = path.stat()
    change()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


OTHER_COLUMNS = {
    "written": lambda path, new: path.write_bytes(new.read_bytes()),
    "written with the size and the times that it had": lambda path, new: with_times_of(
        path, lambda: path.write_bytes(new.read_bytes())
    ),
    "replaced": lambda path, new: new.replace(path),
    "another file of the same moment by the same link": lambda path, new: (path.unlink(), path.symlink_to(new)),
    "removed": lambda path, _: path.unlink(),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("stored", ["parquet", "csv", "folder"])
@pytest.mark.parametrize("change", list(OTHER_COLUMNS))
def test_a_file_of_which_other_columns_change_is_refused(tmp_path, monkeypatch, backend, stored, change):
    """Its combinations are counted alike; a column of few values would be released with those that nobody else has."""
    path = tmp_path / "people" / ("people.csv" if stored == "csv" else "people.parquet")
    (tmp_path / "new").mkdir()
    path.parent.mkdir()
    for place, letters in ((path, "uuuuuu"), (tmp_path / "new" / path.name, "abcdef")):
        people = pa.table({"q": list("aabbcc"), "s": [f"{PERSON}-{letter}" for letter in letters]})
        if stored == "csv":
            pyarrow.csv.write_csv(people, place)
        else:
            pq.write_table(people, place, compression="none", use_dictionary=False, write_statistics=False)
    document = job_on(tmp_path / "job", backend=backend, output={"path": str(tmp_path / "release")})
    document["source"]["path"] = str(path.parent if stored == "folder" else path)
    search = engine.pipeline.unverified._search

    def changing(*arguments):
        OTHER_COLUMNS[change](path, tmp_path / "new" / path.name)
        return search(*arguments)

    monkeypatch.setattr(engine.pipeline.unverified, "_search", changing)
    with pytest.raises(
        InvalidData, match="changed while it was read; the file was written, replaced or removed"
    ) as told:
        run(document)
    assert PERSON not in str(told.value)
    assert not (tmp_path / "release").exists()


def test_files_that_are_added_to_a_folder_are_not_read(tmp_path, monkeypatch):
    folder = tmp_path / "people"
    folder.mkdir()
    pq.write_table(table(*"aabb"), folder / "1.parquet")
    document = {**job_on(tmp_path / "job", output=None), "source": {"path": str(folder)}}
    search = engine.pipeline.unverified._search

    def adding(*arguments):
        pq.write_table(table(*"aabb"), folder / "2.parquet")
        return search(*arguments)

    monkeypatch.setattr(engine.pipeline.unverified, "_search", adding)
    assert run(document).table.num_rows == 4


def test_a_file_that_changes_while_it_is_counted_is_refused(tmp_path, monkeypatch):
    tells_nothing(monkeypatch)
    path = tmp_path / "people.parquet"
    pq.write_table(table(*"aabb"), path)
    tuples = DuckDb._tuples

    def changing(self, source, columns):
        yield from tuples(self, source, columns)
        pq.write_table(table(*"aabba"), path)

    monkeypatch.setattr(DuckDb, "_tuples", changing)
    with pytest.raises(InvalidData, match="records were added or are gone"):
        run(job_on(path, backend="duckdb"))
    assert left(tmp_path) == BEFORE


@pytest.mark.parametrize("backend", BACKENDS)
def test_too_many_combinations_for_the_memory_are_refused_while_they_are_counted(tmp_path, backend):
    rows = 20_000
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"q": [f"{PERSON}-{n}" for n in range(rows)], "s": ["x"] * rows}), path)
    with pytest.raises(InvalidJob) as problem:
        run(job_on(path, backend=backend, memory_limit="401MB"))
    text = str(problem.value)
    assert "memory_limit: 401 MB are too few: so far there are 20000 distinct combinations" in text
    assert "the columns with most distinct values are 'q' (20000)" in text
    assert PERSON not in text
    assert {"count": rows} in problem.value.message.parts
    assert left(tmp_path) == BEFORE


@pytest.mark.parametrize(
    ("setting", "said"),
    [("SET max_temp_directory_size = '1MB'", "disk is full"), ("SET temp_directory = ''", "too small for this table")],
)
def test_a_full_disk_and_too_little_memory_are_told_apart(tmp_path, setting, said):
    rows = 2_000_000
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"q": [f"{PERSON}-{n}" for n in range(rows)]}), path)
    with DuckDb(memory=10**9, folder=tmp_path) as backend:
        backend._connection.execute("SET memory_limit = '60MB'")
        backend._connection.execute(setting)
        with pytest.raises(InvalidJob, match=said) as problem:
            for _ in backend.tuples(open_path(path), ["q"]):
                pass
    assert PERSON not in str(problem.value)
    assert left(tmp_path) == ["people.parquet"]


def test_a_damaged_file_is_refused_without_its_content(tmp_path, monkeypatch):
    tells_nothing(monkeypatch)
    path = tmp_path / "people.parquet"
    pq.write_table(table(*[PERSON] * 1000), path, compression="none")
    source = open_path(path)
    content = bytearray(path.read_bytes())
    content[40:200] = b"\xff" * 160
    path.write_bytes(content)
    with DuckDb(folder=tmp_path) as backend, pytest.raises(InvalidData) as problem:
        for _ in backend.tuples(source, ["q", "s"]):
            pass
    assert PERSON not in str(problem.value)


def test_an_error_in_a_stream_of_records_stays_what_it_is(tmp_path):
    broken = pa.array([b"a", b"\xff"]).view(pa.string()) if hasattr(pa.Array, "view") else None
    with (
        DuckDb(folder=tmp_path) as backend,
        pytest.raises(InvalidData, match="column 'q': holds text that is not UTF-8"),
    ):
        for _ in backend.tuples(open_data(pa.table({"q": broken})), ["q"]):
            pass


def test_what_is_spilled_is_removed_and_private(tmp_path):
    with DuckDb(folder=tmp_path):
        (spill,) = tmp_path.iterdir()
        assert spill.stat().st_mode & 0o777 == 0o700
    assert left(tmp_path) == []


MEASURED = """
import resource, sys
import engine
from engine.kernels.warm_up import Part, warm_up
sys.path.insert(0, "benchmarks")
import scale_data
from datetime import date
from pathlib import Path
from engine.codebook.annotated import Annotations
from engine.job.counting import count, open_source
from engine.pipeline.output import transformation_of, written
from engine.pipeline.unverified import _search
from engine.backends.choose import backend_for
from engine.job.problem import problem_of
from engine.search.suppressed_class import released
warm_up(Part.SEARCH)
path, folder, wish = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
job = engine.load_job(scale_data.job(path, folder, backend=wish, memory_limit="2GB"))
with backend_for(wish, job.memory_bytes, folder) as backend:
    counted = count(job, open_source(job), None, backend)
    problem = problem_of(job, counted.table)
    outcome = released(problem, _search(job, problem, None)[0], job.prefers)
    import pyarrow.parquet
    pyarrow.parquet.read_table = lambda path: None  # the steps after this one read the file as they see fit
    said = Annotations(job=job, levels=None, release_id=None, day=date(2026, 11, 23))
    made = transformation_of(job, counted, outcome, backend.placed)
    written(job, counted.records, made, folder / "data.parquet", said)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


class Ended(BaseException):
    """What the handler of a signal raises."""


def test_a_signal_while_duckdb_works_ends_the_run_as_its_handler_says():
    """DuckDB makes an error of its own of what the handler raised."""

    def end(*_):
        raise Ended

    before = signal.signal(signal.SIGALRM, end)
    try:
        with DuckDb() as backend:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Ended), backend._failures():
                backend._connection.execute("SELECT count(*) FROM range(1000000000000) WHERE range % 7 = 3")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_does_not_grow_with_the_rows(tmp_path, backend):
    """Eight times the records of the same people: what the process held at most, in MB, stays."""
    sys.path.insert(0, "benchmarks")
    import scale_data  # noqa: PLC0415

    held, batches = [], list(scale_data.batches(200_000))
    for number, repeated in enumerate((1, 8)):
        path = tmp_path / f"{number}.parquet"
        with pq.ParquetWriter(path, scale_data.SCHEMA) as file:
            for _ in range(repeated):
                for batch in batches:
                    file.write_batch(batch)
        (tmp_path / str(number)).mkdir()
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, path, tmp_path / str(number), backend],
            check=True,
            capture_output=True,
            text=True,
        )
        held.append(int(done.stdout))
    assert held[1] < held[0] + 100, held
