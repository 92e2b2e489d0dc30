"""The digests of hierarchies: of the same one wherever it is the same, of another one others; no guess fits them."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from engine import load_job
from engine.errors import InvalidJob
from engine.hierarchy.builders import icd10cm
from engine.job.hierarchies_stated import hierarchies_stated, is_stated, others_than_stated, why_not_compared

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
ROWS = "red;warm;*\nblue;cold;*\ngreen;cold;*\n"
SNOMED = "id\tactive\tsourceId\tdestinationId\ttypeId\n1\t1\t20\t10\t116680003\n2\t1\t30\t10\t116680003\n"
FILES = {
    "csv": ({"builder": "csv", "path": "file"}, ROWS, ROWS.replace("green;cold", "green;warm")),
    "zip": ({"builder": "zip", "populations": "file"}, "021;1414778\n036;13153\n", "021;1414778\n036;23153\n"),
    "icd-10-gm": (
        {"builder": "icd-10-gm", "levels": ["category", "block"], "blocks": "file"},
        "E10;E14\nE20;E35\n",
        "E10;E16\nE20;E35\n",
    ),
    "snomed-ct": ({"builder": "snomed-ct", "path": "file", "depths": [1]}, SNOMED, SNOMED.replace("\t30\t", "\t31\t")),
    "loinc": (
        {"builder": "loinc", "path": "file", "depths": [1]},
        "CODE,IMMEDIATE_PARENT\nA,\nB,A\n",
        "CODE,IMMEDIATE_PARENT\nA,\nC,A\n",
    ),
}
INLINE = (
    ({"builder": "interval", "widths": [5, 10]}, {"builder": "interval", "widths": [5, 20]}),
    ({"builder": "age"}, {"builder": "age", "top_code": 85}),
    ({"builder": "zip"}, {"builder": "zip", "census": 2000}),
    ({"builder": "grouping", "groups": [{"a": ["x"]}]}, {"builder": "grouping", "groups": [{"b": ["x"]}]}),
    ({"builder": "flat"}, {"builder": "redaction", "length": 5}),
)


def job(folder, hierarchy, **more):
    """Return a job with one hierarchy, whose file is in a folder."""
    keys = {key: str(folder / value) if value == "file" else value for key, value in hierarchy.items()}
    column = {"role": "quasi-identifying", "hierarchy": keys}
    attributes = {"colour": column, **{name: {**column, "hierarchy": one} for name, one in more.items()}}
    return load_job({"name": "n", "attributes": attributes, "privacy": [{"model": "k-anonymity", "k": 2}]})


def others(job, stated, key=KEY):
    return dict(others_than_stated(job, stated, key))


@pytest.mark.parametrize("name", FILES)
def test_another_content_of_a_file_is_told_with_the_file(name, tmp_path):
    hierarchy, before, after = FILES[name]
    (tmp_path / "file").write_text(before)
    stated = hierarchies_stated(job(tmp_path, hierarchy), KEY)
    assert others(job(tmp_path, hierarchy), stated) == {}
    (tmp_path / "file").write_text(after)
    told = others(job(tmp_path, hierarchy), stated)
    assert list(told) == ["colour"]
    assert f"the hierarchy file {tmp_path / 'file'} is not as it was" in told["colour"]
    assert "from a backup" in told["colour"]


@pytest.mark.parametrize("name", FILES)
def test_the_same_content_elsewhere_is_the_same_hierarchy(name, tmp_path):
    hierarchy, before, _ = FILES[name]
    (tmp_path / "file").write_text(before)
    stated = hierarchies_stated(job(tmp_path, hierarchy), KEY)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text(before)
    assert others(job(elsewhere, hierarchy), stated) == {}


def test_order_and_delimiter_of_a_file_are_no_part_of_a_hierarchy(tmp_path):
    (tmp_path / "file").write_text(ROWS)
    stated = hierarchies_stated(job(tmp_path, FILES["csv"][0]), KEY)
    (tmp_path / "file").write_text("\n".join(reversed(ROWS.replace(";", ",").splitlines())))
    assert others(job(tmp_path, {**FILES["csv"][0], "delimiter": ","}), stated) == {}


@pytest.mark.parametrize(("before", "after"), INLINE)
def test_another_hierarchy_in_the_job_file_is_told_with_the_fix(before, after, tmp_path):
    stated = hierarchies_stated(job(tmp_path, before), KEY)
    assert others(job(tmp_path, before), stated) == {}
    assert "give the job of the release" in others(job(tmp_path, after), stated)["colour"]


def test_the_classification_that_is_installed_is_a_part(monkeypatch, tmp_path):
    chains = [("E11.65", "E11.6", "E11", "E08-E13", "4"), ("E11", "E08-E13", "4")]
    monkeypatch.setattr(icd10cm, "_chains", lambda: tuple(chains))
    stated = hierarchies_stated(job(tmp_path, {"builder": "icd-10-cm"}), KEY)
    assert others(job(tmp_path, {"builder": "icd-10-cm"}), stated) == {}
    chains.append(("E12", "E08-E13", "4"))
    assert "packages" in others(job(tmp_path, {"builder": "icd-10-cm"}), stated)["colour"]


def test_the_version_beside_a_file_that_is_the_one_of_the_release_is_named(tmp_path):
    (tmp_path / "file").write_text(ROWS)
    stated = hierarchies_stated(job(tmp_path, FILES["csv"][0]), KEY)
    (tmp_path / "file.v1").write_text("red;warm;*\n")
    (tmp_path / "file.v2").write_text(ROWS)
    (tmp_path / "file.v3").write_text("not a hierarchy;*\nof it\n")
    (tmp_path / "file").write_text(ROWS + "grey;cold;*\n")
    told = others(job(tmp_path, FILES["csv"][0]), stated)["colour"]
    assert "file.v2 beside it is the file of that time" in told
    assert "grey" not in told


def test_columns_that_have_or_lack_a_hierarchy_now_are_told(tmp_path):
    one, two = job(tmp_path, {"builder": "age"}), job(tmp_path, {"builder": "age"}, years={"builder": "age"})
    assert "without a hierarchy of it" in others(two, hierarchies_stated(one, KEY))["years"]
    assert "has no hierarchy of it" in others(one, hierarchies_stated(two, KEY))["years"]


def test_a_policy_has_the_hierarchy_that_its_groups_rest_on(tmp_path):
    (tmp_path / "file").write_text(ROWS)
    plain = job(tmp_path, FILES["csv"][0])
    stated = hierarchies_stated(plain, KEY)
    executed = plain.with_policy({"colour": [{"node": "warm"}, {"node": "cold"}]})
    assert others(executed, stated) == {}
    (tmp_path / "file").rename(tmp_path / "file.v1")
    (tmp_path / "file").write_text(ROWS + "grey;cold;*\n")
    assert "file.v1 beside it" in others(executed, stated)["colour"]


def test_nobody_without_the_key_can_try_rows(tmp_path):
    """Neither a plain hash nor one by what the report shows fits the file, though all of it is known."""
    (tmp_path / "file").write_text(ROWS)
    stated = hierarchies_stated(job(tmp_path, FILES["csv"][0]), KEY)
    lines = [["colour", stated["salt"]], ["csv"], *sorted(row.split(";") for row in ROWS.splitlines())]
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    known = [b"", *(stated[key].encode() for key in ("salt", "key_id")), *map(bytes.fromhex, [stated["salt"]])]
    tried = {hmac.digest(one, content, "sha256").hex() for one in known} | {hashlib.sha256(content).hexdigest()}
    assert stated["digests"]["colour"] not in tried
    # the same content under the key itself is not tried either: it has a purpose of its own
    assert hmac.digest(KEY, content, "sha256").hex() != stated["digests"]["colour"]
    derived = hmac.digest(KEY, b"airflow-anon source fingerprint: hierarchies", "sha256")
    assert hmac.digest(derived, content, "sha256").hex() == stated["digests"]["colour"]
    assert KEY.hex() not in json.dumps(stated)


def test_two_nights_and_two_columns_of_one_hierarchy_have_other_digests(tmp_path):
    both = job(tmp_path, {"builder": "age"}, years={"builder": "age"})
    nights = [hierarchies_stated(both, KEY) for _ in range(2)]
    assert len({one for night in nights for one in night["digests"].values()}) == 4
    assert nights[0]["key_id"] == nights[1]["key_id"] != hierarchies_stated(both, OTHER_KEY)["key_id"]


def test_they_are_named_by_the_id_of_the_key_that_fingerprints_of_sources_have(tmp_path):
    """So an auditor can tell that both are under one key."""
    stated = hierarchies_stated(job(tmp_path, {"builder": "age"}), KEY)
    plain = hmac.new(KEY, b"airflow-anon source fingerprint: id", hashlib.sha256).hexdigest()
    assert stated["key_id"] == plain[:16]


def test_it_says_why_it_cannot_compare(tmp_path):
    stated = hierarchies_stated(job(tmp_path, {"builder": "age"}), KEY)
    assert why_not_compared(stated, KEY) is None
    assert "does not say" in why_not_compared(None, KEY)
    assert "AIRFLOW_ANON_FINGERPRINTS" in why_not_compared(stated, None)
    assert "give the key of that time" in why_not_compared(stated, OTHER_KEY)


@pytest.mark.parametrize("stated", [None, [], {}, {"digests": {}}, {"key_id": "1", "salt": "2", "digests": {"a": 3}}])
def test_what_no_run_has_written_is_not_read(stated):
    assert not is_stated(stated)


def test_a_file_that_is_gone_is_told(tmp_path):
    (tmp_path / "file").write_text(ROWS)
    written = job(tmp_path, FILES["csv"][0])
    Path(tmp_path / "file").unlink()
    with pytest.raises(InvalidJob, match="file: not found"):
        hierarchies_stated(written, KEY)
