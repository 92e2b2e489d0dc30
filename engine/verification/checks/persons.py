"""A job that counts persons, judged on its output and on the source, which says whose the records are.

Without the source nobody can count persons: then this does not hold. What the output alone shows is a bound: a class
has at most as many persons as records, so that fewer records than persons are demanded would prove a failure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest
from statistics import median
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError, InvalidData
from engine.message import Count, Message
from engine.verification.checks.attribute_inference import recount_inference, same_inference
from engine.verification.checks.balance import drops
from engine.verification.checks.margin import bound_holds, is_figure, least_margin_holds
from engine.verification.checks.persons_stated import same_persons
from engine.verification.checks.whole_persons import whole_persons_of_file
from engine.verification.finding import Finding
from engine.verification.records.persons import CELL, PersonsOfFile, persons_of_file
from engine.verification.records.source_records import source_records
from engine.verification.recount import recount
from engine.verification.tolerance import same_share

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.class_table import ClassTable
    from engine.verification.records.source_records import SourceRecords

_WITHHELD = 10
"""Largest cell that US federal health agencies withhold: CMS cell size suppression policy, 2020."""


def check_persons(
    table: ClassTable,
    job: Job,
    report: Mapping[str, Any] | None,
    source: Any,
    rows_key: bytes | None,
    records: SourceRecords | None = None,
) -> Iterator[Finding]:
    """Judge models, class of suppressed records and figures by persons.

    Parameters
    ----------
    records : SourceRecords, optional
        Those of the source at the levels of the report, where somebody has read them already.
    """
    if report is None:
        yield _finding("persons", "the levels do not follow from the output; give the report", holds=False)
        return
    try:
        levels = report["solution"]["levels"]
        if records is None and levels is None:
            raise InvalidData("nobody knows the levels of each person without the vault of the series; restore it")
        if records is None:
            records = source_records(table, job, levels, source, rows_key=rows_key)
        if job.suppresses_persons:
            file = whole_persons_of_file(records, table, job)
        else:
            suppressed = report["suppressed_class"]["records"] or 0
            file = persons_of_file(records, table, job, drop=drops(job, report), suppressed=suppressed)
    except EngineError as problem:
        uncounted = _finding("persons", Message("persons cannot be counted: ", problem.message), holds=False)
        yield replace(uncounted, is_told=False)
        return
    yield same_persons(file, job, report)
    models = [_judged(file, job, model, kept=True) for model in job.privacy]
    yield from models
    if report["suppressed_class"]["form"] == "star":
        failing = [one for one in (_judged(file, job, model, kept=False) for model in job.privacy) if not one.holds]
        told = [Message(f"{one.check}: ", one.message) for one in failing]
        text = Message.joined("; ", told) if told else "the suppressed records satisfy every privacy model"
        yield _finding("suppressed-class", text, holds=not failing)
    yield _figures("classes", _same_classes(report.get("classes"), file, job.minimum_persons))
    yield _figures("risk", _is_same(report.get("risk"), risks_by_person(file, job.risk.threshold)))
    if "attribute_inference" in report:
        inferred = recount_inference(table, job.minimum_class_size)
        yield _figures("attribute_inference", same_inference(report["attribute_inference"], inferred, same_share))
    given = report.get("privacy")
    given = given if isinstance(given, list) else []
    agree = all(_same_judgement(*pair) for pair in zip_longest(given, models))
    yield _figures("privacy", agree and least_margin_holds(report.get("privacy_margin"), given))


def _judged(file: PersonsOfFile, job: Job, model: Any, *, kept: bool) -> Finding:
    name = model.sensitive_attribute
    if file.found_among is not None:
        return _parts_shared(file, job, model) if name is None else _values_shared(file, job, model)
    table, classes = file.counted(name, kept=kept)
    attribute = None if name is None else job.attributes[name]
    found = recount(table, [CELL], model, attribute=attribute, kept=classes)
    return Finding(
        found.check,
        found.holds,
        found.observed,
        found.required,
        found.column,
        Message("counted in persons: ", found.message),
        found.sense,
    )


def _parts_shared(file: PersonsOfFile, job: Job, model: Any) -> Finding:
    """Judge k-anonymity of the parts of pictures, of an attacker who knows some rows."""
    among, least = file.found_among, model.minimum_class_size
    assert among is not None  # noqa: S101 (see `_judged`)
    few = int((among < least).sum())
    return Finding(
        "k-anonymity",
        holds=few == 0,
        observed=int(among.min()) if among.size else None,
        required=least,
        sense="at-least",
        column=None,
        message=Message.of(
            "persons who share {rows} of their rows with fewer than {least}: {few} of {persons}",
            few=Count(few),
            persons=Count(among.size),
            rows=job.known,
            least=least,
        ),
    )


def _values_shared(file: PersonsOfFile, job: Job, model: Any) -> Finding:
    """Judge distinct l-diversity of the parts of pictures: of the values of those who share one."""
    name, least, with_missing = model.distinct_values
    values = file.values_among[name, with_missing]
    few = int((values < least).sum())
    return Finding(
        "l-diversity",
        holds=few == 0,
        observed=int(values.min()) if values.size else None,
        required=least,
        sense="at-least",
        column=name,
        message=Message.of(
            "persons who share {rows} of their rows with those of fewer than {least} distinct values: "
            "{few} of {persons}",
            few=Count(few),
            persons=Count(values.size),
            rows=job.known,
            least=least,
        ),
    )


def risks_by_person(file: PersonsOfFile, threshold: float) -> dict[str, float]:
    """Return every risk figure of a report that counts persons, by its key."""
    counted = Counter(file.smallest_classes().tolist())
    limit, number = Fraction(str(threshold)), sum(counted.values())
    at_risk = sum(persons for size, persons in counted.items() if size * limit <= 1)
    below = sum(persons for size, persons in counted.items() if size <= _WITHHELD)
    highest = 1 / min(counted) if number else 0.0
    return {
        "prosecutor": highest,
        "journalist": highest,
        "marketer": math.fsum(persons / size for size, persons in counted.items()) / number if number else 0.0,
        "threshold": threshold,
        "prosecutor_records_at_risk": at_risk / number if number else 0.0,
        "journalist_records_at_risk": at_risk / number if number else 0.0,
        "sample_uniqueness": counted[1] / number if number else 0.0,
        "records_below_11": below,
        "share_below_11": below / number if number else 0.0,
    }


def _same_classes(stated: Any, file: PersonsOfFile, smallest: int) -> bool:
    persons, records = (found.tolist() for found in file.sizes)
    found: dict[str, float | None] = {"number": 0, "smallest": None, "median": None, "largest": None}
    if persons:
        found = {
            "number": len(persons),
            "smallest": min(persons),
            "median": median(persons),
            "largest": max(persons),
        }
    if not isinstance(stated, Mapping) or set(stated) != {*found, "distribution"}:
        return False
    return _is_same({key: stated[key] for key in found}, found) and stated["distribution"] == _bins(
        persons, records, smallest
    )


def _bins(persons: Sequence[int], records: Sequence[int], smallest: int) -> list[dict[str, int]]:
    """Return the bins of the classes by their persons, from `smallest` on, each twice as wide as the one before."""
    bins, start, largest = [], smallest, max(persons, default=0)
    while start <= largest:
        inside = [own for size, own in zip(persons, records, strict=True) if start <= size < 2 * start]
        bins.append({"from": start, "to": 2 * start - 1, "classes": len(inside), "records": sum(inside)})
        start *= 2
    return bins


def _same_judgement(stated: Any, found: Finding | None) -> bool:
    if not isinstance(stated, Mapping) or found is None:
        return False
    observed = is_figure(stated.get("observed"), found.observed)
    return stated.get("holds") is found.holds and observed and bound_holds(stated, found)


def _is_same(stated: Any, found: Mapping[str, float | None]) -> bool:
    complete = isinstance(stated, Mapping) and set(stated) == set(found)
    return complete and all(same_share(stated[key], figure) for key, figure in found.items())


def _figures(part: str, agrees: bool) -> Finding:
    text = f"{part} in the report {'are' if agrees else 'are not'} those of the persons of the output"
    return _finding("figures", text, holds=agrees)


def _finding(check: str, message: Any, *, holds: bool) -> Finding:
    return Finding(check, holds, None, None, None, Message(message))
