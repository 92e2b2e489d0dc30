"""Perturbed columns made again from the source and the key of a run, by code that the run does not use.

In: a job, its source, the key. Out: of each column the values that the records of an output draw: multiples of a power
of ten for noise, texts for randomized categories. Which records of the source an output has follows from its classes
and levels.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.verification.records.drawn import Drawn
from engine.verification.records.population import open_source_of
from engine.verification.records.replaced import derived
from engine.verification.records.source_records import cells_of
from engine.verification.records.source_texts import source_texts

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.class_table import ClassTable

_STEPS = 1 << 52


def texts_of_source(
    table: ClassTable, job: Job, name: str, source: Any, key: bytes | None, levels: Mapping[str, int] | None
) -> dict[int, str | None]:
    """Return the values of a column in the records of an output, by their places among those counted; None is missing.

    Parameters
    ----------
    table : ClassTable
        Of the output.
    levels : mapping of quasi-identifier to int, or None
        Needed where records were left out.

    Raises
    ------
    InvalidData
        The source lacks it or cannot be read; or which records were drawn, or left out, is not known.
    """
    opened = open_source_of(job, source)
    names = [*job.quasi_identifiers, name]
    if not set(names) <= set(opened.schema.names):
        raise InvalidData(f"the source lacks {name!r} or a quasi-identifier; give the one that was de-identified")
    if job.sample is not None:
        if key is None:
            raise InvalidData("which records were drawn is not known without the key")
        opened = Drawn(job, source, key)
    missing = set(job.attributes[name].missing)
    records = source_texts(opened, names)
    texts = records[name].to_pylist()
    inside = _inside(records, table, job, levels)
    return {place: None if texts[place] in missing else texts[place] for place in inside}


def _inside(records: pa.Table, table: ClassTable, job: Job, levels: Mapping[str, int] | None) -> list[int]:
    """Return the places of the records that are in an output: of those that lack some, whose class it has."""
    if records.num_rows == table.rows:
        return list(range(table.rows))
    if levels is None:
        raise InvalidData("records were left out, and the levels that tell which are not known")
    own, others, _, refused = cells_of(records, table, job, levels)
    return list(map(int, np.flatnonzero(np.isin(own, others) & ~refused)))


def noisy_steps(
    texts: Mapping[int, str | None], name: str, key: bytes, percent: float, unit: int | None
) -> tuple[int, NDArray[np.float64]]:
    """Return the exponent of the power of ten, and how many of these each number with noise is, ascending.

    Parameters
    ----------
    unit : int or None
        Exponent of the last digit that the column can have, if there is one.
    """
    there = [(place, float(text)) for place, text in texts.items() if text is not None]
    numbers = np.array([number for _, number in there], np.float64)
    mean = math.fsum(numbers.tolist()) / numbers.size
    deviation = math.sqrt(math.fsum(np.square(numbers - mean).tolist()) / (numbers.size - 1)) * percent / 100
    exponent = math.floor(math.log10(deviation)) - 2
    exponent = exponent if unit is None else max(unit, exponent)
    normal = NormalDist(0.0, deviation)
    drawn = np.array([normal.inv_cdf(one) for one in _draws([place for place, _ in there], name, key)])
    return exponent, np.sort(np.rint((numbers + drawn) / 10.0**exponent))


def randomized(texts: Mapping[int, str | None], name: str, key: bytes, pd: float, alpha: float) -> Counter[str]:
    """Return how many records draw each category."""
    there = [(place, text) for place, text in texts.items() if text is not None]
    counts = Counter(text for _, text in there)
    order = sorted(counts)
    shares = np.array([counts[text] for text in order], np.float64) / len(there)
    kept = np.where(np.eye(len(order), dtype=np.bool_), pd, (1 - pd) / max(1, len(order) - 1))
    after = shares @ kept
    # from i by k to j: there by the first matrix, back by what was likely there before
    passed = np.einsum("ik,jk->ij", kept / after, kept * shares[:, np.newaxis])
    ends = np.cumsum(alpha * passed + (1 - alpha) * np.eye(len(order)), axis=1)
    place_of = {text: place for place, text in enumerate(order)}
    drawn = _draws([place for place, _ in there], name, key)
    last = len(order) - 1
    return Counter(
        order[min(last, int((ends[place_of[text]] <= one).sum()))] for (_, text), one in zip(there, drawn, strict=True)
    )


def _draws(places: Sequence[int], name: str, key: bytes) -> Iterator[float]:
    own = derived(key, "perturbation", name)
    for place in places:
        digest = hashlib.blake2b(place.to_bytes(8, "big"), key=own, digest_size=8).digest()
        yield (int.from_bytes(digest, "big") // (1 << 12) + 0.5) / _STEPS
