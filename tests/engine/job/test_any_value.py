"""Whatever stands in a job file in place of a value, it is read or it is a broken job file."""

from __future__ import annotations

import copy
import datetime as dt
import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidJob, job_schema, load_job
from tests.engine.jobs import BASE, changed
from tests.profiles import examples

EVERYTHING = {
    **BASE,
    "attributes": {
        **BASE["attributes"],
        "years": {"role": "quasi-identifying", "hierarchy": {"builder": "age", "top_code": 90, "widths": [5, 10]}},
        "day": {"role": "quasi-identifying", "hierarchy": {"builder": "date", "levels": ["month", "year"]}},
        "area": {"role": "quasi-identifying", "hierarchy": {"builder": "zip", "census": 2020}},
        "step": {
            "role": "quasi-identifying",
            "order": "text",
            "hierarchy": {"builder": "order", "values": ["a", "b"], "fanouts": [2], "names": [["x"]]},
        },
        "unit": {"role": "quasi-identifying", "hierarchy": {"builder": "grouping", "groups": [{"g": ["a", "b"]}]}},
    },
    "utility": {"measure": "loss", "aggregate": "geometric-mean"},
    "search": {"algorithm": "optimal", "start": None, "threads": 1, "gap": 0.0, "time_limit_seconds": 1},
    "risk": {"threshold": 0.1, "sampling_fraction": 0.5},
    "frontier": {"policies": 10, "seed": 1, "k_anonymity": [5], "safe_harbor": {"age": "kept"}},
    "dag": {"schedule": None, "start_date": "2026-01-01", "retries": 1, "retry_delay_seconds": 1, "tags": ["x"]},
}
ODD = [[], {}, None, "", [[]], {"a": []}, [{}], 1, -1, 0, True, 1.5, float("nan"), float("inf"), 2**63, 10**400]
ODD += ["\0", "\ud800", "x" * 300, dt.date(2026, 1, 1), b"x", {1: 2}, {None: 1}, ["a", None], "*", "none", (1, 2)]


def places(part, path=()):
    """Give the keys that lead to each part of a document."""
    yield path
    pairs = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


PLACES = [path for path in places(EVERYTHING) if path]


def put(path, value):
    document = copy.deepcopy(EVERYTHING)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


@settings(max_examples=examples(2000))
@given(st.sampled_from(PLACES), st.sampled_from(ODD))
def test_any_value_at_any_place(path, value):
    try:
        load_job(put(path, value))
    except InvalidJob as problem:
        text = str(problem)
    else:
        text = ""
    assert len(text.encode()) < 5000


@pytest.mark.parametrize("value", [[], {}, [[]], {"a": []}, None, "x", 1.5])
def test_a_key_that_takes_a_number_or_a_word(value):
    with pytest.raises(InvalidJob, match=r"attributes\.years\.hierarchy\.top_code: "):
        load_job(put(("attributes", "years", "hierarchy", "top_code"), value))


FILES = [
    ("source", "path"),
    ("output", "path"),
    ("attributes", "age", "hierarchy"),
    ("risk", "population"),
    ("search", "file"),
    ("frontier", "population"),
    ("frontier", "current"),
    ("choose", "from"),
    ("attributes", "zip", "hierarchy", "populations"),
]


@pytest.mark.parametrize("path", FILES, ids=".".join)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a\0b", "has a character that no file name can have"),
        ("folder/" + "\u00e4" * 128, "names a file or folder in more than 255 bytes"),
    ],
)
def test_names_that_no_file_can_have(path, name, reason):
    document = changed(path, name)
    if path[-1] == "populations":
        document["attributes"]["zip"]["hierarchy"].update(builder="zip")
        document["attributes"]["zip"]["hierarchy"].pop("length")
    if path[0] == "choose":
        document["choose"]["maximum_risk"] = 1
    with pytest.raises(InvalidJob, match=rf"job: {path[0]}.*: {reason}"):
        load_job(document)


@pytest.mark.parametrize("text", [r'"\ud800"', r'{"\ud800": 1}'])
def test_half_of_a_surrogate_pair(tmp_path, text):
    with pytest.raises(InvalidJob, match="half of a surrogate pair") as problem:
        load_job({**BASE, "name": json.loads(text)})
    str(problem.value).encode()
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(BASE) + f"risk: {text}\n")
    with pytest.raises(InvalidJob) as problem:
        load_job(tmp_path / "job.yaml")
    str(problem.value).encode()


def test_the_json_schema_still_has_paths_as_text():
    assert json.dumps(job_schema()).count("FileName") == 0


def test_the_document_itself_is_a_job(tmp_path):
    (tmp_path / "age.csv").write_text("1;*\n")
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(EVERYTHING))
    assert load_job(tmp_path / "job.yaml").name == BASE["name"]
