"""What job files share: files that they extend, and libraries of hierarchies."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from engine import InvalidJob, load_job, run

AGE = {"builder": "interval", "widths": [10, 20], "lower": 0, "upper": 120}
JOB = {
    "name": "people",
    "attributes": {"sex": {"role": "quasi-identifying", "hierarchy": {"shared": "sex"}}},
    "privacy": [{"model": "k-anonymity", "k": 5}],
}


@pytest.fixture
def write(tmp_path):
    def write(**files):
        for name, document in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        return tmp_path

    return write


def test_a_hierarchy_of_a_library_is_that_of_the_job(write):
    folder = write(job={**JOB, "hierarchies": "lib/common.yaml"}, lib__common={"sex": "sex.csv", "age": AGE})
    (folder / "lib/sex.csv").write_text("f;*\nm;*\n")
    job = load_job(folder / "job.yaml")
    written_out = {**JOB, "attributes": {"sex": {"role": "quasi-identifying", "hierarchy": "lib/sex.csv"}}}
    write(other=written_out)
    assert job.sha256 == load_job(folder / "other.yaml").sha256
    assert job == load_job(folder / "other.yaml")
    levels = run(job, pa.table({"sex": ["f"] * 5 + ["m"] * 5})).report["solution"]["levels"]
    assert levels == {"sex": 0}


def test_paths_of_a_file_that_is_extended_belong_to_its_folder(write):
    base = {
        "hierarchies": {"sex": "tables/sex.csv"},
        "privacy": [{"model": "k-map", "k": 3, "population": "people.csv"}],
        "output": {"path": "releases"},
        "source": {"path": "/data/people.csv"},
    }
    own = {key: value for key, value in JOB.items() if key != "privacy"}
    folder = write(jobs__job={**own, "extends": "../shared/base.yaml"}, shared__base=base)
    job = load_job(folder / "jobs/job.yaml")
    assert Path(job.output.path).resolve() == folder / "shared/releases"
    assert Path(job.population).resolve() == folder / "shared/people.csv"
    assert Path(job.attributes["sex"].hierarchy.path).resolve() == folder / "shared/tables/sex.csv"
    assert job.source.path == "/data/people.csv"


def test_what_the_job_says_counts(write):
    base = {
        "privacy": [{"model": "k-anonymity", "k": 11}],
        "suppression_limit": 0.1,
        "utility": {"measure": "precision"},
        "dag": {"schedule": "@daily", "owner": "a"},
        "risk": {"threshold": 0.2},
    }
    later = {"suppression_limit": 0.2, "hierarchies": {"sex": AGE}}
    job = {**JOB, "extends": ["base.yaml", "later.yaml"], "dag": {"owner": "b", "schedule": None}, "risk": None}
    found = load_job(write(job=job, base=base, later=later) / "job.yaml")
    assert found.privacy[0].k == 5
    assert found.suppression_limit == 0.2
    assert found.utility.measure == "precision"
    assert (found.dag.owner, found.dag.schedule) == ("b", None)
    assert found.risk == load_job({**JOB, "hierarchies": {"sex": AGE}}).risk


def test_a_file_that_is_extended_may_extend_another(write):
    folder = write(
        job={**JOB, "extends": "a/one.yaml"}, a__one={"extends": "b/two.yaml"}, a__b__two={"hierarchies": {"sex": AGE}}
    )
    assert load_job(folder / "job.yaml").attributes["sex"].hierarchy.builder == "interval"


@pytest.mark.parametrize(
    ("job", "others", "told"),
    [
        ({"extends": "job.yaml"}, {}, "extends itself"),
        ({"extends": "a.yaml"}, {"a": {"extends": "b.yaml"}, "b": {"extends": "a.yaml"}}, "extends itself"),
        ({"extends": "none.yaml"}, {}, r"none\.yaml: not found; the path is relative to the file that names it"),
        ({"extends": 7}, {}, "extends: must be the path of a file, or a list of paths"),
        ({"extends": ["a.yaml", None]}, {"a": {}}, "extends: must be the path of a file, or a list of paths"),
        ({"extends": "a.yaml"}, {"a": ["x"]}, "must be a mapping"),
        ({"hierarchies": ["a"]}, {}, "hierarchies: must be the path of a file, or a mapping"),
        ({"hierarchies": "none.yaml"}, {}, r"none\.yaml: not found; the path is relative to the file that names it"),
        ({"hierarchies": "a.yaml"}, {"a": ["x"]}, r"hierarchies: file .*a\.yaml: must be a mapping of names to"),
        ({"hierarchies": {"age": AGE}}, {}, r"attributes.sex.hierarchy.shared: is not in hierarchies; known are: age"),
        ({}, {}, r"attributes.sex.hierarchy.shared: is not in hierarchies; the job has none; add hierarchies with"),
        ({"hierarchies": {"sex": {"builder": "none"}}}, {}, "hierarchies.sex"),
        ({"hierarchies": {"sex": AGE, "unused": {"builder": "none"}}}, {}, "hierarchies.unused"),
        ({"hierarchies": {"sex": {"shared": "age"}, "age": AGE}}, {}, "hierarchies.sex: names another hierarchy"),
        ({"hierarchies": {"sex": {**AGE, "wrong": 1}}}, {}, "hierarchies.sex.wrong"),
        (
            {"attributes": {"sex": {"role": "quasi-identifying", "hierarchy": {"shared": "sex", "weight": 1}}}},
            {},
            "shared stands alone",
        ),
    ],
)
def test_what_is_wrong_is_named(write, job, others, told):
    folder = write(job={**JOB, **job}, **others)
    with pytest.raises(InvalidJob, match=told):
        load_job(folder / "job.yaml")
