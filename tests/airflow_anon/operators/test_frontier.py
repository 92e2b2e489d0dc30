"""The weekly frontier, also in a real Airflow on the demo warehouse: what is written, told, and left by a failure."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.sdk.execution_time.context import OutletEventAccessors

import engine
from airflow_anon.frontier_dag import NOTHING, frontier_asset, frontier_dag
from airflow_anon.operators import RiskUtilityFrontierOperator
from airflow_anon.run.release_id import release_id
from airflow_anon.share.folder_share import FolderShare
from engine import check_manifest, load_job
from tests.airflow_anon.nights.night import prepared, states
from tests.places import ROOT

SEARCH = {"policies": 200, "k_anonymity": [5]}
ASSET = Asset("x/frontier", uri="x-frontier://x")
FIGURES = {
    "rows",
    "visited",
    "policies",
    "shortlist",
    "area",
    "seconds",
    "better_than_safe_harbor",
    "safe_harbor_risk",
    "safe_harbor_utility_loss",
    "current_risk",
    "current_utility_loss",
}
CENSUS = {"conn_id": "census", "table": "people"}
NAMES = ["Alice", "Bob", "Carol", "Dave"]


def job(share, **changes):
    """Give a small job: two quasi-identifiers, one of them ordered, and a sensitive column."""
    return {
        "name": "people",
        "attributes": {
            "name": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "order": "integer", "hierarchy": {"builder": "age"}},
            "sex": {
                "role": "quasi-identifying",
                "hierarchy": {"builder": "grouping", "groups": [{"any": ["f", "m"]}]},
            },
            "illness": {"role": "sensitive", "accept": "unique"},
        },
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "output": {"path": str(share)},
        "frontier": {"policies": 60, "k_anonymity": [2]},
        **changes,
    }


def table():
    """Give 240 records whose illness is a text that stands nowhere else."""
    rows = range(240)
    return pa.table(
        {
            "age": [str(18 + row * 7 % 60) for row in rows],
            "sex": ["fm"[row % 2] for row in rows],
            "illness": [f"illness-{row:04}-secret" for row in rows],
        }
    )


def run_context(day=1):
    moment = dt.datetime(2026, 3, day, tzinfo=dt.timezone.utc)
    run = SimpleNamespace(dag_id="weekly", run_id=f"run-{day}", logical_date=moment, run_after=moment, start_date=None)
    return {"dag_run": run, "outlet_events": OutletEventAccessors()}


@pytest.fixture
def share(tmp_path):
    return tmp_path / "share"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "staging/source.parquet"
    path.parent.mkdir()
    pq.write_table(table(), path)
    return path


def operator(document, source, **arguments):
    return RiskUtilityFrontierOperator(
        task_id="frontier", job=document, source=str(source), outlets=[ASSET], **arguments
    )


def test_the_job_of_a_frontier_says_what_was_read(share, source):
    """Of the table and of the population, without literals."""
    written = job(share, source={"conn_id": "w", "query": "SELECT * FROM t WHERE ward = '{{ params.ward }}'"})
    read = {"table": None, "query": "SELECT * FROM t WHERE ward = '...'", "query_sha256": "5" * 64}
    told = operator(written, source, extracted={"read": read}).execute(run_context())
    text = (Path(told["path"]) / "job.yaml").read_text()
    assert f"# source.query was rendered to, with '...' for its literals: {read['query']}" in text
    assert read["query_sha256"] in text


def entries(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) if folder.exists() else []


def test_the_folder_of_a_frontier(share, source):
    """Everything is there, under a manifest, and XCom and event carry its plain figures."""
    context = run_context()
    told = operator(job(share), source).execute(context)
    folder = share / "people/frontier" / release_id(context)
    assert told["path"] == str(folder)
    assert set(told) == {*FIGURES, "path", "frontier_id"}
    assert all(value is None or isinstance(value, int | float | str) for value in told.values())
    assert context["outlet_events"][ASSET].extra == told
    assert (folder.parent / "current").readlink().name == told["frontier_id"] == folder.name
    manifest = check_manifest(folder)
    report = json.loads((folder / "frontier.json").read_text())
    policies = {f"policy-{chosen['index'] + 1}.yaml" for chosen in report["shortlist"]}
    assert set(manifest["files"]) == {"frontier.json", "frontier.html", "frontier.svg", "job.yaml", *policies}
    assert load_job(folder / "job.yaml").sha256 == load_job(job(share)).sha256
    assert str(share.parent) not in (folder / "job.yaml").read_text()
    assert told["rows"] is report["rows"] is None
    assert told["policies"] == len(report["frontier"])
    assert told["visited"] == report["visited"] <= 60
    assert told["area"] == report["area"]
    harbor = report["safe_harbor"]
    better = [
        p for p in report["frontier"] if p["risk"] < harbor["risk"] and p["utility_loss"] < harbor["utility_loss"]
    ]
    assert told["better_than_safe_harbor"] == len(better) / len(report["frontier"])
    assert ET.fromstring((folder / "frontier.svg").read_text()).tag.endswith("svg")  # noqa: S314 (our own file)
    for chosen in report["shortlist"]:
        written = yaml.safe_load((folder / f"policy-{chosen['index'] + 1}.yaml").read_text())
        assert written == {"name": "people", "policy": chosen["policy"]}
        assert chosen["policy"] == engine.frontier_policies(report)[chosen["index"]]


def test_no_value_of_a_sensitive_column_gets_out(share, source):
    operator(job(share), source).execute(run_context())
    for path in (path for path in share.rglob("*") if path.is_file()):
        assert b"-secret" not in path.read_bytes()


def test_a_policy_of_the_short_list_can_be_executed(share, source):
    """The file beside the chart is what `search: {algorithm: policy}` takes."""
    folder = Path(operator(job(share), source).execute(run_context())["path"])
    path = next(folder.glob("policy-*.yaml"))
    document = job(share, search={"algorithm": "policy", "file": str(path)}, suppression_limit=1.0)
    released = engine.run({**document, "output": None}, table=pq.read_table(source)).table
    ages = yaml.safe_load(path.read_text())["policy"]["age"]
    assert len(set(released["age"].to_pylist()) - {"*"}) <= len(ages)


def test_the_same_run_twice_changes_nothing(share, source, monkeypatch):
    """A run that was cleared finds its frontier and does not search again."""
    first = operator(job(share), source).execute(run_context())
    before = {path: path.stat().st_mtime_ns for path in Path(first["path"]).iterdir()}

    def searched(*_, **__):
        raise AssertionError

    monkeypatch.setattr("engine.frontiers.run.frontier", searched)
    context = run_context()
    assert operator(job(share), source).execute(context) == first
    assert context["outlet_events"][ASSET].extra == first
    assert {path: path.stat().st_mtime_ns for path in Path(first["path"]).iterdir()} == before


def test_a_search_that_is_killed_ends_and_leaves_nothing(share, source, monkeypatch):
    """Airflow's handler of SIGTERM calls `on_kill` and goes on: a pod would work on for its period of grace."""
    killed = operator(job(share), source)
    write = engine.Frontier.write_policies

    def half_written(found, folder):
        write(found, folder)
        killed.on_kill()

    monkeypatch.setattr(engine.Frontier, "write_policies", half_written)
    with pytest.raises(SystemExit):
        killed.execute(run_context())
    assert [path for path in share.rglob("*") if path.is_file() or path.is_symlink()] == []
    killed.on_kill()


def test_an_older_run_does_not_become_current(share, source):
    newer = operator(job(share), source).execute(run_context(day=8))
    older = operator(job(share), source).execute(run_context(day=1))
    assert Path(older["path"]).is_dir()
    assert (share / "people/frontier/current").readlink().name == newer["frontier_id"]


def test_readers_of_releases_pass_and_do_not_see_policies(share, source):
    """The frontier's folder is the group's; the one of the releases around it is open, whatever the umask is."""
    own = os.umask(0o077)
    try:
        folder = Path(operator(job(share), source).execute(run_context())["path"])
    finally:
        os.umask(own)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (share, share / "people", folder.parent, folder)}
    assert list(modes.values()) == [0o755, 0o755, 0o750, 0o750]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o640}


def test_the_folder_is_beside_the_releases(share, source):
    """Neither takes the other for its own: releases have ids, and a frontier is no release."""
    operator(job(share), source).execute(run_context())
    releases = FolderShare(share=share, name="people")
    assert releases.current() is None
    with pytest.raises(AirflowFailException, match="not a release"):
        releases.published("frontier")


def broken_html(report):
    raise OSError("disk full")


@pytest.mark.parametrize("part", ["frontier_html", "frontier_picture"])
def test_a_failure_leaves_nothing_half_done(share, source, monkeypatch, part):
    monkeypatch.setattr(engine, part, broken_html, raising=False)
    with pytest.raises(AirflowException, match="ended unexpectedly with OSError"):
        operator(job(share), source).execute(run_context())
    assert entries(share) == ["people", "people/frontier"]
    monkeypatch.undo()
    assert Path(operator(job(share), source).execute(run_context())["path"]).is_dir()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frontier": None}, "has no frontier section; add one"),
        ({"output": None}, "has no folder for the frontier; give its output a path"),
        ({"output": {"path": "s3://bucket/share"}}, "must be a folder of a file system"),
    ],
)
def test_what_a_retry_cannot_mend(share, source, changes, message):
    with pytest.raises(AirflowFailException, match=message):
        operator(job(share, **changes), source).execute(run_context())
    assert entries(share) == []


def test_a_value_without_a_hierarchy_entry_ends_the_run_and_is_not_told(share, source):
    data = table()
    pq.write_table(data.set_column(1, "sex", pa.array(["f"] * 239 + ["secret-value"])), source)
    with pytest.raises(AirflowFailException) as raised:
        operator(job(share), source).execute(run_context())
    assert "sex" in str(raised.value)
    assert "secret-value" not in str(raised.value)
    # one value in one record: classes have two at least
    assert str(raised.value).count("[fewer than 2]") == 2
    assert entries(share) == []


def written_job(folder, name, **changes):
    folder.mkdir(exist_ok=True)
    source = {"conn_id": "warehouse", "table": "people"}
    document = job("share", **{"name": name, "source": source, **changes})
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(document))


def test_one_group_for_each_job_that_asks(tmp_path, monkeypatch):
    """Of three jobs two have the section; their folders, ids and assets keep apart."""
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", "/srv/share")
    for name, changes in (("a.b", {}), ("c", {}), ("d", {"frontier": None})):
        written_job(tmp_path / "jobs", name, **changes)
    dag = frontier_dag(tmp_path / "jobs")
    dag.validate()
    assert (dag.dag_id, dag.schedule, dag.catchup, dag.max_active_runs) == (
        "risk_utility_frontier",
        "@weekly",
        False,
        1,
    )
    steps = {"prepare_staging", "extract", "frontier", "delivered", "remove_staging"}
    assert set(dag.task_ids) == {f"{group}.{step}" for group in ("a_b", "c") for step in steps}
    frontier = dag.get_task("a_b.frontier")
    assert frontier.folder == "/srv/share"
    assert [asset.name for asset in frontier.outlets] == ["release-a.b/frontier"]
    assert frontier.upstream_task_ids == {"a_b.extract"}
    assert frontier.downstream_task_ids == {"a_b.delivered", "a_b.remove_staging"}
    assert dag.get_task("a_b.delivered").tasks == ["a_b.prepare_staging", "a_b.extract", "a_b.frontier"]
    teardowns = {task.task_id for task in dag.tasks if task.is_teardown and task.on_failure_fail_dagrun}
    assert teardowns == {"a_b.remove_staging", "a_b.delivered", "c.remove_staging", "c.delivered"}


def test_a_time_limit_that_would_skip_the_removal_of_patient_data_is_refused(tmp_path):
    with pytest.raises(ValueError, match="dagrun_timeout"):
        frontier_dag(tmp_path, dagrun_timeout=dt.timedelta(hours=1))


def test_a_population_in_a_database_is_extracted_as_well(tmp_path):
    """Staging is removed when neither extraction writes any more, however the other one ended."""
    written_job(tmp_path / "jobs", "a", frontier={"population": CENSUS})
    dag = frontier_dag(tmp_path / "jobs")
    dag.validate()
    population = dag.get_task("a.extract_population")
    assert (population.conn_id, population.table) == ("census", "people")
    assert list(population.attributes) == ["persons", "age", "sex"]
    assert dag.get_task("a.frontier").population.operator is population
    assert dag.get_task("a.frontier").upstream_task_ids == {"a.extract", "a.extract_population"}
    assert dag.get_task("a.remove_staging").upstream_task_ids >= {"a.extract", "a.extract_population", "a.frontier"}


@pytest.mark.parametrize("shipped", [[], ["d"]])
def test_without_such_a_job_the_dag_says_so(tmp_path, shipped):
    (tmp_path / "jobs").mkdir()
    for name in shipped:
        written_job(tmp_path / "jobs", name, frontier=None)
    assert frontier_dag(tmp_path / "jobs").task_ids == [NOTHING]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"privcy": []}, "did you mean 'privacy'"),
        ({"source": {"path": "people.csv"}}, "source: a DAG extracts from a connection"),
        ({"frontier": {"policies": 0}}, "frontier.policies"),
        ({"name": "good"}, "name: 'good' is, in letters and digits, the name of an earlier job file"),
    ],
)
def test_a_broken_job_is_a_task_that_fails_and_the_others_stay(tmp_path, changes, reason):
    written_job(tmp_path / "jobs", "good")
    written_job(tmp_path / "jobs", "z", **{key: value for key, value in changes.items() if key != "name"})
    if "name" in changes:
        text = (tmp_path / "jobs/z.yaml").read_text()
        (tmp_path / "jobs/z.yaml").write_text(text.replace("name: z\n", "name: good\n"))
    dag = frontier_dag(tmp_path / "jobs")
    assert {"good.frontier", "z_yaml_is_broken"} <= set(dag.task_ids)
    broken = dag.get_task("z_yaml_is_broken")
    assert broken.reason.startswith("job file z.yaml: ")
    assert reason in broken.reason
    with pytest.raises(AirflowFailException, match="job file z"):
        broken.execute({})


@pytest.mark.thorough
def test_reading_the_dag_file_loads_only_airflow_and_the_job_reader(tmp_path):
    """With jobs that have the section: no data library, no chart, and no connection is read."""
    written_job(tmp_path / "jobs", "a")
    written_job(tmp_path / "jobs", "b", frontier={"population": CENSUS})
    dags = tmp_path / "dags"
    dags.mkdir()
    for name in ("risk_utility_frontier.py", "nightly_deidentification.py"):
        shutil.copy(ROOT / "dags" / name, dags)
    code = (
        "import sys\n"
        "from airflow.dag_processing.dagbag import DagBag\n"
        "from airflow.sdk import Connection\n"
        "from airflow.providers.standard.operators.empty import EmptyOperator\n"
        "Connection.get = classmethod(lambda *_, **__: sys.exit('a connection was read'))\n"
        "before = set(sys.modules)\n"
        f"bag = DagBag({str(dags)!r})\n"
        "assert not bag.import_errors, bag.import_errors\n"
        "assert 'a.frontier' in bag.dags['risk_utility_frontier'].task_ids\n"
        "assert 'b.extract_population' in bag.dags['risk_utility_frontier'].task_ids\n"
        "assert 'extract_population' in bag.dags['b'].task_ids\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print('LOADED', *sorted(new & {'pandas', 'pyarrow', 'numba', 'numpy', 'plotly', 'great_expectations',\n"
        "      'adbc_driver_manager', 'psycopg2', 'fsspec', 'duckdb', 'simple_icd_10_cm'}))\n"
    )
    environment = {**os.environ, "AIRFLOW_ANON_JOBS": str(tmp_path / "jobs"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().splitlines()[-1] == "LOADED"


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, own_warehouse):
    return prepared(tmp_path, run_dag, monkeypatch, own_warehouse, f"sqlite:///{tmp_path}/out.db")


def shipped_with_frontier(world, **changes):
    """Put the demographics job with a frontier section, and nothing else, into a folder of jobs."""
    path = world.job("demographics_with_diagnosis", frontier=SEARCH, **changes)
    for other in path.parent.glob("*.yaml"):
        if other != path:
            other.unlink()
    return path


@pytest.mark.airflow
@pytest.mark.slow
def test_the_weekly_run_on_the_demo_warehouse(world):
    """All tasks succeed, the event carries what XCom does, and no patient data stays in staging."""
    from airflow.models.asset import AssetEvent, AssetModel  # noqa: PLC0415 (the tables of Airflow's database)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    path = shipped_with_frontier(world)
    job = load_job(path)
    run = world.run_dag(frontier_dag(path.parent, schedule=None, default_args={"retries": 0}), logical_date=None)
    assert set(states(run).values()) == {"success"}
    told = run.get_task_instance(f"{job.name}.frontier").xcom_pull(f"{job.name}.frontier")
    folder = world.share / job.name / "frontier/current"
    assert Path(told["path"]) == folder.resolve()
    check_manifest(folder.resolve())
    report = json.loads((folder / "frontier.json").read_text())
    assert set(engine.frontier_policies(report)[0]) == set(job.quasi_identifiers)
    assert told["rows"] == report["rows"] > 0
    with create_session() as session:
        query = select(AssetEvent.extra).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        found = query.where(AssetModel.name == frontier_asset(job).name, AssetEvent.source_run_id == run.run_id)
        assert list(session.scalars(found)) == [told]
    assert list(world.staging.iterdir()) == []


@pytest.mark.airflow
@pytest.mark.slow
def test_a_failed_search_fails_the_run_and_leaves_nothing(world):
    """A column without a hierarchy entry for its values: no folder, no event, no staging."""

    def foreign(attributes):
        return {
            **attributes,
            "gender": {**attributes["gender"], "hierarchy": {"builder": "grouping", "groups": [{"any": ["x"]}]}},
        }

    path = shipped_with_frontier(world, attributes=foreign)
    run = world.run_dag(frontier_dag(path.parent, schedule=None, default_args={"retries": 0}), logical_date=None)
    assert run.state == "failed"
    assert {task: state for task, state in states(run).items() if task.endswith(("frontier", "remove_staging"))} == {
        f"{load_job(path).name}.frontier": "failed",
        f"{load_job(path).name}.remove_staging": "success",
    }
    assert world.left() == []
