"""Every release in a share has its entry, and every entry its release; both directions are told."""

from __future__ import annotations

import os
import shutil

import pytest

from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.share_orphans import Orphan, orphans, unknown_releases
from airflow_anon.ledger.store import Ledger
from tests.airflow_anon.ledger.documents import document
from tests.airflow_anon.ledger.releases import release


@pytest.fixture
def share(tmp_path):
    return tmp_path / "share"


@pytest.fixture
def ledger(tmp_path, share):
    """Give a ledger of three releases: two in the share, one in a database only; and what is no release beside them."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    for number in (1, 2):
        ledger.append(release(share, number))
    ledger.append(document(3))
    ledger.append(document(4, "refused"))
    release(share / "visits", 1, "frontier")
    release(share, 1, "visits/.hidden")
    (share / "visits/notes").mkdir()
    (share / "README").touch()
    return ledger


def test_a_share_and_its_ledger_agree(ledger, share):
    assert orphans(share, ledger) == []


def test_a_release_without_an_entry_is_told_unless_it_is_pending(ledger, share):
    release(share, 5)
    release(share, 1, "persons")
    unknown = [Orphan(job="persons", release_id="release-1"), Orphan(job="visits", release_id="release-5")]
    assert orphans(share, ledger) == unknown
    ledger.begin(document(5))
    assert orphans(share, ledger) == unknown[:1]


def test_an_entry_whose_release_is_gone_is_told(ledger, share):
    shutil.rmtree(share / "visits/release-1")
    assert orphans(share, ledger) == [Orphan(job="visits", release_id="release-1", sequence=1, dag_id="nightly")]
    (share / "visits/release-1").mkdir()
    assert orphans(share, ledger) == []


def test_entries_of_another_share_are_not_asked_for(ledger, share, tmp_path):
    ledger.append(release(tmp_path / "other", 6))
    shutil.rmtree(tmp_path / "other")
    assert orphans(share, ledger) == []


def test_a_share_that_is_not_there_is_an_error(ledger, tmp_path):
    with pytest.raises(LedgerError, match="nowhere"):
        orphans(tmp_path / "nowhere", ledger)


def test_releases_without_an_entry_are_found_in_the_shares_of_the_ledgers_jobs(ledger, share, tmp_path):
    """Another job's are its own ledger's; a share that cannot be read hides nothing of the others."""
    ledger.append(release(tmp_path / "gone", 6))
    shutil.rmtree(tmp_path / "gone")
    release(share, 1, "persons")
    assert unknown_releases(ledger) == []
    release(share, 5)
    assert unknown_releases(ledger) == [Orphan(job="visits", release_id="release-5")]
    ledger.begin(document(5))
    assert unknown_releases(ledger) == []


def test_a_manifest_that_is_nested_too_deeply_is_of_no_release(ledger, share):
    """Whoever may write into a share could end the check of the ledger with it."""
    planted = share / "visits" / "release-9"
    planted.mkdir()
    (planted / "manifest.json").write_text("[" * 100_000)
    assert orphans(share, ledger) == []


def test_a_pipe_in_the_place_of_a_manifest_is_of_no_release(ledger, share):
    """Who reads it would wait for ever."""
    planted = share / "visits" / "release-9"
    planted.mkdir()
    os.mkfifo(planted / "manifest.json")
    assert orphans(share, ledger) == []
