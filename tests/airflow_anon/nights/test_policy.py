"""Policies in a real Airflow: a job that names one, a job whose rule chooses one, and a rule that nothing meets."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from sqlalchemy import create_engine, text

from engine import check_manifest
from tests.airflow_anon.nights.night import prepared, release_of, states

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

STEM = "demographics_with_diagnosis"
QUASI = ("age", "gender", "race")
BELOW = {
    "Asian or Pacific": {"Asian", "Native Hawaiian or Other Pacific Islander"},
    "Other": {"American Indian or Alaska Native", "Other Race"},
}
"""Races below the nodes of the job's hierarchy that have several."""
PRIVACY = [{"model": "k-anonymity", "k": 2}]
PEOPLE = 40
"""How many of the population are like one of the warehouse."""
POLICY = {
    "age": [{"from": "0", "to": "17"}, {"from": "18", "to": "64"}, {"from": "65", "to": "120"}],
    "gender": [{"value": "F"}, {"value": "M"}, {"value": "U"}],
    "race": [
        {"value": "White"},
        {"value": "Black or African American"},
        {"node": "Asian or Pacific"},
        {"node": "Other"},
        {"value": None},
    ],
}
SUPPRESSED = ("*",) * 3
RULE = {"from": "frontier", "maximum_risk": 0.0051}


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, own_warehouse):
    return prepared(tmp_path, run_dag, monkeypatch, own_warehouse, f"sqlite:///{tmp_path}/out.db")


def three_columns(attributes):
    """Make age, gender and race the quasi-identifiers, with no bound to their levels."""
    for name in ("zip", "ethnicity"):
        attributes[name] = {"role": "identifying"}
    for name in QUASI:
        attributes[name].pop("minimum_level", None)
    return attributes


def records_of(world):
    engine = create_engine(world.warehouse)
    try:
        with engine.connect() as connection:
            rows = connection.execute(text(f"SELECT {', '.join(QUASI)} FROM deid_demographics")).all()
    finally:
        engine.dispose()
    return [(str(age), gender, race) for age, gender, race in rows]


def is_in(value, group):
    if "from" in group:
        return int(group["from"]) <= int(value) <= int(group["to"])
    if "value" in group:
        return value == group["value"]
    return group["node"] == "*" or value in BELOW[group["node"]]


def cells_of(records, policy):
    """Give the groups of each record, by their places, found by looking at each group."""
    groups = {
        (name, value): next(place for place, group in enumerate(policy[name]) if is_in(value, group))
        for name, values in zip(QUASI, zip(*records, strict=True), strict=True)
        for value in set(values)
    }
    return [tuple(map(groups.__getitem__, zip(QUASI, record, strict=True))) for record in records]


def classes_of(table):
    """Count the sizes of the classes; suppressed records are `*` throughout."""
    classes = Counter(zip(*(table[name].to_pylist() for name in QUASI), strict=True))
    suppressed = classes.pop(("*",) * len(QUASI), 0)
    return sorted(classes.values()), suppressed


def released(world, path):
    folder = release_of(world, path)
    check_manifest(folder)
    read = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("report", "validation")}
    return pq.ParquetFile(folder / "data.parquet").read(), read["report"], read["validation"]


def test_a_policy_from_a_file(world):
    """The classes are those of the groups counted here; those below k are left out; the SQL share has them too."""
    path = world.job(
        STEM, attributes=three_columns, privacy=PRIVACY, search={"algorithm": "policy", "file": "policy.yaml"}
    )
    (path.parent / "policy.yaml").write_text(yaml.safe_dump({"policy": POLICY}))
    run = world.run(path)
    assert set(states(run).values()) == {"success"}
    table, report, validation = released(world, path)
    sizes = Counter(cells_of(records_of(world), POLICY)).values()
    kept, suppressed = classes_of(table)
    assert kept == sorted(size for size in sizes if size >= 2)
    assert sum(size for size in sizes if size < 2) == 1
    # one is too few for a class of suppressed records, and too few to be told
    assert suppressed == 0
    assert report["solution"]["suppressed"] is None
    assert report["suppressed_class"] == {"form": "drop", "records": None, "joined": 0, "below": 2}
    assert report["policy"] == POLICY
    assert validation["success"] is True
    assert STEM in world.tables()
    assert {"0-17", "18-64"} <= set(table["age"].to_pylist())


def with_population(world, **changes):
    """Write the job, with everybody of the warehouse forty times in its population, one row a combination."""
    path = world.job(
        STEM,
        attributes=three_columns,
        privacy=PRIVACY,
        suppression_limit=1.0,
        frontier={"population": "people.parquet", "policies": 1_500},
        search={"time_limit_seconds": 600},
        **changes,
    )
    people = Counter(records_of(world))
    columns = dict(zip(QUASI, zip(*people, strict=True), strict=True))
    persons = [PEOPLE * number for number in people.values()]
    pq.write_table(pa.table({**columns, "persons": persons}), path.parent / "people.parquet")
    return path


def test_a_policy_by_a_rule(world):
    """The risk that the report states is that of the policy, recounted from warehouse and population in fractions."""
    path = with_population(world, choose=RULE)
    run = world.run(path)
    assert set(states(run).values()) == {"success"}
    table, report, validation = released(world, path)
    records = records_of(world)
    cells = cells_of(records, report["policy"])
    sizes = Counter(cells)
    shown = [cell if sizes[cell] >= 2 else SUPPRESSED for cell in cells]
    classes = Counter(shown)
    assert classes[SUPPRESSED] >= 2
    risk = sum(Fraction(1, PEOPLE * classes[cell]) for cell in shown) / len(shown)
    choice = report["choice"]
    assert math.isclose(choice["risk"], risk, rel_tol=1e-9)
    assert risk < RULE["maximum_risk"]
    assert choice["safe_harbor"] is None
    assert choice["rule"] == RULE
    assert report["population_rows"] == PEOPLE * len(records)
    kept, suppressed = classes_of(table)
    assert kept == sorted(size for size in sizes.values() if size >= 2)
    assert suppressed == report["solution"]["suppressed"]
    assert validation["success"] is True
    judged = {result["expectation_type"]: result for result in validation["results"]}
    assert judged["expect_policy_by_rule"]["observed"] == choice["risk"]
    published = run.get_task_instance("publish").xcom_pull("publish")
    assert published["marketer_risk"] == report["risk"]["marketer"]
    assert STEM in world.tables()
    assert list(world.staging.iterdir()) == []


def test_a_rule_that_nothing_meets(world, capfd):
    """Even everybody in one group is a risk of one in the population: no release, no table, nothing staged."""
    path = with_population(world, choose={**RULE, "maximum_risk": 1e-9})
    run = world.run(path)
    log = "".join(capfd.readouterr())
    assert run.state == "failed"
    assert {task for task, state in states(run).items() if state == "failed"} == {"deidentify", "released"}
    assert states(run)["remove_staging"] == "success"
    assert re.search(r"NoSolution: choose: no policy has a risk of at most 1e-09", log)
    assert "allow a higher maximum_risk" in log
    assert world.left() == []
    assert world.tables() == []
