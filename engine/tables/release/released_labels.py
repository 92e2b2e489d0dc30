"""The released quasi-identifiers: labels of the classes, in the order of a release, as dictionary columns.

In: the label codes of every class. Out: the place of each class among all, and the columns of records whose places are
known. A dictionary holds the labels of these records and no others, in order of appearance, as a writer of Parquet that
is given text would make it: the labels of records that are left out must not be in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.arrow_arrays import of_numbers, of_texts
from engine.hierarchy.builder import SUPPRESSED
from engine.hierarchy.hierarchy import Label

_CODED = pa.dictionary(pa.int32(), pa.string())


class ReleasedLabels:
    """Places and labels of the C classes of a transformation.

    Parameters
    ----------
    attributes : sequence of str
        The quasi-identifiers, m of them.
    labels : sequence of m sequences of labels
        By their codes.
    classes : int32, shape (C, m)
        The label codes of each class.

    Attributes
    ----------
    place : int64, shape (C + 1,)
        Of each class, sorted by its labels, a missing one last; then that of the suppressed records, which a class
        that is `*` throughout shares.
    """

    def __init__(
        self, attributes: Sequence[str], labels: Sequence[Sequence[Label]], classes: NDArray[np.int32]
    ) -> None:
        self._attributes = tuple(attributes)
        self._texts = []
        ranks = np.empty((classes.shape[0] + 1, len(attributes)), np.int32)
        for a, of_code in enumerate(labels):
            texts = sorted({SUPPRESSED, *(text for text in of_code if text is not None)})
            rank: dict[Label, int] = {text: place for place, text in enumerate(texts)}
            ranks[:-1, a] = np.array([rank.get(text, len(texts)) for text in of_code], np.int32)[classes[:, a]]
            ranks[-1, a] = rank[SUPPRESSED]
            self._texts.append(of_texts(texts))
        order = np.lexsort(ranks.T[::-1])
        new = np.append(False, (np.diff(ranks[order], axis=0) != 0).any(axis=1))
        self.place = np.empty(order.size, np.int64)
        self.place[order] = np.cumsum(new)
        self._ranks = ranks[order[np.append(True, new[1:])]]

    def coded(self, schema: pa.Schema) -> pa.Schema:
        """Return a schema of the release with the quasi-identifiers as dictionaries."""
        return pa.schema([field.with_type(_CODED) if field.name in self._attributes else field for field in schema])

    def columns(self, places: NDArray[np.int64]) -> Mapping[str, pa.DictionaryArray]:
        """Return the columns of records at these places, ascending."""
        heads = np.flatnonzero(np.append(True, places[1:] != places[:-1])[: places.size])
        lengths = np.diff(np.append(heads, places.size))
        ranks = self._ranks[places[heads]]
        return {
            name: _dictionary(ranks[:, a], lengths, texts)
            for a, (name, texts) in enumerate(zip(self._attributes, self._texts, strict=True))
        }

    def of_places(self, attribute: int) -> list[Label]:
        """Return the label of an attribute, by its place, at each place of a class."""
        texts: list[Label] = [*self._texts[attribute].to_pylist(), None]
        return [texts[rank] for rank in self._ranks[:, attribute].tolist()]


def _dictionary(ranks: NDArray[np.int32], lengths: NDArray[np.int64], texts: pa.Array) -> pa.DictionaryArray:
    """Return runs of labels; that after the last text is a missing one."""
    found, first, codes = np.unique(ranks, return_index=True, return_inverse=True)
    order = np.argsort(first)
    order = order[found[order] < len(texts)]
    code_of = np.zeros(found.size, np.int32)
    code_of[order] = np.arange(order.size, dtype=np.int32)
    missing = np.repeat(ranks == len(texts), lengths)
    indices = of_numbers(np.repeat(code_of[codes], lengths), missing)
    return pa.DictionaryArray.from_arrays(indices, texts.take(of_numbers(found[order])))


def plain_column(column: pa.Array) -> pa.Array:
    """Return a column as text if it is a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
