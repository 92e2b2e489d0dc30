"""The codebook of a release.

In: the job, the levels that were chosen, what became of suppressed records, and the class table of the released file.
Out: a `Codebook`. The source is not read: a figure about records is always a count of the file.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.codebook.document import (
    FORM,
    LINKED_FORM,
    MOST,
    Codebook,
    DescribedColumn,
    DescribedTable,
    Ends,
)
from engine.codebook.treatment import treated
from engine.hierarchy.builder import SUPPRESSED, Extent, HierarchyBuilder
from engine.job.job import Job
from engine.tables.class_table import ClassTable, Texts
from engine.tables.sources.column_types import type_name
from engine.tables.sources.linked import file_name
from engine.tables.sources.linked_name import TABLE


def codebook(job: Job, levels: Mapping[str, int] | None, form: str, classes: ClassTable) -> Codebook:
    """Describe the columns of a release.

    Parameters
    ----------
    levels : mapping of quasi-identifier to level, or None
        None of a local recoding, in which each record has levels of its own.
    form : str
        What became of suppressed records: `star` or `drop`, or `none` if there are none.
    classes : ClassTable
        Of the released file.
    """
    starred = int(classes.records[classes.having(SUPPRESSED)].sum()) if form == "star" else 0
    described: Codebook = {
        "form": FORM,
        "name": job.name,
        "records": classes.rows,
        "suppressed": starred,
        "left_out": form == "drop" or job.is_private,
        "counted": "records" if job.subject is None else "persons",
        "criteria": [model.describe() for model in job.counted_privacy],
        "columns": [],
    }
    if job.sample is not None:
        described["sample"] = job.sample.fraction
    if job.tables is None:
        described["columns"] = [_column(job, name, levels, classes) for name in classes.schema.names]
        return described
    return {**described, "form": LINKED_FORM, "tables": list(_tables(job, levels, classes))}


def _tables(job: Job, levels: Mapping[str, int] | None, classes: ClassTable) -> Iterator[DescribedTable]:
    """Yield each of the linked tables; what is counted of its columns is of its own records."""
    of_table = classes.labels[TABLE].column()
    for table, released in job.released_of_tables.items():
        own = classes.where(pc.equal(of_table, table).to_numpy(zero_copy_only=False))
        yield {
            "table": table,
            "file": file_name(table),
            "records": own.rows,
            "columns": [_column(job, name, levels, own) for name in released],
        }


def _column(job: Job, name: str, levels: Mapping[str, int] | None, classes: ClassTable) -> DescribedColumn:
    attribute = job.attributes[name]
    described = treated(job, name, type_name(classes.schema.field(name).type), levels)
    if name in classes.sensitive:
        _count(described, classes.sensitive[name].values, classes.sensitive[name].records)
    if name in classes.labels and attribute.hierarchy is not None:
        _count(described, classes.labels[name], classes.records)
        highest = attribute.hierarchy.level_count - 1
        most = highest if attribute.maximum_level is None else min(highest, attribute.maximum_level)
        possible = range(attribute.minimum_level, most + 1) if levels is None else range(levels[name], levels[name] + 1)
        _list(described, attribute.hierarchy, possible, classes.labels[name], classes.records)
    return described


def _count(described: DescribedColumn, texts: Texts, records: NDArray[np.int64]) -> None:
    described["distinct"] = len({*texts.present()} - {None})
    described["missing"] = int(records[texts.missing()].sum())


def _list(
    described: DescribedColumn,
    hierarchy: HierarchyBuilder,
    possible: range,
    texts: Texts,
    records: NDArray[np.int64],
) -> None:
    """Add the labels: those without a place in the order after the others, by their text, and `*` last.

    Each is read as one of the lowest of the `possible` levels that may have it.
    """
    if described["distinct"] > MOST:
        return
    found = np.bincount(texts.codes, weights=records, minlength=len(texts.distinct)).astype(np.int64)
    of_label = {
        label: number
        for label, number in zip(texts.distinct.to_pylist(), found.tolist(), strict=True)
        if label is not None and number
    }
    levels = {label: _level_of(hierarchy, label, possible) for label in of_label}
    places = {label: hierarchy.place(label, levels[label]) for label in of_label}
    ordered = sorted(
        of_label, key=lambda label: (label == SUPPRESSED, places[label] is None, places[label] or 0, label)
    )
    described["ordered"] = any(place is not None for place in places.values())
    described["labels"] = [
        {"label": label, "records": of_label[label], **_ends(hierarchy.extent(label, levels[label]))}
        for label in ordered
    ]


def _level_of(hierarchy: HierarchyBuilder, label: str, possible: range) -> int:
    return next((level for level in possible if hierarchy.is_label(label, level)), possible[0])


def _ends(extent: Extent | None) -> Ends:
    if extent is None:
        return {}
    begin, below = (None if end is None else _plain(end) for end in extent)
    if begin is not None and begin == below:
        return {"value": begin}
    ends: Ends = {}
    if begin is not None:
        ends["begin"] = begin
    if below is not None:
        ends["below"] = below
    return ends


def _plain(end: Decimal | dt.date) -> int | float | str:
    if isinstance(end, dt.date):
        return end.isoformat()
    return int(end) if end == int(end) else float(end)
