"""Homogeneous classes: all records of a class have the same sensitive value, so whoever is in it has that value.

Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam: l-diversity, ICDE 2006 (the homogeneity attack). In: the classes
of the table that is released, so that everybody who has the file can count the same. Out: per sensitive column how
many classes are homogeneous, and the records in them.
"""

from __future__ import annotations

import numpy as np

from engine.job.job import Job
from engine.linter.document import LintedClasses
from engine.tables.class_table import ClassTable


def homogeneous_classes(job: Job, released: ClassTable) -> list[LintedClasses]:
    """Count the homogeneous classes per sensitive column, in the job's order."""
    return [_of_column(job, released, name) for name in job.sensitive]


def _of_column(job: Job, released: ClassTable, name: str) -> LintedClasses:
    values = released.sensitive[name]
    pairs = values.without({"", *job.attributes[name].missing})
    single = np.bincount(pairs.classes, minlength=released.records.size)[pairs.classes] == 1
    alike = pairs.records[single & ~pairs.values.missing()]
    rows = int(values.records.sum())
    return {"column": name, "homogeneous": alike.size, "records_share": float(alike.sum() / rows) if rows else 0.0}
