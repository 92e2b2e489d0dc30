"""Provisional codes bound to the leaves of hierarchies, and to the ranks of sensitive values.

In: distinct tuples of provisional codes with their dictionaries. Out: the frequency table, and the `Encoding` of any
batch of the same table. All values without a hierarchy entry are found at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.entries import ADVICE, without_entry
from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.message import Count, Message
from engine.tables.counting.columns import Columns, Dictionary
from engine.tables.counting.different_values import refuse_blanks, refuse_equal_numbers
from engine.tables.counting.distinct_tuples import frequency_table
from engine.tables.counting.encoding import Encoding
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.ranks import ranks, refuse_other_types


def bind(
    columns: Columns,
    dictionaries: Sequence[Dictionary],
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    population: NDArray[np.int64] | None,
) -> tuple[Encoding, FrequencyTable]:
    """Replace provisional codes, in place: those of quasi-identifiers by leaf codes, of sensitive values by ranks.

    Parameters
    ----------
    dictionaries : sequence of Dictionary
        Of the quasi-identifiers, m of them, then of the sensitive attributes.
    codes : int32, shape (rows, m + sensitive)
        Distinct tuples.
    counts : int64, shape (rows,)
        Released records of each.
    population : int64, shape (rows,), or None
        Records of the population of each.

    Raises
    ------
    InvalidData
        Values have no hierarchy entry, or a hierarchy is invalid.
    """
    width = len(columns.quasi_identifiers)
    unseen = _Unseen(counts if population is None else np.maximum(counts, population))
    hierarchies, leaves = [], []
    for a, (dictionary, column) in enumerate(zip(dictionaries, columns.quasi_identifiers.values(), strict=False)):
        hierarchy, leaf = _leaves(dictionary, column.hierarchy, with_unseen=column.unseen != "error")
        if hierarchy is not None:
            hierarchies.append(hierarchy)
        leaves.append(leaf)
        codes[:, a] = leaf[codes[:, a]]
        unseen.note(dictionary, column.hierarchy, leaf, codes[:, a])
    labels: dict[str, tuple[Label, ...]] = {}
    trees: dict[str, Hierarchy] = {}
    for place, (dictionary, entry) in enumerate(
        zip(dictionaries[width:], columns.sensitive.values(), strict=True), start=width
    ):
        if entry.hierarchy is not None:
            tree, leaf = _leaves(dictionary, entry.hierarchy)
            unseen.note(dictionary, entry.hierarchy, leaf, leaf[codes[:, place]])
            if tree is not None:
                trees[dictionary.name] = _one_root(tree)
        if entry.is_known_alone:
            refuse_blanks(dictionary.name, dictionary.codes, is_float=entry.is_float)
        if entry.numbers is not None:
            refuse_equal_numbers(dictionary.name, dictionary.codes, entry.numbers)
        if entry.is_presumed:
            refuse_other_types(dictionary.name, dictionary.codes)
        rank = np.array(ranks(dictionary.name, list(dictionary.codes), entry.order), np.int32)
        by_rank = {int(rank[code]): value for value, code in dictionary.codes.items()}
        labels[dictionary.name] = tuple(by_rank[position] for position in range(len(by_rank)))
        codes[:, place] = rank[codes[:, place]]
    unseen.refuse()
    names = tuple(columns.quasi_identifiers)
    table = frequency_table(names, hierarchies, labels, codes, counts, trees, population)
    refused = _refused_rows(table, columns)
    if refused.any():
        table = replace(table, refused=refused)
    return Encoding(tuple(hierarchies), tuple(dictionaries[:width]), tuple(leaves)), table


def _refused_rows(table: FrequencyTable, columns: Columns) -> NDArray[np.bool_]:
    refused = np.zeros(table.counts.size, np.bool_)
    for codes, hierarchy, column in zip(
        table.codes, table.hierarchies, columns.quasi_identifiers.values(), strict=True
    ):
        if column.unseen == "suppress" and hierarchy.unseen_code >= 0:
            refused |= codes == hierarchy.unseen_code
    return refused


def _one_root(tree: Hierarchy) -> Hierarchy:
    if len(tree.labels[-1]) > 1:
        raise InvalidData(
            Message.of(
                "hierarchy of column {name!r}: ends in {roots} labels; that of a sensitive column needs one root, "
                "because moving values between roots would cost nothing",
                name=tree.attribute,
                roots=Count(len(tree.labels[-1])),
            )
        )
    return tree


def _leaves(
    dictionary: Dictionary, builder: HierarchyBuilder, *, with_unseen: bool = False
) -> tuple[Hierarchy | None, NDArray[np.int32]]:
    """Build a column's hierarchy and the leaf code of each provisional code, -1 for values without an entry.

    None if no value has an entry, unless the hierarchy is for missing values alone.
    """
    # in an order of their own, so that leaf codes do not depend on that of the records
    values = sorted(value for value in dictionary.codes if value is not None)
    builder.check_column(dictionary.name, values)
    rows = builder.rows(values)
    with_null = None in dictionary.codes
    if not rows and not values and not builder.is_of_missing_values:
        raise InvalidData(
            f"column {dictionary.name!r}: every value is missing and its hierarchy has no entries of its own; "
            "fill the column in the source, or take it out of the job"
        )
    if not rows and not (with_null and builder.is_of_missing_values):
        return None, np.array([0 if value is None else -1 for value in dictionary.codes], np.int32)
    entries = {row[0] for row in rows}
    unseen = with_unseen and any(value not in entries for value in values)
    height = builder.level_count
    hierarchy = Hierarchy(dictionary.name, rows, with_null=with_null, with_unseen=unseen, level_count=height)
    return hierarchy, np.array([hierarchy.leaf_code(value) for value in dictionary.codes], np.int32)


class _Unseen:
    """Collects the values without a hierarchy entry, per column."""

    def __init__(self, records: NDArray[np.int64]) -> None:
        self._records = records
        self._found: list[Message] = []

    def note(
        self, dictionary: Dictionary, builder: HierarchyBuilder, leaf: NDArray[np.int32], codes: NDArray[np.int32]
    ) -> None:
        """Count the values whose leaf code is -1, and the records that have them."""
        if (leaf < 0).any():
            values = [
                value for value, code in zip(dictionary.codes, leaf, strict=True) if code < 0 and value is not None
            ]
            records = int(self._records[codes < 0].sum())
            self._found.append(without_entry(dictionary.name, values, records, builder))

    def refuse(self) -> None:
        """Raise InvalidData if there were any."""
        if self._found:
            found = Message.joined("; ", self._found)
            raise InvalidData(Message(found, f"; {ADVICE}"))
