"""Pseudonyms and shifted dates of an output: their form, and that they are those of the source.

What the output alone shows is the form. With the source no identifier of it may be among the pseudonyms, and with the
keys each cell of the output must have the pseudonyms and dates that its records of the source get by them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import EngineError, InvalidData
from engine.message import Count, Message
from engine.tables.sources.column_text import texts_of_chunks
from engine.verification.finding import Finding
from engine.verification.records.kept import MARK
from engine.verification.records.known_keys import KnownKeys
from engine.verification.records.population import open_source_of
from engine.verification.records.replaced import PSEUDONYM_DIGITS, pseudonyms_of
from engine.verification.records.source_records import cells_of

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.class_table import ClassTable, SensitiveValues

_FORM = re.compile(f"[0-9a-f]{{{PSEUDONYM_DIGITS}}}")


def check_replaced(
    table: ClassTable, job: Job, report: Mapping[str, Any] | None, source: Any, keys: KnownKeys
) -> Iterator[Finding]:
    """Judge each pseudonymized and each shifted column.

    Parameters
    ----------
    source : Table, or anything else that can be run, or None
        With shifted dates, where their key is known; None stands for the job's source file.
    """
    if not job.pseudonymized and not job.shifted:
        return
    if report is not None:
        yield _statement(job, report)
    compared = _Compared(table, job, report, source)
    for name in job.pseudonymized:
        yield _pseudonyms(table, name, compared, keys)
    for name in job.shifted:
        yield _dates(table, name, compared, keys)


def _pseudonyms(table: ClassTable, name: str, compared: _Compared, keys: KnownKeys) -> Finding:
    found = table.replaced[name]
    values = [value for value in found.values.present() if value is not None]
    starred = table.having(MARK)[found.classes]
    shown = np.array([value is not None for value in found.values.column().to_pylist()], np.bool_)
    problems, unread = [], ""
    if not all(_FORM.fullmatch(value) for value in values):
        problems.append(f"some are not {PSEUDONYM_DIGITS} hexadecimal digits")
    if (starred & shown).any():
        problems.append("suppressed records have one")
    place = f"attributes.{name}"
    secret = keys.of_place.get(place) if compared.is_readable else None
    why = keys.why_not.get(place, "it is not given")
    told = "" if secret is not None else f"; that they are those of the source is not shown: {why}"
    try:
        if compared.is_readable and compared.raw_values(name, values):
            problems.append("identifiers of the source are among them")
        if secret is not None and not compared.has_pseudonyms(name, found, secret):
            problems.append("they are not those of the source's identifiers")
    except EngineError as problem:
        unread = str(problem)
    counted = Message.of("{distinct} pseudonyms", distinct=Count(len(values)))
    texts = [*problems, *([unread] if unread else [])]
    text = Message(counted, ": " if texts else "", "; ".join(texts), told)
    return Finding("pseudonyms", not texts, None, None, name, text, is_told=bool(problems) or not unread)


def _dates(table: ClassTable, name: str, compared: _Compared, keys: KnownKeys) -> Finding:
    if "shift" not in keys.of_place:
        unknown = Message(f"the dates are not shown to be shifted: {keys.why_not['shift']}")
        return Finding("shift", False, None, None, name, unknown, is_told=False)
    if name in table.labels:
        text = "the dates are generalized after the shift; the labels are counted with the persons"
        return Finding("shift", True, None, None, name, Message(text))
    found = table.replaced[name] if name in table.replaced else table.sensitive[name]
    try:
        same = compared.has_dates(name, found)
        text = (
            "the dates are those of the source, shifted" if same else "the dates are not those of the source, shifted"
        )
    except EngineError as problem:
        return Finding("shift", False, None, None, name, problem.message, is_told=False)
    return Finding("shift", same, None, None, name, Message(text))


class _Compared:
    """An output and its source: which values the records of each cell have in both."""

    def __init__(self, table: ClassTable, job: Job, report: Mapping[str, Any] | None, source: Any) -> None:
        self._table = table
        self._job = job
        self._report = report
        self._source = source
        self._cells: tuple[NDArray[np.int64], NDArray[np.int64], int] | None = None

    @property
    def is_readable(self) -> bool:
        """Whether there is a source that may be read."""
        sources = [self._job.source, *(table.source for table in (self._job.tables or {}).values())]
        return self._source is not None or any(own is not None and own.path is not None for own in sources)

    def raw_values(self, name: str, values: list[str]) -> bool:
        """Tell whether some of the values are identifiers of the source."""
        texts = _texts(self._column(name), name)
        return bool(pc.any(pc.is_in(texts, value_set=pa.array(values, pa.string()))).as_py())

    def has_pseudonyms(self, name: str, found: SensitiveValues, secret: bytes) -> bool:
        """Tell whether each cell has pseudonyms of its own records of the source."""
        made = pseudonyms_of(self._job, name, secret, self._column(name))
        own, others, star = self._numbered()
        cells = others[found.classes]
        return _is_within((own, made), (cells, found), cells != star)

    def has_dates(self, name: str, found: SensitiveValues) -> bool:
        """Tell whether each cell, and the whole output, has dates of records of the source."""
        texts = _texts(self._column(name), name)
        own, others, star = self._numbered()
        cells = others[found.classes]
        everywhere = np.zeros_like(cells), found
        all_found = _is_within((np.zeros_like(own), texts), everywhere, np.ones(cells.size, np.bool_))
        return all_found and _is_within((own, texts), (cells, found), cells != star)

    def _column(self, name: str) -> pa.ChunkedArray:
        source = open_source_of(self._job, self._source)
        if name not in source.schema.names:
            raise InvalidData(f"the source lacks the column {name!r}; give the one that was de-identified")
        chunks = [_plain(batch.column(0)) for batch in source.batches([name])]
        return pa.chunked_array(chunks, _plain_kind(source.schema.field(name).type))

    def _numbered(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return the cell of each record of the source, of each class of the output, and that of suppressed ones."""
        if self._cells is None:
            if self._report is None:
                raise InvalidData("the levels do not follow from the output; give the report")
            source = open_source_of(self._job, self._source)
            names = list(self._job.quasi_identifiers)
            batches = [
                pa.RecordBatch.from_arrays([_plain(column) for column in batch.columns], names=names)
                for batch in source.batches(names)
            ]
            schema = pa.schema([(name, _plain_kind(source.schema.field(name).type)) for name in names])
            records = pa.Table.from_batches(batches, schema)
            own, others, star, _ = cells_of(records, self._table, self._job, self._report["solution"]["levels"])
            self._cells = own, others, star
        return self._cells


def _is_within(
    own: tuple[NDArray[np.int64], pa.Array], found: tuple[NDArray[np.int64], SensitiveValues], wanted: NDArray[np.bool_]
) -> bool:
    """Tell whether each pair of a cell and a value is in the source at least as often as in the output.

    Parameters
    ----------
    own
        Cells and values of the records of the source.
    found
        Cells of the output, and its values in them.
    wanted : bool, shape (P,)
        Which pairs of the output are compared.
    """
    (cells, values), (others, pairs) = own, found
    texts = _whole_seconds(pa.concat_arrays([values, pairs.values.column().filter(pa.array(wanted))]))
    codes = texts.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False).astype(np.int64)
    joined = np.concatenate([cells, others[wanted]]) * (int(codes.max(initial=0)) + 1) + codes
    place = np.unique(joined, return_inverse=True)[1]
    size = int(place.max(initial=-1)) + 1
    there = np.bincount(place[: cells.size], minlength=size)
    stated = np.zeros(size, np.int64)
    np.add.at(stated, place[cells.size :], pairs.records[wanted])
    return bool((stated <= there).all())


def _statement(job: Job, report: Mapping[str, Any]) -> Finding:
    """Compare what the report says of identifying columns and dates with the job."""
    stated = report.get("identifying")
    entries = [one for one in stated if isinstance(one, Mapping)] if isinstance(stated, list) else []
    stated = {one["column"]: one for one in entries if isinstance(one.get("column"), str)}
    wrong = [name for name in job.identifying if not _is_stated(job, name, stated.get(name))]
    shift, own = report.get("shift"), job.shift
    if own is not None and (
        not isinstance(shift, Mapping)
        or [shift.get(key) for key in ("columns", "days", "weeks", "ages_over_89", "key", "key_id")]
        != [list(job.shifted), own.days, own.weeks, own.ages_over_89, _key(own), own.key_id]
        or not is_day(shift.get("ages_on"))
        or (own.ages_on is not None and shift["ages_on"] != own.ages_on.isoformat())
    ):
        wrong.append("shift")
    text = f"the report says another thing of {', '.join(wrong)}" if wrong else "the report says what the job does"
    return Finding("replaced", not wrong, None, None, None, Message(text))


def is_day(stated: Any) -> bool:
    """Tell whether a report names a day: 2026-03-01."""
    try:
        return isinstance(stated, str) and dt.date.fromisoformat(stated).isoformat() == stated
    except ValueError:
        return False


def _is_stated(job: Job, name: str, stated: Any) -> bool:
    attribute = job.attributes[name]
    if not isinstance(stated, Mapping) or stated.get("action") != attribute.action:
        return False
    if not attribute.is_pseudonymized:
        return True
    expected = [job.family(name), _key(attribute), attribute.key_id]
    return [stated.get(one) for one in ("family", "key", "key_id")] == expected


def _key(place: Any) -> str:
    return "persistent" if place.is_persistent else "fresh"


def _texts(column: pa.ChunkedArray, name: str) -> pa.Array:
    return texts_of_chunks(column, name).combine_chunks()


def _whole_seconds(texts: pa.Array) -> pa.Array:
    """Return texts of which moments of whole seconds have no fraction: Parquet has no type without one."""
    return pc.replace_substring_regex(texts, r"(\d\d:\d\d:\d\d)\.0+(Z|[+-]\d\d:?\d\d)?$", r"\1\2")


def _plain(column: pa.Array) -> pa.Array:
    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return kind.value_type if pa.types.is_dictionary(kind) else kind
