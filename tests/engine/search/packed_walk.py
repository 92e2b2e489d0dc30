"""Boxes in packed rows that are made smaller step by step, compared with what a record-by-record count says of them."""

from __future__ import annotations

import itertools
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from engine.kernels.packed_boxes.raising import raise_rows
from engine.kernels.packed_boxes.rows import Bounds, all_waiting, no_rows
from engine.kernels.packed_boxes.splitting import split_classes
from engine.kernels.packed_boxes.tightening import tighten_box
from engine.kernels.packed_boxes.waiting import catch_up
from engine.search.boxes import packed_opener as packed
from engine.search.boxes.incumbent import Incumbent
from engine.search.boxes.packed_opener import PackedOpener
from engine.search.boxes.present_labels import PresentLabels
from engine.search.check import Checker
from tests.engine import build
from tests.engine.strategies import problems
from tests.profiles import examples
from tests.reference import boxes
from tests.reference.boxes import WholeCosts

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(200))
NONE_WAITS = 1 << 60
EVERYTHING = 1 << 62
WORDS = st.sampled_from([4, 6, 8, 64])


def sized(models):
    """Keep of a problem's models a class size alone, and an aggregate that is a sum."""
    return st.builds(
        lambda problem, k, combine: {**problem, "models": [{"model": "k-anonymity", "k": k}], "combine": combine},
        models,
        st.integers(2, 5),
        st.sampled_from(["arithmetic-mean", "sum"]),
    )


SERVED = sized(problems())


@contextmanager
def changed(**values):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(packed, name, value)
        yield


def nodes(low, high):
    return itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))


class Boxes:
    """The boxes of a problem: the engine's, and what the twin needs to know."""

    def __init__(self, problem):
        self.problem = problem
        self.search = build.search_problem(problem)
        costs = self.search.evaluator.box_costs()
        self.opener = PackedOpener(self.search, [Checker(self.search)], costs, Incumbent(0.0))
        self.trees = self.search.table.hierarchies
        self.present = PresentLabels(self.search.table)
        self.unit, self.labels, base, rises = packed._whole_numbers(self.search, self.present, costs)
        self.minimum = problem["models"][0]["k"]
        self.records = [values for values, _ in problem["records"]]
        more = [[self._by_label(a, x) for x in range(tree.level_count)] for a, tree in enumerate(self.trees)]
        self.whole = WholeCosts(base, rises.tolist(), more)

    def _by_label(self, a, level):
        start, labels = self.labels.more_at[a, level], self.trees[a].labels[level]
        there = enumerate(self.present.labels(a, level).tolist())
        return {labels[code]: int(self.labels.more[start + place]) for place, code in there}

    @property
    def tuples(self):
        return self.opener._tuples

    @property
    def bottom(self):
        return np.array(self.search.lattice.low)

    def start(self):
        """Return what is known of the box of the whole lattice, and the tuples of the table, which all wait."""
        start = Bounds(*(array.copy() for array in self.opener._start))
        waiting = all_waiting(self.tuples, start.high)
        start.high[:] = self.search.lattice.high
        return start, waiting

    def gone(self, high):
        return boxes.suppressed(self.records, self.problem["hierarchies"], high, self.minimum)

    def cost(self, low, gone):
        return boxes.whole_cost(self.whole, self.problem["hierarchies"], low, gone)

    def read(self, rows, low, high):
        """Return rows as the twin does."""
        free = [a for a in range(len(low)) if low[a] < high[a]]
        found = []
        for begin, end in itertools.pairwise(rows.starts.tolist()):
            those = []
            for r in range(begin, end):
                words = (int(rows.keys[r]), int(rows.tails[r]) if rows.tails.size else 0)
                codes = [words[self.labels.places[a, 0]] >> int(self.labels.places[a, 1]) for a in free]
                key = [
                    self.trees[a].labels[low[a]][self.present.labels(a, low[a])[x & int(self.labels.masks[a])]]
                    for a, x in zip(free, codes, strict=True)
                ]
                those.append((tuple(key), int(rows.counts[r]), int(rows.weights[r])))
            found.append(sorted(those))
        return found


class Walk:
    """A box that is made smaller step by step, with rows that wait."""

    def __init__(self, problem):
        self.of = Boxes(problem)
        self.bounds, self.waiting = self.of.start()
        self.rows = no_rows(self.of.tuples)

    @property
    def levels(self):
        return tuple(self.bounds.low.tolist()), tuple(self.bounds.high.tolist())

    def split(self, wanted):
        # as whoever cuts highest levels does: what is known of parts of the box is void
        if (wanted < self.bounds.high).any():
            self.bounds.probes[:, 0] = -1
        self.rows = split_classes(self.rows, self.bounds, wanted, self.of.minimum, EVERYTHING, self.of.labels)

    def lift(self, wanted):
        self.rows = raise_rows(self.rows, self.bounds, wanted, self.of.minimum, self.of.labels)

    def catch_up(self, large):
        of = self.of
        self.rows, self.waiting = catch_up(
            self.rows, self.waiting, of.tuples, of.bottom, self.bounds, of.minimum, large, EVERYTHING, of.labels
        )

    def waiting_rows(self):
        """Make rows of the tuples that wait, as if no class were large, without anything else that a catch-up does."""
        of, bounds = self.of, Bounds(*(array.copy() for array in self.bounds))
        bounds.probes[:, 0] = -1
        return catch_up(
            no_rows(of.tuples),
            self.waiting,
            of.tuples,
            of.bottom,
            bounds,
            of.minimum,
            NONE_WAITS,
            EVERYTHING,
            of.labels,
        )[0]

    def probe(self):
        """Fill the probes: with these limits nothing is cut off."""
        levels = self.levels
        alive, self.rows, _ = tighten_box(
            self.rows, self.bounds, self.of.minimum, EVERYTHING, EVERYTHING, self.of.labels
        )
        assert alive
        assert self.levels == levels

    def step(self, data):
        low, high = (np.array(levels) for levels in self.levels)
        inside = np.array([data.draw(st.integers(a, b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)])
        kind = data.draw(st.sampled_from(["split", "lift", "wait", "probe"]))
        if kind == "split":
            self.split(inside)
        elif kind == "lift":
            self.lift(inside)
        elif kind == "wait":
            self.catch_up(data.draw(st.sampled_from([1, 6, 12, NONE_WAITS])))
        else:
            self.probe()

    def assert_known(self):
        """Compare everything that is known with the twin; no row may be behind."""
        of, (low, high) = self.of, self.levels
        gone = of.gone(high)
        assert self.bounds.sums.tolist() == [of.cost(low, gone), len(gone)]
        for a in range(len(low)):
            for level in range(low[a] + 1, high[a] + 1):
                there = (*low[:a], level, *low[a + 1 :])
                assert self.bounds.rises[a, level] == of.cost(there, gone) - of.cost(low, gone)
        rows = sorted(of.read(self.rows, low, high) + of.read(self.waiting_rows(), low, high))
        assert rows == boxes.undecided(of.records, of.problem["hierarchies"], low, high, of.minimum, of.whole)

    def parts(self):
        """Give the lowest and highest levels of the parts whose probes are known."""
        low, high = self.levels
        for a in range(len(low)):
            if low[a] < high[a] and self.bounds.probes[a, 0] == low[a]:
                yield low, (*high[:a], low[a], *high[a + 1 :])

    def faces(self):
        """Give the probes that are known, each with the records that are suppressed in all of its part."""
        for low, top in self.parts():
            (a,) = [a for a in range(len(low)) if low[a] == top[a] < self.bounds.high[a]]
            yield self.bounds.probes[a].tolist(), self.of.gone(top)


def served(problem):
    search = build.search_problem(problem)
    return PackedOpener.serves(search, Checker(search), search.evaluator.box_costs())


def begun(problem, word):
    """Begin a walk with words of so many bits."""
    with changed(WORD=word):
        assume(served(problem))
        return Walk(problem)
