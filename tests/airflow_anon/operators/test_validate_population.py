"""Jobs with a population in a real Airflow: files beside the job file, a warehouse, and what is released of it."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_anon.jobs import deidentification_dag
from airflow_anon.operators.validate import ValidateReleaseOperator
from engine import run, write_manifest
from tests.airflow_anon.operators.sqlite_warehouse import warehouse_of
from tests.airflow_anon.operators.staged import refused

# long numbers, which no hash and no time holds by chance
PATIENTS = [
    (770000117000 + i, age, zip_) for i, (age, zip_) in enumerate([("31", "11"), ("41", "21"), ("42", "12")] * 6)
]
CONSENTED = [770000117000 + i for i in (0, 3, 1, 4, 2, 5)]
SUBSET = {"model": "delta-presence", "delta_min": 0.2, "delta_max": 0.5, "subset": "consented.csv"}


def write_job(folder, privacy, encoding="utf-8"):
    """Write a job file, its hierarchies and the files it names; give its path."""
    folder.mkdir()
    (folder / "age.csv").write_text("31;30s;*\n41;40s;*\n42;40s;*\n")
    (folder / "zip.csv").write_text("11;1;*\n12;1;*\n21;2;*\n")
    (folder / "consented.csv").write_text("\n".join(["mrn", *map(str, CONSENTED)]) + "\n", encoding=encoding)
    people = [f"{age},{zip_}" for _, age, zip_ in PATIENTS for _ in range(2)]
    (folder / "people.csv").write_text("\n".join(["age,zip", *people]) + "\n", encoding=encoding)
    quasi = {name: {"role": "quasi-identifying", "hierarchy": f"{name}.csv"} for name in ("age", "zip")}
    document = {
        "name": "consented",
        "source": {"conn_id": "warehouse", "table": "person", "encoding": encoding},
        "unit": "record",
        "attributes": {"mrn": {"role": "identifying"}, "name": {"role": "identifying"}, **quasi},
        "privacy": privacy,
        "output": {"path": str(folder.parent / "share")},
    }
    path = folder / "job.yaml"
    path.write_text(json.dumps(document))  # YAML holds JSON
    return path


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    """Make the table person and the Airflow connection to it; give what a run needs."""
    create = "CREATE TABLE person (mrn INTEGER, name TEXT, age TEXT, zip TEXT)"
    rows = [(mrn, "Erika-4711", *others) for mrn, *others in PATIENTS]
    return warehouse_of(tmp_path, monkeypatch, create, rows)


def published(dag_run, folder):
    """Give table, report, validation and everything published of the current release."""
    assert dag_run.state == "success"
    release = (folder / "share/consented/current").resolve()
    content = {path.name: path.read_bytes() for path in release.iterdir()}
    table = pq.ParquetFile(release / "data.parquet").read()
    return table, json.loads(content["report.json"]), json.loads(content["validation.json"]), b"".join(content.values())


@pytest.mark.airflow
def test_a_subset_that_is_listed_by_an_identifying_key(run_dag, warehouse):
    """The key finds the records that are released, and neither it nor any path of this machine is published."""
    models = [SUBSET, {"model": "k-map", "k": 2, "subset": "consented.csv"}]
    path = write_job(warehouse / "jobs", models, "utf-16")
    dag_run = run_dag(deidentification_dag(path, schedule=None), logical_date=None)
    table, report, validation, content = published(dag_run, warehouse)
    assert table.column_names == ["age", "zip"]
    assert table.num_rows == len(CONSENTED)
    assert (report["rows"], report["population_rows"]) == (6, 18)
    # two of six in each class of leaves
    assert [entry["observed"] for entry in report["privacy"]] == [1 / 3, 6]
    assert report["risk"]["journalist"] == 1 / 6
    assert validation["success"] is True
    models = [result["kwargs"] for result in validation["results"] if "model" in result["kwargs"]]
    assert models[0]["model"]["subset"] == "consented.csv"
    assert models[0]["population"] == {"people": "source", "subset": "consented.csv"}
    assert str(warehouse / "jobs").encode() not in content
    assert str(warehouse / "staging").encode() not in content
    assert not [mrn for mrn, *_ in PATIENTS if str(mrn).encode() in content]
    assert b"Erika" not in content
    extracted = dag_run.get_task_instance("extract").xcom_pull("extract")
    assert extracted["columns"] == ["mrn", "age", "zip"]
    assert not list((warehouse / "staging").rglob("*.parquet"))


@pytest.mark.airflow
def test_a_population_file(run_dag, warehouse):
    """Twelve people share the labels of each class of six: nothing identifying is extracted."""
    path = write_job(warehouse / "jobs", [{"model": "k-map", "k": 12, "population": "people.csv"}], "utf-16")
    dag_run = run_dag(deidentification_dag(path, schedule=None), logical_date=None)
    table, report, validation, content = published(dag_run, warehouse)
    assert (table.num_rows, report["rows"], report["population_rows"]) == (18, 18, 36)
    assert [entry["observed"] for entry in report["privacy"]] == [12]
    assert (report["risk"]["prosecutor"], report["risk"]["journalist"]) == (1 / 6, 1 / 12)
    assert validation["success"] is True
    assert str(warehouse / "jobs").encode() not in content
    assert dag_run.get_task_instance("extract").xcom_pull("extract")["columns"] == ["age", "zip"]


@pytest.mark.airflow
@pytest.mark.thorough
@pytest.mark.parametrize("by", ["subset", "population"])
def test_a_local_recoding_at_night(run_dag, warehouse, by):
    """Both judges count the people of cells of any levels: in the staged source, or in the file."""
    model = {"model": "k-map", "k": 6, by: {"subset": "consented.csv", "population": "people.csv"}[by]}
    path = write_job(warehouse / "jobs", [model, *([SUBSET] if by == "subset" else [])])
    document = {**json.loads(path.read_text()), "transformation": "local-recoding"}
    path.write_text(json.dumps(document))
    dag_run = run_dag(deidentification_dag(path, schedule=None), logical_date=None)
    table, report, validation, content = published(dag_run, warehouse)
    assert table.num_rows == (6 if by == "subset" else 18)
    assert report["solution"]["levels"] is None
    assert report["privacy"][0]["observed"] == (6 if by == "subset" else 12)
    assert report["risk"]["journalist"] == (1 / 6 if by == "subset" else 1 / 12)
    assert validation["success"] is True
    assert str(warehouse / "jobs").encode() not in content


# ---------------------------------------------------------------- the operator alone


@pytest.fixture
def staged(warehouse):
    """Stage a release of the consented patients; give the arguments of the operator."""
    path = write_job(warehouse / "jobs", [SUBSET])
    source = warehouse / "source.parquet"
    mrns, ages, zips = zip(*PATIENTS, strict=True)
    pq.write_table(pa.table({"mrn": mrns, "age": ages, "zip": zips}), source)
    from engine import load_job  # noqa: PLC0415 (the job as the tasks read it)

    result = run(load_job(path).with_source(source), output=warehouse / "release")
    return {
        "job": path,
        "release": str(warehouse / "release"),
        "manifest_sha256": result.manifest_sha256,
        "source": str(source),
        "source_rows": 18,
    }


def validate(arguments, **changes):
    return ValidateReleaseOperator(task_id="validate", **{**arguments, **changes}).execute({})


def test_the_staged_source_is_the_population(staged):
    assert validate(staged)["success"] is True
    assert validate(staged, source=f"file://{staged['source']}")["success"] is True
    with refused("the extracted source is compared with the release and is not given; give its path as source"):
        validate(staged, source=None)
    with refused("rows: 6, accounted for: 6; 19 were extracted"):
        validate(staged, source_rows=19)


def test_another_subset_or_population_is_refused(staged, warehouse):
    consented = warehouse / "jobs/consented.csv"
    listed = consented.read_text()
    consented.write_text("mrn\n770000117000\n770000117003\n770000117006\n")
    with refused("the subset lists 3 and the report counted 6"):
        validate(staged)
    consented.write_text(listed.replace("770000117000", "9999"))
    with refused("subset: rows that are no records of the source: 1"):
        validate(staged)
    consented.write_text(listed)
    table = pq.read_table(staged["source"])
    pq.write_table(pa.concat_tables([table, table.slice(0, 12)]), staged["source"])
    with refused(r"not as in the release: risk\.journalist"):
        validate(staged)


def test_a_record_of_another_class_is_refused(staged, warehouse):
    """One of the two released 31-year-olds becomes a third 42-year-old, under a manifest that fits."""
    data = warehouse / "release/data.parquet"
    rows = pq.ParquetFile(data).read().to_pylist()
    pq.write_table(pa.Table.from_pylist([{"age": "42", "zip": "12"}, *rows[1:]]), data)
    with refused(r"expect_privacy_model_to_hold: observed 0\.1"):
        validate(staged, manifest_sha256=write_manifest(warehouse / "release"))
