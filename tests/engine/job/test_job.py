"""The job file: what is refused and with which words, what the document of a release is, the JSON Schema."""

from __future__ import annotations

import itertools
import json
import os
import re

import numpy as np
import pytest
import yaml

from engine import InvalidJob, job_schema, load_job
from engine.job.document import without_folders
from engine.spec.mistakes import told_form
from tests.engine.jobs import BASE, DIVERSITY, changed


def refusal(path, value):
    with pytest.raises(InvalidJob) as problem:
        load_job(changed(path, value))
    return str(problem.value)


@pytest.mark.parametrize(
    ("path", "key", "meant"),
    [
        (["nmae"], "nmae", "name"),
        (["source", "delimeter"], "source.delimeter", "delimiter"),
        (["attributes", "age", "wieght"], "attributes.age.wieght", "weight"),
        (["attributes", "zip", "hierarchy", "lenght"], "attributes.zip.hierarchy.lenght", "length"),
        (["privacy", 0, "kk"], "privacy.0.kk", "k"),
        (["utility", "agregate"], "utility.agregate", "aggregate"),
        (["search", "algoritm"], "search.algoritm", "algorithm"),
        (["output", "supressed"], "output.supressed", "suppressed"),
        (["dag", "schedul"], "dag.schedul", "schedule"),
    ],
)
def test_a_misspelt_key_is_named_with_its_path_and_the_key_that_was_meant(path, key, meant):
    assert f"{key}: unknown key {path[-1]!r}, did you mean {meant!r}?" in refusal(path, 1)


@pytest.mark.parametrize("schedule", ["nightly", "daily", "@dayly", "2 * * *", "15 2 * * * * *", "15 2 * * $", ""])
def test_a_schedule_that_is_none_is_refused_with_the_presets(schedule):
    assert f"dag.schedule: is {schedule!r}; use a cron expression of five fields" in refusal(
        ["dag", "schedule"], schedule
    )


@pytest.mark.parametrize("schedule", ["15 2 * * *", "*/5 0-6 * JAN,MAR MON#1", "0 0 15 2 * *", "@daily", "@continuous"])
def test_a_schedule_of_airflow_is_taken(schedule):
    assert load_job(changed(["dag", "schedule"], schedule)).dag.schedule == schedule


@pytest.mark.parametrize(
    ("field", "what", "least", "most"),
    [
        (0, "minute", 0, 59),
        (1, "hour", 0, 23),
        (2, "day of the month", 1, 31),
        (3, "month", 1, 12),
        (4, "day of the week", 0, 7),
        (5, "second", 0, 59),
    ],
)
@pytest.mark.parametrize("form", ["{}", "1,{}", "1-{}/2", "{},*/99"])
def test_a_number_of_a_schedule_is_in_its_range(field, what, least, most, form):
    """As croniter, which reads schedules in Airflow, has it for numbers alone."""
    croniter = pytest.importorskip("croniter").croniter
    for number in (*range(least - 1, least + 1), *range(most, most + 3)):
        if number < 0:
            continue
        fields = ["1"] * (6 if field == 5 else 5)
        fields[field] = str(number)
        taken = croniter.is_valid(" ".join(fields))
        assert taken is (least <= number <= most)
        fields[field] = form.format(number)
        schedule = " ".join(fields)
        if taken:
            assert load_job(changed(["dag", "schedule"], schedule)).dag.schedule == schedule
        else:
            told = f"dag.schedule: is {schedule!r}: its {what} is {number}, allowed are {least} to {most}"
            assert told in refusal(["dag", "schedule"], schedule)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "europe", "Europe", "../UTC", ""])
def test_a_time_zone_that_is_none_is_refused(zone):
    assert f"dag.timezone: is {zone!r}; must be a name of the IANA time zone" in refusal(["dag", "timezone"], zone)


def test_a_key_like_no_other_is_to_be_removed():
    assert refusal(["xyzzy"], 1) == "job: xyzzy: unknown key 'xyzzy', remove it"


@pytest.mark.parametrize(
    ("path", "value", "texts"),
    [
        (["privacy", 0], {"model": "k-anonimity", "k": 5}, ["privacy.0", "'k-anonimity'", "'k-anonymity'", "'l-div"]),
        (["privacy", 0], {"k": 5}, ["privacy.0: the key 'model' is required"]),
        (["privacy", 0], {"modle": "k-anonymity", "k": 5}, ["'model' is required", "did you write it 'modle'?"]),
        (["privacy", 0], {"model": "k-anonymity"}, ["privacy.0.k: this key is required"]),
        (["privacy", 0, "k"], 1, ["privacy.0.k", "at least 2"]),
        (["privacy", 0, "k"], float("nan"), ["privacy.0.k", "whole number", "and is nan"]),
        (["privacy", 0], {**DIVERSITY, "l": 1}, ["privacy.0.l", "at least 2"]),
        (["privacy", 0], {**DIVERSITY, "variant": "entropy"}, ["privacy.0", "'variant' is 'entropy'", "'distinct'"]),
        (["privacy", 0], {**DIVERSITY, "attribute": "age"}, ["privacy.0", "'age'", "role sensitive", "diagnosis"]),
        (["privacy", 0], {**DIVERSITY, "attribute": "nowhere"}, ["privacy.0", "'nowhere'", "diagnosis"]),
        (["privacy"], [BASE["privacy"][0]] * 2, ["privacy: the same model is listed twice", "remove one"]),
        (["privacy"], [], ["privacy: needs at least 1 entry"]),
        (
            ["attributes", "age", "hierarchy"],
            {"builder": "order", "values": ["a"], "fanouts": [2]},
            ["attributes.age.hierarchy.values: needs at least 2 entries"],
        ),
        (["privacy"], {"model": "k-anonymity", "k": 5}, ["privacy: must be a list"]),
        (["utility"], {"measure": "losss"}, ["utility", "'losss'", "'loss'", "'precision'"]),
        (["utility"], {"aggregate": "median"}, ["utility.aggregate", "'arithmetic-mean'", "'maximum'"]),
        (["utility"], {"generalization_suppression_factor": 1.5}, ["utility.gen", "at most 1"]),
        (["search"], {"algorithm": "fast"}, ["search", "'fast'", "allowed are 'optimal'"]),
        (["search"], {"time_limit_seconds": 0}, ["search.time_limit_seconds", "above 0"]),
        (["suppression_limit"], 1.01, ["suppression_limit", "at most 1"]),
        (["suppression_limit"], -0.01, ["suppression_limit", "at least 0"]),
        (["suppression_limit"], float("inf"), ["suppression_limit", "finite"]),
        (["suppression_limit"], True, ["suppression_limit", "number"]),
        (["attributes", "age", "weight"], float("nan"), ["attributes.age.weight", "finite"]),
        (["attributes", "age", "weight"], -1, ["attributes.age.weight", "at least 0"]),
        (["attributes", "age", "minimum_level"], True, ["attributes.age.minimum_level", "whole number"]),
        (["attributes", "age", "nulls"], "keep", ["attributes.age.nulls", "'value' or 'error'"]),
        (["attributes", "age", "role"], "quasi", ["attributes.age.role", "'quasi-identifying'", "'insensitive'"]),
        (["attributes", "age"], {"hierarchy": "a.csv"}, ["attributes.age.role: this key is required"]),
        (["attributes", "age"], None, ["attributes.age: must be a mapping"]),
        (["attributes", "age"], {"role": "quasi-identifying"}, ["attributes.age", "needs a hierarchy"]),
        (["attributes", "age", "hierarchy"], {"builder": "tree"}, ["attributes.age.hierarchy", "'tree'", "'csv'"]),
        (["attributes", "age", "hierarchy"], 7, ["attributes.age.hierarchy: must be a mapping"]),
        (["attributes", "age", "hierarchy"], np.int64(7), ["attributes.age.hierarchy: must be a mapping"]),
        (["attributes", "note", "weight"], 2.0, ["attributes.note", "weight: only for quasi-identifying"]),
        (["attributes", "diagnosis", "maximum_level"], 2, ["attributes.diagnosis", "maximum_level: only for quasi"]),
        (["attributes", "person_id", "hierarchy"], "a.csv", ["attributes.person_id", "hierarchy: only for quasi"]),
        (["attributes", "note", "action"], "drop", ["attributes.note", "action: only for identifying"]),
        (["attributes", "PERSON_ID"], {"role": "insensitive"}, ["'PERSON_ID'", "'person_id'", "rename"]),
        (["attributes"], {}, ["attributes: needs at least 1 entry"]),
        (["attributes"], {"note": {"role": "insensitive"}}, ["attributes", "at least one column must be quasi"]),
        (["source"], {}, ["source", "either a path or a conn_id"]),
        (["source"], {"path": "a.csv", "conn_id": "w"}, ["source", "either a path or a conn_id"]),
        (["source"], {"conn_id": "w"}, ["source", "either a table or a query"]),
        (["source"], {"conn_id": "w", "table": "t", "query": "q"}, ["source", "either a table or a query"]),
        (["source"], {"path": "a.csv", "table": "t"}, ["source", "belong to a conn_id"]),
        (["source", "delimiter"], "§", ["source.delimiter", "one ASCII character"]),
        (["source", "delimiter"], '"', ["source.delimiter", "neither a quote"]),
        (["output"], {}, ["output", "name a path, or a conn_id with a table"]),
        (["output"], {"conn_id": "share"}, ["output", "conn_id and table go together"]),
        (["output"], {"path": "share", "conn_id": "c"}, ["output", "conn_id and table go together", "in a store"]),
        (["output"], {"path": "s3://a@b/c", "conn_id": "d"}, ["output", "conn_id", "take one of the two out"]),
        (["output"], {"path": "sftp://host/share"}, ["output", "path", "mount the store", "s3://, gs://"]),
        (["output"], {"path": "s3://bucket/../share"}, ["output", "path", "s3://bucket/folder"]),
        (["output"], {"path": "s3://bucket/share/"}, ["output", "path", "no slash at the end"]),
        (["output"], {"path": "s3://b/share"}, ["output", "path", "that of the bucket of two characters or more"]),
        (["output"], {"path": "s3:///share"}, ["output", "path", "s3://bucket/folder"]),
        (["output"], {"path": "s3://bucket/a?b"}, ["output", "path", "s3://bucket/folder"]),
        (["name"], "../people", ["name", "must be at most 128 letters"]),
        (["name"], "people\n", ["name", "must be at most 128 letters"]),
        (["name"], "", ["name", "must be at most 128 letters"]),
    ],
)
def test_the_text_names_the_key_and_what_is_allowed(path, value, texts):
    text = refusal(path, value)
    assert [wanted for wanted in texts if wanted not in text] == []


K_MAP = {"model": "k-map", "k": 3}
PRESENCE = {"model": "delta-presence", "delta_min": 0.1, "delta_max": 0.5, "subset": "subset.csv"}


@pytest.mark.parametrize(
    ("path", "value", "texts"),
    [
        (["privacy", 0], K_MAP, ["privacy.0", "k-map needs either population", "or subset"]),
        (
            ["privacy", 0],
            {**K_MAP, "population": "people.csv", "subset": "subset.csv"},
            ["privacy.0", "k-map needs either population"],
        ),
        (["privacy", 0], {**K_MAP, "k": 1, "subset": "s.csv"}, ["privacy.0.k", "at least 2"]),
        (["privacy", 0], {**K_MAP, "k": 2.5, "subset": "s.csv"}, ["privacy.0.k", "whole number"]),
        (["privacy", 0], {**K_MAP, "sbset": "s.csv"}, ["privacy.0.sbset: unknown key", "'subset'"]),
        (
            ["privacy", 0],
            {**PRESENCE, "delta_min": 0.6},
            ["privacy.0", "delta_min 0.6 is above delta_max 0.5", "swap them"],
        ),
        (["privacy", 0], {**PRESENCE, "delta_max": 1.5}, ["privacy.0.delta_max", "at most 1"]),
        (["privacy", 0], {**PRESENCE, "delta_min": -0.1}, ["privacy.0.delta_min", "at least 0"]),
        (
            ["privacy", 0],
            {"model": "delta-presence", "delta_min": 0.1, "delta_max": 0.5},
            ["privacy.0.subset: this key is required"],
        ),
        (["privacy", 0], {"model": "average-risk", "threshold": 0.0}, ["privacy.0.threshold", "above 0"]),
        (["privacy", 0], {"model": "average-risk", "threshold": 1.1}, ["privacy.0.threshold", "at most"]),
        (["privacy", 0], {"model": "average-risk", "threshold": float("nan")}, ["privacy.0.threshold", "finite"]),
        (["privacy", 0], {"model": "sample-uniqueness", "threshold": -0.1}, ["privacy.0.threshold", "at least"]),
        (["privacy", 0], {"model": "sample-uniqueness"}, ["privacy.0.threshold: this key is required"]),
        (
            ["privacy", 0],
            {"model": "population-uniqueness", "threshold": 0.1},
            ["privacy.0.sampling_fraction: this key is required"],
        ),
        (
            ["privacy", 0],
            {"model": "population-uniqueness", "threshold": 0.1, "sampling_fraction": 0},
            ["privacy.0.sampling_fraction", "above 0"],
        ),
        (
            ["privacy", 0],
            {"model": "population-uniqueness", "threshold": 0.1, "sampling_fraction": 0.1, "estimator": "benedetti"},
            ["privacy.0.estimator", "'dankar'", "'snb'"],
        ),
        (["attributes", "age", "unseen"], "drop", ["attributes.age.unseen", "'error', 'suppress' or 'root'"]),
        (["attributes", "age", "missing"], "?", ["attributes.age.missing: must be a list"]),
        (["attributes", "age", "missing"], [1], ["attributes.age.missing.0", "must be text"]),
        (["attributes", "diagnosis", "unseen"], "root", ["attributes.diagnosis", "unseen: only for quasi-identifying"]),
        (["attributes", "note", "missing"], [""], ["attributes.note", "missing: only for quasi-identifying"]),
        (["attributes", "person_id", "unseen"], "error", ["attributes.person_id", "unseen: only for quasi"]),
        (["risk", "threshold"], 0, ["risk.threshold", "above 0"]),
        (["risk", "sampling_fraction"], 1.5, ["risk.sampling_fraction", "at most 1"]),
        (["risk", "popluation"], "people.csv", ["risk.popluation: unknown key", "'population'"]),
        (["utility"], {"aggregate": "ranked"}, ["utility.aggregate", "'rank'"]),
    ],
)
def test_the_text_of_populations_table_wide_models_and_readings(path, value, texts):
    text = refusal(path, value)
    assert [wanted for wanted in texts if wanted not in text] == []


def with_models(*models, **changes):
    return {**BASE, "privacy": list(models), **changes}


@pytest.mark.parametrize(
    "document",
    [
        with_models(PRESENCE, {**K_MAP, "subset": "other.csv"}),
        with_models(PRESENCE, {**K_MAP, "population": "people.csv"}),
        with_models({**K_MAP, "population": "people.csv"}, {**K_MAP, "k": 4, "population": "other.csv"}),
        with_models(PRESENCE, risk={"population": "people.csv"}),
        with_models({**K_MAP, "population": "people.csv"}, risk={"population": "other.csv"}),
    ],
)
def test_a_job_has_one_population(document):
    with pytest.raises(InvalidJob, match="a job has one population") as problem:
        load_job(document)
    assert "other.csv" in str(problem.value) or "people.csv" in str(problem.value)


@pytest.mark.parametrize(
    ("document", "subset", "population"),
    [
        (BASE, None, None),
        (with_models(PRESENCE, {**K_MAP, "subset": "subset.csv"}), "subset.csv", None),
        (with_models({**K_MAP, "population": "p.csv"}, risk={"population": "p.csv"}), None, "p.csv"),
        (with_models({"model": "k-anonymity", "k": 5}, risk={"population": "p.csv"}), None, "p.csv"),
    ],
)
def test_files_of_people_are_relative_to_the_job_file_and_written_as_they_were(tmp_path, document, subset, population):
    path = written(tmp_path / "jobs", document)
    job = load_job(path)
    assert job.subset == (subset and str(path.parent / subset))
    assert job.population == (population and str(path.parent / population))
    plain = json.dumps(job.document())
    assert str(tmp_path) not in plain
    assert job.document() == load_job(written(tmp_path / "elsewhere", document)).document()
    assert all(f'"{name}"' in plain for name in (subset, population) if name)
    assert load_job(job.document()).document() == job.document()


def test_readings_and_defaults_of_risk_stand_in_the_document():
    document = load_job(changed(["attributes", "age", "missing"], ["", "?"])).document()
    assert document["attributes"]["age"]["missing"] == ["", "?"]
    assert document["attributes"]["zip"]["missing"] == []
    assert document["attributes"]["age"]["unseen"] == "error"
    assert {"missing", "unseen"}.isdisjoint(document["attributes"]["diagnosis"])
    assert document["risk"] == {"threshold": 0.09}


def test_levels_must_be_in_order():
    document = changed(["attributes", "age", "minimum_level"], 3)
    document["attributes"]["age"]["maximum_level"] = 2
    with pytest.raises(InvalidJob, match=r"attributes\.age: maximum_level 2 is below minimum_level 3"):
        load_job(document)


def test_some_quasi_identifier_must_weigh_something():
    document = changed(["attributes", "age", "weight"], 0)
    load_job(document)
    document["attributes"]["zip"]["weight"] = 0
    with pytest.raises(InvalidJob, match="needs a weight above 0"):
        load_job(document)


def test_all_problems_are_named_at_once():
    document = changed(["suppression_limit"], 7)
    document["nmae"] = document.pop("name")
    with pytest.raises(InvalidJob) as problem:
        load_job(document)
    text = str(problem.value)
    assert "suppression_limit" in text
    assert "nmae: unknown key" in text
    assert "name: this key is required" in text


def written(folder, document):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "job.yaml"
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document), encoding="utf-8")
    return path


def test_paths_are_relative_to_the_job_file(tmp_path, monkeypatch):
    path = written(tmp_path / "jobs", BASE)
    monkeypatch.chdir(tmp_path)
    job = load_job("jobs/job.yaml")
    assert job.source.path == str(path.parent / "people.csv")
    assert job.output.path == str(path.parent / "release")
    assert job.attributes["age"].hierarchy.path == str(path.parent / "age.csv")


def test_absolute_paths_and_addresses_stay(tmp_path):
    document = changed(["source", "path"], "/data/people.csv")
    document["output"]["path"] = "s3://share/releases"
    job = load_job(written(tmp_path, document))
    assert job.source.path == "/data/people.csv"
    assert job.output.path == "s3://share/releases"


@pytest.mark.parametrize(
    ("output", "path", "conn_id"),
    [
        ({"path": "s3://bucket/share", "conn_id": "store"}, "s3://store@bucket/share", None),
        ({"path": "s3://store@bucket/share"}, "s3://store@bucket/share", None),
        ({"path": "gs://bucket", "conn_id": "sql", "table": "t"}, "gs://bucket", "sql"),
    ],
)
def test_the_connection_of_a_store_is_part_of_its_address(output, path, conn_id):
    job = load_job(changed(["output"], output))
    assert (job.output.path, job.output.conn_id) == (path, conn_id)
    assert load_job(job.document()).output == job.output


def test_the_document_is_the_same_wherever_the_file_lies(tmp_path):
    here, there = load_job(written(tmp_path / "a", BASE)), load_job(written(tmp_path / "b" / "c", BASE))
    assert here.source.path != there.source.path
    assert here.document() == there.document() == load_job(BASE).document()
    assert here.sha256 == there.sha256
    assert str(tmp_path) not in json.dumps(here.document())


def test_the_hash_changes_with_any_setting():
    hashes = {
        load_job(changed(path, value)).sha256
        for path, value in [
            (["name"], "people"),
            (["name"], "others"),
            (["suppression_limit"], 0.01),
            (["attributes", "age", "weight"], 2),
            (["attributes", "age", "minimum_level"], 1),
            (["dag"], {}),
            (["dag"], {"schedule": None}),
            (["attributes", "age", "unseen"], "root"),
            (["attributes", "age", "missing"], ["?"]),
            (["risk"], {"threshold": 0.1}),
        ]
    }
    assert len(hashes) == 10


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["name"], "people"),
        (["dag"], {"schedule": None, "tags": ["a"]}),
        (["dag"], {"schedule": "@hourly", "start_date": "2026-02-03"}),
        (["utility"], {"measure": "precision", "aggregate": "sum"}),
        (["utility"], {"aggregate": "maximum"}),
        (["search"], {"time_limit_seconds": 5}),
        (["privacy"], [{"model": "k-anonymity", "k": 2}, DIVERSITY]),
        (["attributes", "age", "maximum_level"], 0),
        (["attributes", "age", "missing"], ["", "?"]),
        (["attributes", "age", "unseen"], "root"),
        (["risk"], {"threshold": 0.05, "population": "people.csv", "sampling_fraction": 0.1}),
        (["utility"], {"measure": "loss", "aggregate": "rank"}),
        (["privacy"], [PRESENCE, {**K_MAP, "subset": "subset.csv"}, {"model": "average-risk", "threshold": 0.1}]),
        (["privacy"], [{"model": "population-uniqueness", "threshold": 0.1, "sampling_fraction": 0.5}]),
    ],
)
def test_the_document_is_loadable_and_means_the_same(path, value):
    job = load_job(changed(path, value))
    # through YAML, as in a release folder
    again = load_job(yaml.safe_load(yaml.safe_dump(job.document(), sort_keys=False)))
    assert again == job
    assert again.document() == job.document()
    assert again.sha256 == job.sha256


def test_a_job_with_another_source_keeps_its_document():
    job = load_job(BASE)
    staged = job.with_source("/staging/source.parquet")
    assert staged.source.path == "/staging/source.parquet"
    assert staged.document() == job.document()


def test_a_job_is_returned_as_it_is():
    job = load_job(BASE)
    assert load_job(job) is job


BOMB = (
    "a: &a ["
    + "x, " * 9
    + "]\n"
    + "".join(f"{name}: &{name} [" + f"*{before}, " * 9 + "]\n" for before, name in itertools.pairwise("abcdefghi"))
)
"""A few hundred bytes that stand for nine to the ninth entries."""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- a\n- b\n", ["must be a mapping", "attributes"]),
        ("", ["must be a mapping"]),
        ("name: [x\n", ["line 2", "is not YAML"]),
        ("name: x\nname: y\n", ["line 2", "'name'", "twice", "remove one"]),
        ("a:\n  b:\n    k: 1\n    k: 2\n", ["line 4", "'k'", "twice"]),
        ("attributes:\n  no: {role: sensitive}\n", ["line 2", "the key 'no' is read as true or false", "quotes"]),
        ("attributes:\n  2019: {role: sensitive}\n", ["line 2", "the key '2019' is read as a number", "quotes"]),
        ("attributes:\n  ~: {role: sensitive}\n", ["line 2", "the key '~' is read as null", "quotes"]),
        ("attributes: {2026-01-01: {role: sensitive}}\n", ["line 1", "'2026-01-01' is read as a date"]),
        ("attributes:\n  - sex: {role: sensitive}\n", ["attributes: must be a mapping, and is a list; write its keys"]),
        (
            "suppression_limit: '1e-3'\n",
            ["suppression_limit: must be a number, at least 0 and at most 1; write 0.001, without"],
        ),
        ("name: 2019\n", ["name: must be text; put it in quotes"]),
        ("name: !!python/object/apply:os.getcwd []\n", ["line 1", "is not YAML"]),
        ("name: \x07\n", ["is not YAML"]),
        ("name: x\nsuppression_limit: !!int ''\n", ["line 2", "cannot be read as int", "quotes"]),
        ("dag: {start_date: !!timestamp x}\n", ["line 1", "cannot be read as timestamp"]),
        ("x: !!bool perhaps\n", ["line 1", "cannot be read as bool"]),
        ("k: " + "9" * 5000, ["line 1", "cannot be read as int"]),
        ("[" * 3000, ["line 1", "deeper than 50 levels"]),
        (BOMB, ["unfolds to more than 1000000 entries", "aliases"]),
        ("a: &a [*a]\n", ["unfolds to more than"]),
    ],
)
def test_mistakes_in_yaml(tmp_path, text, wanted):
    path = written(tmp_path, text)
    with pytest.raises(InvalidJob) as problem:
        load_job(path)
    assert [part for part in [str(path), *wanted] if part not in str(problem.value)] == []


NAMES = (
    "must be at most 128 letters from A to Z without accents, digits, points, underscores and hyphens, and begin with"
)


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        (["name"], "Stays Z\u00fcrich", f"name: {NAMES}"),
        (
            ["series"],
            {"vault": "v", "key_file": "k", "keep": 2, "begin": "a b"},
            "series.begin: must be at most 64 letters",
        ),
        (["attributes", "person_id", "family"], "/", f"attributes.person_id.family: {NAMES}"),
        (["attributes", "person_id", "key_id"], "1234", "key_id: must be the check value of a key, which has 16"),
        (["memory_limit"], "4 gigabytes", "memory_limit: must be a size such as 512MB, 4GB or 1.5TB"),
        (
            ["spark"],
            {"remote": "host:15002"},
            "spark.remote: must be the address of a Spark Connect server, such as sc://",
        ),
        (["suppression_limit"], float("nan"), "suppression_limit: must be a number, and neither infinite"),
        (["source", "delimiter"], "\\t", 'source.delimiter: must be one character; a tab is "\\t" in double quotes'),
        (["source", "delimiter"], "", "source.delimiter: must not be empty"),
        (["attributes", "age", "hierarchy"], {"path": "a.csv", "delimiter": ";;"}, "delimiter: must be one character"),
        (
            ["privacy", 0, "k"],
            5.5,
            "privacy.0.k: must be a whole number, at least 2, and is 5.5",
        ),
        (
            ["privacy", 0, "k"],
            "five",
            "privacy.0.k: must be a whole number, at least 2; write it without quotes",
        ),
        (
            ["attributes", "age", "minimum_level"],
            1.5,
            "minimum_level: must be a whole number, at least 0, and is 1.5",
        ),
        (["frontier"], {"policies": 10.5}, "frontier.policies: must be a whole number, at least 2, and is 10.5"),
    ],
)
def test_forms_are_told_in_words(path, value, wanted):
    with pytest.raises(InvalidJob) as problem:
        load_job(changed(path, value))
    assert wanted in str(problem.value)
    assert not re.search("Input should|String should|pattern", str(problem.value))


def test_every_form_of_a_text_that_people_write_is_told_in_words():
    """Those of Kubernetes are left: labels, and accounts of services."""
    patterns = set(re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', json.dumps(job_schema())))
    told = {told_form({"ctx": {"pattern": json.loads(pattern)}}) for pattern in patterns}
    assert len(patterns) > 5
    assert sum(text.startswith("must match the pattern") for text in told) <= 2


def test_of_many_mistakes_the_first_are_told_and_their_number(tmp_path):
    attributes = "".join(f"  c{number}: {{rol: sensitive}}\n" for number in range(5000))
    with pytest.raises(InvalidJob) as problem:
        load_job(written(tmp_path, f"name: x\nattributes:\n{attributes}privacy: [{{model: k-anonymity, k: 2}}]\n"))
    # each column lacks its role and has a key that is unknown
    assert "attributes.c0.rol: unknown key 'rol', did you mean 'role'?" in str(problem.value)
    assert "10000 mistakes in all" in str(problem.value)
    assert len(str(problem.value)) < 5000


def test_a_merge_key_may_be_overridden(tmp_path):
    merged = "attributes:\n  a: &a {role: quasi-identifying, hierarchy: a.csv, weight: 1}\n  b: {<<: *a, weight: 2}\n"
    job = load_job(written(tmp_path, f"name: m\nprivacy: [{{model: k-anonymity, k: 2}}]\n{merged}"))
    assert [attribute.weight for attribute in job.attributes.values()] == [1, 2]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_not_read(tmp_path, make):
    """A scheduler that waits for a pipe, or reads a device without an end, has no other job either."""
    make(tmp_path / "odd.yaml")
    with pytest.raises(InvalidJob, match=r"odd\.yaml: cannot be read \(it is not a file\)"):
        load_job(tmp_path / "odd.yaml")


def test_a_folder_is_no_job_file(tmp_path):
    with pytest.raises(InvalidJob, match=r": is a folder; name a file in it"):
        load_job(tmp_path)


def test_a_missing_file_and_one_that_is_not_text(tmp_path):
    with pytest.raises(InvalidJob, match=r"nowhere\.yaml: cannot be read"):
        load_job(tmp_path / "nowhere.yaml")
    (tmp_path / "job.yaml").write_bytes(b"name: \xff\n")
    with pytest.raises(InvalidJob, match="UTF-8"):
        load_job(tmp_path / "job.yaml")


def test_the_minimum_class_size_is_the_largest_that_a_model_implies():
    assert load_job(BASE).minimum_class_size == 5
    assert (
        load_job(changed(["privacy"], [{"model": "k-anonymity", "k": 2}, {**DIVERSITY, "l": 3}])).minimum_class_size
        == 3
    )


def test_the_text_for_readers_elsewhere_has_no_folder_of_this_machine(tmp_path):
    """Whatever key a path has; other texts that begin with a slash stay."""
    group = {"from": "/a", "to": "/b"}
    policy = {"builder": "policy", "order": "text", "groups": [group], "hierarchy": {"builder": "csv"}}
    files = ["people.csv", "ages.csv", "zips.csv", "census.csv", "policy.yaml", "report.json", "release", "rows.csv"]
    people, ages, zips, census, current, report, release, rows = (f"{tmp_path}/{name}" for name in files)
    policy["hierarchy"]["path"] = rows
    job = load_job(
        {
            "name": "people",
            "source": {"path": people},
            "attributes": {
                "path": {"role": "quasi-identifying", "hierarchy": ages, "missing": ["/", "/na"]},
                "file": {"role": "quasi-identifying", "hierarchy": {"builder": "zip", "populations": zips}},
            },
            "privacy": [{"model": "k-map", "k": 2, "population": census}],
            "risk": {"population": census},
            "frontier": {"current": current},
            "choose": {"from": report, "maximum_risk": 1.0},
            "output": {"path": f"file://{release}"},
        }
    )
    text = str(job)
    assert str(tmp_path) not in text
    assert set(files) - {"rows.csv"} <= set(re.findall(r"[\w]+\.\w+|release", text))
    assert "/na" in text
    assert str(tmp_path) in json.dumps(job.document())
    (tmp_path / "job.yaml").write_text(text)
    assert load_job(tmp_path / "job.yaml").sha256 == job.sha256
    assert without_folders({"groups": [group], "path": "a/b", "file": "s3://bucket/a"}) == {
        "groups": [group],
        "path": "a/b",
        "file": "s3://bucket/a",
    }
    assert without_folders({"hierarchy": policy})["hierarchy"] == {
        **policy,
        "hierarchy": {"builder": "csv", "path": "rows.csv"},
    }
