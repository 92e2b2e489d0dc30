"""The persons of a source who are in a release of a series, as its vault says.

In: the source, and the evidence of the series. Out: for each record its place in the vault, and those records that the
release is said to have, as a `Table`. Where persons who are gone are kept, their records follow those of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.table import Table
from engine.verification.records.persons_named import persons_named
from engine.verification.records.population import open_source_of

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.series.evidence import SeriesEvidence


class PersonsReleased:
    """The records of a source whose person the vault has in the release.

    Attributes
    ----------
    places : int64, shape (n,)
        Place in the vault of the person of each record of the whole source, and of each who is gone and kept; -1 for
        who has none.
    inside : bool, shape (n,)
        Whether the vault says that the record is released.
    kept : KeptRows or None
        Of who is said to be gone from the source.
    """

    def __init__(self, source: Table, subject: str, evidence: SeriesEvidence) -> None:
        if subject not in source.schema.names:
            raise InvalidData(f"subject {subject!r}: the source lacks this column; give the source that was released")
        self._source, self._subject = source, subject
        text = source.schema.field(subject).with_type(pa.string())
        self.schema = source.schema.set(source.schema.get_field_index(subject), text)
        texts = [persons_named(batch.column(0), subject) for batch in source.batches([subject])]
        persons = pa.chunked_array(texts, pa.string())
        ids = None if persons.null_count else evidence.key.ids(persons)
        if ids is None or _repeat(ids, persons):
            raise InvalidData(f"subject {subject!r}: a person has several records, or a record has none")
        found = _where(ids, evidence.ids)
        rows = evidence.releases[-1].kept
        self.kept = None if rows is None else rows.where(rows.nights > 0)
        gone = [] if self.kept is None else self.kept.places.tolist()
        self._names = [f"\0{place}" for place in gone]
        self._records = found.size
        self.places: NDArray[np.int64] = np.concatenate([found, np.array(gone, np.int64)])
        classes = np.append(_whole(evidence.releases[-1].classes, evidence.ids.shape[0]), -1)
        self.inside: NDArray[np.bool_] = classes[self.places] >= 0

    @property
    def kept_share(self) -> float:
        """Share of who is gone and kept, of the persons of the source and these."""
        return len(self._names) / max(1, self.inside.size)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        begin = 0
        for batch in self._source.batches(columns):
            yield self._as_text(batch.filter(pa.array(self.inside[begin : begin + batch.num_rows])))
            begin += batch.num_rows
        if begin != self._records:
            raise InvalidData("the source changed while it was read: records were added or are gone; run again")
        if self.kept is not None and self._names:
            there = pa.array(self.inside[begin:])
            yield from pa.table({name: self._of_gone(name) for name in columns}).filter(there).to_batches()

    def _as_text(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._subject not in batch.schema.names:
            return batch
        place = batch.schema.get_field_index(self._subject)
        return batch.set_column(
            place, self.schema.field(self._subject), persons_named(batch.column(place), self._subject)
        )

    def _of_gone(self, name: str) -> Any:
        """Return a column of who is gone; what the vault does not hold, because it is not released, is missing."""
        assert self.kept is not None  # noqa: S101 (the caller has asked)
        if name == self._subject:
            return pa.array(self._names, pa.string())
        kind = plain_type(self.schema.field(name).type)
        if name not in self.kept.rows.column_names:
            return pa.nulls(len(self._names), kind)
        try:
            return self.kept.rows[name].cast(kind)
        except pa.ArrowException:  # its message may quote a value
            raise InvalidData(
                f"column {name!r}: has another type in the source than in kept records; run again"
            ) from None


def released_persons(job: Job, source: Any, evidence: SeriesEvidence | None) -> PersonsReleased:
    """Return the records of a source that the vault has in the release.

    Raises
    ------
    InvalidData
        There is no evidence, or the source cannot be read or has several records of a person.
    """
    if evidence is None:
        raise InvalidData(
            "nobody knows who was released before without the vault of the series; give what series_evidence returns"
        )
    assert job.subject is not None  # noqa: S101 (a series has one)
    return PersonsReleased(open_source_of(job, source), job.subject, evidence)


def _repeat(ids: NDArray[np.uint8], persons: pa.ChunkedArray) -> bool:
    """Tell whether somebody is among persons twice; equal persons have equal ids."""
    ordered = np.sort(_first(ids))
    return bool((ordered[1:] == ordered[:-1]).any()) and pc.count_distinct(persons).as_py() < len(persons)


def _where(ids: NDArray[np.uint8], known: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the place of each id among known ones, int64, shape (n,); -1 for who is not there, or has no id."""
    taken = np.flatnonzero(known.any(axis=1))
    place = _index(pa.array(_first(ids)), pa.array(_first(known[taken])))
    there = np.flatnonzero(place >= 0)
    if (ids[there] != known[taken][place[there]]).any():  # two of them begin alike
        width = pa.binary(known.shape[1])
        place = _index(*(pa.array([one.tobytes() for one in found], width) for found in (ids, known[taken])))
    return np.append(taken, -1)[place]


def _first(ids: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.ascontiguousarray(ids[:, :8]).view(np.int64).reshape(-1)


def _index(wanted: pa.Array, among: pa.Array) -> NDArray[np.int64]:
    return np.asarray(pc.index_in(wanted, value_set=among).fill_null(-1), np.int64)


def _whole(classes: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    return np.concatenate([classes, np.full(size - classes.size, -1, np.int32)])
