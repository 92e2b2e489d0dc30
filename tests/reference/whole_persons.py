"""The slow, obvious twin of suppressing whole persons: pictures as multisets, and every set of persons.

A record's sensitive mapping has its person under `person`. Of an attacker who knows all rows, groups of equal pictures
are judged as classes are (`tests.reference.persons`); of one who knows up to m rows, every set of persons is tried.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

from tests.reference import persons
from tests.reference.lattice import Answer, key_of, readings, rounded
from tests.reference.utility import information_loss


def pictures(read, levels):
    """Return the cells of each person with the number of his or her records in them."""
    found = defaultdict(Counter)
    for leaves, sensitive in read.records:
        found[sensitive["person"]][key_of(leaves, read.hierarchies, levels)] += 1
    return dict(found)


def parts(picture, most):
    """Return every sub-multiset of at most `most` cells of a picture."""
    cells = sorted(picture.elements(), key=repr)
    return [Counter(part) for size in range(1, most + 1) for part in set(itertools.combinations(cells, size))]


def is_safe(everybody, kept, known, k, diverse=()):
    """Tell whether k of the kept persons share what is known of each of them, and have diverse values among them.

    `diverse` has pairs of a number of values and the values of each person.
    """
    for person in kept:
        own = everybody[person]
        for part in [own] if known == "all-rows" else parts(own, known):
            sharing = [p for p in kept if (everybody[p] == part if known == "all-rows" else everybody[p] >= part)]
            if len(sharing) < k:
                return False
            if any(len(set().union(*(values[p] for p in sharing))) < number for number, values in diverse):
                return False
    return True


def diverse_of(models, records):
    """Return what `is_safe` asks of distinct l-diversity; records are pairs of a person and sensitive values."""
    found = []
    for model in models:
        if model["model"] == "l-diversity":
            values = defaultdict(set)
            for person, record in records:
                if model["attribute"] in record:
                    values[person].add(record[model["attribute"]])
            counted = {None} if model.get("missing") != "value" else set()
            found.append((model["l"], defaultdict(set, {p: own - counted for p, own in values.items()})))
    return found


def greatest(everybody, known, k, diverse=()):
    """Return the union of all safe sets of persons; it is one of them."""
    names = sorted(everybody)
    sets = (set(chosen) for size in range(len(names) + 1) for chosen in itertools.combinations(names, size))
    union = set().union(*(kept for kept in sets if is_safe(everybody, kept, known, k, diverse)))
    assert is_safe(everybody, union, known, k, diverse)
    return union


def rarest(everybody, kept, most):
    """Return how many of the kept persons share the rarest part of each one's picture."""
    return {
        person: min(sum(everybody[p] >= part for p in kept) for part in parts(everybody[person], most))
        for person in kept
    }


def kept_persons(problem, read, levels, known):
    """Return the persons whom a transformation keeps."""
    everybody = pictures(read, levels)
    if known != "all-rows":
        least = max(model["k"] for model in problem["models"] if model["model"] == "k-anonymity")
        diverse = diverse_of(problem["models"], [(one["person"], one) for _, one in read.records])
        return greatest(everybody, known, least, diverse)
    groups = defaultdict(list)
    for _, sensitive in read.records:
        groups[frozenset(everybody[sensitive["person"]].items())].append(sensitive)
    bad = persons.failing(groups, problem["models"], problem.get("trees") or problem.get("tree"))
    return {sensitive["person"] for key, members in groups.items() if key not in bad for sensitive in members}


def evaluate(problem, levels, known, read=None):
    """Return loss and suppressed records of one transformation."""
    read = read or readings(problem)
    kept = kept_persons(problem, read, levels, known)
    classes = defaultdict(list)
    for leaves, sensitive in read.records:
        classes[key_of(leaves, read.hierarchies, levels), sensitive["person"] in kept].append(leaves)
    bad = {key for key in classes if not key[1]}
    figures = (problem[name] for name in ("measure", "combine", "weights", "f"))
    loss = information_loss(dict(classes), bad, read.hierarchies, levels, *figures)
    return loss, sum(len(classes[key]) for key in bad)


def solve(problem, known):
    """Enumerate the lattice; ties go to the lower sum of levels, then to the smaller vector."""
    read = readings(problem)
    best = None
    for levels in itertools.product(*(range(len(rows[0])) for rows in read.hierarchies)):
        loss, suppressed = evaluate(problem, levels, known, read)
        if suppressed <= math.floor(problem["limit"] * read.n):
            key = (rounded(loss), sum(levels), levels)
            if best is None or key < best[0]:
                best = (key, Answer(levels, loss, suppressed))
    return None if best is None else best[1]
