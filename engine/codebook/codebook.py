"""The codebook of a release.

In: the job, the levels that were chosen, what became of suppressed records, and the class table of the released file.
Out: a `Codebook`. The source is not read: a figure about records is always a count of the file.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from engine.codebook.document import FORM, MOST, Codebook, DescribedColumn, Ends, What
from engine.hierarchy.builder import SUPPRESSED, Extent, HierarchyBuilder
from engine.job.job import Job
from engine.tables.class_table import ClassTable, Texts
from engine.tables.source import type_name

_WHAT: Mapping[str, What] = {"pseudonymize": "pseudonym", "shift": "shifted"}


def codebook(job: Job, levels: Mapping[str, int], form: str, classes: ClassTable) -> Codebook:
    """Describe the columns of a release.

    Parameters
    ----------
    levels : mapping of quasi-identifier to level
    form : str
        What became of suppressed records: `star` or `drop`, or `none` if there are none.
    classes : ClassTable
        Of the released file.
    """
    starred = int(classes.records[classes.having(SUPPRESSED)].sum()) if form == "star" else 0
    return {
        "form": FORM,
        "name": job.name,
        "records": classes.rows,
        "suppressed": starred,
        "left_out": form == "drop",
        "counted": "records" if job.subject is None else "persons",
        "criteria": [model.describe() for model in job.counted_privacy],
        "columns": [_column(job, name, levels, classes) for name in classes.schema.names],
    }


def _column(job: Job, name: str, levels: Mapping[str, int], classes: ClassTable) -> DescribedColumn:
    attribute = job.attributes[name]
    described: DescribedColumn = {
        "column": name,
        "type": type_name(classes.schema.field(name).type),
        "role": attribute.role,
        "what": _WHAT.get(attribute.action, "as-in-the-source"),
    }
    if attribute.action == "shift":
        described["shifted"] = True
    if name in classes.sensitive:
        _count(described, classes.sensitive[name].values, classes.sensitive[name].records)
    if name in levels and attribute.hierarchy is not None:
        _count(described, classes.labels[name], classes.records)
        _describe(described, attribute.hierarchy, levels[name])
        _list(described, attribute.hierarchy, classes.labels[name], classes.records)
    return described


def _count(described: DescribedColumn, texts: Texts, records: NDArray[np.int64]) -> None:
    missing = texts.distinct.is_null().to_numpy(zero_copy_only=False)[texts.codes]
    described["distinct"] = len({*texts.present()} - {None})
    described["missing"] = int(records[missing].sum())


def _describe(described: DescribedColumn, hierarchy: HierarchyBuilder, level: int) -> None:
    highest = hierarchy.level_count - 1
    described["what"] = "exact" if level == 0 else "one-label" if level == highest else "generalized"
    described["level"] = level
    described["levels"] = hierarchy.level_count
    if hierarchy.notation and 0 < level < highest:
        described["notation"] = hierarchy.notation


def _list(described: DescribedColumn, hierarchy: HierarchyBuilder, texts: Texts, records: NDArray[np.int64]) -> None:
    """Add the labels: those without a place in the order after the others, by their text, and `*` last."""
    if described["distinct"] > MOST:
        return
    level = described["level"]
    found = np.bincount(texts.codes, weights=records, minlength=len(texts.distinct)).astype(np.int64)
    of_label = {
        label: number
        for label, number in zip(texts.distinct.to_pylist(), found.tolist(), strict=True)
        if label is not None and number
    }
    places = {label: hierarchy.place(label, level) for label in of_label}
    ordered = sorted(
        of_label, key=lambda label: (label == SUPPRESSED, places[label] is None, places[label] or 0, label)
    )
    described["ordered"] = any(place is not None for place in places.values())
    described["labels"] = [
        {"label": label, "records": of_label[label], **_ends(hierarchy.extent(label, level))} for label in ordered
    ]


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
