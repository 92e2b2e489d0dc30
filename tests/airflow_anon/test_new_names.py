"""A new privacy model is a class and a recount, a new measure a class, each with its line in a registry: no more."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.places import ROOT


@pytest.fixture(scope="module")
def said():
    """Give what the parts of the project say of a model and a measure that are added in a process of its own."""
    program = [sys.executable, "-m", "tests.airflow_anon.new_names"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_job_names_them(said):
    assert said["schema"] == []
    assert "privacy.0: repeated-values needs attributes.diagnosis.order text; set it" in said["refused"]


def test_a_run_searches_for_them(said):
    # six records of each decade, two of each diagnosis; the thirteenth record is alone
    assert (said["levels"], said["suppressed"]) == ({"age": 1, "zip": 1}, 1)
    entry = {"holds": True, "observed": 2.0, "required": 2.0, "sense": "at-least", "margin": 0.0}
    assert {key: said["entry"][key] for key in entry} == entry
    # two classes of six, and one record that looks like all thirteen
    assert said["loss"] == [6**2 + 6**2 + 13, 6**2 + 6**2 + 13]


def test_both_judges_recount_the_model(said):
    assert said["release"] == {"engine": [], "great expectations": []}
    harmed = ["expect_privacy_model_to_hold", "expect_reported_figures"]
    assert said["harmed"] == {"engine": ["repeated-values", "figures"], "great expectations": harmed}
    assert said["wrong margin"] == {"engine": ["figures"], "great expectations": ["expect_reported_figures"]}


def test_a_page_knows_what_they_declare(said):
    assert said["page"] == {"value": None, "below": 3}
    assert said["words"] == [
        {
            "name": "pairs",
            "title": "Pairs",
            "meaning": "records that look alike",
            "value": {"value": 1.0, "below": None},
        }
    ]


def test_k_e_anonymity_was_added_that_way():
    """Two files, and a line in each of the two registries."""
    names = ("k-e-anonymity", "k_e_anonymity", "KEAnonymity")
    files = [path for room in ("engine", "airflow_anon") for path in (ROOT / room).rglob("*") if path.is_file()]
    texts = {str(path.relative_to(ROOT)): path.read_bytes() for path in files if path.suffix != ".pyc"}
    assert sorted(path for path, text in texts.items() if any(name.encode() in text for name in names)) == [
        "engine/privacy/models/k_e_anonymity.py",
        "engine/privacy/registry.py",
        "engine/verification/models/k_e_anonymity.py",
        "engine/verification/registry.py",
    ]
