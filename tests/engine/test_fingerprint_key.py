"""The key of fingerprints: its id stays what ledgers have of it, and no two purposes have one key."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path

import pytest

import airflow_anon
import engine
from engine import FingerprintKey
from tests.reference.fingerprint import derived

LONG = b"0123456789abcdef0123456789abcdef"
ID = "2317a3ae1b5234a9"
"""The id of `LONG` in the ledgers that there are."""


def test_the_id_is_the_one_in_the_ledgers_that_there_are():
    plain = hmac.new(LONG, b"airflow-anon source fingerprint: id", hashlib.sha256).hexdigest()[:16]
    assert FingerprintKey(LONG).id == plain == ID
    assert FingerprintKey(LONG[::-1]).id != ID


def test_no_two_purposes_have_one_key_and_the_id_begins_none():
    """Also one that somebody adds: the purposes are those that the code of both packages names."""
    folders = [Path(package.__file__).parent for package in (engine, airflow_anon)]
    code = "".join(file.read_text() for folder in folders for file in sorted(folder.rglob("*.py")))
    named = re.findall(r"\.derived\(([^)]*)\)", code)
    purposes = [one.strip('"') for one in named]
    assert {"id", "table", "hierarchies", "id in a warehouse"} < set(purposes)
    assert all(one == f'"{purpose}"' for one, purpose in zip(named, purposes, strict=True))
    assert len(purposes) == len(set(purposes)), "one place of the code for each purpose"
    key = FingerprintKey(LONG)
    found = [key.derived(one) for one in purposes]
    assert found == [derived(LONG, one.encode()) for one in purposes]
    assert len(set(found)) == len(found)
    assert [one.hex()[:16] for one in found].count(key.id) == 1


@pytest.mark.parametrize("shown", [repr, str])
def test_the_key_is_not_shown(shown):
    assert LONG.decode() not in shown(FingerprintKey(LONG))
