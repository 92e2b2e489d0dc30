"""The release of one night of a series: those persons of tonight's table who may be released beside earlier nights.

In: tonight's table and the levels that the search found for it. Out: the table of who is released, at these levels,
with no class that fails; and what the vault is to remember. Whoever is not released, because the class fails, to wait,
or as a cover, is left out of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidData, NoSolution
from engine.job.counting import Counted, columns_of
from engine.job.job import Job
from engine.job.open_series import SeriesRun, series_name
from engine.job.problem import problem_of
from engine.lattice.space import Lattice, Levels
from engine.message import Count, Message
from engine.pipeline.cohorts import cells_of_cohorts, failing_records
from engine.pipeline.lasting_classes import churn_stated
from engine.pipeline.measured import finite
from engine.pipeline.raised_levels import raised
from engine.pipeline.stable_levels import stable
from engine.search.problem import Problem, Solution
from engine.search.registry import method
from engine.search.suppressed_class import Outcome
from engine.series.document import LevelChange, SeriesStated
from engine.series.evidence import SeriesEvidence, evidence_of
from engine.series.kept import WithGone, name_of_gone, nights_gone, rows_of
from engine.series.keyed_ids import SeriesKey
from engine.series.night import Decided, Persons, decided, proposal_of
from engine.series.proposal import Proposal
from engine.series.remembered import History, places_among
from engine.tables.altered.row_cap import CappedTable
from engine.tables.persons.chosen_records import table_of
from engine.tables.persons.subject import RecordsRead, read_records
from engine.tables.sources.person_codes import codes_of_persons, subjects_of
from engine.tables.sources.table import Table

NOBODY = (
    "series: nobody can be released tonight: no class of new persons is large enough, and too many of the earlier ones "
    "left or changed; wait for more persons, choose higher levels, or set series.begin to the name of a new series, "
    "about which nothing before it is promised"
)


class Night(NamedTuple):
    """What is released tonight.

    Attributes
    ----------
    counted : Counted
        Who is released.
    left_out : int
        Persons of tonight's source who are not.
    evidence : SeriesEvidence
        What shows that the promise is kept.
    gone : int
        Persons of remembered releases who are neither in tonight's source nor released; 0 where nobody covers them.
    """

    counted: Counted
    outcome: Outcome
    stated: SeriesStated
    proposal: Proposal
    evidence: SeriesEvidence
    left_out: int
    gone: int


def with_gone(job: Job, source: Table, series: SeriesRun) -> Table:
    """Return a source with the records of who is gone from it, was in the release before, and may be kept.

    Raises
    ------
    InvalidData
        The source lacks the subject, or a column has another type than before.
    VaultRefused
        The vault cannot be used.
    """
    assert job.series is not None  # noqa: S101 (the caller has asked)
    assert job.subject is not None  # noqa: S101 (a series has one)
    if job.series.departures != "keep":
        return source
    ids, kept = series.vault.last_kept(before=series.release_id)
    if kept is None:
        return source
    there = series.key.ids(subjects_of(source, job.subject))
    gone = kept.where((kept.nights < job.series.most_nights) & (places_among(ids[kept.places], there) < 0))
    names = [
        name_of_gone(nights + 1, ids[place].tobytes())
        for place, nights in zip(gone.places.tolist(), gone.nights.tolist(), strict=True)
    ]
    return WithGone(source, job.subject, gone, names) if names else source


def levels_before(job: Job, series: SeriesRun, problem: Problem) -> Levels | None:
    """Return the levels of the release before, if the job keeps them and there is one."""
    if job.stability is None:
        return None
    found = series.vault.last_levels(before=series.release_id)
    return None if not found else tuple(found[name] for name in problem.table.attributes)  # mixed levels are none


def night_of(
    job: Job,
    series: SeriesRun,
    counted: Counted,
    problem: Problem,
    solution: Solution,
    last: Levels | None,
    random: np.random.Generator,
) -> Night:
    """Decide who is released tonight.

    Parameters
    ----------
    last : Levels or None
        Levels of the release before, of a job that keeps them.

    Raises
    ------
    InvalidData
        A person has several records.
    NoSolution
        Nobody can be released, or somebody had to wait and the job refuses that.
    VaultRefused
        The vault cannot be used.
    """
    assert job.series is not None  # noqa: S101 (the caller has asked)
    settings = job.series
    stays = None
    if job.stability is not None and last is not None:
        solution, stays = stable(job.stability, problem, solution, last)
    read = _read(job, counted)
    history, after = series.vault.remembered(settings.memory - 1, before=series.release_id)
    if settings.arrivals == "batch":
        return _night_of_cohorts(job, series, counted, problem, solution, read, history, after, random)
    persons = _persons(series.key, counted, _wanted(counted, solution, read), read)
    searched = solution
    if settings.arrivals == "coarsen":
        solution = raised(problem, solution, _waiting(job, history, persons, counted, read, random))
        persons = replace(persons, wanted=_wanted(counted, solution, read))
        stays = None if stays is None else {**stays, "kept": solution.levels == last}
    while True:
        found = _decided(job, history, persons, random)
        if not found.released.any():
            raise NoSolution(NOBODY)
        table = table_of(counted.table, read, found.released)
        made = replace(problem_of(job, table), lattice=Lattice(solution.levels, solution.levels), start=None)
        again = method("optimal").run(replace(made, limit=table.records))
        if again is not None and not again.suppressed:
            break
        # a class may fail once some of it wait, where departures are only reported: its persons are left out as well
        persons = replace(persons, wanted=_without_failing(persons.wanted, found.released, table, again))
    _refuse_waiting(job, found)
    stated = _stated(job, series, history, found, int((persons.nights == 0).sum()), problem, searched)
    if settings.arrivals == "coarsen":
        rose = solution.levels != searched.levels
        stated["raised"] = {"levels": rose, "information_loss": finite(solution.loss) if rose else None}
    if history.releases:
        stated["levels_changed"] = _levels_changed(history, table.attributes, solution.levels)
    if stays is not None:
        stated["stability"] = stays
    proposal = proposal_of(
        history,
        after,
        persons,
        found,
        series.release_id,
        dict(zip(table.attributes, map(int, solution.levels), strict=True)),
        rows_of(counted.records, job.released, found.released) if settings.departures == "keep" else None,
    )
    shown = _as_searched(solution, again, left_out=not found.released.all())
    records = CappedTable(counted.records, found.released)
    outcome = Outcome(shown, shown.suppressed_tuples, 0, "none")
    return Night(
        counted._replace(table=table, records=records),
        outcome,
        stated,
        proposal,
        evidence_of(history, proposal, series.key),
        _left_out(persons, found),
        found.figures.gone if settings.departures != "report" else 0,
    )


def _decided(job: Job, history: History, persons: Persons, random: np.random.Generator) -> Decided:
    assert job.series is not None  # noqa: S101 (the caller has asked)
    covers, every, changes = job.series.departures != "report", job.series.judges_every_night, job.series.traces_changes
    return decided(history, persons, job.privacy, random, departures=covers, every=every, changes=changes)


def _left_out(persons: Persons, found: Decided) -> int:
    """Count the persons of tonight's source who are not released; who is gone from it is none of them."""
    return int(((persons.nights == 0) & ~found.released).sum())


def _refuse_waiting(job: Job, found: Decided) -> None:
    """Refuse a night on which somebody new has to wait, if the job does."""
    assert job.series is not None  # noqa: S101 (the caller has asked)
    if job.series.arrivals == "refuse" and found.figures.held_back:
        raise NoSolution(
            "series.arrivals: is refuse, and new persons would have to wait until enough of one class can go together; "
            "set arrivals: hold-back, or run again when there are more"
        )


def _night_of_cohorts(
    job: Job,
    series: SeriesRun,
    counted: Counted,
    problem: Problem,
    searched: Solution,
    read: RecordsRead,
    history: History,
    after: int,
    random: np.random.Generator,
) -> Night:
    """Decide who is released tonight where each night's newcomers have levels of their own."""
    assert job.series is not None  # noqa: S101 (the caller has asked)
    settings = job.series
    cells = cells_of_cohorts(job, problem, searched, read, history, series.key.ids(read.subjects))
    persons = _persons(series.key, counted, cells.wanted, read)
    while True:
        found = _decided(job, history, persons, random)
        if not found.released.any():
            raise NoSolution(NOBODY)
        made, shown = cells.released(job, found.released)
        failing = failing_records(made, shown)
        if not failing.any():
            break
        # only where departures are not covered: the persons of a class that they made fail are left out as well
        wanted = persons.wanted.copy()
        wanted[np.flatnonzero(found.released)[failing]] = -1
        persons = replace(persons, wanted=wanted)
    here = int((persons.nights == 0).sum())
    cohorts = cells.cohorts(found.released)
    stated = _stated(job, series, history, found, here, problem, searched)
    stated["cohorts"] = {"levels": len(cohorts.levels)}
    rows = rows_of(counted.records, job.released, found.released) if settings.departures == "keep" else None
    proposal = proposal_of(history, after, persons, found, series.release_id, {}, rows, cohorts)
    return Night(
        counted._replace(table=made.table, records=CappedTable(counted.records, found.released)),
        Outcome(shown, shown.suppressed_tuples, 0, "none"),
        stated,
        proposal,
        evidence_of(history, proposal, series.key),
        _left_out(persons, found),
        found.figures.gone if settings.departures != "report" else 0,
    )


def _read(job: Job, counted: Counted) -> RecordsRead:
    assert job.subject is not None  # noqa: S101 (a series has one)
    sensitive = columns_of(job, counted.records.schema).sensitive
    read = read_records(counted.records, job.subject, counted.encoding, counted.table, sensitive)
    _, number = codes_of_persons(read.subjects, job.subject)
    several = read.rows.size - number
    if several:
        raise InvalidData(
            Message.of(
                "series: records that are further ones of a person: {several}; a series follows one record of each: "
                "release one record per person, such as by GROUP BY in the source query, or take series out",
                several=Count(several),
            )
        )
    return read


def _waiting(
    job: Job, history: History, persons: Persons, counted: Counted, read: RecordsRead, random: np.random.Generator
) -> Callable[[Solution], bool]:
    """Return what tells whether somebody new would have to wait at the levels of a solution."""
    assert job.series is not None  # noqa: S101 (the caller has asked)
    new = (history.places(persons.ids) < 0) & (persons.nights == 0)
    least = max(model.minimum_class_size for model in job.privacy)

    def waits(solution: Solution) -> bool:
        wanted = _wanted(counted, solution, read)
        sizes = np.bincount(wanted[new & (wanted >= 0)])
        if ((sizes > 0) & (sizes < least)).any():
            return True  # told at once; whether larger classes of new persons satisfy the models takes longer
        found = _decided(job, history, replace(persons, wanted=wanted), random)
        return found.figures.held_back > 0

    return waits


def _persons(key: SeriesKey, counted: Counted, wanted: NDArray[np.int32], read: RecordsRead) -> Persons:
    hashes = {name: key.values(name, histogram.labels) for name, histogram in counted.table.sensitive.items()}
    values = {name: codes.astype(np.int32) for name, codes in read.values.items()}
    return Persons(key.ids(read.subjects), wanted, values, hashes, nights_gone(read.subjects))


def _wanted(counted: Counted, solution: Solution, read: RecordsRead) -> NDArray[np.int32]:
    """Return the class that each record would have, -1 where it is suppressed, int32, shape (n,)."""
    table = counted.table
    suppressed = np.zeros(table.counts.size, np.bool_)
    suppressed[solution.suppressed_tuples] = True
    found: NDArray[np.int32] = np.where(suppressed, np.int32(-1), table.partition(solution.levels).gid)[read.rows]
    return found.astype(np.int32)


def _without_failing(
    wanted: NDArray[np.int32], released: NDArray[np.bool_], table: Any, again: Solution | None
) -> NDArray[np.int32]:
    if again is None:
        raise NoSolution(NOBODY)
    gone = np.zeros(table.counts.size, np.bool_)
    gone[again.suppressed_tuples] = True
    rows = table.persons.runs.members  # one person per record: members by row
    owner = np.repeat(np.arange(table.counts.size), np.diff(table.persons.runs.offsets))
    out = np.zeros(int(released.sum()), np.bool_)
    out[rows[gone[owner]]] = True
    left: NDArray[np.int32] = wanted.copy()
    left[np.flatnonzero(released)[out]] = -1
    return left


def _as_searched(solution: Solution, again: Solution, *, left_out: bool) -> Solution:
    """Return the solution of the released persons; of fewer than all it is not proven to be the least loss."""
    if not left_out:
        return replace(
            again,
            checked=solution.checked,
            optimal=solution.optimal,
            exhaustive=solution.exhaustive,
            lower_bound=solution.lower_bound,
        )
    bound = tuple(0.0 for _ in again.loss) if isinstance(again.loss, tuple) else 0.0
    return replace(again, checked=solution.checked, optimal=False, exhaustive=False, lower_bound=bound)


def _levels_changed(history: History, attributes: Sequence[str], levels: Levels) -> dict[str, LevelChange]:
    before = history.releases[-1].levels
    return {
        name: {"before": before[name], "now": int(level)}
        for name, level in zip(attributes, levels, strict=True)
        if name in before and before[name] != level  # a release of mixed levels has none
    }


def _stated(
    job: Job,
    series: SeriesRun,
    history: History,
    found: Decided,
    here: int,
    problem: Problem,
    solution: Solution,
) -> SeriesStated:
    assert job.series is not None  # noqa: S101 (the caller has asked)
    figures = found.figures
    persons = here + figures.kept
    stated: SeriesStated = {
        "name": series_name(job),
        "release_id": series.release_id,
        "memory": job.series.memory,
        "arrivals": job.series.arrivals,
        "departures": job.series.departures,
        "releases": len(history.releases) + 1,
        "smallest_trace": figures.smallest,
        "suppressed_share": figures.suppressed / persons,
        "held_back_share": figures.held_back / persons,
        "covered_share": figures.covered / persons,
        "searched": {"information_loss": finite(solution.loss), "optimal": solution.optimal},
    }
    if job.series.departures == "keep":
        stated["max_nights"] = job.series.most_nights
        stated["kept_share"] = figures.kept / persons
    if job.series.departures == "report":
        stated["below_share"] = figures.below / persons
    if job.churn is not None:
        stated["churn"] = churn_stated(job, problem, solution, len(history.releases))
    return stated
