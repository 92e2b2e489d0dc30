"""The usefulness of a release: source ▶ read beside what becomes of it ▶ columns compared, targets predicted.

In: the job, the source as it was counted, its frequency table, and the transformation that made the release. Out: a
`Usefulness` with all digits. The source is read once more, and once before for targets, since records are drawn by what
they hold; nothing of the output is read, since the transformation says what each record became. With a subject it is
also read for whose the records are that the file shows.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.hierarchy.hierarchy import Label
from engine.job.counting import Counted
from engine.job.job import Job
from engine.job.usefulness import UsefulnessSettings
from engine.lattice.space import Levels
from engine.tables.release.transform import Transformation
from engine.tables.sources.column_text import as_text
from engine.usefulness.accuracy import baseline, refuse_absent_models, scores
from engine.usefulness.columns import OfPersons, compared_as_it_is, compared_generalized, compared_locally
from engine.usefulness.document import ComparedColumn, PredictedTarget, Usefulness
from engine.usefulness.draw import SeededHashes, draw
from engine.usefulness.features import Feature, by_text
from engine.usefulness.numbers import are_numbers, are_whole, numbers_of
from engine.usefulness.persons import Persons, persons_of
from engine.usefulness.published import FEWEST
from engine.usefulness.records import Read, Reading, read_beside

MOST_CLASSES = 12
"""Values of a target that are told apart; the rarer ones are one class together."""
FEWEST_OF_CLASS = 20
"""Records that a class must have among those that were drawn."""
CUTS = 4
"""Classes of a target with many distinct numbers: its quarters."""
_SEED_BITS = 32
"""As many as scikit-learn takes."""


def refuse_unmeasurable(job: Job, source: pa.Schema) -> None:
    """Refuse a job whose usefulness cannot be measured here, before anything is read.

    Raises
    ------
    InvalidJob
        Names the key and the extra that is not installed.
    InvalidData
        A column has values that cannot be compared, such as lists.
    """
    if job.usefulness is None:
        return
    if job.usefulness.targets:
        refuse_absent_models()
    for name in {*job.usefulness.targets, *job.usefulness.columns} - set(job.quasi_identifiers):
        as_text(pa.nulls(0, source.field(name).type), name)


def new_seed() -> int:
    """Return a seed that nobody knows and that is kept nowhere.

    One record changes folds and trees, and accuracies by far more than its own share: who knows all other records, and
    the seed, would train the models for each candidate, and compare.
    """
    return secrets.randbits(_SEED_BITS)


def kept_seed(key: bytes, content: bytes = b"", bits: int = _SEED_BITS) -> int:
    """Return a seed of so many bits that nobody knows without the key, and that is the same for the same records.

    Fresh seeds for each night would wear off: the mean over the nights of one table comes near to what is expected of
    its records, which is another for each candidate.

    Parameters
    ----------
    content : bytes, optional
        Hash of the records.
    """
    return int.from_bytes(hmac.digest(key, b"usefulness " + content, "sha256")[: bits // 8], "big")


def usefulness(
    job: Job,
    settings: UsefulnessSettings,
    counted: Counted,
    transformation: Transformation,
    levels: Levels | None,
    *,
    dropped: bool,
    restricted: bool,
    key: bytes | None = None,
) -> Usefulness:
    """Measure what of the source is found again in a release.

    Parameters
    ----------
    counted : Counted
        What the transformation was made of.
    levels : one level per quasi-identifier, or None
        None of a local recoding.
    dropped : bool
        They are left out of the file.
    restricted : bool
        They are too few to be told: the source is taken without them, as it always is with a subject.
    key : bytes, optional
        A secret that stays from run to run: then the same records have the same figures in each of them.
    """
    hierarchies = counted.table.hierarchies
    # a column may make classes and be compared, or be predicted and be compared
    others = [name for name in settings.columns if name not in job.quasi_identifiers]
    persons = None if job.subject is None else _persons_shown(counted, transformation, job.subject)
    restricted = restricted or persons is not None
    targets = [_reading(job, name) for name in settings.targets]
    drawn, seed = None, new_seed()
    if targets:
        hashes = SeededHashes(seed if key is None else kept_seed(key, bits=64))
        drawn = draw(
            transformation,
            counted.records,
            hierarchies,
            targets,
            settings.records,
            hashes,
            restricted=restricted,
            persons=None if persons is None else hashes.of(persons.names)[persons.codes],
        )
        # folds and models are others with each record that is another
        seed = seed if key is None else kept_seed(key, drawn.content)
    kept = [a for a, name in enumerate(counted.table.attributes) if persons is not None and name in settings.columns]
    read = read_beside(
        transformation,
        counted.records,
        hierarchies,
        [_reading(job, name) for name in others],
        targets,
        drawn,
        dropped=dropped,
        restricted=restricted,
        kept=kept,
    )
    sides = _Features(job, counted, transformation, levels, read)
    found: Usefulness = {
        "records": read.rows,
        "restricted": restricted,
        "folds": settings.folds,
        "targets": [_predicted(name, settings.folds, seed, read, sides, dropped=dropped) for name in settings.targets],
        "columns": [_compared(job, name, counted, transformation, levels, read, persons) for name in settings.columns],
    }
    return found if persons is None else {**found, "persons": len(persons.names)}


def _persons_shown(counted: Counted, transformation: Transformation, subject: str) -> Persons:
    """Return the person of each record that the file shows."""
    parts = [one.suppressed for one in transformation.in_source_order(counted.records)]
    shown = ~np.concatenate([np.empty(0, np.bool_), *parts])
    persons = persons_of(counted.records, subject)
    if persons.codes.size != shown.size:
        raise InvalidData("the source changed while it was read: records were added or are gone; run again")
    return persons.of(shown)


def _reading(job: Job, name: str) -> Reading:
    attribute = job.attributes[name]
    return Reading(name, frozenset(attribute.missing), attribute.order in ("integer", "decimal"))


def _compared(
    job: Job,
    name: str,
    counted: Counted,
    transformation: Transformation,
    levels: Levels | None,
    read: Read,
    persons: Persons | None,
) -> ComparedColumn:
    fewest = max(job.minimum_class_size, FEWEST)
    attribute = job.attributes[name]
    if name in read.tallies:
        if persons is None:
            return compared_as_it_is(name, read.tallies[name], fewest)
        # records of so many that they are of enough persons, whoever they are
        enough = None if job.max_rows is None else fewest * job.max_rows
        return compared_as_it_is(name, read.tallies[name], enough, by_person=True)
    a = counted.table.attributes.index(name)
    builder, hierarchy = attribute.hierarchy, counted.table.hierarchies[a]
    assert builder is not None  # noqa: S101 (a quasi-identifier has a hierarchy)
    if levels is None:
        return compared_locally(builder, hierarchy, transformation.labels_of_places(a), read.leaf_tallies[a])
    of_persons = None if persons is None else OfPersons(persons.codes, read.leaves[a])
    return compared_generalized(builder, hierarchy, int(levels[a]), read.leaf_tallies[a], fewest, of_persons)


class _Features:
    """The quasi-identifiers of the drawn records: of the source, of the release, and of a record that is held out."""

    def __init__(
        self, job: Job, counted: Counted, transformation: Transformation, levels: Levels | None, read: Read
    ) -> None:
        self.source: list[Feature] = []
        self.released: list[Feature] = []
        self.held_out: list[Feature] = []
        for a, (name, hierarchy) in enumerate(zip(counted.table.attributes, counted.table.hierarchies, strict=True)):
            builder, leaves = job.attributes[name].hierarchy, read.drawn[a]
            assert builder is not None  # noqa: S101 (as above)
            values = [label for code, label in enumerate(hierarchy.labels[0]) if code != hierarchy.unseen_code]
            numeric = are_numbers(builder, values)
            before = numbers_of(builder, hierarchy.labels[0], [0], whole=True) if numeric else None
            ranks, of_value = by_text([hierarchy.labels[0][code] for code in hierarchy.codes[0].tolist()])
            value_numbers = numbers_of(builder, of_value, [0], whole=True) if numeric else None
            self.source.append(Feature(ranks[leaves], value_numbers))
            if levels is None:
                # suppressed records have a code of their own
                labels = [*transformation.labels_of_places(a), None]
                codes, of_label = _distinct(labels)
                possible = range(hierarchy.level_count)
                shown = codes[np.where(read.suppressed, len(labels) - 1, read.places)]
                held_out = shown
            else:
                ranks, of_label = by_text(hierarchy.labels[levels[a]])
                possible = range(int(levels[a]), int(levels[a]) + 1)
                held_out = ranks[hierarchy.codes[levels[a]][leaves]]
                shown = np.where(read.suppressed, len(of_label) - 1, held_out)
            after = None
            if before is not None:
                of_leaf = np.bincount(leaves[~read.suppressed], minlength=before.size)[: before.size]
                after = numbers_of(builder, of_label, possible, whole=are_whole(before, of_leaf))
            self.released.append(Feature(shown, after))
            self.held_out.append(Feature(held_out, after))


def _distinct(labels: list[Label]) -> tuple[NDArray[np.int64], list[Label]]:
    """Return the rank of each label by text, and the distinct ones; the last label keeps a code of its own."""
    distinct = list(dict.fromkeys(labels[:-1]))
    ranks, of_label = by_text(distinct)
    rank_of = dict(zip(distinct, ranks.tolist(), strict=True))
    return np.array([*(rank_of[label] for label in labels[:-1]), len(distinct)], np.int64), [*of_label[:-1], labels[-1]]


def _predicted(name: str, folds: int, seed: int, read: Read, sides: _Features, *, dropped: bool) -> PredictedTarget:
    """Predict a target by the quasi-identifiers; without figures where fewer than two classes have enough records."""
    there, classes = classes_of(read.targets[name], folds)
    number = int(classes.max()) + 1 if classes.size else 0
    found: PredictedTarget = {
        "target": name,
        "records": int(classes.size),
        "rarest": None,
        "classes": number,
        "baseline": None,
        "models": [],
    }
    if number < 2:  # noqa: PLR2004 (one class tells nothing)
        return found
    released = ~read.suppressed[there] if dropped else np.ones(there.size, np.bool_)
    source, trained, tested = (
        [Feature(one.codes[there], one.numbers) for one in side]
        for side in (sides.source, sides.released, sides.held_out)
    )
    return {
        **found,
        "rarest": int(np.bincount(classes).min()),
        "baseline": baseline(classes),
        "models": scores(classes, source, trained, tested, released, folds=folds, seed=seed),
    }


def classes_of(values: list[Any], folds: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of records with a value of the target, and their classes.

    More than `MOST_CLASSES` distinct numbers are divided at their quartiles; of other values the most frequent are
    classes, and all others one more, if they are enough.
    """
    there = np.array([place for place, value in enumerate(values) if value is not None], np.int64)
    present = [values[place] for place in there.tolist()]
    fewest = max(FEWEST_OF_CLASS, folds)
    if not present:
        return there, np.empty(0, np.int64)
    if all(isinstance(value, float) for value in present) and len(set(present)) > MOST_CLASSES:
        numbers = np.array(present)
        cuts = np.unique(np.quantile(numbers, np.arange(1, CUTS) / CUTS))
        codes = np.searchsorted(cuts, numbers, side="left")
    else:
        distinct, codes = np.unique(np.array([str(value) for value in present]), return_inverse=True)
        order = np.argsort(-np.bincount(codes, minlength=distinct.size), kind="stable")
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size)
        codes = np.minimum(rank[codes], MOST_CLASSES - 1)
    counts = np.bincount(codes)
    enough = np.flatnonzero(counts >= fewest)
    rare = ~np.isin(codes, enough)
    place_of = np.full(counts.size, enough.size, np.int64)
    place_of[enough] = np.arange(enough.size)
    codes = place_of[codes]
    if 0 < rare.sum() < fewest:
        # too few to be a class: they are left out
        there, codes = there[~rare], codes[~rare]
    return there, codes.astype(np.int64)
