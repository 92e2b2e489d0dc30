"""A job as a task group and as a DAG: tasks, dependencies, settings, and where the release goes."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_anon.frontier_dag import frontier_asset, frontier_task_group
from airflow_anon.jobs import deidentification_dag, deidentification_dags, deidentification_task_group, release_asset
from airflow_anon.jobs.broken_dag import BROKEN_TAG
from engine import InvalidJob, load_job
from tests.places import ROOT

SHIPPED = sorted((ROOT / "dags/jobs").glob("*.yaml"))
JOB = {
    "name": "persons",
    "source": {"conn_id": "warehouse", "table": "clinic.person"},
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
    "output": {"path": "share"},
}


def job(**changes):
    changed = copy.deepcopy(JOB)
    changed.update(changes)
    return changed


def test_the_tasks_of_a_run_and_their_order():
    dag = deidentification_dag(JOB)
    order = ["prepare_staging", "extract", "deidentify", "validate", "publish"]
    assert set(dag.task_ids) == {*order, "record_attempt", "released", "remove_staging"}
    for task_id, following in itertools.pairwise(order):
        assert following in dag.get_task(task_id).downstream_task_ids
    assert dag.get_task("publish").downstream_task_ids == {"record_attempt", "released"}
    record = dag.get_task("record_attempt")
    assert record.downstream_task_ids == {"released", "remove_staging"}
    assert record.tasks == order
    released = dag.get_task("released")
    assert released.upstream_task_ids == {"prepare_staging", "publish", "record_attempt"}
    assert released.tasks == [*order, "record_attempt"]
    dag.validate()


def test_the_tasks_of_a_group_are_recorded_by_their_whole_ids():
    with DAG("two", schedule=None) as dag:
        deidentification_task_group(job(frontier={"population": CENSUS}), group_id="first")
    steps = ["prepare_staging", "extract", "extract_population", "deidentify", "validate", "publish"]
    assert dag.get_task("first.record_attempt").tasks == [f"first.{step}" for step in steps]


def test_a_job_with_an_approval_asks_between_the_validation_and_the_publication():
    dag = deidentification_dag(job(approval={"by": ["custodian"]}))
    dag.validate()
    ask, publish, record = (dag.get_task(name) for name in ("approve", "publish", "record_attempt"))
    assert {"validate", "deidentify"} <= ask.upstream_task_ids
    assert "approve" in publish.upstream_task_ids
    assert publish.approval.operator is ask
    assert record.approval_task == "approve"
    assert record.tasks == ["prepare_staging", "extract", "deidentify", "validate", "approve", "publish"]
    with DAG("two", schedule=None) as several:
        deidentification_task_group(job(approval={"by": ["custodian"]}), group_id="first")
    assert several.get_task("first.record_attempt").approval_task == "first.approve"
    assert "approve" not in deidentification_dag(JOB).task_ids


CENSUS = {"conn_id": "census", "query": "SELECT age, 1 AS persons FROM people"}


def test_a_population_in_a_database_is_extracted_as_well():
    """Beside the table; its path goes to those who count it, and staging is removed when neither writes any more."""
    dag = deidentification_dag(job(frontier={"population": CENSUS}))
    dag.validate()
    population = dag.get_task("extract_population")
    assert (population.conn_id, population.table, population.query) == ("census", None, CENSUS["query"])
    assert population.attributes == {"age": "quasi-identifying", "persons": "insensitive"}
    assert population.filename == "population.parquet"
    assert population.upstream_task_ids == {"prepare_staging"}
    assert population.downstream_task_ids == {"deidentify", "validate", "publish", "record_attempt", "remove_staging"}
    for name in ("deidentify", "validate"):
        assert dag.get_task(name).population.operator is population
        assert "population" in dag.get_task(name).template_fields
    assert dag.get_task("remove_staging").upstream_task_ids >= {"extract", "extract_population", "record_attempt"}


def test_a_population_file_is_not_extracted():
    dag = deidentification_dag(job(frontier={"population": "people.csv"}))
    assert "extract_population" not in dag.task_ids
    assert dag.get_task("deidentify").population is None


def test_a_column_persons_of_the_job_is_a_quasi_identifier_of_the_population():
    attributes = {**JOB["attributes"], "persons": {**JOB["attributes"]["age"]}}
    dag = deidentification_dag(job(attributes=attributes, frontier={"population": CENSUS}))
    assert dag.get_task("extract_population").attributes == dict.fromkeys(("age", "persons"), "quasi-identifying")


def test_staging_is_a_setup_with_a_teardown():
    dag = deidentification_dag(JOB)
    assert [task.task_id for task in dag.tasks if task.is_setup] == ["prepare_staging"]
    teardowns = {task.task_id: task.on_failure_fail_dagrun for task in dag.tasks if task.is_teardown}
    assert teardowns == {"remove_staging": True, "record_attempt": False, "released": True}
    assert "remove_staging" in dag.get_task("prepare_staging").downstream_task_ids


def test_a_failed_removal_and_a_failed_task_both_end_the_run_as_failed():
    """Airflow takes the state of a run from its leaves: one must follow the work, one must be the removal."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 (the tables of Airflow's database)

    class Instance:
        state = None

        def __init__(self, task_id):
            self.task_id = task_id

    dag = deidentification_dag(JOB)
    counted = DagRun._tis_for_dagrun_state(None, dag=dag, tis=[Instance(task.task_id) for task in dag.tasks])
    assert {instance.task_id for instance in counted} == {"released", "remove_staging"}


def test_the_dag_section_sets_the_dag():
    section = {
        "schedule": "15 2 * * *",
        "timezone": "Europe/Zurich",
        "start_date": "2026-03-01",
        "owner": "clinic",
        "tags": ["night", "clinic"],
        "retries": 4,
        "retry_delay_seconds": 90,
        "description": "Persons",
    }
    dag = deidentification_dag(job(dag=section))
    assert dag.dag_id == "persons"
    assert dag.description == "Persons"
    assert dag.tags == {"night", "clinic"}
    assert (dag.catchup, dag.max_active_runs) == (False, 1)
    # Midnight of 1 March in Zurich, one hour before that of UTC.
    assert dag.start_date == dt.datetime(2026, 2, 28, 23, tzinfo=dt.timezone.utc)
    assert dag.timezone.name == "Europe/Zurich"
    assert dag.schedule == "15 2 * * *"
    assert {task.owner for task in dag.tasks} == {"clinic"}
    assert {task.retries for task in dag.tasks} == {4}
    assert {task.retry_delay for task in dag.tasks} == {dt.timedelta(seconds=90)}


def test_without_a_section_the_job_runs_daily():
    assert deidentification_dag(JOB).schedule == "@daily"


def test_a_job_that_executes_a_policy_without_a_section(tmp_path, monkeypatch):
    """Its hierarchies lie beside the job file, and the DAG is made from another folder."""
    (tmp_path / "jobs").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("jobs/sex.csv").write_text("f;*\nm;*\n")
    Path("jobs/policy.yaml").write_text(yaml.safe_dump({"policy": {"sex": [{"value": "f"}, {"value": "m"}]}}))
    attributes = {"sex": {"role": "quasi-identifying", "hierarchy": "sex.csv"}}
    document = job(attributes=attributes, search={"algorithm": "policy", "file": "policy.yaml"})
    Path("jobs/persons.yaml").write_text(yaml.safe_dump(document))
    assert deidentification_dag("jobs/persons.yaml").schedule == "@daily"


def test_only_on_request():
    assert deidentification_dag(job(dag={"schedule": None})).schedule is None


def test_arguments_go_before_the_section():
    dag = deidentification_dag(job(dag={"schedule": "@daily", "description": "file"}), schedule=None)
    assert (dag.schedule, dag.description) == (None, "file")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": {"path": "person.csv"}}, "source: a DAG extracts from a connection; name a conn_id"),
        ({"source": None}, "source: a DAG extracts from a connection; name a conn_id"),
        ({"output": None}, "output: is missing; name a path, or a conn_id"),
        ({"dag": {"timezone": "Mars/Olympus"}}, "dag.timezone: is 'Mars/Olympus'; must be a name of the IANA"),
        ({"privcy": []}, "privcy: unknown key 'privcy', did you mean 'privacy'"),
    ],
)
def test_a_job_that_cannot_run_is_refused_while_the_file_is_read(changes, message):
    with pytest.raises(InvalidJob, match=message):
        deidentification_dag(job(**changes))


def test_two_jobs_in_one_dag_keep_apart():
    """Ids are prefixed, and both the staging folders and the outlets differ."""
    with DAG("two", schedule=None) as dag:
        first = deidentification_task_group(JOB, group_id="first")
        second = deidentification_task_group(job(name="others"), group_id="second")
        first >> second >> EmptyOperator(task_id="end")
    assert {"first.extract", "second.extract"} <= set(dag.task_ids)
    names = {dag.get_task(f"{group}.prepare_staging").job_name for group in ("first", "second")}
    assert names == {"persons", "others"}
    outlets = {dag.get_task(f"{group}.publish").outlets[0].name for group in ("first", "second")}
    assert outlets == {"release-persons", "release-others"}
    assert dag.get_task("second.prepare_staging").upstream_task_ids == {"first.publish"}
    assert dag.get_task("end").upstream_task_ids == {"second.publish"}
    dag.validate()


@pytest.mark.parametrize("second", [{}, {"source": {"conn_id": "warehouse", "table": "others"}}])
def test_two_groups_of_one_job_name_are_refused(second):
    """They would have one release id, one staging folder and one share folder."""
    with DAG("two", schedule=None):
        deidentification_task_group(JOB, group_id="first")
        with pytest.raises(InvalidJob, match=r"name: 'persons' is the name of the job of task first.prepare_staging"):
            deidentification_task_group(job(**second), group_id="second")
    with DAG("another", schedule=None):
        deidentification_task_group(JOB, group_id="first")


def test_a_time_limit_that_would_skip_the_removal_of_patient_data_is_refused():
    with pytest.raises(ValueError, match=r"dagrun_timeout: must not be set.*execution_timeout"):
        deidentification_dag(JOB, dagrun_timeout=dt.timedelta(hours=1))


def test_the_extraction_gets_every_role_and_no_hierarchy():
    extract = deidentification_dag(JOB).get_task("extract")
    assert (extract.conn_id, extract.table, extract.query) == ("warehouse", "clinic.person", None)
    assert extract.attributes == {"mrn": "identifying", "age": "quasi-identifying"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [("share", "/srv/research"), ("../share", "/srv/research"), ("/data/share", None), ("file:///data/share", None)],
)
def test_the_installation_places_a_relative_share(monkeypatch, path, expected):
    """An absolute path or an address in the job file says exactly where, so it stays."""
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", "/srv/research")
    output = {"path": path, "conn_id": "share", "table": "person", "suppressed": "drop"}
    publish_to = deidentification_dag(job(output=output)).get_task("publish").publish_to
    assert publish_to == (expected and {"path": expected, "conn_id": "share", "table": "person"})


@pytest.mark.parametrize("share", ["share", "./share", "file://share", "~/share"])
def test_a_relative_share_of_the_installation_is_refused(monkeypatch, share):
    """Each process would look for it in its own working folder: a release would be in one that nobody reads."""
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", share)
    with pytest.raises(InvalidJob, match=f"^AIRFLOW_ANON_SHARE: '{share}' is a relative path"):
        deidentification_dag(job(output={"path": "../share"}))
    deidentification_dag(job(output={"path": "/data/share"}))
    deidentification_dag(job(output={"conn_id": "share", "table": "person"}))


@pytest.mark.parametrize(
    ("share", "staging", "fits"),
    [
        ("x", "x", False),
        ("x/share", "x", False),
        ("x", "x/staging", False),
        ("link/share", "x", False),
        ("xy", "x", True),
        ("share", "staging", True),
    ],
)
@pytest.mark.parametrize("key", ["path", "also", "environment", "argument"])
def test_share_and_staging_are_in_neither(tmp_path, monkeypatch, key, share, staging, fits):
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to("x")
    share, staging = str(tmp_path / share), str(tmp_path / staging)
    output = {"path": share}
    if key == "also":
        output = {"path": str(tmp_path / "first"), "also": [share]}
    if key == "environment":
        output = {"path": "share"}
        monkeypatch.setenv("AIRFLOW_ANON_SHARE", share)
    told = f"output.{'also' if key == 'also' else 'path'}: .* where patient data is staged"
    with DAG("nightly", schedule=None), nullcontext() if fits else pytest.raises(InvalidJob, match=told):
        if key == "argument":
            deidentification_task_group(job(output=output), staging_base=staging)
        else:
            monkeypatch.setenv("AIRFLOW_ANON_STAGING", staging)
            deidentification_task_group(job(output=output))


def test_a_table_alone_gets_no_folder(monkeypatch):
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", "/srv/research")
    publish = deidentification_dag(job(output={"conn_id": "share", "table": "person"})).get_task("publish")
    assert publish.publish_to is None


def test_without_the_variable_the_job_file_says_where(monkeypatch, tmp_path):
    monkeypatch.delenv("AIRFLOW_ANON_SHARE", raising=False)
    assert deidentification_dag(JOB).get_task("publish").publish_to is None


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_jobs_keep_safe_harbors_ages_places_and_dates(path):
    """45 CFR 164.514(b)(2)(i): ages from 90 as one, three digits of a ZIP code, years; and no name or number."""
    shipped = load_job(path)
    assert deidentification_dag(path).dag_id == shipped.name
    quasi = {name: shipped.attributes[name] for name in shipped.quasi_identifiers}

    def lowest(name, *values):
        rows = quasi[name].hierarchy.rows(list(values))
        return {row[quasi[name].minimum_level] for row in rows if row[0] in values}

    for name in quasi.keys() & {"age"}:
        assert lowest(name, *map(str, range(90, 121))) == {"90+"}
    for name in quasi.keys() & {"year_of_birth"}:
        assert len(lowest(name, *map(str, range(1900, 1938)))) == 1, "who is 90 in 2027 is not told from older ones"
    for name in quasi.keys() & {"zip"}:
        assert lowest(name, "02139") == {"021**"}
    assert quasi.keys() & {"age", "year_of_birth"}
    for name in quasi.keys() & {"admission_date", "visit_year"}:
        assert lowest(name, "2025-03-01") == {"2025"}
    assert set(shipped.identifying) & {"mrn", "person_id"}
    assert shipped.minimum_class_size >= 5
    assert shipped.suppression_limit <= 0.05
    assert shipped.output.path is not None
    assert {source.conn_id for source in shipped.sources} == {"clinical_warehouse"}
    assert shipped.output.conn_id == "research_share"


def test_shipped_jobs_update_their_own_assets():
    assets = [release_asset(load_job(path)) for path in SHIPPED]
    assert len(assets) == 3
    assert len({asset.uri for asset in assets}) == 3


@pytest.mark.parametrize("asset_of", [release_asset, frontier_asset])
def test_the_asset_of_a_job_file_is_that_of_its_job(asset_of):
    """By the name of the file a DAG that waits for releases would wait for ever."""
    for path in SHIPPED:
        job = load_job(path)
        assert asset_of(path) == asset_of(str(path)) == asset_of(job) == asset_of(job.document())
        assert asset_of(path).name.startswith(f"release-{job.name}")


def test_the_group_of_a_frontier_takes_a_job_file():
    path = ROOT / "dags/jobs/demographics_with_diagnosis.yaml"
    with DAG("weekly", schedule=None) as dag:
        frontier_task_group(path)
    assert dag.get_task("frontier.frontier").outlets == [frontier_asset(load_job(path))]


def test_reading_dag_files_loads_only_airflow_and_the_job_reader(tmp_path):
    """Every parse happens every few seconds in the scheduler's process: no data library, no connection, no data."""
    code = (
        "import sys\n"
        "from airflow.dag_processing.dagbag import DagBag\n"
        "from airflow.sdk import Connection\n"
        "from airflow.providers.standard.operators.empty import EmptyOperator\n"
        "Connection.get = classmethod(lambda *_, **__: sys.exit('a connection was read'))\n"
        "before = set(sys.modules)\n"
        f"bag = DagBag({str(ROOT / 'dags')!r})\n"
        "assert not bag.import_errors, bag.import_errors\n"
        "assert len(bag.dags) == 4, bag.dags\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print('LOADED', *sorted(new & {'pandas', 'pyarrow', 'numba', 'numpy', 'great_expectations',\n"
        "      'adbc_driver_manager', 'psycopg2', 'fsspec', 'duckdb', 'kubernetes', 'simple_icd_10_cm'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().splitlines()[-1] == "LOADED"


def test_default_arguments_are_added_to_those_of_the_job():
    """What is not overridden stays: a callback for all tasks takes away neither owner nor retries."""
    section = {"owner": "clinic", "retries": 4, "retry_delay_seconds": 7}
    dag = deidentification_dag(job(dag=section), default_args={"execution_timeout": dt.timedelta(hours=1)})
    for task in dag.tasks:
        assert (task.owner, task.retries, task.retry_delay.total_seconds()) == ("clinic", 4, 7)
        assert task.execution_timeout == dt.timedelta(hours=1)
    dag = deidentification_dag(job(dag=section), default_args={"retries": 0})
    assert {(task.owner, task.retries) for task in dag.tasks} == {("clinic", 0)}
    assert {task.retries for task in deidentification_dag(job(), default_args=None).tasks} == {1}


def a_file(folder):
    (folder / "file").write_text("mine")


def a_current(folder):
    (folder / "share/persons/current").mkdir(parents=True)


TABLE = {"conn_id": "research", "table": "stays"}
IMPOSSIBLE = {
    "file": ({"path": "file"}, a_file, "output.path: .*/file is a file, and must be a folder"),
    "below a file": ({"path": "file/share"}, a_file, "output.path: .*/file is a file, and must be a folder"),
    "current": ({"path": "share"}, a_current, "output.path: .*/current must be a link to the newest release"),
    "no name": ({**TABLE, "table": ""}, None, "output.table '': write it as table, schema.table"),
    "half a name": ({**TABLE, "table": "a."}, None, "output.table 'a.': write it as table, schema.table"),
    "catalog": ({**TABLE, "table": "a.b.c"}, None, "output.table: is 'a.b.c'; write it as table or schema.table"),
    "too long": ({**TABLE, "table": "t" * 56}, None, "output.table: the name 't+_release' must have 1 to 63 bytes"),
    "NUL": ({**TABLE, "table": "a\0b"}, None, "output.table: the name .* none of them NUL"),
    "source": ({"conn_id": "warehouse", "table": '"clinic".person'}, None, "output.table: is the source itself"),
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_an_output_that_no_run_could_write_is_a_broken_job(tmp_path, kind):
    output, prepare, message = IMPOSSIBLE[kind]
    (tmp_path / "jobs").mkdir()
    if prepare is not None:
        prepare(tmp_path / "jobs")
    path = tmp_path / "jobs/job.yaml"
    path.write_text(yaml.safe_dump(job(output=output)))
    with pytest.raises(InvalidJob, match=f"^{message}"):
        deidentification_dag(path)
    (dag,) = deidentification_dags(tmp_path / "jobs").values()
    assert BROKEN_TAG in dag.tags


def test_a_share_in_a_store_needs_its_client(monkeypatch):
    stores = {"s3": r"airflow-anon\[s3\]", "gs": "apache-.*-google and gcsfs", "abfs": "apache-.*-azure and adlfs"}
    monkeypatch.setattr("airflow_anon.transport.object_store._is_there", lambda _: False)
    for scheme, wanted in stores.items():
        with pytest.raises(InvalidJob, match=rf"^output\.path: {scheme}://.* not installed; install {wanted}, on"):
            deidentification_dag(job(output={"path": f"{scheme}://bucket/share"}))
    monkeypatch.setattr("airflow_anon.transport.object_store._is_there", lambda _: True)
    for scheme in stores:
        deidentification_dag(job(output={"path": f"{scheme}://bucket/share", "conn_id": "store"}))
    with pytest.raises(InvalidJob, match=r"^frontier: is written into a share folder, and output\.path is in a store"):
        deidentification_dag(job(output={"path": "s3://bucket/share"}, frontier={}))


def test_columns_that_no_database_takes():
    attributes = {**JOB["attributes"], "\u00e4" * 32: {"role": "sensitive"}}
    with pytest.raises(InvalidJob, match=r"output.table: its column .* must have 1 to 63 bytes"):
        deidentification_dag(job(attributes=attributes, output=TABLE))
    deidentification_dag(job(attributes=attributes))
    deidentification_dag(job(output={**TABLE, "table": "t" * 55}))
    attributes = {**JOB["attributes"], "ctid": {"role": "sensitive"}}
    with pytest.raises(
        InvalidJob, match=r"output.table: its column 'ctid' has a name that PostgreSQL keeps for itself"
    ):
        deidentification_dag(job(attributes=attributes, output=TABLE))
    deidentification_dag(job(attributes=attributes))
