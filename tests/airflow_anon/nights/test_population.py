"""A population in a database, in a real Airflow: by a rule, and for the weekly frontier, beside the same as a file."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import sqlite3
import time
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.frontier_dag import frontier_dag
from airflow_anon.jobs import deidentification_dag
from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import DeidentifyTableOperator, RiskUtilityFrontierOperator, ValidateReleaseOperator
from engine import check_manifest, frontier_policies, load_job
from tests.airflow_anon.nights.night import states
from tests.airflow_anon.operators.staged import refused

QUASI = ("age", "sex")
PERSONS = [(20 + row * 7 % 40, "fm"[row % 3 % 2]) for row in range(240)]
CENSUS = Counter({person: 3 + person[0] % 5 for person in PERSONS} | {(75, "f"): 2})
TABLE = {"conn_id": "census", "table": "people"}
SINGLE = {"conn_id": "census", "query": "SELECT age, sex, 1 AS persons FROM everybody"}
RULE = {"from": "frontier", "maximum_risk": 0.15}


class World:
    """Two databases, the job files, the share and the staging area of one test."""

    def __init__(self, folder, run_dag):
        self.folder, self.run_dag = folder, run_dag
        self.share, self.staging = folder / "share", folder / "staging"
        self.execute("warehouse", "CREATE TABLE person (name TEXT, age INTEGER, sex TEXT)")
        self.execute("warehouse", "INSERT INTO person VALUES ('Erika', ?, ?)", PERSONS)
        self.execute("census", "CREATE TABLE people (age INTEGER, sex TEXT, persons INTEGER)")
        self.execute("census", "INSERT INTO people VALUES (?, ?, ?)", [(*who, n) for who, n in CENSUS.items()])
        self.execute("census", "CREATE TABLE everybody (id INTEGER PRIMARY KEY, age INTEGER, sex TEXT)")
        self.execute("census", "INSERT INTO everybody (age, sex) VALUES (?, ?)", CENSUS.elements())

    def execute(self, database, statement, rows=((),)):
        connection = sqlite3.connect(self.folder / f"{database}.db")
        connection.executemany(statement, rows)
        connection.commit()
        connection.close()

    def job(self, population, **changes):
        """Write the only job file; give its path."""
        document = {
            "name": "patients",
            "source": {"conn_id": "warehouse", "table": "person"},
            "unit": "record",
            "attributes": {
                "name": {"role": "identifying"},
                "age": {"role": "quasi-identifying", "order": "integer", "hierarchy": {"builder": "age"}},
                "sex": {
                    "role": "quasi-identifying",
                    "hierarchy": {"builder": "grouping", "groups": [{"any": ["f", "m"]}]},
                },
            },
            "privacy": [{"model": "k-anonymity", "k": 2}],
            "suppression_limit": 0.1,
            "frontier": {"population": population, "policies": 300, "k_anonymity": [5]},
            "output": {"path": str(self.share)},
            **changes,
        }
        path = self.folder / "jobs/patients.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(document))
        return path

    def file(self):
        """Write the population as a file beside the job file; give its name."""
        (self.folder / "jobs").mkdir(exist_ok=True)
        rows = [f"{age},{sex},{number}" for (age, sex), number in CENSUS.items()]
        (self.folder / "jobs/people.csv").write_text("\n".join(["age,sex,persons", *rows]) + "\n")
        return "people.csv"

    def nightly(self, population, **changes):
        dag = deidentification_dag(self.job(population, **{"choose": RULE, **changes}), schedule=None)
        return self.run_dag(dag, logical_date=None)

    def weekly(self, population):
        dag = frontier_dag(self.job(population).parent, schedule=None, default_args={"retries": 0})
        return self.run_dag(dag, logical_date=None)

    def job_of(self, folder):
        """Give the text of the job file in a folder of the job's share."""
        return (self.share / "patients" / folder / "job.yaml").read_text()

    def left(self):
        """Name the files in the share, and whatever is staged."""
        staged = self.staging.rglob("*") if self.staging.exists() else []
        return [str(path) for path in (*(path for path in self.share.rglob("*") if path.is_file()), *staged)]


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch):
    for name in ("warehouse", "census"):
        connection = {"conn_type": "sqlite", "host": str(tmp_path / f"{name}.db")}
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(connection))
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(tmp_path / "staging"))
    monkeypatch.delenv("AIRFLOW_ANON_SHARE", raising=False)
    return World(tmp_path, run_dag)


def documents(folder):
    """Give the JSON documents of a folder whose manifest holds."""
    check_manifest(folder)
    return {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}


def figures(report):
    """Leave out of a report what differs between two runs on the same data, and the name of the population's file."""
    choice = {key: value for key, value in report.get("choice", {}).items() if key != "seconds"}
    settings = {key: value for key, value in report.get("settings", {}).items() if key != "population"}
    other = {"timings", "seconds", "search", "job_sha256"}
    return {key: value for key, value in report.items() if key not in other} | {"choice": choice, "settings": settings}


def group_of(value, groups):
    """Give the place of the group that holds a value."""
    return next(
        place
        for place, group in enumerate(groups)
        if group.get("node") == "*"
        or group.get("value") == value
        or ("from" in group and int(group["from"]) <= int(value) <= int(group["to"]))
    )


def marketer_risk(policy):
    """Work out the marketer risk of a policy from the rows of the two databases."""
    cells = {who: tuple(group_of(str(v), policy[name]) for name, v in zip(QUASI, who, strict=True)) for who in CENSUS}
    people = Counter()
    for who, number in CENSUS.items():
        people[cells[who]] += number
    return sum(Fraction(1, people[cells[who]]) for who in PERSONS) / len(PERSONS)


@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.thorough
def test_a_rule_at_night(world):
    """The population decides: figures and records are those of the file, and the risk that of the rows counted here."""
    run = world.nightly(TABLE)
    assert set(states(run).values()) == {"success"}
    assert list(world.staging.iterdir()) == []
    folder = (world.share / "patients/current").resolve()
    found = documents(folder)
    report = found["report.json"]
    assert report["population_rows"] == CENSUS.total()
    assert report["choice"]["risk"] == pytest.approx(float(marketer_risk(report["policy"])))
    assert report["choice"]["risk"] <= RULE["maximum_risk"]
    assert found["validation.json"]["success"] is True
    published = b"".join(path.read_bytes() for path in folder.iterdir())
    assert str(world.staging).encode() not in published
    written = yaml.safe_load((folder / "job.yaml").read_text())
    assert written["frontier"]["population"] == TABLE
    world.nightly(world.file())
    beside = (world.share / "patients/current").resolve()
    assert beside != folder
    assert figures(documents(beside)["report.json"]) == figures(report)
    first, second = (pq.ParquetFile(path / "data.parquet").read() for path in (folder, beside))
    assert first.equals(second)


@pytest.mark.airflow
@pytest.mark.slow
def test_what_the_query_of_a_population_was_rendered_to_is_told(world):
    """In the ledger, in the release's job file and in that of the frontier; the literals are not."""
    query = "SELECT age, sex, persons FROM people WHERE persons > {} AND sex <> 'Zq7Roe'"
    population = {"conn_id": "census", "query": query.format("{{ 0 }}")}
    world.nightly(population)
    read = open_ledger().of_job("patients")[0]
    told = open_ledger().document(read.sequence)["population"]["read"]
    assert told["query"] == "SELECT age, sex, persons FROM people WHERE persons > ... AND sex <> '...'"
    assert told["query_sha256"] == hashlib.sha256(query.format(0).encode()).hexdigest()
    world.weekly(population)
    for folder in ("current", "frontier/current"):
        comments = [line for line in world.job_of(folder).splitlines() if line.startswith("#")]
        assert f"# frontier.population.query was rendered to, with '...' for its literals: {told['query']}" in comments
        assert not any("Zq7Roe" in line for line in comments)


@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.parametrize(
    "population",
    [
        pytest.param(TABLE, id="rows of several persons", marks=pytest.mark.thorough),
        pytest.param(SINGLE, id="single persons"),
    ],
)
def test_the_frontier_of_a_week(world, population):
    run = world.weekly(population)
    assert set(states(run).values()) == {"success"}
    assert list(world.staging.iterdir()) == []
    folder = (world.share / "patients/frontier/current").resolve()
    report = documents(folder)["frontier.json"]
    finest = frontier_policies(report)[-1]
    assert report["frontier"][-1]["risk"] == pytest.approx(float(marketer_risk(finest)))
    assert str(world.staging).encode() not in b"".join(path.read_bytes() for path in folder.iterdir())
    time.sleep(1)  # ids tell the second of a run: two of the same one have no order
    world.weekly(world.file())
    beside = (world.share / "patients/frontier/current").resolve()
    assert beside != folder
    assert figures(documents(beside)["frontier.json"]) == figures(report)


@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.parametrize("run", [World.nightly, World.weekly], ids=["nightly", "weekly"])
@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        ("ALTER TABLE people DROP COLUMN persons", "the population's table people: lacks the column 'persons'"),
        pytest.param("DELETE FROM people", "the population's table people: is empty", marks=pytest.mark.thorough),
    ],
)
def test_a_population_that_cannot_be_read(world, run, harm, reason, capfd):
    """The run fails at the extraction, and neither release nor frontier nor anything staged is left."""
    world.execute("census", harm)
    done = run(world, TABLE)
    assert done.state == "failed"
    by_step = {task.rpartition(".")[2]: state for task, state in states(done).items()}
    outcome = "released" if run is World.nightly else "delivered"
    assert {step for step, state in by_step.items() if state == "failed"} == {"extract_population", outcome}
    assert by_step["remove_staging"] == "success"
    assert reason in "".join(capfd.readouterr())
    assert world.left() == []


@pytest.mark.airflow
@pytest.mark.slow
def test_persons_that_are_no_numbers(world):
    """Only counting tells; the task that counts fails, and its value is not told."""
    world.execute("census", "UPDATE people SET persons = 'lots-4711' WHERE age = 75")
    done = world.nightly(TABLE)
    assert {task for task, state in states(done).items() if state == "failed"} == {"deidentify", "released"}
    assert world.left() == []


# ---------------------------------------------------------------- the operators alone


@pytest.fixture
def staged(tmp_path, monkeypatch):
    """Stage table and population as the extractions do; give the arguments that both operators take."""
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(tmp_path))
    ages, sexes = zip(*PERSONS, strict=True)
    pq.write_table(pa.table({"age": ages, "sex": sexes}), tmp_path / "source.parquet")
    write_population(tmp_path)
    job = load_job(World(tmp_path, None).job(TABLE))
    return {
        "job": job,
        "source": str(tmp_path / "source.parquet"),
        "population": str(tmp_path / "population.parquet"),
    }


def context():
    """Give as much of a run as the release id needs."""
    moment = dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc)
    return {"dag_run": SimpleNamespace(dag_id="weekly", run_id="run", logical_date=moment, run_after=moment)}


def write_population(folder, census=CENSUS):
    ages, sexes = zip(*census, strict=True)
    numbers = list(census.values())
    pq.write_table(pa.table({"persons": numbers, "age": ages, "sex": sexes}), folder / "population.parquet")


def validate(staged, made, **changes):
    arguments = {key: made[key] for key in ("release", "manifest_sha256")}
    operator = ValidateReleaseOperator(task_id="v", source_rows=len(PERSONS), **{**staged, **arguments, **changes})
    return operator.execute({})


def test_the_staged_file_is_the_population_that_is_judged(staged, tmp_path):
    """With other people in it the journalist's risk is another: the second judge counts them by itself."""
    made = DeidentifyTableOperator(task_id="d", staging=str(tmp_path), **staged).execute({})
    assert validate(staged, made)["success"] is True
    assert validate(staged, made, population=f"file://{staged['population']}")["success"] is True
    document = (tmp_path / "validation.json").read_text()
    assert '"people": "population.parquet"' in document
    assert str(tmp_path) not in document
    write_population(tmp_path, Counter({who: 2 * number for who, number in CENSUS.items()}))
    with refused(r"not as in the release: .*risk\.journalist"):
        validate(staged, made)


def test_without_the_staged_file(staged, tmp_path):
    """No operator goes on without its population, and none takes one that its job does not name."""
    made = DeidentifyTableOperator(task_id="d", staging=str(tmp_path), **staged).execute({})
    given = {"without": {"population": None}, "gone": {"population": str(tmp_path / "gone.parquet")}}
    messages = {"without": "connection 'census', and its extracted file is not given", "gone": "population .*not there"}
    for case, change in given.items():
        arguments = {**staged, **change}
        for operator in (
            DeidentifyTableOperator(task_id="d", staging=str(tmp_path / "other"), **arguments),
            RiskUtilityFrontierOperator(task_id="f", **arguments),
        ):
            with pytest.raises(AirflowFailException, match=messages[case]):
                operator.execute(context())
        with pytest.raises(AirflowFailException, match=messages[case]):
            validate(staged, made, **change)
    document = staged["job"].document()
    without = {**document, "frontier": {**document["frontier"], "population": None}}
    (tmp_path / "job_read.json").unlink()  # else the job is refused because it was changed
    with pytest.raises(AirflowFailException, match="names no population in a connection; leave the file out"):
        validate(staged, made, job=without)
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "share").exists()
