"""Rows that changed since last night, put together with the kept ones into the table of tonight.

In: a source that tells changes, and the state of last night. Out: the staged file that reading all rows would have
given, but for the order of the rows, and the state of tonight beside it, which is kept once the release is published.
Where the state may not be used, or does not come to as many rows as the source has, all rows are read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

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
from airflow_anon.transport.kept_table import NoStateError, State, kept_rows, sha256_of, source_digest
from airflow_anon.transport.parquet import plain_type, write_parquet
from airflow_anon.transport.release_files import CHANGES, KEPT
from airflow_anon.transport.staged_files import write_json

if TYPE_CHECKING:
    import pyarrow as pa
    from airflow.sdk import ObjectStoragePath

    from airflow_anon.transport.database_read import Reading
    from airflow_anon.transport.fingerprint_key import FingerprintKey

log = logging.getLogger(__name__)

CHANGES_ALONE = "only what changed since the last release was read"


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
    """

    def __init__(self, told: Told, reading: Reading, key: FingerprintKey) -> None:
        self.told, self.reading, self.key = told, reading, key
        self._settings = told.settings
        connection = reading.hook.connection
        place = [connection.conn_type, connection.host, connection.port, connection.schema, connection.extra_dejson]
        relation = [told.relation.table, told.relation.query]
        how = {name: value for name, value in asdict(told.settings).items() if name not in {"kept_in", "full_every"}}
        columns = [[name, str(kind)] for name, kind in self._types().items()]
        self._source = source_digest(
            {"place": place, "relation": relation, "how": how, "columns": columns, "marks": told.marks.mark}, key
        )

    def stage(self, path: ObjectStoragePath) -> tuple[int, str]:
        """Write the table of tonight, and its state beside it.

        Returns
        -------
        rows : int
            Number of records; without any there is no file.
        how : str
            How it was read.

        Raises
        ------
        AirflowFailException
            A key is missing, occurs twice, or is of an unfit type, or others may open what is kept.
        """
        if str(self._types()[self._settings.key]) not in {"int64", "string"}:
            raise AirflowFailException(
                f"incremental.key: column {self._settings.key!r} must hold whole numbers or text; cast it in a query"
            )
        state = path.parent / KEPT
        state.unlink(missing_ok=True)
        try:
            rows, mark, nights = self._changes(path)
            how = CHANGES_ALONE
        except NoStateError as reason:
            how = f"all rows were read: {reason}"
            rows, mark, nights = *self._all(path), 0
        log.info("Incremental reading: %s", how)
        if rows:
            with path.open("rb") as file:
                sha256 = sha256_of(file)
            write_json(state, State(self._source, mark, nights, sha256).sealed(self.key))
        return rows, how

    def _types(self) -> dict[str, pa.DataType]:
        return {column.name: plain_type(column.name, column.type) for column in self.reading.columns}

    def _all(self, path: ObjectStoragePath) -> tuple[int, int | None]:
        """Read all rows; the mark is that of before, so that what is written meanwhile is read again."""
        with self.reading.engine.connect().execution_options(**PLAIN) as connection:
            mark = Mark(*connection.exec_driver_sql(self.told.state_now()).one())
        with closing(self.reading.batches()) as batches:
            rows = write_parquet(batches, path)
        if rows:
            with path.open("rb") as file:
                self._check_keys(_keys(file, self._settings.key))
        return rows, mark.reached

    def _changes(self, path: ObjectStoragePath) -> tuple[int, int, int]:
        """Read what changed, and join it with what is kept.

        Raises
        ------
        NoStateError
            All rows must be read.
        """
        with kept_rows(Path(self._settings.kept_in), self._source, self.key) as (state, rows):
            if state.mark is None:
                raise NoStateError("no row told when it was written")
            if state.nights + 1 >= self._settings.full_every:
                raise NoStateError(f"they are every {self._settings.full_every} nights (incremental.full_every)")
            changes = path.parent / CHANGES
            try:
                self._stage_changes(changes, state.mark)
                with changes.open("rb") as changed:
                    joined = _Joined(self._settings, rows, changed)
                    mark = joined.checked(state.mark)
                    self._check_keys(joined.listed_keys)
                    written = write_parquet(joined.batches(list(self._types())), path)
            finally:
                changes.unlink(missing_ok=True)
        return written, mark, state.nights + 1

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
    kept, changed : file
        Parquet; the changes with the columns of `changed_rows`.
    """

    def __init__(self, settings: Settings, kept: IO[bytes], changed: IO[bytes]) -> None:
        import pyarrow.compute as pc  # noqa: PLC0415 (heavy imports belong into execute)

        self._settings, self._key, self._kept, self._changed = settings, settings.key, kept, changed
        told = _columns(changed, [*OURS, self._key])
        self._first = told.slice(0, 1)
        states, keys = told[STATE], told[self._key]
        self._written = keys.filter(pc.equal(states, WRITTEN))
        self._stays = keys.filter(pc.equal(states, STAYS))
        self.listed_keys = keys.filter(pc.is_in(states, value_set=_int64([STAYS, WRITTEN])))
        before = _keys(kept, self._key)
        if settings.list_keys:
            self._not_kept = before.filter(pc.invert(pc.is_in(before, value_set=self._stays.combine_chunks())))
        else:
            self._not_kept = keys.filter(pc.is_in(states, value_set=_int64([WRITTEN, GONE])))
        self._before = before

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
        gone = pc.is_in(self._before, value_set=self._not_kept.combine_chunks())
        stays = len(self._before) - (pc.sum(gone).as_py() or 0)
        known = pc.is_in(self._stays, value_set=self._before.combine_chunks())
        if stays + len(self._written) != total or not pc.all(known, min_count=0).as_py():
            raise NoStateError("rows were written or deleted without the source telling so")
        return max(before, Mark(top, now).reached or before)

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of tonight."""
        import pyarrow.compute as pc  # noqa: PLC0415 (heavy imports belong into execute)

        gone = self._not_kept.combine_chunks()
        for batch in _batches(self._kept, columns):
            stays = pc.invert(pc.is_in(batch.column(columns.index(self._key)), value_set=gone))
            yield batch.filter(stays)
        for batch in _batches(self._changed, [*columns, STATE]):
            written = pc.equal(batch.column(len(columns)), WRITTEN)
            yield batch.filter(written).select(columns)


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
