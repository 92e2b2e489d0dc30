"""What is remembered of a table, so that the next one can be compared with it.

In: a frequency table and the schema of its source. Out: `Facts`, plain data for a private file: numbers of records per
label at a coarse level, and which values there were, under a salt. The facts have counts of few records: they must not
leave the private side.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Label
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.sources.column_types import type_name

MOST_LABELS = 50
"""Labels of the level at which a quasi-identifier is compared, if it has so coarse a level below its highest, and
groups that sensitive values are drawn into: more would make the distance of two equal tables large by chance."""
RECORDS_PER_LABEL = 20
"""For the same reason a small table has fewer."""


class CountedColumn(TypedDict):
    """The values of a column that was counted.

    `definition`: hash of how the job reads it. `level`: of its hierarchy, 0 for a sensitive column. `records`: keyed
    label, or number of a group of sensitive values, to number of records, without missing ones. `missing`: records.
    `values`: keyed values, of columns in which new ones matter.
    """

    definition: str
    level: int
    records: dict[str, int]
    missing: int
    values: list[str]


class Facts(TypedDict):
    """What is remembered of a table. `made` is in UTC, ISO 8601; `types` has every released column."""

    format: int
    job: str
    made: str
    salt: str
    records: int
    types: dict[str, str]
    columns: dict[str, CountedColumn]


def types_of(schema: pa.Schema, released: tuple[str, ...]) -> dict[str, str]:
    """Return the type of each released column by its name, without parameters."""
    return {name: type_name(schema.field(name).type) for name in released}


def keyed(salt: str, column: str, label: str) -> str:
    """Hash a label of a column, hexadecimal, 128 bits."""
    text = f"{column}\0{label}".encode()
    return hmac.new(bytes.fromhex(salt), text, hashlib.sha256).hexdigest()[:32]


def coarse_level(table: FrequencyTable, attribute: int) -> int:
    """Return the lowest level below the highest with at most `MOST_LABELS` labels; the last but one if none has."""
    hierarchy = table.hierarchies[attribute]
    most = min(MOST_LABELS, max(2, table.records // RECORDS_PER_LABEL))
    below = range(max(1, hierarchy.level_count - 1))
    return next((level for level in below if len(_counted(table, attribute, level)) <= most), below[-1])


def column_facts(
    table: FrequencyTable, name: str, definition: str, salt: str, *, level: int | None, values: bool
) -> CountedColumn:
    """Count a quasi-identifier at a level of its hierarchy, or a sensitive column by groups that its keys draw.

    Parameters
    ----------
    level : int or None
        None: the coarse one.
    values : bool
        Whether the values themselves are remembered.
    """
    if name in table.sensitive:
        histogram = table.sensitive[name]
        leaves: dict[Label, int] = dict(zip(histogram.labels, histogram.totals.tolist(), strict=True))
        chosen, records = 0, _grouped(leaves, name, salt)
    else:
        attribute = table.attributes.index(name)
        highest = table.hierarchies[attribute].level_count - 1
        chosen = coarse_level(table, attribute) if level is None else min(level, highest)
        leaves, labels = _counted(table, attribute, 0), _counted(table, attribute, chosen)
        records = {keyed(salt, name, label): n for label, n in labels.items() if label is not None}
    return {
        "definition": definition,
        "level": chosen,
        "records": records,
        "missing": leaves.get(None, 0),
        "values": sorted(keyed(salt, name, leaf) for leaf, n in leaves.items() if leaf is not None and n)
        if values
        else [],
    }


def rows_with_new_values(
    table: FrequencyTable, name: str, salt: str, known: frozenset[str]
) -> tuple[NDArray[np.bool_], frozenset[str]]:
    """Tell which rows of a frequency table have a value of a quasi-identifier that is not known.

    Returns
    -------
    rows : bool, shape (R,)
    values : frozenset of str
        These values, keyed.
    """
    attribute = table.attributes.index(name)
    labels = table.hierarchies[attribute].labels[0]
    hashes = [None if label is None else keyed(salt, name, label) for label in labels]
    new = np.array([one is not None and one not in known for one in hashes], np.bool_)
    rows: NDArray[np.bool_] = new[table.codes[attribute]] & (table.counts > 0)
    return rows, frozenset(one for one in hashes if one is not None and one not in known)


def distance(before: Mapping[str, int], now: Mapping[str, int]) -> float:
    """Return the total variation distance of two distributions, 0 to 1; 0 if one of them has no records."""
    total, total_now = sum(before.values()), sum(now.values())
    if not total or not total_now:
        return 0.0
    labels = before.keys() | now.keys()
    return 0.5 * sum(abs(before.get(one, 0) / total - now.get(one, 0) / total_now) for one in labels)


def _grouped(labels: Mapping[Label, int], name: str, salt: str) -> dict[str, int]:
    """Return the records of each of `MOST_LABELS` groups of values: a coarsening, whose distance is none too large."""
    found: dict[str, int] = {}
    for label, n in labels.items():
        if label is not None:
            group = str(int(keyed(salt, name, label), 16) % MOST_LABELS)
            found[group] = found.get(group, 0) + n
    return found


def _counted(table: FrequencyTable, attribute: int, level: int) -> dict[Label, int]:
    """Return the records of each label that the table has at a level."""
    hierarchy = table.hierarchies[attribute]
    codes = hierarchy.codes[level][table.codes[attribute]]
    found = np.bincount(codes, weights=table.counts, minlength=len(hierarchy.labels[level]))
    return {label: round(n) for label, n in zip(hierarchy.labels[level], found.tolist(), strict=True) if n}
