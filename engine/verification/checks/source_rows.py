"""The records of a release that counts records, compared with those of the source that is given beside it.

Each class has as many as the source has with its labels, and the same sensitive values as often.

The file alone does not tell how many records were left out of it, and the report of that number is all there is. Of a
job that counts persons `persons` compares more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import EngineError, InvalidData
from engine.message import Count, Message
from engine.tables.class_table import ClassTable
from engine.tables.sources.column_text import as_text
from engine.verification.checks.balance import drops, withheld_below
from engine.verification.finding import Finding
from engine.verification.records.kept import MARK
from engine.verification.records.population import open_source_of
from engine.verification.records.source_records import cells_of
from engine.verification.records.source_texts import source_texts

Cells = tuple[NDArray[np.int64], NDArray[np.int64], int, NDArray[np.bool_]]
"""What `cells_of` returns: cells of the records of the source and of the classes of the output."""

if TYPE_CHECKING:
    from engine.job.job import Job


def check_source_rows(table: ClassTable, job: Job, report: Mapping[str, Any]) -> Finding | None:
    """Compare the number of records of the job's source with the report, and each class of the output with its own.

    Returns
    -------
    Finding or None
        None where other records are counted than all of the source: those of persons, of a subset, of a sample, or of
        a series.
    """
    if job.subject is not None or job.subset is not None or job.sample is not None or job.series is not None:
        return None
    try:
        records = _read(job)
        levels = report["solution"]["levels"]
        quarantined = bool(report.get("drift", {}).get("quarantined"))
        cells = None if levels is None else cells_of(records, table, job, levels)
        same = cells is None or _has_same_classes(table, cells, or_fewer=quarantined)
        others = [] if cells is None or quarantined or not same else _columns_with_others(table, job, cells)
    except EngineError as problem:
        return Finding("source", False, None, None, None, Message("it cannot be counted: ", problem.message))
    below, released = withheld_below(report), table.rows
    if below is None:
        gone = report["suppressed_class"]["records"] if drops(job, report) else 0
        agree = records.num_rows == report["rows"] == released + gone
    else:
        agree = 0 < records.num_rows - released < below
    known = Message.of("number of its records: {rows}", rows=Count(records.num_rows))
    texts = [] if agree else ["the report does not account for all of them"]
    texts += [] if same else ["classes of the release have others of them"]
    texts += [f"classes of the release have other values in {name!r}" for name in others]
    return Finding("source", not texts, None, None, None, Message(known, "".join(f"; {text}" for text in texts)))


def _read(job: Job) -> pa.Table:
    source = open_source_of(job, None)
    names = list(job.quasi_identifiers)
    if not set(names) <= set(source.schema.names):
        raise InvalidData("it lacks quasi-identifying columns; give the one that was de-identified")
    return source_texts(source, names)


def _has_same_classes(table: ClassTable, cells: Cells, *, or_fewer: bool) -> bool:
    """Tell whether each class of the output has as many records as the source has with its labels.

    What is `*` throughout may be suppressed, or not, and is left to the number of all records. Where new values are
    quarantined a class has fewer: which values are new only the private facts of the job tell.
    """
    own, classes, _, refused = cells
    there = np.bincount(own[~refused], minlength=int(classes.max(initial=-1)) + 1)[classes]
    as_many = there >= table.records if or_fewer else there == table.records
    return bool((table.having(MARK) | as_many).all())


def _columns_with_others(table: ClassTable, job: Job, cells: Cells) -> list[str]:
    """Return the sensitive columns of which some class of the output has other values than its records in the source.

    Columns that are released otherwise than they are in the source have checks of their own. A source of another kind,
    such as a CSV file of what was read from a warehouse, may have a column in a type that cannot be compared.
    """
    changed = {*job.coded, *job.perturbed, *job.aggregated, *job.shifted}
    names = [name for name in job.sensitive if name not in changed and table.sensitive[name].has_text]
    source = open_source_of(job, None)
    names = [name for name in names if name in source.schema.names]
    batches = list(source.batches(names)) if names else []
    return [name for name in names if _has_others(table, [batch.column(name) for batch in batches], name, cells)]


def _has_others(table: ClassTable, parts: Sequence[pa.Array], name: str, cells: Cells) -> bool:
    own, classes, _, refused = cells
    released = table.sensitive[name]
    try:
        texts = pa.chunked_array([_as_released(part, released.kind, name) for part in parts], pa.string())
    except (pa.ArrowException, InvalidData):
        return False
    shown = ~table.having(MARK)
    kept = np.flatnonzero(~refused & np.isin(own, classes[shown]))
    there = _counted(own[kept], texts.combine_chunks().take(pa.array(kept)), np.ones(kept.size, np.int64))
    pairs = np.flatnonzero(shown[released.classes])
    in_file = _counted(
        classes[released.classes[pairs]], released.values.column().take(pa.array(pairs)), released.records[pairs]
    )
    return there != in_file


def _as_released(part: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Return values of the source as texts of the type that the output has; batches may come with a dictionary."""
    plain = part.dictionary_decode() if pa.types.is_dictionary(part.type) else part
    return as_text(plain.cast(kind.value_type if pa.types.is_dictionary(kind) else kind), name)


def _counted(
    cells: NDArray[np.int64], texts: pa.Array, records: NDArray[np.int64]
) -> Mapping[tuple[int, str | None], int]:
    """Return the records of each cell and value; an empty text counts as missing, as CSV files have no other form."""
    plain = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    pairs = pa.table({"cell": pa.array(cells), "value": plain, "records": pa.array(records)})
    found = pairs.group_by(["cell", "value"], use_threads=False).aggregate([("records", "sum")])
    keys = zip(found["cell"].to_pylist(), found["value"].to_pylist(), strict=True)
    return dict(zip(keys, found["records_sum"].to_pylist(), strict=True))
