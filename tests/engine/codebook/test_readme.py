"""The text beside a release says what its codebook says, for readers."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from engine import run
from engine.codebook.readme import readme
from tests.engine.codebook.test_codebook import job

CODEBOOK = {
    "form": 1,
    "name": "visits",
    "records": 1200,
    "suppressed": 12,
    "left_out": False,
    "counted": "records",
    "criteria": ["5-anonymity", "distinct 2-diversity of outcome"],
    "columns": [
        {
            "column": "a|b",
            "type": "string",
            "role": "quasi-identifying",
            "what": "generalized",
            "level": 2,
            "levels": 5,
            "notation": "a-b stands for ages from a to b",
            "distinct": 7,
            "missing": 3,
            "ordered": True,
            "labels": [],
        },
        {"column": "outcome", "type": "int64", "role": "sensitive", "what": "as-in-the-source", "distinct": 2},
    ],
}


def test_columns_and_how_they_are_read():
    text = readme(CODEBOOK)
    assert text.startswith("# visits\n")
    assert "| a\\|b | string | labels of level 2 of 4, for several values each | 7 | 3 |" in text
    assert "| outcome | int64 | the values of the source | 2 |  |" in text
    assert "- a\\|b: a-b stands for ages from a to b.\n" in text
    assert "12 records (1.00%) are suppressed" in text
    # the files are sorted, the suppressed ones first: their head is no sample
    assert "sorted by their labels" in text
    assert "order of the records is random" not in text
    assert "- 5-anonymity\n- distinct 2-diversity of outcome\n" in text


@pytest.mark.parametrize(
    ("changes", "told", "not_told"),
    [
        ({}, ["A record is not a person", "Suppressed records have `*`"], ["may be missing"]),
        ({"suppressed": 0}, [], ["Suppressed records", "are suppressed"]),
        ({"suppressed": 0, "left_out": True}, ["Suppressed records may be missing from the table"], ["are suppressed"]),
        ({"counted": "persons"}, ["A person may have several records", "count persons"], ["is not a person"]),
    ],
)
def test_what_must_not_be_concluded(changes, told, not_told):
    text = readme({**CODEBOOK, **changes})
    assert all(sentence in text for sentence in told)
    assert not any(sentence in text for sentence in not_told)


def test_the_snippet_of_a_release_runs_in_its_folder(tmp_path, monkeypatch):
    table = pd.DataFrame({"age": [31, 33, 34, 71, 72, 73], "pain": ["none"] * 6, "outcome": [1, 2, 1, 2, 1, 2]})
    release = run(job(tmp_path), table=table.assign(mrn=range(6), ward="w")).output
    (snippet,) = re.findall(r"```python\n(.*?)```", (release / "README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(release)
    found: dict = {}
    exec(snippet, found)  # noqa: S102 (our own text)
    assert len(found["table"]) == 6


def test_of_linked_tables_nothing_is_starred_and_persons_are_missing_from_all():
    """Suppressed records of linked tables are left out, so no label is `*` for a suppressed record."""
    exact = {"column": "sex", "type": "string", "role": "quasi-identifying", "what": "exact", "level": 0, "levels": 2}
    tables = [{"table": name, "file": f"{name}.parquet", "records": 600, "columns": [exact]} for name in ("a", "b")]
    linked = {**CODEBOOK, "suppressed": 0, "left_out": True, "counted": "persons", "columns": [], "tables": tables}
    text = readme(linked)
    assert "where suppressed" not in text
    assert "Suppressed records may be missing from the tables." in text
    assert "the tables do not tell which belong together" in text
    assert "Two releases of these tables cannot be joined" in text
    one = {key: value for key, value in linked.items() if key != "tables"}
    assert "`*` where suppressed" in readme({**one, "columns": [exact], "suppressed": 12, "left_out": False})
