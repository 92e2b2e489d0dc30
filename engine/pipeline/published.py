"""What a run tells of itself: the one policy for every figure that leaves it.

In: the full report of a run, which stays in memory. Out: a `PublishedReport`: `report.json` of the release folder, and
with it XCom, logs, manifest, ledger, pages, metrics and lineage, which are all made from it. No document with other
digits is written anywhere, not even to be hashed.

**Few records.** Where fewer records than the smallest class allowed, *k*, were left out of the file, `rows` and
`suppressed_class.records` are None. Every other figure is then computed from the records of the file, as if there had
been no others: loss and utility are measured on them, and the bound of the search, which counted all, is withheld. A
figure that the missing records do not enter is the same for 1 and for *k* - 1 of them, whatever its digits. So is a
number of suppressed records below *k* that further classes joined: the figures are those with these classes, and how
many classes joined, or whether any did, is not told where all of them together are fewer than 2*k* - 1.

**Records of few persons.** Where persons are counted the same is so if the records that were left out are of fewer than
*k* persons, however many they are: who has how many records is told by their number. The share of rows beyond
`max_rows` is withheld with it, since from their number and share the number of all rows follows.

**The last cell.** Somebody who knows every cell of the source but one recomputes a figure for each candidate.

- Classes, risks, the privacy models' figures, and measures that read the `file` are recounted by whoever has the file:
  they tell nothing more, and keep their digits, but for the last of a sum: these follow from the order of its terms,
  which are of all combinations of the source.
- Measures that read the `domains` of hierarchies depend on whether a value occurs, unless all domains are fixed: then
  they are recounted from the file too (a missing value is one more of a domain, so they tell whether there is any).
  Else one value of one record moves a mean over *n* records by about 1 / n of its range, and by as much as 1 / D where
  it adds one to a domain of D values. They have `floor(log10 n) - 1` significant digits, from 1 to 3, so that one step
  of the last digit is at least ten times what one of *n* records moves.
- Measures that read `cells` are sums of logarithms of counts: one cell moves them by up to log2(n) records' worth. They
  have two digits less, and are withheld below 10,000 records.
- The linter's shares of distinct values and differing pairs are counted in the source, among the n records that have a
  value, and one record moves them by up to 2 / n: they have so many decimal places that a step is at least ten times
  that, two at most, and none where there are, or the file has, fewer than 200 records. They are withheld with the
  number of records; so is what it finds by them, and by values that most share.
- Where persons are counted, their number and the share of those of whom no record is kept are withheld with the number
  of records, and also where these persons, or all others, are fewer than a class must have: shares of the persons in
  the file have their number as divisor, so that the two would tell the difference.
- What is said of usefulness is rounded, and tells of suppressed records in steps alone (`engine.usefulness.published`);
  where the records left out are few it is measured without them.
- A lower bound that is not the loss itself is counted in the source, whatever the measure reads: it has as few digits
  as measures that read any domain. The gap is rounded up with the loss, or follows from a loss with all digits. So are
  the losses that a series states of transformations other than the released one.
- The number of checks of a search depends on all cells: it is given as the next power of ten; where few are hidden, as
  that of a number that follows from the lattice. Neither is then told by what a solution was proven, nor whether a
  search that may end within a gap has proven it; `withheld` is the same whatever the run knows of it.
- In a series those who wait, are suppressed or withheld are the records that were left out. Where they are few, all of
  this is so too, and no share is told whose divisor they are part of. Where those of one cause alone are few, no loss
  is told of all persons, and no share of a file of fewer than 1,000 records: they have a step that tells these few.

**Differential privacy.** Records that are not in the file were left out before anything was counted. Figures that read
the file alone are functions of it; all others, which read the values behind its labels or how long they took, are
withheld.

Rounding does not exclude that a figure is beside the edge of two rounded values, which tells on which side of it the
cell is; as for the transformation itself, which another cell may have changed, candidates are then fewer, but are not
singled out (`tests/airflow_anon/nights/test_figures_attack.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any, NamedTuple, cast

from engine.frontiers.document import Choice, PublishedChoice
from engine.frontiers.published import MOST_DIGITS, digits_of_source, next_power_of_ten, significant
from engine.job.job import Job
from engine.linter.document import Lint, LintedColumn
from engine.linter.findings import OF_THE_SOURCE, text
from engine.pipeline.document import (
    PublishedReport,
    PublishedSolution,
    PublishedSuppressedClass,
    Report,
    ReportedSearch,
    Statement,
)
from engine.pipeline.measured import Measured, PersonsOut, finite
from engine.series.document import SeriesStated
from engine.usefulness.published import share_places
from engine.usefulness.published import told as usefulness_told
from engine.utility.information_loss import ranked
from engine.utility.measure import Reads
from engine.utility.registry import MEASURES

_SUMMED = 13
"""Digits of a figure that keeps all of its own: beyond them a sum tells in which order its terms were added up."""
_CHECKS_PER_TRANSFORMATION = 100
FEWEST_BESIDE = 1000
"""Records of a file from which on a step of a share of two digits is ten times what one record of the divisor moves."""


class Few(NamedTuple):
    """Which numbers may not be told, because they are of few records or of few persons.

    Attributes
    ----------
    suppressed : bool
        The records that the search suppressed.
    left_out : bool
        The records that are not in the file.
    """

    suppressed: bool
    left_out: bool


def few_hidden(job: Job, report: Statement, persons: PersonsOut | None = None) -> Few:
    """Tell of which numbers no figure may tell.

    Parameters
    ----------
    persons : PersonsOut, optional
        Of a job that counts persons.
    """
    smallest, gone = job.minimum_class_size, report["suppressed_class"]
    own = persons or PersonsOut(0, 0, 0)
    leaves_out = gone["form"] == "drop" or "series" in report
    dropped = leaves_out and (_is_few(gone["records"], smallest) or _is_few(own.in_all, smallest))
    few = _is_few(report["solution"]["suppressed"], smallest) or _is_few(own.suppressed, smallest)
    return Few(few or may_be_few_and_joined(job, gone["records"], own.in_all), dropped)


def may_be_few_and_joined(job: Job, *left: int) -> bool:
    """Tell whether one of the numbers of suppressed records and persons may be of a few and of one class that joined.

    That class has as many as the smallest one allowed, *k*, so from *k* + 1 to 2*k* - 2 the number would tell how few
    the others are at most, if it were told that a class joined; so nothing is told of it, whether one did or not.
    Classes join where leaving the few out would change what the others are compared with.
    """
    joins = job.suppress == "any" and any(model.compares_with_table for model in job.privacy)
    return joins and any(job.minimum_class_size < one < 2 * job.minimum_class_size - 1 for one in left)


def published(
    job: Job, report: Report, measured: Measured | None = None, persons: PersonsOut | None = None
) -> PublishedReport:
    """Return the report as it may leave the run.

    Parameters
    ----------
    measured : Measured, optional
        Required where something is in `few_hidden`.
    persons : PersonsOut, optional
        See `few_hidden`.
    """
    smallest = job.minimum_class_size
    digits = _digits(job, report["released"])
    few = few_hidden(job, report, persons)
    # in a series `rows` are those of the file, and nobody is suppressed in it
    hides, dropped = any(few), few.left_out and report["suppressed_class"]["form"] == "drop"
    if hides and measured is None:
        raise ValueError("measured: is required where few records are withheld")
    # a search that may end within a gap proves some tables, and whether this one depends on the records left out
    optimal = report["solution"]["optimal"] and not (hides and job.search.gap)
    utility = measured.utility if hides and measured is not None else report["utility"]
    told: PublishedReport = {
        **cast("PublishedReport", report),
        "rows": None if dropped else report["rows"],
        "solution": _solution(
            job, report, digits, measured if hides else None, hidden=few.suppressed or dropped, optimal=optimal
        ),
        "suppressed_class": _suppressed_class(report, smallest, joins=few.suppressed, dropped=dropped),
        "search": _search(
            report, hides=hides or ("series" in report and _has_few_causes(job, report["series"], report["released"]))
        ),
        "utility": {name: _rounded(value, digits[_READS[name]]) for name, value in utility.items()},
    }
    if "lint" in report:
        told["lint"] = _lint(report["lint"], 0 if hides else report["released"], hides=hides)
        hidden = {text(job, one) for one in report["lint"]["findings"] if one not in told["lint"]["findings"]}
        warnings = [one for one in told.pop("warnings", []) if one not in hidden]
        told = {**told, "warnings": warnings} if warnings else told
    if "choice" in report:
        told["choice"] = _choice(cast("Choice", report["choice"]), max(1, digits["cells"] or 0), hides=hides)
    if "persons" in report:
        told["persons"], told["persons_suppressed_share"] = _persons(job, report, hides=hides)
    # beyond `max_rows` may be rows of few persons alone, so that their number would tell how many one has
    if "further_rows" in report and (hides or persons is None or _is_few(persons.further, smallest)):
        told["further_rows"] = {"left_out": None, "share": None}
    if "series" in report:
        few_gone = persons is not None and _is_few(persons.gone, job.minimum_persons)
        told["series"] = _series(
            job, report["series"], report["released"], digits[job.utility.reads], hides=hides, few_gone=few_gone
        )
    told = _without_times(told) if job.is_private else told
    if "usefulness" in report:
        told["usefulness"] = usefulness_told(report["usefulness"], smallest)
    searched = job.policy is None and not job.is_private
    told["withheld"] = list(_withheld(report, told, proves=hides and searched))
    return told


def _digits(job: Job, records: int) -> Mapping[Reads, int | None]:
    if job.is_private:
        return {"file": None, "domains": 0, "cells": 0}
    return significant_digits(records, fixed_domains=_has_fixed_domains(job))


def digits_of_measures(job: Job, records: int) -> dict[str, int | None]:
    """Return how many significant digits each measure has, by its name: None all of them, 0 none.

    Parameters
    ----------
    records : int
        Records in the file.
    """
    digits = _digits(job, records)
    return {name: digits[reads] for name, reads in _READS.items()}


def _without_times(told: PublishedReport) -> PublishedReport:
    """Leave out how long the steps took: it tells how many records they read."""
    return {**told, "timings": None, "search": {**told["search"], "seconds": None, "warm_up_seconds": None}}


def _search(report: Report, *, hides: bool) -> ReportedSearch:
    """Return how the search went: where few are hidden, only what does not depend on them.

    A bound of the checks that follows from the number of transformations is above them whatever the table is: of small
    spaces there are more checks than transformations, but never as many as this.
    """
    found = report["search"]
    most = max(found["checked"], _CHECKS_PER_TRANSFORMATION * found["space"]) if hides else found["checked"]
    return {**found, "checked": next_power_of_ten(most), "proof": None if hides else found["proof"]}


def _series(
    job: Job, series: SeriesStated, released: int, places: int | None, *, hides: bool, few_gone: bool
) -> SeriesStated:
    """Return what the report says of a series: nothing that tells of fewer persons than a class must have.

    The persons of tonight's table follow from those in the file and the shares, so shares have two digits; where those
    who are not in the file are few, no share is told that has all persons as its divisor, which is each of them.

    Who is gone and those who cover them are all who are missing of earlier releases, whose number the files tell: where
    few are gone, how many cover them is not told either, nor a share of a small file that has them in its divisor.
    """
    persons = released + sum(_by_cause(series, released))
    # these are part of the divisor of each share, and follow from those of the other causes and the file
    one_is_few = _has_few_causes(job, series, released)
    apart = (one_is_few or few_gone) and released < FEWEST_BESIDE
    told: dict[str, Any] = {**series}
    for key in SHARES_OF_SERIES:
        share = told.get(key)
        if share is not None:
            few_of = hides or apart or _is_few(round(share * persons), job.minimum_persons)
            few_of |= few_gone and key == "covered_share"
            told[key] = None if few_of else significant(share, 2)
    if (series["smallest_trace"] or 0) < job.minimum_persons:
        told["smallest_trace"] = None
    # a loss of all persons has a step below what one of them moves where little is lost
    few = hides or one_is_few or _is_few(persons - released, job.minimum_persons)
    places = _digits_of_source(released, places)
    loss = None if few else _rounded(series["searched"]["information_loss"], places)
    told["searched"] = {**series["searched"], "information_loss": loss}
    if few:
        told["searched"]["optimal"] = False
    if "stability" in series:
        losses = {
            key: None if few else _rounded(told["stability"][key], places) for key in ("loss_kept", "loss_possible")
        }
        told["stability"] = {**series["stability"], **losses}
    if "churn" in series:
        expected = {
            key: None if few else _rounded(told["churn"][key], 2) for key in ("held_back_share", "covered_share")
        }
        possible = None if few else _rounded(series["churn"]["loss_possible"], places)
        told["churn"] = {**series["churn"], **expected, "loss_possible": possible}
    if "raised" in series:
        raised = series["raised"]["information_loss"]
        told["raised"] = {**series["raised"], "information_loss": None if few else _rounded(raised, places)}
    return cast("SeriesStated", told)


def _by_cause(series: SeriesStated, released: int) -> list[int]:
    """Return how many persons of tonight's table are suppressed, wait and cover."""
    shares = [series["suppressed_share"] or 0.0, series["held_back_share"] or 0.0, series["covered_share"] or 0.0]
    persons = round(released / (1 - sum(shares))) if sum(shares) < 1 else released
    return [round(share * persons) for share in shares]


def _has_few_causes(job: Job, series: SeriesStated, released: int) -> bool:
    """Tell whether few persons are left out of a release of a series by one cause, however many are by others."""
    return any(_is_few(number, job.minimum_persons) for number in _by_cause(series, released))


def _persons(job: Job, report: Report, *, hides: bool) -> tuple[int | None, float | None]:
    """Return the persons and the share of those of whom no record is kept, unless few of them are, or are not."""
    persons, share = report["persons"], report["persons_suppressed_share"]
    assert persons is not None  # noqa: S101 (the report of a run is complete)
    assert share is not None  # noqa: S101
    gone = round(share * persons)
    few = hides or _is_few(gone, job.minimum_persons) or _is_few(persons - gone, job.minimum_persons)
    return (None, None) if few else (persons, share)


def significant_digits(records: int, *, fixed_domains: bool) -> dict[Reads, int | None]:
    """Return how many significant digits a measure has, by what it reads, for a file of so many records.

    None is all of them, 0 none: the figure is withheld.

    Parameters
    ----------
    records : int
        Records in the file.
    fixed_domains : bool
        Whether the domains of all hierarchies are the same whatever the source holds.
    """
    magnitude = math.floor(math.log10(records)) if records else 0
    return {
        "file": None,
        "domains": None if fixed_domains else digits_of_source(records),
        "cells": min(max(magnitude - 3, 0), MOST_DIGITS),
    }


def _places_of_shares(records: int) -> int:
    """Return the decimal places of the linter's shares, 0 if they are withheld: one record moves those of pairs twice.

    Significant digits would tell of few records: of a column that hardly varies, how many have another value.
    """
    return share_places(records // 2)


def _digits_of_source(records: int, places: int | None) -> int:
    """Return the digits of a loss that nobody can recount from the file; `places` are those that its measure has."""
    digits = significant_digits(records, fixed_domains=False)["domains"] or 0
    return digits if places is None else min(places, digits)


def _lint(lint: Lint, released: int, *, hides: bool) -> Lint:
    """Return the linter's part; the classes it counts are those of the file, and all else is of the source."""
    columns = [_linted(one, released) for one in lint["columns"]]
    findings = [one for one in lint["findings"] if not (hides and one["kind"] in OF_THE_SOURCE)]
    return {**lint, "columns": columns, "findings": findings}


def _linted(found: LintedColumn, released: int) -> LintedColumn:
    """Return what is told of a column: of one of which few records have a value as little as of a small table."""
    places = _places_of_shares(min(released, found["records"]))
    told = {**found, **{name: _placed(found[name], places) for name in ("distinction", "separation")}}
    del told["records"]
    return cast("LintedColumn", told)


def _has_fixed_domains(job: Job) -> bool:
    hierarchies = [job.attributes[name].hierarchy for name in job.quasi_identifiers]
    return all(hierarchy is not None and hierarchy.fixed_domain for hierarchy in hierarchies)


_READS: Mapping[str, Reads] = {kind.model_fields["measure"].default: kind.reads for kind in MEASURES}


def _is_few(records: int, smallest: int) -> bool:
    return 0 < records < smallest


def _suppressed_class(report: Report, smallest: int, *, joins: bool, dropped: bool) -> PublishedSuppressedClass:
    """Return the part about the suppressed records; a class that joined few of them would leave no few of them out."""
    found = report["suppressed_class"]
    told: PublishedSuppressedClass = {"form": found["form"], "records": found["records"], "joined": found["joined"]}
    if dropped:
        return {**told, "records": None, "below": smallest}
    return {**told, "joined": None} if joins else told


def _solution(
    job: Job,
    report: Report,
    digits: Mapping[Reads, int | None],
    measured: Measured | None,
    *,
    hidden: bool,
    optimal: bool,
) -> PublishedSolution:
    """Return the solution; where few are hidden, its loss is that of the released records and the bound is withheld."""
    found = report["solution"]
    places = digits[job.utility.reads]
    loss = found["information_loss"] if measured is None else finite(measured.information_loss)
    loss = _rounded(loss, places)
    bound, gap = (loss, 0.0) if optimal else (None, None)
    if not optimal and measured is None:
        bound = _lowered(found["lower_bound"], _digits_of_source(report["released"], places))
        gap = _raised(found["gap"]) if places is not None else _gap(loss, bound)
    told: PublishedSolution = {
        "levels": found["levels"],
        "information_loss": loss,
        "suppressed": None if hidden and found["suppressed"] else found["suppressed"],
        "optimal": optimal,
        "lower_bound": bound,
        "gap": gap if places != 0 else None,
    }
    if "shares" in found:
        told["shares"] = {name: _shares(one, digits["domains"]) for name, one in found["shares"].items()}
    losses = found.get("ranked_losses")
    if losses is None or places == 0:
        return told
    losses = losses if measured is None else list(map(finite, ranked(measured.information_loss)))
    return {**told, "ranked_losses": [_rounded(one, places) for one in losses]}


def _shares(shares: list[float], digits: int | None) -> list[float]:
    return [share if digits is None else significant(share, digits) for share in shares]


def _choice(choice: Choice, places: int, *, hides: bool) -> PublishedChoice:
    """Return the choice of a rule with rounded figures that still meet the rule: more digits where they would not.

    The risk is that of the file, which whoever has it can recount, so it keeps its digits. All else is of the records
    that are left out too: where they are few it is withheld.
    """
    if hides:
        return cast("PublishedChoice", {**choice, **dict.fromkeys(_OF_ALL_RECORDS & choice.keys())})
    told = cast("PublishedChoice", {**choice, **_policies(choice)})
    for more in range(places, 17):
        told["utility_loss"] = significant(choice["utility_loss"], more)
        if choice["safe_harbor"] is not None:
            harbor = choice["safe_harbor"]
            told["safe_harbor"] = {
                "risk": significant(harbor["risk"], more),
                "utility_loss": significant(harbor["utility_loss"], more),
            }
        if _meets(cast("Choice", told)) or not _meets(choice):
            return told
    return told


_OF_ALL_RECORDS = {"utility_loss", "safe_harbor", "policies", "met", "tried"}


def _policies(choice: Choice) -> dict[str, Any]:
    """Return the numbers of policies, which depend on every cell of the source, as the next powers of ten."""
    told: dict[str, Any] = {key: next_power_of_ten(choice[key]) for key in ("policies", "met")}
    if "tried" in choice:
        own = choice["tried"]
        hindered = {key: next_power_of_ten(number) for key, number in own["hindered"].items()}
        told["tried"] = {"policies": next_power_of_ten(own["policies"]), "hindered": hindered}
    return told


def _meets(choice: Choice) -> bool:
    harbor, highest = choice["safe_harbor"], choice["rule"].get("maximum_risk")
    if highest is not None and choice["risk"] > highest:
        return False
    if harbor is None:
        return True
    less = [choice["risk"] - harbor["risk"], choice["utility_loss"] - harbor["utility_loss"]]
    return max(less) <= 0 and min(less) < 0


SHARES_OF_SERIES = ("suppressed_share", "held_back_share", "covered_share", "kept_share", "below_share")
"""Shares of persons in what a report says of a series; a run has those of its way with departures."""
OF_PROOF = ("solution.lower_bound", "solution.gap", "search.proof")
"""What a search proves: where few records are hidden all that is null of it is named, whatever the run knows."""


def _withheld(report: Report, told: PublishedReport, *, proves: bool) -> list[str]:
    """Return the keys whose figures are None although the run has them.

    Parameters
    ----------
    proves : bool
        Whether few are hidden from a search: which of `OF_PROOF` it has depends on them, so all are named.
    """
    found = [key for key in ("rows", "timings") if told[key] is None]
    found += [key for key in ("persons", "persons_suppressed_share") if key in told and told[key] is None]
    before, after = cast("Mapping[str, Any]", report), cast("Mapping[str, Any]", told)
    for part in (
        "solution",
        "suppressed_class",
        "utility",
        "search",
        *(key for key in ("further_rows", "series", "choice") if key in report),
    ):
        full, shown = before[part], after[part]
        hidden = {f"{part}.{key}": value for key, value in full.items() if shown.get(key) is None}
        found += [name for name, value in hidden.items() if value is not None or (proves and name in OF_PROOF)]
    return found


def _rounded(value: float | None, digits: int | None) -> float | None:
    if value is None or digits == 0:
        return None
    return significant(value, _SUMMED if digits is None else digits)


def _placed(value: float | None, places: int) -> float | None:
    return None if value is None or not places else round(value, places)


def _lowered(value: float | None, digits: int | None) -> float | None:
    """Round a bound down, so that it stays one."""
    if value is None or digits == 0:
        return None
    return _to(value, _SUMMED if digits is None else digits, ROUND_FLOOR)


def _gap(loss: float | None, bound: float | None) -> float | None:
    """Return the gap that follows from a loss with all its digits and a bound that was rounded down."""
    return None if loss is None or bound is None or loss <= 0 else max(0.0, (loss - bound) / loss)


def _raised(gap: float | None) -> float | None:
    """Round a gap up to one significant digit, 1 at most: it is the most that another transformation can save."""
    return None if gap is None else _to(min(max(gap, 0.0), 1.0), 1, ROUND_CEILING)


def _to(value: float, digits: int, rounding: str) -> float:
    """Round what a number is written as, which its binary value may be a trifle above or below."""
    return float(Context(prec=digits, rounding=rounding).create_decimal(repr(float(value))))
