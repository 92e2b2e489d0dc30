"""The promise of a series, recounted: persons with one trace over the remembered releases satisfy the models.

In: an output, the source that says whose its records are, and what the vault holds. Out: findings. That the vault tells
the truth about tonight is shown first: the persons whom it has in one class must be those whose records, generalized
anew, have one cell, and these must be the records of the output. Traces are then compared by random numbers, one for
each release and class, of which a trace has the exclusive or (Zobrist, A new hashing method with application for game
playing, 1970): nothing is shared with the code that decides who is released.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import EngineError, InvalidData
from engine.message import Message
from engine.tables.sources.column_text import texts_of_chunks
from engine.verification.checks.labels import is_allowed
from engine.verification.checks.series_stated import other_figures
from engine.verification.finding import Finding
from engine.verification.records.persons import CELL
from engine.verification.records.series import PersonsReleased
from engine.verification.recount import recount

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.series.evidence import SeriesEvidence
    from engine.tables.class_table import ClassTable
    from engine.verification.records.source_records import SourceRecords

_PERSONS = "\0persons"
"""The column that says how many persons a row stands for."""
_DENSE = 4
"""Possible pairs of a group and a value per person up to which they are counted without a sort."""


def check_series(
    table: ClassTable,
    job: Job,
    report: Mapping[str, Any],
    released: PersonsReleased,
    records: SourceRecords,
    evidence: SeriesEvidence,
) -> Iterator[Finding]:
    """Judge the traces of all persons whom the vault remembers, and the figures of the report.

    Parameters
    ----------
    records : SourceRecords
        Those of who is released, at the levels of the report.
    """
    tonight = evidence.releases[-1]
    classes = tonight.classes[released.places[released.inside]]
    same = _one_to_one(classes, records.cells) and records.agree(
        table, job, np.ones(records.cells.size, np.bool_), records.cells
    )
    right = _is_kept_rightly(job, released, evidence)
    if job.series is not None and (job.series.departures == "keep" or not right):
        text = "who is gone and kept was in the release before, with the same record"
        yield _finding("kept", text if right else "records are kept that must not be, or are other ones", right)
    same = same and int((tonight.classes >= 0).sum()) == int(released.inside.sum())
    for name, column in records.values.items():
        stored = tonight.values[name][released.places[released.inside]]
        same = same and _one_to_one(stored, _codes(column))
    text = "the vault has the persons of the release, in its classes"
    yield _finding("series", text if same else "the vault has other persons, classes or values than the release", same)
    assert job.series is not None  # noqa: S101 (the caller has asked)
    group, counts = _groups(evidence, changes=job.series.traces_changes)
    yield from _judged(job, evidence, group)
    stated = report.get("series")
    wrong = list(other_figures(stated, job, evidence, counts, released))
    text = "the report gives the figures of the series" if not wrong else f"the report gives another {', '.join(wrong)}"
    yield _finding("figures", text, not wrong)


def levels_released(
    job: Job, report: Mapping[str, Any] | None, released: PersonsReleased, evidence: SeriesEvidence
) -> dict[str, Any]:
    """Return the level of each quasi-identifier; of a release of mixed levels that of each record that is released.

    Raises
    ------
    InvalidData
        The vault says no levels of somebody, or some that the job does not allow.
    """
    if not job.mixes_levels:
        return dict((report or {})["solution"]["levels"])
    cohorts = evidence.releases[-1].cohorts
    own = np.full(evidence.ids.shape[0], -1, np.int64)
    allowed = cohorts is not None and all(
        set(levels) == set(job.quasi_identifiers) and all(is_allowed(job, *one) for one in levels.items())
        for levels in cohorts.levels
    )
    if cohorts is not None and allowed:
        own[: cohorts.of_person.size] = cohorts.of_person
    own = own[released.places[released.inside]]
    if cohorts is None or (own < 0).any():
        raise InvalidData(
            "series: the vault does not say at which levels, of those that the job allows, persons are released; "
            "restore the newest vault, and run again"
        )
    return {
        name: np.array([levels[name] for levels in cohorts.levels], np.int64)[own] for name in job.quasi_identifiers
    }


def _is_kept_rightly(job: Job, released: PersonsReleased, evidence: SeriesEvidence) -> bool:
    """Tell whether those who are gone were in the release before, with the same records, and not for too long."""
    assert job.series is not None  # noqa: S101 (the caller has asked)
    kept = released.kept
    if kept is None or not kept.places.size:
        return True
    before = evidence.releases[-2].kept if len(evidence.releases) > 1 else None
    if before is None or int(kept.nights.max()) > job.series.most_nights:
        return False
    row_of = {place: row for row, place in enumerate(before.places.tolist())}
    rows = [row_of.get(place, -1) for place in kept.places.tolist()]
    if min(rows) < 0 or np.unique(released.places[released.places >= 0], return_counts=True)[1].max() > 1:
        return False
    nights = before.nights[rows]
    return bool((kept.nights == nights + 1).all()) and _same_rows(before.rows.take(rows), kept.rows)


def _same_rows(before: pa.Table, now: pa.Table) -> bool:
    """Tell whether rows have the same values, whatever the types of their columns are.

    Values of other types are the same if their texts are, and so are fractions, of which Arrow finds NaN unequal to
    itself.
    """
    if before.column_names != now.column_names:
        return False
    for name in before.column_names:
        one, other = before[name], now[name]
        try:
            if one.type != other.type or pa.types.is_floating(one.type):
                one, other = texts_of_chunks(one, name), texts_of_chunks(other, name)
        except EngineError:
            return False
        if not one.equals(other):
            return False
    return True


def _judged(job: Job, evidence: SeriesEvidence, group: NDArray[np.int64]) -> Iterator[Finding]:
    """Judge each model on the groups of equal traces; where departures are only reported, it is told and holds."""
    assert job.series is not None  # noqa: S101 (the caller has asked)
    covered = job.series.departures != "report"
    there = group >= 0
    if not covered:
        # arrivals alone are held back: persons of tonight who are in no earlier release
        before = np.zeros(group.size, np.bool_)
        for release in evidence.releases[:-1]:
            before[: release.classes.size] |= release.classes >= 0
        there &= ~before
    every = job.series.judges_every_night
    for model in job.privacy:
        name = model.sensitive_attribute
        if name is not None and (every or model.compares_with_table):
            yield from _judged_by_release(evidence, group, there, model, name, every=every)
            continue
        if not there.any():
            continue
        values, texts = (None, None) if name is None else _last_values(evidence, name)
        classes = _persons_of(group[there], name, None if values is None else values[there], texts)
        yield _of_traces(recount(classes, [CELL], model, attribute=None, kept=classes, counts=_PERSONS))


def _judged_by_release(
    evidence: SeriesEvidence,
    group: NDArray[np.int64],
    there: NDArray[np.bool_],
    model: Any,
    name: str,
    *,
    every: bool,
) -> Iterator[Finding]:
    """Judge a model by the values of each release: of every one with the persons of a trace, or of the last one.

    One that compares classes with the table compares a trace with the table of that release. Of several releases the
    finding is that of one with which a trace does not agree, if there is one.
    """
    last = np.full(group.size, -1, np.int64)
    for number, release in enumerate(evidence.releases):
        last[np.flatnonzero(release.classes >= 0)] = number
    found: Finding | None = None
    for number, release in enumerate(evidence.releases):
        judged = there.copy()
        judged[release.classes.size :] = False
        judged[: release.classes.size] &= release.classes >= 0
        judged &= every | (last == number)
        if not judged.any():
            continue
        inside = np.flatnonzero(release.classes >= 0)
        texts = pa.array([one.hex() or None for one in release.hashes[name]], pa.string())
        values, chosen = release.values[name][inside].astype(np.int64), judged[inside]
        kept = _persons_of(group[inside][chosen], name, values[chosen], texts)
        table = _persons_of(group[inside], name, values, texts) if model.compares_with_table else kept
        one = recount(table, [CELL], model, attribute=None, kept=kept, counts=_PERSONS)
        if found is None or found.holds:
            found = one
    if found is not None:
        yield _of_traces(found)


def _persons_of(
    group: NDArray[np.int64], name: str | None, values: NDArray[np.int64] | None, texts: pa.Array | None
) -> pa.Table:
    """Return each group once, or each pair of it and a value, a place among `texts`, with the persons in `_PERSONS`."""
    width = 1 if texts is None else max(1, len(texts))
    every = group * width + (0 if values is None else values)
    if int(every.max(initial=0)) <= _DENSE * every.size:
        persons = np.bincount(every)
        keys = np.flatnonzero(persons)
        persons = persons[keys]
    else:
        keys, persons = np.unique(every, return_counts=True)
    columns = {CELL: pa.array(keys // width).cast(pa.string()), _PERSONS: persons}
    if name is not None and texts is not None:
        columns[name] = texts.take(pa.array(keys % width))
    return pa.table(columns)


def _of_traces(found: Finding) -> Finding:
    message = Message("of persons with equal traces over releases: ", found.message)
    return Finding(
        f"series {found.check}", found.holds, found.observed, found.required, found.column, message, found.sense
    )


def _groups(evidence: SeriesEvidence, *, changes: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each place, -1 for who is in no release, and the persons of each group.

    Parameters
    ----------
    changes : bool
        Whether persons of whom other values changed, or on other nights, are in other groups.
    """
    size = evidence.ids.shape[0]
    trace, there = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
    for release in evidence.releases:
        classes = np.full(size, -1, np.int64)
        classes[: release.classes.size] = release.classes
        width = int(classes.max(initial=-1)) + 1
        numbers = np.frombuffer(secrets.token_bytes(8 * (width + 1)), np.uint64)
        trace ^= numbers[classes]
        there |= classes >= 0
    if changes:
        _add_changes(evidence, trace)
    group = np.full(size, -1, np.int64)
    group[there] = _numbered(trace[there])
    return group, np.bincount(group[there]).astype(np.int64)


def _add_changes(evidence: SeriesEvidence, trace: NDArray[np.uint64]) -> None:
    """Add to traces, of each attribute, in which releases its value was another one than in the last one before."""
    for name in evidence.releases[-1].hashes:
        later = np.full(trace.size, -1, np.int64)
        number_then = np.zeros(trace.size, np.uint64)
        known: dict[bytes, int] = {}
        for release in reversed(evidence.releases):
            there = np.flatnonzero(release.classes >= 0)
            numbers = np.array([known.setdefault(one, len(known)) for one in release.hashes[name]], np.int64)
            values = numbers[release.values[name][there]]
            other = there[(later[there] >= 0) & (later[there] != values)]
            trace[other] ^= number_then[other]
            later[there] = values
            number_then[there] = np.frombuffer(secrets.token_bytes(8), np.uint64)


def _last_values(evidence: SeriesEvidence, name: str) -> tuple[NDArray[np.int64], pa.Array]:
    """Return each person's value in the last release with him or her, as a place among texts; of nobody the place 0.

    Returns
    -------
    values : int64, shape (P,)
    texts : pyarrow string Array
        The hashes; that of a missing value is null.
    """
    found = np.zeros(evidence.ids.shape[0], np.int64)
    left = np.arange(found.size)
    known: dict[bytes, int] = {}
    for release in reversed(evidence.releases):
        classes = np.full(found.size, -1, np.int32)
        classes[: release.classes.size] = release.classes
        inside = left[classes[left] >= 0]
        numbers = np.array([known.setdefault(one, len(known)) for one in release.hashes[name]], np.int64)
        found[inside] = numbers[release.values[name][inside]]
        left = left[classes[left] < 0]
    return found, pa.array([one.hex() or None for one in known], pa.string())


def _one_to_one(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Tell whether equal entries of one array are equal in the other one, and the other way round."""
    if first.size != second.size:
        return False
    a, b = _numbered(first), _numbered(second)
    pairs = _numbered(a * (int(b.max(initial=0)) + 1) + b)
    return int(pairs.max(initial=-1)) == int(a.max(initial=-1)) == int(b.max(initial=-1))


def _numbered(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return a number for each entry, from 0, the same for equal ones; unlike a sort it takes linear time."""
    return _codes(pa.array(array))


def _codes(column: pa.Array) -> NDArray[np.int64]:
    encoded = column.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def _finding(check: str, message: str, holds: bool) -> Finding:
    return Finding(check, holds, None, None, None, Message(message))
