"""docs/job-file.md: it is that of the code, has every key, and each of its examples is a valid job."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from engine import job_schema, load_job
from tests.places import ROOT
from tools import job_file

BASE = {
    "name": "stays",
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
        "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "diagnosis": {"role": "sensitive"},
        "cost": {"role": "sensitive", "order": "decimal"},
    },
    "privacy": [{"model": "k-anonymity", "k": 5}],
}
FILES = {
    "_hospital.yaml": "dag: {owner: clinical-data}\n",
    "_hierarchies.yaml": "sex: {builder: flat}\n",
    "policy-3.yaml": 'policy:\n  age: [{node: "*"}]\n  sex: [{node: "*"}]\n',
}
EXAMPLES: Mapping[str, str] = yaml.safe_load(job_file.EXAMPLES.read_text(encoding="utf-8"))
SECTIONS = {title: (kind, part) for kind, title, part in job_file.sections(job_schema())}


def documents(title: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(EXAMPLES[title]))


def keys_in(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        for key, inner in part.items():
            yield key
            yield from keys_in(inner)
    if isinstance(part, list):
        for inner in part:
            yield from keys_in(inner)


def test_the_committed_document_is_that_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, "tools/job_file.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_largest_numbers_of_records_are_told() -> None:
    """Of every model that demands a number of them; each is the same."""
    parts = job_schema()["$defs"].values()
    most = {part["properties"][key].get("maximum") for part in parts for key in "kl" if key in part["properties"]}
    assert {f"{one:,}" for one in most} == {"1,000,000,000,000,000"}
    assert "1,000,000,000,000,000" in job_file.DOCUMENT.read_text(encoding="utf-8")


def test_whole_limits_have_all_of_their_digits() -> None:
    document = job_file.DOCUMENT.read_text(encoding="utf-8")
    assert "at most 31,536,000 |" in document
    assert "e+0" not in document


def test_every_kind_of_part_has_a_section() -> None:
    described = [part["title"] for _, part in SECTIONS.values()]
    assert sorted(described) == sorted(["Job", *job_schema()["$defs"]])
    assert set(EXAMPLES) == set(SECTIONS)


@pytest.mark.parametrize("title", SECTIONS)
def test_every_key_is_documented_and_has_an_example(title: str) -> None:
    shown = {key for document in documents(title) for key in keys_in(document)}
    for key, value in job_file.keys(SECTIONS[title][1]):
        assert value.get("description"), key
        assert key in shown, key


@pytest.mark.parametrize("title", SECTIONS)
def test_every_example_is_part_of_a_valid_job(title: str, tmp_path: Any) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    for example in documents(title):
        job = {**BASE, **example}
        job["attributes"] = {**BASE["attributes"], **example.get("attributes", {})}
        if "tables" in example:
            del job["attributes"]
        if "hierarchy" in example:
            del job["hierarchy"]
            job["attributes"]["sex"] = {"role": "quasi-identifying", **example}
            job["search"] = {"algorithm": "optimal"}
        (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
        load_job(tmp_path / "job.yaml")
