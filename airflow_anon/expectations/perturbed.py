"""Columns of a release with noise or after randomization, drawn again from the staged source and the key of the run.

Written again from docs/transformations.md, so that it shares no code with the engine, which made the release.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from statistics import NormalDist, stdev
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.person_keys import key_for
from airflow_anon.expectations.population import read_table
from airflow_anon.expectations.sample import is_drawn
from airflow_anon.expectations.transformed import is_number
from engine import Count, Finding, InvalidData, Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from airflow_anon.expectations.class_table import ClassTable


class ExpectDrawnValues(ReleaseExpectation):
    """A column shows what its records draw: numbers with noise, or categories after randomization.

    Parameters
    ----------
    column : str
    noise : dict of str to number
        `percent`; empty of a randomized column.
    pram : dict of str to number
        `pd` and `alpha`; empty of a column with noise.
    missing : list of str
        Texts that mean a missing value.
    quasi_identifiers : list of str
    source : dict
        Where the extracted table is: `path`, `delimiter` and `encoding`; not published.
    sample : float or None
        The probability with which each record was drawn, if not all were.
    rows_key : str
        The key of the run, hexadecimal; not published.
    """

    column: str
    noise: dict[str, Any]
    pram: dict[str, Any]
    missing: list[str]
    quasi_identifiers: list[str]
    source: dict[str, Any]
    sample: float | None
    rows_key: str

    success_keys: ClassVar[tuple[str, ...]] = ("column", "noise", "pram", "quasi_identifiers")
    template: ClassVar[str] = "The values of $column must be drawn at random: noise $noise, PRAM $pram."

    def read_columns(self) -> list[str]:
        """Quasi-identifiers and the column."""
        return [*self.quasi_identifiers, self.column]

    def judge(self, release: ClassTable) -> Finding:
        """Draw again, and count the values that are not among those drawn."""
        counted = release.tuples(self.column)
        kind = counted["value"].type
        if self.noise and not is_number(kind):
            return self._result(None, Message(f"the column is {kind}, and numbers with noise are numbers"))
        shown: Counter[str | None] = Counter()
        texts = counted["value"].cast(pa.string()).to_pylist()
        for text, records in zip(texts, counted["records"].to_pylist(), strict=True):
            shown[None if text in self.missing else text] += records
        source = list(self._source())
        absent = source.count(None) - shown.pop(None, 0)
        if absent < 0 or (absent and release.rows == len(source)):
            return self._result(abs(absent), Message("not as many values are missing as in the source"))
        wrong = self._not_noisy(shown, source, kind) if self.noise else _beyond(shown, self._randomized(source))
        return self._result(wrong, Message.of("{wrong} values are none that the key draws", wrong=Count(wrong)))

    def _source(self) -> Iterator[str | None]:
        """Yield the values of the records that were counted."""
        if self.source["path"] is None or not self.rows_key:
            raise InvalidData("only the extracted source and the key tell what was drawn, and they are not given")
        table = read_table({key: self.source[key] for key in ("path", "delimiter", "encoding")}, "source")
        if self.column not in table.column_names:
            raise InvalidData("source: lacks columns of the release; give the extracted one")
        column = table[self.column]
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        texts = pc.cast(column, pa.string()).to_pylist()
        there = is_drawn(range(len(texts)), self.sample, self.rows_key) if self.sample else iter([True] * len(texts))
        yield from (None if text in self.missing else text for text, own in zip(texts, there, strict=True) if own)

    def _draws(self, source: Sequence[str | None]) -> Iterator[tuple[str, float]]:
        """Yield each value that is there with its draw."""
        key = key_for(self.rows_key, "perturbation", self.column)
        for place, text in enumerate(source):
            if text is not None:
                digest = hashlib.blake2b(place.to_bytes(8, "big"), key=key, digest_size=8).hexdigest()
                yield text, (int(digest[:13], 16) + 0.5) / 16**13  # 52 bits of the hash

    def _not_noisy(self, shown: Mapping[Any, int], source: Sequence[str | None], kind: pa.DataType) -> int:
        """Count the numbers without one that was drawn within a step of the last digit that is released."""
        deviation = stdev(float(text) for text in source if text is not None) * self.noise["percent"] / 100
        last = 0 if kind == pa.int64() else -kind.scale if pa.types.is_decimal(kind) else -400
        step = 10.0 ** max(last, math.floor(math.log10(deviation)) - 2)
        normal = NormalDist()
        made = sorted(float(text) + deviation * normal.inv_cdf(draw) for text, draw in self._draws(source))
        wrong = place = 0
        for number in sorted(float(text) for text, records in shown.items() for _ in range(records)):
            while place < len(made) and made[place] < number - 1.5 * step:
                place += 1
            if place < len(made) and made[place] <= number + 1.5 * step:
                place += 1
            else:
                wrong += 1
        return wrong

    def _randomized(self, source: Sequence[str | None]) -> Counter[str]:
        """Return how many records draw each category."""
        counts = Counter(text for text in source if text is not None)
        order, total = sorted(counts), sum(counts.values())
        keep, other = self.pram["pd"], (1 - self.pram["pd"]) / max(1, len(order) - 1)
        first = {(a, b): keep if a == b else other for a in order for b in order}
        after = {b: sum(counts[a] / total * first[a, b] for a in order) for b in order}
        ends: dict[str, list[float]] = {}
        for a in counts:
            end, ends[a] = 0.0, []
            for c in order:
                back = sum(first[a, b] * first[c, b] * counts[c] / total / after[b] for b in order)
                end += self.pram["alpha"] * back + (1 - self.pram["alpha"]) * (a == c)
                ends[a].append(end)
        drawn: Counter[str] = Counter()
        for text, draw in self._draws(source):
            drawn[order[min(len(order) - 1, sum(end <= draw for end in ends[text]))]] += 1
        return drawn

    def _result(self, wrong: int | None, message: Message) -> Finding:
        return Finding(
            self.expectation_type, holds=wrong == 0, observed=wrong, required=0, column=self.column, message=message
        )


def _beyond(shown: Mapping[Any, int], drawn: Mapping[str, int]) -> int:
    """Count the records that show a category more often than records draw it."""
    return sum(max(0, records - drawn.get(text, 0)) for text, records in shown.items())
