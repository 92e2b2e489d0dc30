"""The versions that were tried: what the script tries and what the document says are the same pairs."""

from __future__ import annotations

import re
from itertools import product

from tests.places import ROOT
from tools import matrix


def test_the_document_says_of_each_pair_what_was_tried():
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (3\.\d+) \| (3\.\d+) \| (?:installed|parsed|run|gate)[^|]*\|", text, flags=re.MULTILINE)
    assert sorted(rows) == sorted(product(matrix.AIRFLOWS, matrix.PYTHONS))


def test_a_version_that_is_not_there_is_said(tmp_path):
    row, succeeded = matrix.tried("3.99", "3.3", "no.whl", tmp_path, parse_only=False)
    assert not succeeded
    assert "no interpreter" in row


def test_a_step_that_fails_ends_its_pair(tmp_path, monkeypatch):
    monkeypatch.setattr(
        matrix, "steps_of", lambda *_: {"installed": [("true",)], "parsed": [("true",), ("false",)], "run": [("true",)]}
    )
    monkeypatch.setattr(matrix.shutil, "which", lambda _: "/bin/true")
    row, succeeded = matrix.tried("3.11", "3.3", "no.whl", tmp_path, parse_only=False)
    assert not succeeded
    assert row.startswith("| 3.3 | 3.11 | installed, then failed |")
