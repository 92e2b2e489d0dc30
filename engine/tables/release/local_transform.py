"""Apply a local recoding to the stream: each record gets the cell of its tuple, or one drawn from those of its tuple.

In: as of `transform`, with a table that has a row per piece of a tuple, and the recoding of these rows. Out: the same.
Which records of a tuple go to which of its cells is drawn at random, from the operating system as the order of a
release is: it depends on nothing that is in the record, and is kept nowhere. Only a recoding that says of which row
each record is leaves nothing to chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.counting.encoding import Encoding
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.tuple_index import TupleIndex
from engine.tables.recoding.recoding import Recoding
from engine.tables.release.aggregated import Aggregates
from engine.tables.release.release_order import random_numbers
from engine.tables.release.released_labels import ReleasedLabels
from engine.tables.release.transform import Transformation
from engine.tables.sources.table import Table


class LocalTransformation(Transformation):
    """The output of one local recoding.

    Parameters
    ----------
    source, columns, encoding, drop, pseudonyms, aggregates
        See `Transformation`.
    table : FrequencyTable
        With a row per piece of a tuple.
    recoding : Recoding
        Of its rows.
    suppressed : int64, shape (S,)
        Rows that are suppressed.
    """

    def __init__(
        self,
        source: pa.Schema,
        columns: Sequence[str],
        encoding: Encoding,
        table: FrequencyTable,
        recoding: Recoding,
        suppressed: NDArray[np.int64],
        *,
        drop: bool,
        pseudonyms: Sequence[str] = (),
        aggregates: Aggregates | None = None,
    ) -> None:
        self._aggregates = aggregates
        self._encoding = encoding
        self._attributes = table.attributes
        self._pseudonyms = frozenset(pseudonyms)
        self._places = self._left_out = self._refused = None
        self._drop = drop
        widths = [hierarchy.codes.shape[1] for hierarchy in table.hierarchies]
        self._codes = [np.arange(width, dtype=np.int32) for width in widths]
        self._classes = TupleIndex(list(table.codes), widths)
        self._labels = ReleasedLabels(
            table.attributes,
            [[label for labels in hierarchy.labels for label in labels] for hierarchy in table.hierarchies],
            _cells(table, recoding),
        )
        self._place, self._starred_place = self._labels.place[:-1], int(self._labels.place[-1])
        self._suppressed_place = -1 if drop else self._starred_place
        of_row = self._place.copy()
        of_row[suppressed] = self._suppressed_place
        self._suppresses = suppressed.size > 0
        self._rows = recoding.of_record
        if self._rows is None:
            self._draw(of_row, table.counts)
        else:
            self._of_row = of_row
        self._sizes, self._counted = self._records_at(np.arange(table.counts.size), table.counts, suppressed)
        self._name_columns(source, columns)

    def _draw(self, of_row: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Shuffle the places of the records of each tuple that has several."""
        tuples = self._classes.group
        number = self._classes.known.shape[0]
        self._place_of_class = np.empty(number, np.int64)
        self._place_of_class[tuples] = of_row
        self._is_split = np.bincount(tuples, minlength=number) > 1
        rows = np.flatnonzero(self._is_split[tuples])
        owner = np.repeat(tuples[rows], counts[rows])
        order = np.lexsort((random_numbers(owner.size), owner))
        self._drawn = np.repeat(of_row[rows], counts[rows])[order]
        sizes = np.bincount(owner, minlength=number)
        self._ends = np.cumsum(sizes)
        self._begins = self._ends - sizes

    def _read_in_order(self, table: Table) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, NDArray[np.int64]]]:
        # what was drawn stays: each reading gives a record the same cell
        if self._rows is None:
            self._next = self._begins.copy()
        else:
            self._seen = 0
        yield from super()._read_in_order(table)

    def _places_of(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._rows is None:
            return self._drawn_places(classes)
        rows = self._rows[self._seen : self._seen + classes.size]
        self._seen += classes.size
        if not np.array_equal(self._classes.group[rows], classes):
            raise InvalidData("the source changed while it was read: records were added or changed; run again")
        return self._of_row[rows]

    def _drawn_places(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        places = self._place_of_class[classes]
        split = np.flatnonzero(self._is_split[classes])
        if not split.size:
            return places
        owner = classes[split]
        order = np.argsort(owner, kind="stable")
        found, first, number = np.unique(owner[order], return_index=True, return_counts=True)
        nth = np.empty(split.size, np.int64)
        nth[order] = np.arange(split.size) - np.repeat(first, number)
        if (self._next[found] + number > self._ends[found]).any():
            raise InvalidData("the source changed while it was read: records were added; run again")
        places[split] = self._drawn[self._next[owner] + nth]
        self._next[found] += number
        return places


def _cells(table: FrequencyTable, recoding: Recoding) -> NDArray[np.int32]:
    """Return the label codes of each row, shape (P, m), the levels of a hierarchy behind each other."""
    cells = np.empty((table.counts.size, len(table.hierarchies)), np.int32)
    for a, (hierarchy, leaves) in enumerate(zip(table.hierarchies, table.codes, strict=True)):
        begins = np.cumsum([0, *(len(labels) for labels in hierarchy.labels[:-1])])
        levels = recoding.levels[:, a]
        cells[:, a] = begins[levels] + hierarchy.codes[levels, leaves]
    return cells
