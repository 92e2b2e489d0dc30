"""The slow, obvious twin of counting persons: sets of persons, class by class, in plain Python.

A record's sensitive mapping has its person under `person`. A class has the persons of its records. Of a sensitive
attribute each person counts once for each value that he or she has in the class; the table's values are counted alike.
"""

from __future__ import annotations

from unittest import mock

from tests.reference import lattice
from tests.reference.privacy import holds


def persons_of(members):
    """Return the distinct persons of some records' sensitive mappings."""
    return {record["person"] for record in members}


def values_of(members, column):
    """Return the values of distinct pairs of a person and a value."""
    return [value for _, value in sorted({(r["person"], r.get(column)) for r in members}, key=repr)]


def failing(classes, models, trees=None, *, people=None, elsewhere=()):
    """Return the keys of the classes that fail a model; see `tests.reference.privacy.failing`."""
    del people
    everybody = [record for members in classes.values() for record in members] + list(elsewhere)
    bad = set()
    for model in models:
        column = model.get("attribute")
        tree = trees.get(column) if isinstance(trees, dict) else trees
        for key, members in classes.items():
            if column is None:
                good = len(persons_of(members)) >= model["k"]
            else:
                good = holds(values_of(members, column), values_of(everybody, column), model, tree)
            if not good:
                bad.add(key)
    return bad


def solve(problem):
    """Enumerate the lattice, counting persons."""
    with mock.patch.object(lattice, "failing", failing):
        return lattice.solve(problem)


def evaluate(problem, levels):
    """Return loss and suppressed records of one transformation, counting persons."""
    with mock.patch.object(lattice, "failing", failing):
        return lattice.evaluate(problem, levels)
