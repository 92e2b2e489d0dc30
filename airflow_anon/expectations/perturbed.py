"""Columns of a release with noise or after randomization, drawn again from the staged source and the key of the run.

Only records that are in the release may say how wide noise is and which categories there are: of the staged ones, those
whose labels the release has.

Written again from docs/transformations.md, so that it shares no code with the engine, which made the release.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from statistics import NormalDist, stdev
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.file_texts import read_table, texts_of
from airflow_anon.expectations.labels_of_values import labels_of
from airflow_anon.expectations.person_keys import key_for
from airflow_anon.expectations.sample import is_drawn
from airflow_anon.expectations.transformed import is_number
from engine import Count, Finding, InvalidData, Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
        Where the extracted table is, and how its values are read: as of `source_of`; not published.
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
        source = self._source(release)
        if len(source) != release.rows:
            return self._result(abs(len(source) - release.rows), Message("other records of the source have the labels"))
        absent = sum(text is None for text in source.values()) - shown.pop(None, 0)
        if absent:
            return self._result(abs(absent), Message("not as many values are missing as in the source"))
        wrong = self._not_noisy(shown, source, kind) if self.noise else _beyond(shown, self._randomized(source))
        return self._result(wrong, Message.of("values that are none that the key draws: {wrong}", wrong=Count(wrong)))

    def _source(self, release: ClassTable) -> dict[int, str | None]:
        """Return the values of the records that are in the release, by their places among those that were counted."""
        people = self.source["people"]
        if people["path"] is None or not self.rows_key:
            raise InvalidData("only the extracted source and the key tell what was drawn, and they are not given")
        table = read_table(people, "source")
        if not {self.column, *self.quasi_identifiers} <= set(table.column_names):
            raise InvalidData("source: lacks columns of the release; give the extracted one")
        if self.sample:
            table = table.filter(pa.array(is_drawn(range(table.num_rows), self.sample, self.rows_key), pa.bool_()))
        frame = texts_of(table.select([*self.quasi_identifiers, self.column]), "source")
        texts = [None if pd.isna(text) or text in self.missing else text for text in frame[self.column]]
        places = range(len(texts)) if len(texts) == release.rows else self._released(frame, release)
        return {place: texts[place] for place in places}

    def _released(self, frame: pd.DataFrame, release: ClassTable) -> list[int]:
        """Return the places of the records whose labels the release has."""
        if not self.source["levels"]:
            raise InvalidData("records were left out, and nobody knows which without the levels of the release")
        labels, stays = {}, np.ones(len(frame), np.bool_)
        for name, attribute in self.source["attributes"].items():
            own, refused = labels_of(name, frame[name], attribute, self.source["levels"][name])
            labels[name] = [None if pd.isna(label) else label for label in own]
            stays &= ~refused.to_numpy(np.bool_)
        released = set(zip(*(column.to_pylist() for column in release.text().columns), strict=True))
        own = zip(*(labels[name] for name in self.quasi_identifiers), strict=True)
        there = np.fromiter((one in released for one in own), np.bool_, len(frame))
        return list(map(int, np.flatnonzero(stays & there)))

    def _draws(self, source: Mapping[int, str | None]) -> Iterator[tuple[str, float]]:
        """Yield each value that is there with its draw."""
        key = key_for(self.rows_key, "perturbation", self.column)
        for place, text in source.items():
            if text is not None:
                digest = hashlib.blake2b(place.to_bytes(8, "big"), key=key, digest_size=8).hexdigest()
                yield text, (int(digest[:13], 16) + 0.5) / 16**13  # 52 bits of the hash

    def _not_noisy(self, shown: Mapping[Any, int], source: Mapping[int, str | None], kind: pa.DataType) -> int:
        """Count the numbers without one that was drawn within a step of the last digit that is released."""
        deviation = stdev(float(text) for text in source.values() if text is not None) * self.noise["percent"] / 100
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

    def _randomized(self, source: Mapping[int, str | None]) -> Counter[str]:
        """Return how many records draw each category."""
        counts = Counter(text for text in source.values() if text is not None)
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
