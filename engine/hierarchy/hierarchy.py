"""A generalization hierarchy of one quasi-identifier, as arrays.

In: rows `(leaf, label at level 1, ...)` of a builder. Out: integer codes. Three spaces are kept apart: values (text, or
None for a missing value), codes (one per distinct label of a level), levels.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.errors import InvalidData
from engine.hierarchy.builder import SUPPRESSED, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Label = str | None


class Hierarchy:
    """Codes and labels of the levels of one attribute.

    Parameters
    ----------
    attribute : str
        Column name, for error texts.
    rows : sequence of rows
        As of a builder, all equally long, at least one.
    with_null : bool
        Whether a missing value is a leaf: it stays missing up to the highest level, where it joins the root if there
        is exactly one.

    Attributes
    ----------
    labels : tuple of tuples
        `labels[level][code]`.
    codes : int32, shape (levels, leaves)
        Code at each level of the leaf with that code at level 0.
    domain_size : int
        Rows of the hierarchy, D of the definitions. A leaf listed twice counts twice.

    Raises
    ------
    InvalidData
        A level is not a function of the one below; the row is named, its values are not.
    """

    def __init__(self, attribute: str, rows: Sequence[Row], *, with_null: bool = False) -> None:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        table: list[tuple[Label, ...]] = list(rows)
        _check_nesting(attribute, rows)
        if with_null:
            roots = {row[-1] for row in rows}
            height = len(rows[0])
            root = rows[0][-1] if len(roots) == 1 and height > 1 else None
            table.append((*(None,) * (height - 1), root))
        self.attribute = attribute
        self.domain_size = len(table)
        indexes = [_index(column) for column in zip(*table, strict=True)]
        self.labels: tuple[tuple[Label, ...], ...] = tuple(tuple(index) for index in indexes)
        generalization = {row[0]: row for row in table}
        self.codes: NDArray[np.int32] = np.array(
            [[index[generalization[leaf][level]] for leaf in indexes[0]] for level, index in enumerate(indexes)],
            dtype=np.int32,
        )
        self._leaf_index = indexes[0]
        self._rows_per_label = [
            np.bincount([index[row[level]] for row in table], minlength=len(index))
            for level, index in enumerate(indexes)
        ]

    @property
    def level_count(self) -> int:
        """Number of levels, level 0 included."""
        return len(self.labels)

    @functools.cached_property
    def root_is_suppressed(self) -> bool:
        """Whether the highest level is nothing but `*`."""
        return self.labels[-1] == (SUPPRESSED,)

    def leaf_code(self, value: Label) -> int:
        """Code of a leaf value, -1 for a value without a row."""
        return self._leaf_index.get(value, -1)

    def leaf_rows(self) -> NDArray[np.float64]:
        """Rows of the hierarchy that share a leaf's label, by level and leaf code, shape (levels, leaves)."""
        import numpy as np  # noqa: PLC0415

        return np.array(
            [rows[codes] for rows, codes in zip(self._rows_per_label, self.codes, strict=True)], dtype=np.float64
        )


def _index(column: Sequence[Label]) -> dict[Label, int]:
    return {label: code for code, label in enumerate(dict.fromkeys(column))}


def _check_nesting(attribute: str, rows: Sequence[Row]) -> None:
    for level in range(len(rows[0]) - 1):
        first: dict[str, tuple[str, int]] = {}
        for number, row in enumerate(rows, start=1):
            above, seen_in = first.setdefault(row[level], (row[level + 1], number))
            if above != row[level + 1]:
                raise InvalidData(
                    f"hierarchy of column {attribute!r}: row {number} gives the label of level {level} another parent "
                    f"at level {level + 1} than row {seen_in} does; one label needs one parent"
                )
