"""Who is in a release from which persons were left out with all of their records, found again in the source.

In: the records of the source at the levels of the report. Out: the records of the file with their persons. The release
must have exactly the records of the largest set of persons whose pictures satisfy the models among themselves, which is
found here by other code than the search's. If attackers know all rows, groups of equal pictures are recounted as the
classes of an output are, all of them at once, and halves of those that fail, until each group that fails is known. If
they know some, those are left out who share a part of their pictures with too few, or with too few values among them,
until nobody is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.tables.class_table import ClassTable, count_classes
from engine.tables.sources.released import open_release
from engine.verification.records.persons import CELL, PersonsOfFile, file_of
from engine.verification.records.pictures import fewest_values, picture_of, rarest_part
from engine.verification.records.records import Records
from engine.verification.records.sensitive import SensitiveAttribute
from engine.verification.records.source_records import SourceRecords, value_codes
from engine.verification.recount import recount_classes

if TYPE_CHECKING:
    from engine.job.job import Job


def whole_persons_of_file(source: SourceRecords, table: ClassTable, job: Job) -> PersonsOfFile:
    """Give the records of an output their persons, if persons are suppressed with all of their records.

    Parameters
    ----------
    table : ClassTable
        Of the output, which lacks the suppressed records.
    """
    if job.known != "all-rows":
        return _sharing_parts(source, table, job, int(job.known))
    groups = picture_of(source.cells, source.persons, source.number)
    classes = groups[source.persons]
    everybody = np.ones(classes.size, np.bool_)
    kept = _satisfying(file_of(source, everybody, everybody, classes, agrees=True), job)
    return file_of(source, kept, kept, classes, agrees=source.agree(table, job, kept, source.cells))


def _sharing_parts(source: SourceRecords, table: ClassTable, job: Job, most: int) -> PersonsOfFile:
    """Return the records of those of whom enough others, with enough values, share each part of `most` cells."""
    kept = np.ones(source.persons.size, np.bool_)
    demanded = {model.distinct_values for model in job.privacy} - {None}
    while True:
        rarest = rarest_part(source.cells[kept], source.persons[kept], source.number, most)
        few = rarest < job.minimum_persons
        fewest = {}
        for name, least, with_missing in filter(None, demanded):
            fewest[name, with_missing] = _fewest(source, kept, most, name, with_missing=with_missing)
            few |= fewest[name, with_missing] < least
        fails = kept & few[source.persons]
        if not fails.any():
            break
        kept &= ~fails
    agrees = source.agree(table, job, kept, source.cells)
    there = np.bincount(source.persons[kept], minlength=source.number) > 0
    return replace(
        file_of(source, kept, kept, source.cells, agrees=agrees),
        found_among=rarest[there],
        values_among={key: found[there] for key, found in fewest.items()},
    )


def _fewest(
    source: SourceRecords, kept: NDArray[np.bool_], most: int, name: str, *, with_missing: bool
) -> NDArray[np.int64]:
    """Count the distinct values of those kept persons who share a part of each picture: the fewest."""
    counted = kept & source.has[name]
    if not with_missing:
        counted &= source.values[name].is_valid().to_numpy(zero_copy_only=False)
    (codes,) = value_codes([source.values[name]])
    cells, persons = source.cells[kept], source.persons[kept]
    return fewest_values(cells, persons, source.number, most, source.persons[counted], codes[counted])


def _satisfying(file: PersonsOfFile, job: Job) -> NDArray[np.bool_]:
    """Return the records of the groups that satisfy all models, beside the table and beside what is left of it."""
    number = int(file.cells.max(initial=-1)) + 1
    left = np.ones(number, np.bool_)
    reference = file
    while True:
        failing = np.zeros(number, np.bool_)
        for model in sorted(job.privacy, key=lambda one: one.sensitive_attribute is not None):
            failing |= _failing(reference, left & ~failing, job, model)
        if not failing.any():
            inside: NDArray[np.bool_] = left[file.cells]
            return inside
        left &= ~failing
        inside = left[file.cells]
        values = {name: column.filter(pa.array(inside)) for name, column in file.values.items()}
        reference = replace(
            file,
            cells=file.cells[inside],
            persons=file.persons[inside],
            kept=file.kept[inside],
            values=values,
            has={name: there[inside] for name, there in file.has.items()},
        )


def _failing(file: PersonsOfFile, left: NDArray[np.bool_], job: Job, model: Any) -> NDArray[np.bool_]:
    """Return which of the groups that are left, bool, shape (G,), fail a model."""
    name = model.sensitive_attribute
    fails = np.zeros(left.size, np.bool_)
    if name is None:
        persons = np.bincount(np.unique(file.cells * file.number + file.persons) // file.number, minlength=left.size)
        fails[left & (persons < model.minimum_class_size)] = True
        return fails
    names = [name]
    whole, groups = (
        count_classes(part.schema, open_release(part).batches(part.column_names), [CELL], names)
        for part in file.counted(name, kept=True)
    )
    labels = groups.labels[CELL]
    group_of = np.array([int(label) for label in labels.distinct.to_pylist()], np.int64)[labels.codes]
    there = np.flatnonzero(left[group_of])
    waiting = [there] if there.size else []
    while waiting:
        chosen = waiting.pop()
        wanted = np.zeros(group_of.size, np.bool_)
        wanted[chosen] = True
        part = groups.where(wanted)
        records = Records(whole, part, SensitiveAttribute(), part.rows, whole.rows)
        if recount_classes(records, model, job.attributes[name]).holds:
            continue
        if chosen.size == 1:
            fails[group_of[chosen]] = True
        else:
            waiting += np.array_split(chosen, 2)
    return fails
