"""The levels of a differentially private job that leaves their choice to the data, within a budget of epsilon.

In: the job and its source. Out: the same job with one level for each column. The candidates are all combinations of the
levels that the job allows. The score of one is the number of records of the source beyond `spare` in each of its
classes, times the share of detail that its levels keep: about how much would be released of the table, as only classes
of many records give large enough ones in the sample. One more record changes one class, and raises the score by 0 to 1,
so the exponential mechanism applies. The sample is drawn afterwards, by other random numbers, and both epsilons add up.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from engine.job.counting import columns_of
from engine.job.differential_privacy import level_ranges, private_model
from engine.job.job import Job
from engine.privacy.exponential_mechanism import drawn
from engine.tables.counting.label_tuples import LabelTuples
from engine.tables.sources.table import Table


def with_drawn_levels(job: Job, source: Table, random_bits: Callable[[int], int] = secrets.randbits) -> Job:
    """Return the job with levels drawn by their scores; the job itself if its levels are fixed.

    Raises
    ------
    InvalidJob
        A level or a hierarchy is not one that such a job may have; nothing was read.
    """
    model = private_model(job)
    if model is None or not model.search_epsilon:
        return job
    ranges = level_ranges(job)
    candidates = list(itertools.product(*ranges.values()))
    tuples = LabelTuples(source, columns_of(job, source.schema).quasi_identifiers)
    spare = math.ceil(job.minimum_class_size / model.sampling_fraction)
    scores = list(_scores(job, tuples, list(ranges), candidates, spare))
    place = drawn(scores, Fraction(Decimal(repr(model.search_epsilon))), random_bits)
    fixed = {
        name: job.attributes[name].model_copy(update={"minimum_level": level, "maximum_level": level})
        for name, level in zip(ranges, candidates[place], strict=True)
    }
    # the document of the job keeps the levels that were allowed
    return job.model_copy(update={"attributes": {**job.attributes, **fixed}})


def _scores(
    job: Job, tuples: LabelTuples, names: Sequence[str], candidates: Sequence[tuple[int, ...]], spare: int
) -> Iterator[Fraction]:
    labels = {
        (name, level): tuples.labels(name, level)
        for place, name in enumerate(names)
        for level in sorted({levels[place] for levels in candidates})
    }
    for levels in candidates:
        sizes = tuples.class_sizes([labels[pair] for pair in zip(names, levels, strict=True)])
        # the records of a class share its surplus by their number: added up, it is counted once
        large = sizes > spare
        surplus = Fraction(0)
        for size, records in zip(*_by_size(sizes[large], tuples.records[large]), strict=True):
            surplus += Fraction(records * (size - spare), size)
        yield _detail(job, dict(zip(names, levels, strict=True))) * surplus


def _by_size(sizes: np.ndarray, records: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the distinct sizes of classes, and the records in classes of each."""
    found, place = np.unique(sizes, return_inverse=True)
    return found.tolist(), np.bincount(place, records, found.size).astype(np.int64).tolist()


def _detail(job: Job, levels: dict[str, int]) -> Fraction:
    """Return the share of the hierarchies that levels keep, 0 to 1, weighted as the job weights its columns."""
    weights = {name: Fraction(job.attributes[name].weight) for name in levels}
    kept = sum(
        (weight * (1 - Fraction(levels[name], _last_level(job, name))) for name, weight in weights.items()),
        start=Fraction(0),
    )
    return kept / sum(weights.values())


def _last_level(job: Job, name: str) -> int:
    hierarchy = job.attributes[name].hierarchy
    assert hierarchy is not None  # noqa: S101 (the job's own validation)
    return hierarchy.level_count - 1
