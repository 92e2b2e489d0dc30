"""Problems whose suppression limit is what some transformation suppresses, searched with nothing but bounds.

A bound that is too high is found out: no first solution happens to be the best one, and no box is enumerated.
"""

from __future__ import annotations

import itertools
import random
from unittest import mock

from engine.search.algorithms import optimal
from engine.search.boxes import node_opener, tighten
from tests.engine import build
from tests.reference.lattice import evaluate

TREE = [(f"s{i}", f"s{i // 2}.", "any s") for i in range(4)]
LADDER = [(f"v{i}", f"v{i // 2}.", "any v") for i in range(4)]


def records(seed):
    """Return records of three attributes; what is sensitive depends on the first two."""
    draw = random.Random(seed)
    found = []
    for _ in range(draw.randint(30, 70)):
        values = [draw.choice(LADDER)[0] for _ in range(3)]
        likely = (int(values[0][1]) // 2 + int(values[1][1])) % 4
        chosen = draw.choice([likely, likely, 0, 1, 2, 3, None])
        found.append((tuple(values), {"s": None if chosen is None else f"s{chosen}"}))
    return found


def problem(seed, models, measure, *, combine="arithmetic-mean", f=0.5, limit=1.0):
    """Return a problem of 27 transformations."""
    return {
        "records": records(seed),
        "hierarchies": [LADDER] * 3,
        "tree": TREE,
        "models": models,
        "measure": measure,
        "combine": combine,
        "weights": [1.0, 1.0, 0.5],
        "f": f,
        "limit": limit,
        "small_only": False,
    }


def limits(drawn):
    """Return the limits at which one more transformation of a problem is a solution, ascending."""
    checked = [evaluate(drawn, levels) for levels in itertools.product(range(3), repeat=3)]
    # they are rounded down to whole records
    return [(suppressed + 0.5) / len(drawn["records"]) for suppressed in sorted({found for _, found in checked})]


def searched(drawn, *, small=1, looks=10**9):
    """Return the solution without a greedy start.

    Boxes of up to `small` transformations are enumerated, and so many probes look inside classes.
    """
    with (
        mock.patch.object(optimal, "greedy", return_value=()),
        mock.patch.object(node_opener, "_SMALL_BOX", small),
        mock.patch.object(tighten, "_FIRST_LOOKS", looks),
    ):
        return optimal.optimal(build.search_problem(drawn))
