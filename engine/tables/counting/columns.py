"""How the columns of a table are read, and codes of their values.

In: the text form of a column, batch by batch. Out: one integer per value, in order of appearance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.arrow_arrays import of_numbers
from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.hierarchy import Label
from engine.hierarchy.value_keys import OrderName
from engine.tables.sources.column_text import as_text, dictionary_of

Unseen = Literal["error", "suppress", "root"]


@dataclass(frozen=True)
class QuasiIdentifier:
    """How the values of a quasi-identifier are read.

    Attributes
    ----------
    missing : set of str
        Texts that mean a missing value.
    unseen : {"error", "suppress", "root"}
        What happens to values without a hierarchy entry: an error, their records are suppressed, or they have the label
        of the root at every level.
    """

    hierarchy: HierarchyBuilder
    missing: frozenset[str] = frozenset()
    unseen: Unseen = "error"


@dataclass(frozen=True)
class Sensitive:
    """How the values of a sensitive attribute are read.

    Attributes
    ----------
    order : {"text", "integer", "decimal", "date"}
        The type that orders them.
    hierarchy : HierarchyBuilder or None
    missing : set of str
        Texts that mean a missing value.
    is_presumed : bool
        Whether a model reads an order of text that nobody asked for: then texts that look like numbers or dates are
        refused.
    numbers : {"integer", "decimal"} or None
        Type of the values, if they are numbers that a model tells apart: one that is written in two ways is refused.
    is_known_alone : bool
        Whether a model leaves out missing values: then what is none, and is not said to be missing, is refused.
    is_float : bool
        Whether the column may hold what is no number.
    """

    order: OrderName = "text"
    hierarchy: HierarchyBuilder | None = None
    missing: frozenset[str] = frozenset()
    is_presumed: bool = False
    numbers: OrderName | None = None
    is_known_alone: bool = False
    is_float: bool = False


@dataclass(frozen=True)
class Columns:
    """The columns that are read from a table.

    Attributes
    ----------
    sensitive : mapping of attribute to Sensitive
        Attributes whose values privacy models count.
    refuse_nulls : tuple of str
        Columns in which a missing value is an error.
    missing : mapping of column to set of str
        Texts that mean a missing value in columns of `refuse_nulls` of which nothing else is read.
    """

    quasi_identifiers: Mapping[str, QuasiIdentifier]
    sensitive: Mapping[str, Sensitive] = field(default_factory=dict)
    refuse_nulls: tuple[str, ...] = ()
    missing: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def missing_texts(self, name: str) -> frozenset[str]:
        """Texts that mean a missing value in a column."""
        read = self.quasi_identifiers.get(name) or self.sensitive.get(name)
        return self.missing.get(name, frozenset()) if read is None else read.missing


class Dictionary:
    """Codes of the values of one column, in order of appearance.

    Attributes
    ----------
    codes : dict of value to int
    characters : int
        Of all values.
    """

    def __init__(self, name: str, missing: frozenset[str] = frozenset()) -> None:
        self.name = name
        self.codes: dict[Label, int] = {}
        self.characters = 0
        self._missing = missing
        # the dictionary of the last batch, and the code of each of its values: those of a file are alike
        self._values: pa.Array | None = None
        self._of_value = np.empty(0, np.int32)

    def encode(self, column: pa.Array, *, grow: bool) -> NDArray[np.int32]:
        """Code a batch, shape (records,); -1 for a new value unless the dictionary may grow."""
        values, positions = dictionary_of(column, self.name)
        if not self._is_known(values):
            # the last code is that of a missing value
            self._values, self._of_value = values, np.full(len(values) + 1, -1, np.int32)
        found = self._of_value[positions]
        if found.size and found.min() < 0:
            self._learn(values, _in_order(positions[found < 0]), grow=grow)
            found = self._of_value[positions]
        return found

    def _is_known(self, values: pa.Array) -> bool:
        # 0.0 and -0.0 would be taken for equal
        alike = self._values is not None and values.type == self._values.type and len(values) == len(self._values)
        return alike and not pa.types.is_floating(values.type) and bool(values.equals(self._values))

    def _learn(self, values: pa.Array, places: NDArray[np.int64], *, grow: bool) -> None:
        """Find the codes of some values of the last dictionary; a value that no record has gets none."""
        texts = as_text(values.take(of_numbers(places, places == len(values))), self.name).to_pylist()
        labels = [None if text in self._missing else text for text in texts]
        if grow:
            before = len(self.codes)
            codes = [self.codes.setdefault(label, len(self.codes)) for label in labels]
            new = (label for label, code in zip(labels, codes, strict=True) if code >= before)
            self.characters += sum(len(label or "") for label in new)
        else:
            codes = [self.codes.get(label, -1) for label in labels]
        self._of_value[places] = codes


def _in_order(places: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the distinct numbers in order of first appearance."""
    first = np.full(int(places.max()) + 1, places.size, np.int64)
    # where a number is written several times the last one stays
    first[places[::-1]] = np.arange(places.size - 1, -1, -1)
    found = np.flatnonzero(first < places.size)
    return found[np.argsort(first[found])]
