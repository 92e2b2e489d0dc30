"""Somebody knows all records but one, and tries every candidate for it until the source's fingerprint fits.

In: samples of adult, their fingerprints as the extraction records them, the attacker's own fingerprints of the known
records with each candidate: without a key, and under a key of the attacker's.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from airflow_anon.transport import fingerprint as module
from redteam import adult
from redteam.outcome import Outcome, share

TARGETS, CANDIDATES, KNOWN = 20, 25, 200
COLUMNS = [*adult.QUASI_IDENTIFIERS, adult.SENSITIVE]


def attack(targets: int = TARGETS) -> Iterator[Outcome]:
    """Yield one outcome: the share of records that a fingerprint gave back."""
    secret = _key()
    right = 0
    for number in range(targets):
        records = adult.people()[COLUMNS].drop_duplicates().sample(KNOWN + CANDIDATES, random_state=number)
        known, candidates = records.iloc[:KNOWN], records.iloc[KNOWN:]
        target = number % CANDIDATES
        published = _fingerprint(pd.concat([known, candidates.iloc[[target]]]), secret)
        own = _key()
        fits = [
            place
            for place in range(CANDIDATES)
            if published in {_fingerprint(pd.concat([known, candidates.iloc[[place]]]), key) for key in (None, own)}
        ]
        right += fits == [target]
    yield Outcome(
        "the last record by the fingerprint", "samples of adult", targets, share(right, targets), 1 / CANDIDATES, 0.0
    )


def _key() -> Any:
    """Draw a key; None where fingerprints have none."""
    try:
        from airflow_anon.transport.fingerprint_key import FingerprintKey  # noqa: PLC0415 (not in earlier versions)
    except ImportError:
        return None
    return FingerprintKey(secrets.token_bytes(32))


def _fingerprint(frame: pd.DataFrame, key: Any) -> str | None:
    """Return the fingerprint of a table; None if there is none without a key."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "source.parquet"
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
        try:
            return module.fingerprint(path) if key is None else module.fingerprint(path, key)
        except TypeError:
            return None
