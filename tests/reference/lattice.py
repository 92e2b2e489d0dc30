"""The slow, obvious twin of the search: every transformation of the lattice, record by record, in plain Python.

Follows the definitions literally. Used only by tests; shares no code with the engine but the estimators of population
uniqueness, which have an oracle of their own.

A problem is a mapping: `records`, those that are released, as (values, sensitive mapping) pairs in the order of the
source; `hierarchies`, `weights`, `models`, `limit`, `measure`, `combine`, `f`. It may have `trees`, the hierarchies of
sensitive attributes; `missing`, the texts that mean a missing value, and `unseen`, what becomes of values without a
row, of each quasi-identifier; `people`, whether there is a population: "subset", the records and the tuples `others`,
or "population", the tuples `others` alone. With `small_only`, a transformation is refused in which a class fails that
has the records that the models demand of a class, unless nothing may be suppressed, when it fails anyway.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass

from tests.reference.privacy import TABLE_WIDE, failing, may_not_be_empty, shortest_prefix
from tests.reference.tuples import UNSEEN, read_tuple, with_missing
from tests.reference.utility import class_loss, generalize, information_loss

REFUSED = "refused"
"""Key of the records that are suppressed because of a value without a row: they are in no class."""


@dataclass(frozen=True)
class Answer:
    """The best transformation by full enumeration."""

    levels: tuple[int, ...]
    loss: float | tuple[float, ...]
    suppressed: int


@dataclass(frozen=True)
class Readings:
    """What is read of a problem: leaves instead of values, hierarchies with a row for the missing value."""

    records: list
    refused: list
    people: list | None
    hierarchies: list

    @property
    def n(self):
        """Records of the table."""
        return len(self.records) + len(self.refused)


def readings(problem):
    """Read the records and the population of a problem."""
    trees = problem["hierarchies"]
    missing = problem.get("missing") or [()] * len(trees)
    unseen = problem.get("unseen") or ["error"] * len(trees)
    records = [(read_tuple(values, trees, missing), sensitive) for values, sensitive in problem["records"]]
    others = [read_tuple(values, trees, missing) for values in problem.get("others", ())]

    def is_refused(leaves):
        return any(leaf is UNSEEN and policy == "suppress" for leaf, policy in zip(leaves, unseen, strict=True))

    everybody = [*(leaves for leaves, _ in records), *others]
    population = {"subset": everybody, "population": others}.get(problem.get("people"))
    return Readings(
        [record for record in records if not is_refused(record[0])],
        [record for record in records if is_refused(record[0])],
        None if population is None else [leaves for leaves in population if not is_refused(leaves)],
        [with_missing(rows, {leaves[a] for leaves in everybody}) for a, rows in enumerate(trees)],
    )


def key_of(leaves, hierarchies, levels):
    """Return the class of a tuple: its labels."""
    return tuple(generalize(h, leaf, x) for h, leaf, x in zip(hierarchies, leaves, levels, strict=True))


def grouped(records, hierarchies, levels):
    """Return the equivalence classes of a transformation; records are (leaves, sensitive mapping) pairs."""
    classes = defaultdict(list)
    for leaves, sensitive in records:
        classes[key_of(leaves, hierarchies, levels)].append((leaves, sensitive))
    return dict(classes)


def population_of(read, levels):
    """Return the people of the population in each class."""
    return Counter(key_of(leaves, read.hierarchies, levels) for leaves in read.people or ())


def failing_classes(problem, read, levels, models):
    """Return the keys of the classes that fail a model by themselves."""
    classes = grouped(read.records, read.hierarchies, levels)
    return failing(
        {key: [s for _, s in members] for key, members in classes.items()},
        models,
        problem.get("trees") or problem.get("tree"),
        people=population_of(read, levels),
        elsewhere=[s for _, s in read.refused],
    )


def places(problem, read, levels):
    """Return what orders the classes for table-wide models: size, own loss where it counts, first record."""
    parts = {key: problem[key] for key in ("measure", "combine", "weights", "f")}
    found = {}
    for position, (leaves, _) in enumerate(read.records):
        found.setdefault(key_of(leaves, read.hierarchies, levels), position)
    ordered = {}
    for key, members in grouped(read.records, read.hierarchies, levels).items():
        own = class_loss([leaves for leaves, _ in members], read.n, read.hierarchies, levels, **parts)
        ordered[key] = (len(members), *([] if own is None else [own]), found[key])
    return ordered


def demanded_size(models):
    """Return the size of the smallest class that the parameters of the models allow, whatever its values are."""
    sizes = {"k-anonymity": "k", "k-e-anonymity": "k", "l-diversity": "l"}
    return max([math.ceil(model[sizes[model["model"]]]) for model in models if model["model"] in sizes], default=1)


def suppressed_classes(problem, read, levels):
    """Return the keys of the classes that a transformation suppresses; None where it is refused."""
    classes = grouped(read.records, read.hierarchies, levels)
    if may_not_be_empty(problem["models"]) and set(population_of(read, levels)) - set(classes):
        return None
    bad = failing_classes(problem, read, levels, problem["models"])
    if problem.get("small_only") and any(
        len(classes[key]) >= demanded_size(problem["models"]) for key in bad & set(classes)
    ):
        return None
    wide = [model for model in problem["models"] if model["model"] in TABLE_WIDE]
    kept = {key: place for key, place in places(problem, read, levels).items() if key not in bad}
    return bad | shortest_prefix(kept, read.n, wide)


def loss_of(problem, read, levels, bad):
    """Return the information loss when the classes `bad` are suppressed, and the records that are refused."""
    classes = grouped(read.records, read.hierarchies, levels)
    tuples = {key: [leaves for leaves, _ in members] for key, members in classes.items()}
    bad = {key for key in bad if key in classes}
    if read.refused:
        tuples[REFUSED] = [leaves for leaves, _ in read.refused]
        bad = {*bad, REFUSED}
    parts = (problem[key] for key in ("measure", "combine", "weights", "f"))
    return information_loss(tuples, bad, read.hierarchies, levels, *parts)


def evaluate(problem, levels, read=None):
    """Return loss and suppressed records of one transformation, None where it is refused."""
    read = read or readings(problem)
    bad = suppressed_classes(problem, read, levels)
    if bad is None:
        return None
    classes = grouped(read.records, read.hierarchies, levels)
    suppressed = len(read.refused) + sum(len(classes[key]) for key in bad)
    return loss_of(problem, read, levels, bad), suppressed


def rounded(loss):
    """Return a loss as equal ones are told: each figure to 12 significant digits."""
    return tuple(float(f"{figure:.12g}") for figure in (loss if isinstance(loss, tuple) else (loss,)))


def solve(problem, low=None, high=None):
    """Enumerate the lattice; ties go to the lower sum of levels, then to the smaller vector.

    An infinite loss is worse than any number, but a solution.
    """
    read = readings(problem)
    low = low or [0] * len(read.hierarchies)
    high = high or [len(h[0]) - 1 for h in read.hierarchies]
    best = None
    for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        loss, suppressed = evaluate(problem, levels, read) or (None, math.inf)
        if suppressed <= math.floor(problem["limit"] * read.n):
            key = (rounded(loss), sum(levels), levels)
            if best is None or key < best[0]:
                best = (key, Answer(levels, loss, suppressed))
    return None if best is None else best[1]
