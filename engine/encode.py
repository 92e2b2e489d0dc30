"""Values to codes: the columns of a stream become integers, the hierarchies become code tables.

In: a `Table`, the hierarchy builders of its quasi-identifiers, the sensitive attributes to count. Out: a frequency
table, and an `Encoding` that turns any batch of the same table into leaf codes. The stream is read once: values get
provisional codes as they appear, and are bound to leaves when all are known, so that every value without a hierarchy
entry is found at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.frequency import Accumulator, FrequencyTable, frequency_table
from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.order import OrderName, ranks
from engine.table import Table, as_text


class _Dictionary:
    """Codes of the values of one column, in order of appearance."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.codes: dict[Label, int] = {}

    def encode(self, column: pa.Array, *, grow: bool) -> NDArray[np.int32]:
        """Code a batch, shape (records,); -1 for a new value unless the dictionary may grow."""
        encoded = as_text(column, self.name).dictionary_encode(null_encoding="encode")
        values = encoded.dictionary.to_pylist()
        if grow:
            here = [self.codes.setdefault(value, len(self.codes)) for value in values]
        else:
            here = [self.codes.get(value, -1) for value in values]
        positions: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
        return np.array(here, np.int32)[positions]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Turns batches into leaf codes."""

    hierarchies: tuple[Hierarchy, ...]
    _dictionaries: tuple[_Dictionary, ...]
    _leaves: tuple[NDArray[np.int32], ...]

    def leaf_codes(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """Code the quasi-identifiers of a batch.

        Returns
        -------
        int32, shape (records, m)

        Raises
        ------
        InvalidData
            The batch holds a value that was not there when the table was counted.
        """
        codes = np.empty((batch.num_rows, len(self.hierarchies)), np.int32)
        for a, (dictionary, leaves) in enumerate(zip(self._dictionaries, self._leaves, strict=True)):
            provisional = dictionary.encode(batch.column(dictionary.name), grow=False)
            if provisional.size and provisional.min() < 0:
                raise InvalidData(
                    f"column {dictionary.name!r}: the source changed while it was read; run the job again"
                )
            codes[:, a] = leaves[provisional]
        return codes


def encode(
    table: Table,
    builders: Mapping[str, HierarchyBuilder],
    sensitive: Sequence[str],
    refuse_nulls: Sequence[str] = (),
    orders: Mapping[str, OrderName] | None = None,
    trees: Mapping[str, HierarchyBuilder] | None = None,
) -> tuple[Encoding, FrequencyTable]:
    """Read a table once.

    Parameters
    ----------
    builders : mapping of quasi-identifier to hierarchy builder
    sensitive : sequence of str
        Sensitive attributes whose values privacy models count.
    refuse_nulls : sequence of str
        Columns in which a missing value is an error.
    orders : mapping of sensitive attribute to the type its values are ordered by, optional
        Text by default.
    trees : mapping of sensitive attribute to hierarchy builder, optional

    Raises
    ------
    InvalidData
        The table is empty, a hierarchy is broken, or values have no hierarchy entry or are missing where they may not
        be. Columns and numbers are named, values are not.
    """
    watched = [name for name in refuse_nulls if name not in builders and name not in sensitive]
    dictionaries = tuple(_Dictionary(name) for name in (*builders, *sensitive))
    accumulator = Accumulator()
    nulls = dict.fromkeys(refuse_nulls, 0)
    records = 0
    for batch in table.batches([*builders, *sensitive, *watched]):
        records += batch.num_rows
        for name in refuse_nulls:
            nulls[name] += pc.sum(pc.is_null(batch.column(name))).as_py() or 0
        if batch.num_rows:
            accumulator.add(np.column_stack([d.encode(batch.column(d.name), grow=True) for d in dictionaries]))
    if not records:
        raise InvalidData("the table is empty: it has no records, so there is nothing to de-identify")
    _refuse(nulls)
    codes, counts = accumulator.total()
    return _bind(builders, dictionaries, codes, counts, orders or {}, trees or {})


def _bind(
    builders: Mapping[str, HierarchyBuilder],
    dictionaries: Sequence[_Dictionary],
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    orders: Mapping[str, OrderName],
    trees: Mapping[str, HierarchyBuilder],
) -> tuple[Encoding, FrequencyTable]:
    """Replace provisional codes: of quasi-identifiers by leaf codes, of sensitive values by their ranks."""
    quasi, rest = dictionaries[: len(builders)], dictionaries[len(builders) :]
    hierarchies, leaves = [], []
    unseen: dict[str, tuple[int, int]] = {}
    codes = codes.copy()
    for a, (dictionary, builder) in enumerate(zip(quasi, builders.values(), strict=True)):
        hierarchy, leaf = _leaves(dictionary, builder)
        if hierarchy is not None:
            hierarchies.append(hierarchy)
        leaves.append(leaf)
        codes[:, a] = leaf[codes[:, a]]
        if leaf.min() < 0:
            unseen[dictionary.name] = (int((leaf < 0).sum()), int(counts[codes[:, a] < 0].sum()))
    labels: dict[str, tuple[Label, ...]] = {}
    sensitive_trees: dict[str, Hierarchy] = {}
    for column, dictionary in enumerate(rest, start=len(quasi)):
        rank = np.array(ranks(dictionary.name, list(dictionary.codes), orders.get(dictionary.name, "text")), np.int32)
        if dictionary.name in trees:
            tree, leaf = _leaves(dictionary, trees[dictionary.name])
            if leaf.min() < 0:
                unseen[dictionary.name] = (int((leaf < 0).sum()), int(counts[leaf[codes[:, column]] < 0].sum()))
            if tree is not None and len(tree.labels[-1]) > 1:
                raise InvalidData(
                    f"hierarchy of column {dictionary.name!r}: ends in {len(tree.labels[-1])} labels; that of a "
                    "sensitive column needs one root, because moving values between roots would cost nothing"
                )
            if tree is not None:
                sensitive_trees[dictionary.name] = tree
        by_rank = {int(rank[code]): value for value, code in dictionary.codes.items()}
        labels[dictionary.name] = tuple(by_rank[place] for place in range(len(by_rank)))
        codes[:, column] = rank[codes[:, column]]
    if unseen:
        raise InvalidData(_unseen_text(unseen))
    table = frequency_table(tuple(builders), hierarchies, labels, codes, counts, sensitive_trees)
    return Encoding(tuple(hierarchies), tuple(quasi), tuple(leaves)), table


def _leaves(dictionary: _Dictionary, builder: HierarchyBuilder) -> tuple[Hierarchy | None, NDArray[np.int32]]:
    """Build a column's hierarchy and the leaf code of each provisional code, -1 for values without an entry.

    None where no value has an entry.
    """
    values = [value for value in dictionary.codes if value is not None]
    rows = builder.rows(values)
    if not rows and not values:
        raise InvalidData(
            f"column {dictionary.name!r}: every value is missing and its hierarchy has no entries of its own; "
            "fill the column in the source, or take it out of the job"
        )
    if not rows:
        return None, np.array([0 if value is None else -1 for value in dictionary.codes], np.int32)
    hierarchy = Hierarchy(dictionary.name, rows, with_null=None in dictionary.codes)
    return hierarchy, np.array([hierarchy.leaf_code(value) for value in dictionary.codes], np.int32)


def _unseen_text(unseen: Mapping[str, tuple[int, int]]) -> str:
    parts = [
        f"column {name!r}: {values} distinct values in {records} records have no entry in its hierarchy"
        for name, (values, records) in unseen.items()
    ]
    return "; ".join(parts) + "; add them to the hierarchy, or correct them in the source"


def _refuse(nulls: Mapping[str, int]) -> None:
    found = {name: count for name, count in nulls.items() if count}
    if found:
        parts = ", ".join(f"column {name!r}: {count} missing values" for name, count in found.items())
        raise InvalidData(f"{parts}; the job says nulls: error; fill them in the source or set nulls: value")
