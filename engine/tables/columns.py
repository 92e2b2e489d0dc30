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

from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.hierarchy import Label
from engine.hierarchy.value_keys import OrderName
from engine.tables.source import as_text

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
    """

    order: OrderName = "text"
    hierarchy: HierarchyBuilder | None = None
    missing: frozenset[str] = frozenset()
    is_presumed: bool = False


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
    """Codes of the values of one column, in order of appearance."""

    def __init__(self, name: str, missing: frozenset[str] = frozenset()) -> None:
        self.name = name
        self.codes: dict[Label, int] = {}
        self._missing = missing

    def encode(self, column: pa.Array, *, grow: bool) -> NDArray[np.int32]:
        """Code a batch, shape (records,); -1 for a new value unless the dictionary may grow."""
        encoded = as_text(column, self.name).dictionary_encode(null_encoding="encode")
        values = [None if value in self._missing else value for value in encoded.dictionary.to_pylist()]
        if grow:
            here = [self.codes.setdefault(value, len(self.codes)) for value in values]
        else:
            here = [self.codes.get(value, -1) for value in values]
        positions: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
        return np.array(here, np.int32)[positions]
