"""A generalization hierarchy of one quasi-identifier, as arrays.

In: rows `(leaf, label at level 1, ...)` of a builder. Out: integer codes. Three spaces are kept apart: values (text, or
None for a missing value), codes (one per distinct label of a level), levels.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.errors import InvalidData
from engine.hierarchy.builder import SUPPRESSED, Row
from engine.message import Count, Message

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
        As of a builder, all equally long. None only where every value is missing or without a row.
    with_null : bool
        Whether a missing value is a leaf: it stays missing up to the highest level, where it joins the root if there
        is exactly one.
    with_unseen : bool
        Whether there is one leaf for all values without a row. It has the label of the root at every level and
        represents the whole domain; it is not a row of the hierarchy.
    level_count : int, optional
        Of its levels, needed where there are no rows: a missing value is then the only leaf of the domain, below `*`.

    Attributes
    ----------
    labels : tuple of tuples
        `labels[level][code]`.
    codes : int32, shape (levels, leaves)
        Code at each level of the leaf with that code at level 0.
    domain_size : int
        Rows of the hierarchy, D of the definitions. A leaf that is listed twice counts twice.
    unseen_code : int
        Leaf code of the values without a row, -1 if there is none.
    lacking_code : int
        Leaf code of the cells of records whose table lacks the column, -1 if there is none: see `with_lacking`.

    Raises
    ------
    InvalidData
        A level is not a function of the one below (the message names the row, not its values), or values without a row
        need one root and there are several.
    """

    def __init__(
        self,
        attribute: str,
        rows: Sequence[Row],
        *,
        with_null: bool = False,
        with_unseen: bool = False,
        level_count: int | None = None,
    ) -> None:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        table: list[tuple[Label, ...]] = list(rows)
        # those of a builder that has a row per value end in `*` alone
        roots = {row[-1] for row in rows} or {SUPPRESSED}
        if with_null:
            height = len(rows[0]) if rows else level_count
            assert height is not None  # noqa: S101 (the caller says it)
            root = next(iter(roots)) if len(roots) == 1 and height > 1 else None
            table.append((*(None,) * (height - 1), root))
        self.attribute = attribute
        self.domain_size = len(table)
        columns = list(zip(*table, strict=True))
        indexes = [_index(column) for column in columns]
        self.labels: tuple[tuple[Label, ...], ...] = tuple(tuple(index) for index in indexes)
        coded = np.array(
            [
                np.fromiter(map(index.__getitem__, column), np.int32, len(table))
                for index, column in zip(indexes, columns, strict=True)
            ]
        )
        first = [np.unique(codes, return_index=True)[1] for codes in coded]
        if any(
            (above[rows_of][below] != above).any()
            for below, above, rows_of in zip(coded, coded[1:], first, strict=False)
        ):
            _refuse_parents(attribute, rows)
        # unlike an index, `take` leaves the rows one after the other, as the kernels were compiled for
        self.codes: NDArray[np.int32] = coded.take(first[0], axis=1)
        self._leaf_index = dict(indexes[0])
        self.unseen_code = -1
        self.lacking_code = -1
        self._rows_per_label = [
            np.bincount(codes, minlength=len(index)) for codes, index in zip(coded, indexes, strict=True)
        ]
        if with_unseen:
            self._add_unseen(roots)

    @property
    def level_count(self) -> int:
        """Number of levels, level 0 included."""
        return len(self.labels)

    @functools.cached_property
    def root_is_suppressed(self) -> bool:
        """Whether the highest level is nothing but `*`."""
        return self.labels[-1] == (SUPPRESSED,)

    def _add_unseen(self, roots: set[str]) -> None:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        if len(roots) != 1:
            raise InvalidData(
                Message.of(
                    "hierarchy of column {name!r}: ends in {roots} labels; values without an entry need one root to "
                    "become, so add a level with one label, such as {mark!r}, or set unseen: error",
                    name=self.attribute,
                    roots=Count(len(roots)),
                    mark=SUPPRESSED,
                )
            )
        (root,) = roots
        self.unseen_code = self.codes.shape[1]
        self.labels = tuple(labels if root in labels else (*labels, root) for labels in self.labels)
        column = np.array([labels.index(root) for labels in self.labels], np.int32)
        self.codes = np.column_stack([self.codes, column])

    def with_lacking(self) -> Hierarchy:
        """Return the same hierarchy with one more leaf, for cells that are no part of the table.

        It has the labels of a missing value, which must be a leaf already, and is not a row of the hierarchy.
        """
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        found = copy.copy(self)
        found.__dict__.pop("root_is_suppressed", None)
        found.lacking_code = self.codes.shape[1]
        found.codes = np.column_stack([self.codes, self.codes[:, self._leaf_index[None]]])
        return found

    def leaf_code(self, value: Label) -> int:
        """Code of a leaf value; `unseen_code` for a value without a row."""
        return self._leaf_index.get(value, self.unseen_code)

    def shows(self, label: Label) -> NDArray[np.bool_]:
        """Whether a leaf has a label, by level and leaf code, shape (levels, leaves)."""
        import numpy as np  # noqa: PLC0415

        return np.array(
            [
                np.array([one == label for one in labels], np.bool_)[codes]
                for labels, codes in zip(self.labels, self.codes, strict=True)
            ]
        )

    def leaf_rows(self) -> NDArray[np.float64]:
        """Rows of the hierarchy that share a leaf's label, by level and leaf code, shape (levels, leaves)."""
        import numpy as np  # noqa: PLC0415

        leaves = len(self._leaf_index)
        found = np.full(self.codes.shape, float(self.domain_size))
        for level, rows in enumerate(self._rows_per_label):
            found[level, :leaves] = rows[self.codes[level, :leaves]]
        return found


def _index(column: Sequence[Label]) -> dict[Label, int]:
    return {label: code for code, label in enumerate(dict.fromkeys(column))}


def _refuse_parents(attribute: str, rows: Sequence[Row]) -> None:
    """Name the first row that gives a label another parent than a row before it."""
    for level in range(len(rows[0]) - 1):
        first: dict[str, tuple[str, int]] = {}
        for number, row in enumerate(rows, start=1):
            above, seen_in = first.setdefault(row[level], (row[level + 1], number))
            if above != row[level + 1]:
                raise InvalidData(
                    f"hierarchy of column {attribute!r}: row {number} gives the label of level {level} another parent "
                    f"at level {level + 1} than row {seen_in} does; one label needs one parent"
                )
