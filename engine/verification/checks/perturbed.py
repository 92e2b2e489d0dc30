"""Columns of an output with noise or after randomization: their form, and that they are what the key draws.

The output alone shows that noise is on numbers. With the source no category may be another than one that its records in
the output have, and with the key the values of the output must be those that these records draw, each as often. So
nothing that is released depends on a record that is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.records.coded import fraction
from engine.verification.records.perturbed import noisy_steps, randomized, texts_of_source

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.class_table import ClassTable, SensitiveValues


def check_perturbed(
    table: ClassTable, job: Job, report: Mapping[str, Any] | None, source: Any, rows_key: bytes | None
) -> Iterator[Finding]:
    """Judge each column with noise or after randomization.

    Parameters
    ----------
    report : mapping or None
        Without it nobody knows which records were left out.
    source : Table, or anything else that can be run, or None
        None stands for the job's source file.
    rows_key : bytes or None
        Without it nobody knows what was drawn.
    """
    levels = None if report is None else report["solution"]["levels"]
    for name in job.perturbed:
        found = table.sensitive[name] if name in table.sensitive else table.replaced[name]
        key = "pram" if job.attributes[name].noise is None else "noise"
        read = partial(texts_of_source, table, job, name, source, rows_key, levels)
        problems, told = _problems(job, name, found, None if _is_unknown(job, source) else read, rows_key)
        text = Message.joined("; ", problems) if problems else Message("the values are such as the job draws")
        yield Finding(key, not problems, None, None, name, Message(text, told))


class _Stated:
    """What an output shows of a column.

    Attributes
    ----------
    missing : int
        Records without a value.
    values : Counter of str
        Records of each value.
    """

    def __init__(self, found: SensitiveValues, missing: Collection[str]) -> None:
        self.kind = found.kind
        self.missing = 0
        self.values: Counter[str] = Counter()
        for text, records in zip(found.values.column().to_pylist(), found.records.tolist(), strict=True):
            if text is None or text in missing:
                self.missing += records
            else:
                self.values[text] += records

    @property
    def records(self) -> int:
        """All of them."""
        return self.missing + sum(self.values.values())


def _is_unknown(job: Job, source: Any) -> bool:
    return source is None and (job.source is None or job.source.path is None)


def _problems(
    job: Job, name: str, found: SensitiveValues, read: Callable[[], Mapping[int, str | None]] | None, key: bytes | None
) -> tuple[list[Message], str]:
    """Return what is wrong with a column, and what is not shown; `read` returns its values in the source."""
    attribute = job.attributes[name]
    stated = _Stated(found, attribute.missing)
    if attribute.noise is not None and not _are_numbers(stated):
        return [Message(f"numbers with noise are finite numbers; {name!r} is {found.kind}, or not all are")], ""
    if read is None:
        return [], "; that they are drawn from the source is not shown: it is not given"
    try:
        texts = read()
    except EngineError as problem:
        return [], f"; that they are drawn from the source is not shown: {problem}"
    if stated.records != len(texts):
        return [Message("the source has other records in the classes of the output")], ""
    if stated.missing != sum(text is None for text in texts.values()):
        return [Message("not as many values are missing as in the source")], ""
    wrong = None if attribute.pram is None else _foreign(stated, texts)
    if wrong is None and key is not None:
        wrong = _not_drawn(job, name, stated, texts, key)
    told = "; that they are drawn by the key is not shown: it is not given" if key is None else ""
    return ([] if wrong is None else [wrong]), told


def _foreign(stated: _Stated, texts: Mapping[int, str | None]) -> Message | None:
    """Say how many categories none of the records has in the source."""
    foreign = len(set(stated.values) - set(texts.values()))
    return Message.of("categories that are not in the source: {foreign}", foreign=Count(foreign)) if foreign else None


def _not_drawn(job: Job, name: str, stated: _Stated, texts: Mapping[int, str | None], key: bytes) -> Message | None:
    """Say how many values are none that the key draws."""
    noise, pram = job.attributes[name].noise, job.attributes[name].pram
    wrong = 0
    if pram is not None:
        drawn = randomized(texts, name, key, pram.pd, pram.alpha)
        wrong = sum((stated.values - drawn).values())
    elif noise is not None and stated.values:
        kind = stated.kind
        unit = 0 if kind == pa.int64() else -kind.scale if pa.types.is_decimal(kind) else None
        exponent, made = noisy_steps(texts, name, key, noise.percent, unit)
        ten = Fraction(10) ** exponent
        steps = [float(round(Fraction(text) / ten)) for text in stated.values]
        wrong = _unmatched(np.sort(np.repeat(steps, list(stated.values.values()))), made)
    return Message.of("values that are none that the key draws: {wrong}", wrong=Count(wrong)) if wrong else None


def _are_numbers(stated: _Stated) -> bool:
    kind = stated.kind
    is_number = kind == pa.int64() or kind == pa.float64() or pa.types.is_decimal(kind)
    return bool(is_number and all(fraction(text) is not None for text in stated.values))


def _unmatched(steps: NDArray[np.float64], made: NDArray[np.float64]) -> int:
    """Count the steps without one of those made, each for one of them; both ascend.

    One step more or less is the same: sums of doubles differ by their order, and so does what is rounded.
    """
    wrong = place = 0
    for step in steps.tolist():
        while place < made.size and made[place] < step - 1:
            place += 1
        if place < made.size and made[place] <= step + 1:
            place += 1
        else:
            wrong += 1
    return wrong
