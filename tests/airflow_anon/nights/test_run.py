"""The shipped jobs in a real Airflow: what arrives, who hears of it, what is left, and that no identifier gets out."""

from __future__ import annotations

import json
import stat
import subprocess
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from airflow.models.asset import AssetEvent, AssetModel
from airflow.utils.session import create_session
from sqlalchemy import create_engine, select, text

from airflow_anon.demo.warehouse import direct_identifiers
from airflow_anon.jobs import release_asset
from engine import check_manifest, load_job
from tests.airflow_anon.nights.night import JOBS, found, prepared, release_of, states
from tests.engine.cli.command_line import program
from tests.places import FILES
from tests.profiles import thorough

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

STEMS = ["demographics_with_diagnosis", "hospital_stays"]
RELEASE_FILES = {*FILES, "validation.json"}


def rows_of(url, statement):
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(statement))]
    finally:
        engine.dispose()


@pytest.mark.parametrize("stem", STEMS)
def test_release_arrives_in_both_shares(world, stem):
    """The folder and the table hold the same records, as many as the view, in classes counted here once more."""
    path = JOBS / f"{stem}.yaml"
    job = load_job(path)
    run = world.run(path)
    assert run.state == "success"
    assert set(states(run).values()) == {"success"}
    release = release_of(world, path)
    assert {file.name for file in release.iterdir()} == RELEASE_FILES
    check_manifest(release)
    table = pq.ParquetFile(release / "data.parquet").read()
    assert table.column_names == list(job.released)
    assert table.num_rows == rows_of(world.warehouse, f"SELECT count(*) FROM deid_{view_of(stem)}")[0][0]
    records = list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    columns = ", ".join(table.column_names)
    assert Counter(rows_of(world.research, f"SELECT {columns} FROM {job.output.table}")) == Counter(records)
    classes = Counter(zip(*(table[name].to_pylist() for name in job.quasi_identifiers), strict=True))
    suppressed = classes.pop(("*",) * len(job.quasi_identifiers), 0)
    assert min(classes.values()) >= job.minimum_class_size
    assert suppressed <= job.suppression_limit * table.num_rows
    verified = program("verify", release, path)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "holds  documents: they are those of the file" in verified.stdout.splitlines()


def view_of(stem):
    return {"demographics_with_diagnosis": "demographics", "hospital_stays": "hospital_stays"}[stem]


def test_figures_travel_and_staging_goes(world):
    path = JOBS / "demographics_with_diagnosis.yaml"
    run = world.run(path)
    published = run.get_task_instance("publish").xcom_pull("publish")
    report = json.loads((release_of(world, path) / "report.json").read_text())
    assert published["rows"] == report["rows"]
    assert published["levels"] == report["solution"]["levels"]
    assert published["suppressed_share"] == report["solution"]["suppressed"] / report["rows"]
    assert Path(published["path"]) == release_of(world, path)
    asset = release_asset(load_job(path))
    with create_session() as session:
        query = select(AssetEvent.extra).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        extras = list(
            session.scalars(query.where(AssetModel.name == asset.name, AssetEvent.source_run_id == run.run_id))
        )
    assert extras == [published]
    assert list(world.staging.iterdir()) == []
    assert stat.S_IMODE(world.staging.stat().st_mode) == 0o700


def test_staging_is_private_while_it_is_there(world):
    """Seen by a task between the others: every folder 0700, no identifying column in the staged table."""
    seen = {}

    def alter(dag):
        from airflow.sdk import task  # noqa: PLC0415 (needs the environment)

        @task
        def look(path):
            folder = Path(path).parent
            levels = [folder, *folder.parents][:4]
            seen["modes"] = [stat.S_IMODE(level.stat().st_mode) for level in levels]
            seen["base"] = levels[-1]
            seen["columns"] = pq.read_schema(path).names

        with dag:
            dag.get_task("extract") >> look(dag.get_task("extract").output["path"]) >> dag.get_task("deidentify")

    assert world.run(JOBS / "hospital_stays.yaml", alter=alter).state == "success"
    assert seen["modes"] == [0o700] * 4
    assert seen["base"] == world.staging
    assert "mrn" not in seen["columns"]
    assert "diagnosis" in seen["columns"]


@pytest.mark.thorough
def test_a_second_night_switches_to_a_new_release(world):
    path = JOBS / "hospital_stays.yaml"
    world.run(path)
    first = release_of(world, path)
    world.run(path)
    second = release_of(world, path)
    assert first != second
    assert {first, second} == {folder for folder in first.parent.iterdir() if not folder.is_symlink()}


def test_missing_values_are_values_of_their_own(world):
    """The demo lacks some races. With the highest level and suppression ruled out, all stay missing in the release."""

    def kept_apart(attributes):
        attributes["race"]["maximum_level"] = 1
        return attributes

    path = world.job("demographics_with_diagnosis", attributes=kept_apart, suppression_limit=0)
    missing = rows_of(world.warehouse, "SELECT count(*) FROM deid_demographics WHERE race IS NULL")[0][0]
    assert world.run(path).state == "success"
    job = load_job(path)
    table = pq.ParquetFile(release_of(world, path) / "data.parquet").read()
    classes = Counter(zip(*(table[name].to_pylist() for name in job.quasi_identifiers), strict=True))
    position = job.quasi_identifiers.index("race")
    without_race = [size for values, size in classes.items() if values[position] is None]
    assert min(without_race) >= job.minimum_class_size
    assert sum(without_race) == missing


def test_a_retry_completes_the_run(world, monkeypatch):
    """The first try of the engine dies of a full disk; the second starts clean and is published."""
    import engine  # noqa: PLC0415 (its lazily bound name is replaced)

    run, tries = engine.run, []

    def once_full(job, output, **others):
        tries.append(job.name)
        if len(tries) == 1:
            (Path(output).parent / ".release.0.new").mkdir()
            raise OSError(28, "No space left on device")
        return run(job, output=output, **others)

    monkeypatch.setattr(engine, "run", once_full, raising=False)
    path = world.job("hospital_stays", dag={"retries": 1, "retry_delay_seconds": 0})
    assert world.run(path).state == "success"
    assert len(tries) == 2
    check_manifest(release_of(world, path))
    assert list(world.staging.iterdir()) == []


def test_no_direct_identifier_gets_out(world, airflow_home, tmp_path, capfd):
    """All bytes of Airflow's home (database with XComs, logs), both shares and the output, for 20,000 identifiers."""
    for stem in STEMS:
        assert world.run(JOBS / f"{stem}.yaml").state == "success"
    needles = {identifier.encode() for identifier in direct_identifiers(world.warehouse)}
    assert len(needles) > 5_000
    assert found(needles, iter([b"..." + next(iter(needles)) + b"..."]))
    streams = capfd.readouterr()
    files = copied(tmp_path / "copies", airflow_home, world.share, world.folder / "research.db")
    assert {path.name for path in files} >= {"airflow.db", "research.db", "data.parquet"}
    assert found(needles, iter([*map(content_of, files), *(stream.encode() for stream in streams)])) == set()


def copied(target, *sources):
    """Copy files and folders, and give all files.

    Another process does it: one that closes a file of SQLite which it has open elsewhere loses its locks on it, and the
    next process to leave that database takes the log of changes with it.
    """
    target.mkdir()
    subprocess.run(["cp", "-r", *map(str, sources), str(target)], check=True)
    return [path for path in target.rglob("*") if path.is_file()]


def content_of(path):
    """Give a file's bytes; of Parquet, which is compressed, its values."""
    if path.suffix != ".parquet":
        return path.read_bytes()
    return json.dumps(pq.ParquetFile(path).read().to_pydict(), default=str).encode()


@pytest.mark.postgres
def test_postgresql_as_warehouse_and_as_share(tmp_path, run_dag, monkeypatch, postgres_url, postgres_database):
    from sqlalchemy import make_url  # noqa: PLC0415 (next to its use)

    engine = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("DROP DATABASE IF EXISTS research"))
        connection.execute(text("CREATE DATABASE research"))
    engine.dispose()
    research = make_url(postgres_url).set(database="research").render_as_string(hide_password=False)
    world = prepared(tmp_path, run_dag, monkeypatch, postgres_database, research)
    for stem in STEMS if thorough() else STEMS[:1]:
        path = JOBS / f"{stem}.yaml"
        job = load_job(path)
        run = world.run(path)
        assert run.state == "success"
        assert run.get_task_instance("extract").xcom_pull("extract")["transport"] == "adbc"
        table = pq.ParquetFile(release_of(world, path) / "data.parquet").read()
        records = Counter(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
        columns = ", ".join(table.column_names)
        assert Counter(rows_of(research, f"SELECT {columns} FROM {job.output.table}")) == records
    needles = {identifier.encode() for identifier in direct_identifiers(world.warehouse)}
    shared = [content_of(path) for path in world.share.rglob("*") if path.is_file()]
    dumped = [repr(rows_of(research, f"SELECT * FROM {table}")).encode() for table in world.tables()]
    assert found(needles, iter([*shared, *dumped])) == set()
