"""Entries of the ledger for tests that judge or send them, without a ledger."""

from __future__ import annotations

from typing import Any

from airflow_anon.ledger import Entry

JOB_SHA256 = "a" * 64
OTHER_SHA256 = "b" * 64


def entry_of(sequence: int = 100, **columns: Any) -> Entry:
    """Give a release of 1,000 records, of which 20 are suppressed, with other columns as they are named."""
    released = {
        "recorded_at": "2026-03-01T02:50:00+00:00",
        "job": "stays",
        "dag_id": "stays",
        "run_id": f"run-{sequence}",
        "task_group": "",
        "attempt": 1,
        "outcome": "released",
        "release_id": "20260301T024500Z-0123abcd",
        "rows": 1000,
        "suppressed": 20,
        "suppressed_share": 0.02,
        "information_loss": 0.3,
        "privacy_margin": 0.1,
        "optimal": True,
        "seconds": 2.5,
        "job_sha256": JOB_SHA256,
        "manifest_sha256": "c" * 64,
        "document_sha256": "d" * 64,
        "previous_sha256": "e" * 64,
        "entry_sha256": "f" * 64,
    }
    return Entry(sequence=sequence, **{**released, **columns})


def history_of(figures: list[float | None], column: str = "information_loss") -> list[Entry]:
    """Give earlier releases, newest first, one a figure."""
    return [entry_of(99 - position, **{column: figure}) for position, figure in enumerate(figures)]
