"""Coded and aggregated columns of an output: the form of their values, and that a class has one aggregate.

Of columns that are microaggregated in groups within a class, the records with equal labels and equal means in all of
these columns are counted: each group has as many as the models demand of a class.

The output alone shows what the criteria rest on: no number beyond the ends of its coding or between the multiples of
its step, and no two aggregates in a class, which would tell its records apart. With the source and the levels each
aggregate is made again from the records of the class.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import EngineError, InvalidData
from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.records.coded import coded, fraction
from engine.verification.records.groups import GROUPS
from engine.verification.records.kept import MARK
from engine.verification.records.population import open_source_of
from engine.verification.records.source_records import cells_of
from engine.verification.records.source_texts import source_texts

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.job.transformed import Coding
    from engine.tables.class_table import ClassTable, SensitiveValues

_INTERVAL = re.compile(r"\[([^,\[\]]+), ([^,\[\]]+)\]")
_TOLERANCE = 1e-9
"""Of a mean, relative to the largest number of its class: sums of doubles differ by their order."""


def check_transformed(table: ClassTable, job: Job, report: Mapping[str, Any] | None, source: Any) -> Iterator[Finding]:
    """Judge each coded and each aggregated column.

    Parameters
    ----------
    source : Table, or anything else that can be run, or None
        With coded numbers; None stands for the job's source file.
    """
    if not job.coded and not job.aggregated and not job.perturbed:
        return
    if report is not None:
        yield _statement(job, report)
    for name in job.coded:
        yield _coding(table, job, name)
    if job.aggregated:
        records = _Records.of(table, job, report, source)
        for name in job.aggregated:
            if name in job.grouped:
                yield _means(table, job, name, records)
            else:
                yield _aggregates(table, job, name, records)
        if job.grouped:
            yield _groups(table, job)


def _statement(job: Job, report: Mapping[str, Any]) -> Finding:
    stated = report.get("transformed")
    expected = []
    for name in job.released:
        attribute = job.attributes[name]
        one: dict[str, Any] = {"column": name}
        if attribute.coding is not None:
            one["coding"] = attribute.coding.model_dump(exclude_none=True)
        if attribute.microaggregation is not None:
            one["microaggregation"] = attribute.microaggregation
        if attribute.noise is not None:
            one["noise"] = {"percent": attribute.noise.percent}
        if attribute.pram is not None:
            one["pram"] = {"pd": attribute.pram.pd, "alpha": attribute.pram.alpha}
        expected += [one] if len(one) > 1 else []
    holds = stated == expected
    text = "the report says what the job does" if holds else "the report says another thing of changed columns"
    return Finding("transformed", holds, None, None, None, Message(text))


def _values(table: ClassTable, name: str) -> SensitiveValues:
    return table.sensitive[name] if name in table.sensitive else table.replaced[name]


def _coding(table: ClassTable, job: Job, name: str) -> Finding:
    attribute, found = job.attributes[name], _values(table, name)
    coding = attribute.coding
    assert coding is not None  # noqa: S101 (the caller asks only for such a column)
    if not _is_number(found.kind) and attribute.microaggregation != "interval":
        text = Message(f"coded numbers are numbers; {name!r} is {found.kind}")
        return Finding("coding", False, None, None, name, text)
    wrong = sum(
        not all(_has_form(number, coding, attribute.microaggregation) for number in _numbers(text))
        for text in found.values.present()
        if text is not None
    )
    if not wrong:
        return Finding("coding", True, 0, 0, name, Message("the numbers are coded as the job says"))
    message = Message.of("distinct numbers that are not coded as the job says: {wrong}", wrong=Count(wrong))
    return Finding("coding", False, wrong, 0, name, message)


def _is_number(kind: pa.DataType) -> bool:
    return bool(kind == pa.int64() or kind == pa.float64() or pa.types.is_decimal(kind))


def _numbers(text: str) -> list[Fraction | None]:
    """Return the number that a text is, or the two ends of an interval."""
    ends = _INTERVAL.fullmatch(text)
    return [fraction(text)] if ends is None else [fraction(end) for end in ends.groups()]


def _has_form(number: Fraction | None, coding: Coding, aggregate: str | None) -> bool:
    """Tell whether a number is within the ends, and, unless it is a mean, stays as it is if it is coded again."""
    if number is None:
        return False
    if aggregate in {"mean", "mdav"}:
        low = coding.bottom is None or number >= Fraction(str(coding.bottom))
        return low and (coding.top is None or number <= Fraction(str(coding.top)))
    again = coded(number, coding)
    # a double beside a multiple of a step that is no double is that multiple
    return number == again or float(number) == float(again)


class _Records:
    """The records of the source in the classes of an output, ordered by class; `why` they are not known, if not."""

    def __init__(self, why: str, begins: Mapping[int, tuple[int, int]], columns: Mapping[str, pa.Array]) -> None:
        self.why = why
        self.begins = begins
        self._columns = columns

    @classmethod
    def of(cls, table: ClassTable, job: Job, report: Mapping[str, Any] | None, source: Any) -> _Records:
        levels = None if report is None else report["solution"]["levels"]
        if levels is None:
            return cls("the levels of each class are not known", {}, {})
        if source is None and (job.source is None or job.source.path is None):
            return cls("the source is not given", {}, {})
        try:
            records = _read(job, source)
            own, others, _, _ = cells_of(records, table, job, levels)
        except EngineError as problem:
            return cls(str(problem), {}, {})
        order = np.argsort(own, kind="stable")
        first, last = (np.searchsorted(own[order], others, side) for side in ("left", "right"))
        begins = {place: (int(a), int(b)) for place, (a, b) in enumerate(zip(first, last, strict=True))}
        return cls("", begins, {name: records[name].combine_chunks().take(pa.array(order)) for name in job.aggregated})

    def ordered(self, name: str, missing: Sequence[str], number: Callable[[str], Any] | None = None) -> _Ordered:
        """Return the values of a column in the order of numbers if all of them are, else in that of texts.

        Parameters
        ----------
        number : callable, optional
            Returns the number that a text is, None if it is none; `_decimal` if absent.
        """
        number = number or _decimal
        encoded = self._columns[name].dictionary_encode(null_encoding="encode")
        texts = encoded.dictionary.to_pylist()
        present = [text for text in texts if text is not None and text not in missing]
        numbers = {text: number(text) for text in present}
        is_number = None not in numbers.values()
        values: list[Any] = sorted({numbers[text] if is_number else text for text in present})
        rank = {value: place for place, value in enumerate(values)}
        of_text = [rank[numbers[text] if is_number else text] if text in numbers else -1 for text in texts]
        places = encoded.indices.to_numpy(zero_copy_only=False)
        return _Ordered(values, is_number, np.array(of_text, np.int64)[places], number)


@dataclass(frozen=True, eq=False)
class _Ordered:
    """Distinct values in their order, numbers or texts, and the place of each record's among them, -1 for none."""

    values: Sequence[Any]
    is_number: bool
    places: NDArray[np.int64]
    number: Callable[[str], Any]

    @cached_property
    def doubles(self) -> NDArray[np.float64]:
        """The values as doubles."""
        return np.array([float(value) for value in self.values], np.float64)

    def agrees(self, how: str, stated: str, begin: int, end: int) -> bool:
        """Tell whether a text is the aggregate of the values of some records that follow each other."""
        own = np.sort(self.places[begin:end])
        own = own[own >= 0]
        if how == "mode":
            expected = self.values[int(np.bincount(own).argmax())]  # of equally frequent ones the smallest
            return bool((self.number(stated) if self.is_number else stated) == expected)
        if not self.is_number:
            return False
        if how == "mean":
            numbers, given = self.doubles[own], fraction(stated)
            room = _TOLERANCE * float(np.abs(numbers).max())
            return given is not None and abs(float(given) - math.fsum(numbers.tolist()) / own.size) <= room
        if how == "interval":
            return _numbers(stated) == [Fraction(self.values[own[0]]), Fraction(self.values[own[-1]])]
        return bool(_decimal(stated) == self.values[own[(own.size - 1) // 2]])

    def present(self, begin: int, end: int) -> int:
        """Return how many of some records have a value."""
        return int((self.places[begin:end] >= 0).sum())


def _decimal(text: str) -> Decimal | None:
    """Return the number that a text is; None if it is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _double(text: str) -> tuple[bool, Decimal] | None:
    """Return the place of a double among all others, of which NaN is the last; None if a text is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return (True, Decimal(0)) if number.is_nan() else (False, number)


def _no_number(text: str) -> None:
    """Read no text as a number."""
    del text


def _read(job: Job, source: Any) -> pa.Table:
    opened = open_source_of(job, source)
    names = [*job.quasi_identifiers, *job.aggregated]
    if not set(names) <= set(opened.schema.names):
        raise InvalidData("the source lacks columns of the release; give the one that was de-identified")
    return source_texts(opened, names)


def _aggregates(table: ClassTable, job: Job, name: str, records: _Records) -> Finding:
    found, how = _values(table, name), str(job.attributes[name].microaggregation)
    number = np.bincount(found.classes, minlength=table.records.size)
    starred = table.having(MARK)
    texts = found.values.column().to_pylist()
    shown = np.array([text is not None for text in texts], np.bool_)
    several = int((number > 1).sum())
    problems: list[Message | str] = []
    if several:
        problems.append(Message.of("classes with more than one aggregate: {several}", several=Count(several)))
    if (starred[found.classes] & shown).any():
        problems.append("suppressed records have one")
    if not several:
        wrong, compared = _compared(table, job, name, records)
        if wrong:
            problems.append(
                Message.of("classes with another {how} in the source: {wrong}", wrong=Count(wrong), how=how)
            )
        told = "; that they are those of the source is not shown: " + records.why if not compared else ""
    else:
        told = ""
    text = (
        Message.joined("; ", [Message(one) for one in problems]) if problems else Message("each class has one " + how)
    )
    return Finding("microaggregation", not problems, None, None, name, Message(text, told))


def _compared(table: ClassTable, job: Job, name: str, records: _Records) -> tuple[int, bool]:
    """Return how many classes have another aggregate than their records of the source, and whether any was compared.

    Of a class some of whose records are not in the output it is not known which.
    """
    if records.why:
        return 0, False
    attribute, found = job.attributes[name], _values(table, name)
    values = records.ordered(name, attribute.missing, _number_of(str(attribute.microaggregation), found.kind))
    starred, wrong = table.having(MARK), 0
    stated: dict[int, str | None] = dict(zip(found.classes.tolist(), found.values.column().to_pylist(), strict=True))
    for number, size in enumerate(table.records.tolist()):
        begin, end = records.begins[number]
        text = stated[number]
        if starred[number] or end - begin != size:
            continue
        if values.present(begin, end) < job.minimum_class_size:
            wrong += text is not None
        else:
            wrong += text is None or not values.agrees(str(attribute.microaggregation), text, begin, end)
    return wrong, True


def _number_of(how: str, kind: pa.DataType) -> Callable[[str], Any]:
    """Return how values are read as numbers, of an aggregate of a type.

    A mode is a value as it is in the source: of texts the smallest text, even where all of them are numbers; of doubles
    it may be infinite or NaN, which no other aggregate takes.
    """
    if how == "mode" and kind in {pa.string(), pa.large_string()}:
        return _no_number
    return _double if how == "mode" and pa.types.is_floating(kind) else _decimal


def _groups(table: ClassTable, job: Job) -> Finding:
    """Count the records of each group within the classes, by the means of all grouped columns together."""
    found = table.replaced[GROUPS]
    starred = table.having(MARK)[found.classes]
    smallest = int(found.records[~starred].min(initial=table.rows))
    holds = smallest >= job.minimum_class_size or bool(starred.all())
    text = "records with equal labels have equal means with as many others as a class must have"
    message = Message(text if holds else f"not all {text}")
    return Finding("microaggregation", holds, None if holds else smallest, job.minimum_class_size, None, message)


def _means(table: ClassTable, job: Job, name: str, records: _Records) -> Finding:
    """Judge the means of groups of a column: of a class whose records are known, they have the sum of its values."""
    found = _values(table, name)
    texts = found.values.column().to_pylist()
    starred = table.having(MARK)
    if any(text is not None and starred[number] for text, number in zip(texts, found.classes.tolist(), strict=True)):
        return Finding("microaggregation", False, None, None, name, Message("suppressed records have a mean"))
    if not _is_number(found.kind):
        return Finding("microaggregation", False, None, None, name, Message(f"means are numbers, not {found.kind}"))
    if records.why:
        text = f"the means are numbers; that they are those of the source is not shown: {records.why}"
        return Finding("microaggregation", True, None, None, name, Message(text))
    values = records.ordered(name, job.attributes[name].missing)
    sums: dict[int, list[float]] = {}
    lacking = set()
    for number, text, count in zip(found.classes.tolist(), texts, found.records.tolist(), strict=True):
        if text is None:
            lacking.add(number)
        else:
            sums.setdefault(number, []).append(float(text) * count)
    wrong = 0
    for number, size in enumerate(table.records.tolist()):
        begin, end = records.begins[number]
        # where values are missing, a mean stands for fewer values than records
        if starred[number] or end - begin != size or number in lacking or values.present(begin, end) != size:
            continue
        own = values.doubles[values.places[begin:end]]
        room = _TOLERANCE * float(np.abs(own).sum())
        wrong += abs(math.fsum(sums[number]) - math.fsum(own.tolist())) > room
    if not wrong:
        return Finding(
            "microaggregation", True, 0, 0, name, Message("the groups of a class have the sum of its values")
        )
    message = Message.of("classes whose groups have another sum than the values: {wrong}", wrong=Count(wrong))
    return Finding("microaggregation", False, wrong, 0, name, message)
