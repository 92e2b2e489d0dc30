"""The staged table with its counts, where these are the ones that the extraction sealed for this very file.

In: the local file of the staged table, and the folder in which it was staged. Out: a table that the engine need not
count, or why it counts all rows.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.address import path_of
from airflow_anon.transport.counted_rows import NotCountedError, read_counts
from airflow_anon.transport.fingerprint_key import fingerprint_key
from airflow_anon.transport.kept_table import NoStateError, State, sha256_of
from airflow_anon.transport.release_files import COUNTS, KEPT
from engine import InvalidData

if TYPE_CHECKING:
    from engine import CountedTable


def counted_source(source: Path, staged: str, key: str | None = None) -> CountedTable:
    """Return a staged table with its counts.

    Parameters
    ----------
    source : Path
        The local file that is going to be read.
    staged : str
        Address of the staged file; the counts, and the document that seals them, are beside it.
    key : str, optional
        Where the key of fingerprints is, as of the extraction.

    Raises
    ------
    NotCountedError
        There are no counts, or they are not those of this file.
    """
    from engine import CountedTable  # noqa: PLC0415 (heavy imports belong into execute)

    folder = path_of(staged).parent
    try:
        state = State.opened(json.loads((folder / KEPT).read_bytes()), fingerprint_key(key, make=False))
        content = (folder / COUNTS).read_bytes()
    except FileNotFoundError:
        raise NotCountedError("the extraction handed over no counts") from None
    except (NoStateError, AirflowFailException, OSError, ValueError, TypeError):
        raise NotCountedError("the counts of the extraction are damaged, changed, or sealed by another key") from None
    with source.open("rb") as file:
        is_bound = sha256_of(file) == state.sha256
    if not is_bound or hashlib.sha256(content).hexdigest() != state.counts_sha256:
        raise NotCountedError("the counts are not those of the staged table")
    table = read_counts(content)
    last = table.num_columns - 1
    try:
        return CountedTable(source, table.select(list(range(last))), table.column(last))
    except (InvalidData, ValueError) as problem:
        why = str(problem) if isinstance(problem, InvalidData) else "the counts have no columns"
        raise NotCountedError(why) from None
