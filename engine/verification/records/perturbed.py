"""Perturbed columns made again from the source and the key of a run, by code that the run does not use.

In: a job, its source, the key. Out: of each column the values that its records draw: multiples of a power of ten for
noise, texts for randomized categories.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.source import as_text
from engine.verification.records.drawn import Drawn
from engine.verification.records.population import open_source_of
from engine.verification.records.replaced import derived

if TYPE_CHECKING:
    from engine.job.job import Job

_STEPS = 1 << 52


def texts_of_source(job: Job, name: str, source: Any, key: bytes | None) -> list[str | None]:
    """Return the values of a column in the records that were counted, in the order of the source; None is missing.

    Raises
    ------
    InvalidData
        The source lacks it or cannot be read; or records were drawn, and there is no key.
    """
    opened = open_source_of(job, source)
    if name not in opened.schema.names:
        raise InvalidData(f"the source lacks the column {name!r}; give the one that was de-identified")
    if job.sample is not None:
        if key is None:
            raise InvalidData("which records were drawn is not known without the key")
        opened = Drawn(job, source, key)
    missing = set(job.attributes[name].missing)
    texts = [text for batch in opened.batches([name]) for text in as_text(batch.column(0), name).to_pylist()]
    return [None if text in missing else text for text in texts]


def noisy_steps(
    texts: Sequence[str | None], name: str, key: bytes, percent: float, unit: int | None
) -> tuple[int, NDArray[np.float64]]:
    """Return the exponent of the power of ten, and how many of these each number with noise is, ascending.

    Parameters
    ----------
    unit : int or None
        Exponent of the last digit that the column can have, if there is one.
    """
    there = [(place, float(text)) for place, text in enumerate(texts) if text is not None]
    numbers = np.array([number for _, number in there], np.float64)
    mean = math.fsum(numbers.tolist()) / numbers.size
    deviation = math.sqrt(math.fsum(np.square(numbers - mean).tolist()) / (numbers.size - 1)) * percent / 100
    exponent = math.floor(math.log10(deviation)) - 2
    exponent = exponent if unit is None else max(unit, exponent)
    normal = NormalDist(0.0, deviation)
    drawn = np.array([normal.inv_cdf(one) for one in _draws([place for place, _ in there], name, key)])
    return exponent, np.sort(np.rint((numbers + drawn) / 10.0**exponent))


def randomized(texts: Sequence[str | None], name: str, key: bytes, pd: float, alpha: float) -> Counter[str]:
    """Return how many records draw each category."""
    there = [(place, text) for place, text in enumerate(texts) if text is not None]
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
