"""Rows that changed since last night, put together with the kept ones into the table of tonight.

In: a source that tells changes, and the state of last night. Out: the staged file that reading all rows would have
given, but for the order of the rows, and the state of tonight beside it, which is kept once the release is published.
Where the state may not be used, or does not come to as many rows as the source has, all rows are read.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.changed_rows import (
    BOTTOM,
    GONE,
    NOW,
    OURS,
    STATE,
    STAYS,
    TOP,
    TOTAL,
    WRITTEN,
    Settings,
    Told,
)
from airflow_anon.transport.connection import PLAIN
from airflow_anon.transport.counted_rows import Counts, NotCountedError, as_bytes, counts_of, read_counts
from airflow_anon.transport.fingerprint import digest_of, hashes_of, record_hashes
from airflow_anon.transport.kept_table import Kept, NoStateError, State, kept_rows, sha256_of, source_digest
from airflow_anon.transport.parquet import plain_type, stored_schema, write_parquet
from airflow_anon.transport.release_files import CHANGES, COUNTS, HASHES, KEPT
from airflow_anon.transport.staged_files import write_bytes, write_json

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from airflow.sdk import ObjectStoragePath
    from numpy.typing import NDArray

    from airflow_anon.transport.database_read import Reading
    from engine import FingerprintKey

log = logging.getLogger(__name__)

CHANGES_ALONE = "only what changed since the last release was read"


class Staged(NamedTuple):
    """A table that was written.

    Attributes
    ----------
    rows : int
        Without any there is no file.
    how : str
        How it was read.
    fingerprint : str
    """

    rows: int
    how: str
    fingerprint: str


@dataclass(frozen=True)
class Mark:
    """What a statement saw of the marks: the highest one, and the clock, if the marks are moments."""

    top: int | None
    now: int | None

    @property
    def reached(self) -> int | None:
        """The mark to go on from: one in the future must not hide the writes until then."""
        return self.top if self.now is None or self.top is None else min(self.top, self.now)


class IncrementalRead:
    """The extraction of one night.

    Parameters
    ----------
    told : Told
        How the source tells changes.
    reading : Reading
        That of all rows that are present, with the key among its columns.
    key : FingerprintKey
        Seals what is kept.
    counted : sequence of str
        Columns whose combinations of values are counted, beside the table; without any nothing is counted.
    """

    def __init__(self, told: Told, reading: Reading, key: FingerprintKey, counted: Sequence[str] = ()) -> None:
        self.told, self.reading, self.key, self.counted = told, reading, key, list(counted)
        self._settings = told.settings
        connection = reading.hook.connection
        place = [connection.conn_type, connection.host, connection.port, connection.schema, connection.extra_dejson]
        relation = [told.relation.table, told.relation.query]
        how = {name: value for name, value in asdict(told.settings).items() if name not in {"kept_in", "full_every"}}
        columns = [[name, str(kind)] for name, kind in self._types().items()]
        self._source = source_digest(
            {"place": place, "relation": relation, "how": how, "columns": columns, "marks": told.marks.mark}, key
        )

    def stage(self, path: ObjectStoragePath) -> Staged:
        """Write the table of tonight, and what the next night needs beside it.

        Raises
        ------
        AirflowFailException
            A key is missing, occurs twice, or is of an unfit type, or others may open what is kept.
        """
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        if str(self._types()[self._settings.key]) not in {"int64", "string"}:
            raise AirflowFailException(
                f"incremental.key: column {self._settings.key!r} must hold whole numbers or text; cast it in a query"
            )
        for name in (KEPT, COUNTS):
            (path.parent / name).unlink(missing_ok=True)
        mark: int | None
        changed: _Joined | None = None
        try:
            changed, mark, nights = self._changes(path)
            hashes, how = changed.hashes(), CHANGES_ALONE
        except NoStateError as reason:
            how = f"all rows were read: {reason}"
            hashes, mark, nights = *self._all(path), 0
        log.info("Incremental reading: %s", how)
        if not hashes.size:
            return Staged(0, how, "")
        self._stage_state(path, hashes, mark, nights, self._stage_counts(path, changed))
        return Staged(hashes.size, how, digest_of(stored_schema(path), [np.sort(hashes)], self.key))

    def _stage_state(
        self, path: ObjectStoragePath, hashes: NDArray[np.uint64], mark: int | None, nights: int, counts: str | None
    ) -> None:
        content = hashes.astype("<u8").tobytes()
        write_bytes(path.parent / HASHES, content)
        with path.open("rb") as file:
            state = State(self._source, mark, nights, sha256_of(file), hashlib.sha256(content).hexdigest(), counts)
        write_json(path.parent / KEPT, state.sealed(self.key))

    def _stage_counts(self, path: ObjectStoragePath, changed: _Joined | None) -> str | None:
        """Write the counts of the staged table; return their SHA-256, None without any."""
        if not self.counted:
            return None
        try:
            counts = self._counts(path, changed)
        except NotCountedError as reason:
            log.info("Counting: the task after this one counts all rows, %s", reason)
            return None
        content = as_bytes(counts)
        write_bytes(path.parent / COUNTS, content)
        return hashlib.sha256(content).hexdigest()

    def _counts(self, path: ObjectStoragePath, changed: _Joined | None) -> pa.Table:
        """Correct the counts of last night by what changed, or count all rows."""
        if changed is not None:
            try:
                found = changed.counts(path)
            except NotCountedError as reason:
                log.info("Counting: all rows, because %s", reason)
            else:
                log.info("Counting: only what changed since the last release")
                return found
        return counts_of(path, self.counted)

    def _types(self) -> dict[str, pa.DataType]:
        return {column.name: plain_type(column.name, column.type) for column in self.reading.columns}

    def _all(self, path: ObjectStoragePath) -> tuple[NDArray[np.uint64], int | None]:
        """Read all rows; the mark is that of before, so that what is written meanwhile is read again."""
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        with self.reading.engine.connect().execution_options(**PLAIN) as connection:
            mark = Mark(*connection.exec_driver_sql(self.told.state_now()).one())
        with closing(self.reading.batches()) as batches:
            rows = write_parquet(batches, path)
        if not rows:
            return np.empty(0, np.uint64), mark.reached
        with path.open("rb") as file:
            self._check_keys(_keys(file, self._settings.key))
        return hashes_of(path, self.key)[1], mark.reached

    def _changes(self, path: ObjectStoragePath) -> tuple[_Joined, int, int]:
        """Read what changed, and join it with what is kept.

        Raises
        ------
        NoStateError
            All rows must be read.
        """
        with kept_rows(Path(self._settings.kept_in), self._source, self.key) as kept:
            state = kept.state
            if state.mark is None:
                raise NoStateError("no row told when it was written")
            if state.nights + 1 >= self._settings.full_every:
                raise NoStateError(f"they are every {self._settings.full_every} nights (incremental.full_every)")
            changes = path.parent / CHANGES
            try:
                self._stage_changes(changes, state.mark)
                with changes.open("rb") as changed:
                    joined = _Joined(self._settings, kept, changed, self.key, self.counted)
                    mark = joined.checked(state.mark)
                    self._check_keys(joined.written)
                    write_parquet(joined.batches(list(self._types())), path)
            finally:
                changes.unlink(missing_ok=True)
        return joined, mark, state.nights + 1

    def _stage_changes(self, path: ObjectStoragePath, mark: int) -> None:
        # a moment of SQLite is rounded to seconds
        reading = self.told.changes(self.reading, mark - self._settings.overlap - (1 if self.told.marks.now else 0))
        self.reading.cancel = lambda: reading.cancel and reading.cancel()
        with closing(reading.batches()) as batches:
            write_parquet(batches, path)

    def _check_keys(self, keys: pa.ChunkedArray) -> None:
        import pyarrow.compute as pc  # noqa: PLC0415 (heavy imports belong into execute)

        named = f"incremental.key: column {self._settings.key!r}"
        if keys.null_count:
            raise AirflowFailException(f"{named} is missing in a row; name a column that every row has")
        if pc.count_distinct(keys).as_py() != len(keys):
            raise AirflowFailException(f"{named} has a value twice; name a column that is unique")


class _Joined:
    """Kept rows and changes as one table.

    Parameters
    ----------
    changed : file
        Parquet, with the columns of `changed_rows`.
    key : FingerprintKey
    counted : sequence of str
        Columns whose combinations of values are counted.

    Attributes
    ----------
    written : ChunkedArray
        Keys of the rows that were written.
    """

    def __init__(
        self, settings: Settings, kept: Kept, changed: IO[bytes], key: FingerprintKey, counted: Sequence[str]
    ) -> None:
        import pyarrow.compute as pc  # noqa: PLC0415 (heavy imports belong into execute)

        self._settings, self._kept, self._changed, self._key = settings, kept, changed, key
        told = _columns(changed, [*OURS, settings.key])
        self._first = told.slice(0, 1)
        states, keys = told[STATE], told[settings.key]
        self.written = keys.filter(pc.equal(states, WRITTEN))
        self._stays = keys.filter(pc.equal(states, STAYS)).combine_chunks()
        before = _keys(kept.rows, settings.key)
        if settings.list_keys:
            mask = pc.is_in(before, value_set=self._stays)
        else:
            gone = keys.filter(pc.is_in(states, value_set=_int64([WRITTEN, GONE])))
            mask = pc.invert(pc.is_in(before, value_set=gone.combine_chunks()))
        self._mask = mask.combine_chunks()
        self._hashes: list[NDArray[np.uint64]] = []
        self._counts = Counts(counted)
        # what is gone is looked at only where last night's counts are there to be corrected
        self._corrects = bool(counted) and kept.counts is not None
        self._uncounted: NotCountedError | None = None

    def checked(self, before: int) -> int:
        """Return the mark to go on from.

        Raises
        ------
        NoStateError
            The source is older than what is kept, its log does not reach back to it, or both together do not come to
            the rows that the source has.
        """
        import pyarrow.compute as pc  # noqa: PLC0415 (heavy imports belong into execute)

        total, top, bottom, now = (self._first[name][0].as_py() for name in (TOTAL, TOP, BOTTOM, NOW))
        if top is None or top < before:
            raise NoStateError("the source is older than what is kept of it")
        if self._settings.query is not None and bottom > before - self._settings.overlap:
            raise NoStateError("the log of changes does not reach back far enough")
        stay = pc.sum(self._mask).as_py() or 0
        # as many kept rows as keys stay, so these are all known and differ; and no row was written beside one of them
        is_known = not self._settings.list_keys or (
            stay == len(self._stays)
            and not pc.any(pc.is_in(self._stays, value_set=self.written.combine_chunks()), min_count=0).as_py()
        )
        if not is_known or stay + len(self.written) != total:
            raise NoStateError("rows were written or deleted without the source telling so")
        return max(before, Mark(top, now).reached or before)

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of tonight."""
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)
        import pyarrow.compute as pc  # noqa: PLC0415

        stays = self._mask.to_numpy(zero_copy_only=False)
        self._hashes = [np.frombuffer(self._kept.hashes.read(), "<u8")[stays]]
        start = 0
        for batch in _batches(self._kept.rows, columns):
            stays_here = self._mask.slice(start, batch.num_rows)
            if self._corrects:
                self._count(batch.select(self._counts.columns).filter(pc.invert(stays_here)), -1)
            yield batch.filter(stays_here)
            start += batch.num_rows
        for batch in _batches(self._changed, [*columns, STATE]):
            written = batch.filter(pc.equal(batch.column(len(columns)), WRITTEN)).select(columns)
            self._hashes.append(record_hashes(written, self._key))
            if self._corrects:
                self._count(written.select(self._counts.columns), 1)
            yield written

    def _count(self, rows: pa.RecordBatch, times: int) -> None:
        try:
            self._counts.add(rows, times)
        except NotCountedError as reason:
            self._uncounted, self._corrects = reason, False

    def counts(self, path: ObjectStoragePath) -> pa.Table:
        """Return the counts of the staged table, once `batches` gave all of its rows.

        Raises
        ------
        NotCountedError
            Those of last night are gone, of other columns or types, or do not come to the table.
        """
        if self._uncounted is not None:
            raise self._uncounted
        if self._kept.counts is None:
            raise NotCountedError("no counts are kept, or they were changed")
        before, schema = read_counts(self._kept.counts), stored_schema(path)
        fields = [schema.field(name) for name in self._counts.columns]
        if [(one.name, one.type) for one in before.schema][:-1] != [(one.name, one.type) for one in fields]:
            raise NotCountedError("those of last night are of other columns or types")
        self._counts.add_counted(before)
        return self._counts.total(schema, sum(hashes.size for hashes in self._hashes))

    def hashes(self) -> NDArray[np.uint64]:
        """Return the hash of each row that `batches` gave, in their order."""
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        return np.concatenate(self._hashes)


def _int64(values: list[int]) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    return pa.array(values, pa.int64())


def _keys(file: IO[bytes], key: str) -> pa.ChunkedArray:
    return _columns(file, [key])[key]


def _columns(file: IO[bytes], columns: list[str]) -> pa.Table:
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    file.seek(0)
    return pq.ParquetFile(file).read(columns=columns)


def _batches(file: IO[bytes], columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    file.seek(0)
    for batch in pq.ParquetFile(file).iter_batches(columns=columns):
        yield batch.select(columns)
