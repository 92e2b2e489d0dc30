"""A table and its hierarchies for the peers, read with the standard library alone: their environments have no engine.

In: a task, one JSON object on the standard input: `table`, `hierarchies` (a folder), `quasi_identifiers`, `k`, `limit`
(share of the records that may be suppressed), `output`. Out: rows and hierarchies as lists of text; a line of JSON.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def task() -> dict[str, Any]:
    """Return what is to be done."""
    read: dict[str, Any] = json.load(sys.stdin)
    return read


def rows_of(path: str) -> list[dict[str, str]]:
    """Return the records of a table."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def hierarchy_of(folder: str, attribute: str) -> list[list[str]]:
    """Return the rows of a hierarchy: a value and its labels, level by level."""
    with (Path(folder) / f"{attribute}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=";"))


def write_rows(path: str, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write the records that are released."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, delimiter=";", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def report(**figures: object) -> None:
    """Hand back figures as the last line of the standard output."""
    print("\n" + json.dumps(figures))
