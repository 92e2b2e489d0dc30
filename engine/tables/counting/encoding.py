"""Values to leaf codes, once the values of a table are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.hierarchy.hierarchy import Hierarchy
from engine.tables.counting.columns import Dictionary


@dataclass(frozen=True, eq=False)
class Encoding:
    """Turns batches into leaf codes."""

    hierarchies: tuple[Hierarchy, ...]
    _dictionaries: tuple[Dictionary, ...]
    _leaves: tuple[NDArray[np.int32], ...]

    def leaf_codes(self, batch: pa.RecordBatch) -> list[NDArray[np.int32]]:
        """Code the quasi-identifiers of a batch.

        Returns
        -------
        list of m arrays, int32, shape (records,)

        Raises
        ------
        InvalidData
            The batch has a value that did not occur when the table was counted.
        """
        columns = (batch.column(dictionary.name) for dictionary in self._dictionaries)
        return [self.leaf_codes_of(a, column) for a, column in enumerate(columns)]

    def leaf_codes_of(self, attribute: int, column: pa.Array) -> NDArray[np.int32]:
        """Code values of one quasi-identifier, by its place; see `leaf_codes`."""
        dictionary = self._dictionaries[attribute]
        provisional = dictionary.encode(column, grow=False)
        if provisional.size and provisional.min() < 0:
            raise InvalidData(f"column {dictionary.name!r}: the source changed while it was read; run the job again")
        return self._leaves[attribute][provisional]
