"""Every measure against plain Python, and bounds that no transformation of a box goes below."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.utility.information_loss import ranked
from tests.engine import build
from tests.engine.strategies import any_problems
from tests.profiles import examples
from tests.reference.lattice import grouped, key_of, loss_of, readings
from tests.reference.utility import ATTRIBUTE_WISE, CLASS_WISE, class_loss

THOROUGH = settings(deadline=None, max_examples=examples(400))
MEASURES = [*ATTRIBUTE_WISE, *CLASS_WISE]
# Sums of the same terms in another order differ by their rounding.
ROUNDING = 1 + 1e-12


def expected_loss(problem, levels, suppressed):
    """Return the loss when the classes that hold the given leaf tuples are suppressed, record by record."""
    read = readings(problem)
    return loss_of(problem, read, levels, {key_of(leaves, read.hierarchies, levels) for leaves in suppressed})


def rows_of(classes, numbers):
    """Return the rows in classes, and those that are refused: they are always suppressed."""
    return np.flatnonzero(np.isin(classes.gid, list(numbers)) | classes.refused[classes.gid])


def upwards(loss):
    """Return a loss as it compares, raised by rounding."""
    return tuple(figure * ROUNDING for figure in ranked(loss))


def chosen(table, rows):
    """Return the leaf tuples of rows that are not refused."""
    leaves = build.leaves(table)
    return {leaves[row] for row in rows if table.refused is None or not table.refused[row]}


@st.composite
def boxes(draw):
    """Draw a problem with its table, a box of its lattice, and rows that are surely suppressed: classes at its top."""
    problem = draw(any_problems())
    table = build.counted(problem)
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = tuple(draw(st.integers(0, height)) for height in heights)
    high = tuple(draw(st.integers(bottom, height)) for bottom, height in zip(low, heights, strict=True))
    top = table.partition(high)
    # a class of the population alone may be among them: it counts no record
    surely = rows_of(top, draw(st.sets(st.integers(0, top.size - 1))))
    return problem, table, low, high, surely


def suppressed_too(data, table, levels, surely):
    """Draw classes of a transformation in the box that are suppressed beside the sure ones; return their rows."""
    classes = table.partition(levels)
    return np.union1d(surely, rows_of(classes, data.draw(st.sets(st.integers(0, classes.size - 1)))))


@THOROUGH
@given(boxes(), st.data())
def test_the_loss_of_any_transformation_and_any_suppressed_classes(box, data):
    problem, table, levels, _, _ = box
    rows = suppressed_too(data, table, levels, np.empty(0, np.int64))
    found = build.evaluator(problem, table).loss(levels, table.partition(levels), rows)
    expected = expected_loss(problem, levels, chosen(table, rows))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    # what loses nothing loses exactly nothing: else rounding would decide between such transformations
    zeros = [[figure == 0 for figure in ranked(loss)] for loss in (found, expected)]
    assert zeros[0] == zeros[1] or problem["combine"] == "geometric-mean"


@THOROUGH
@given(boxes(), st.data())
def test_nothing_in_a_box_loses_less_than_its_bound(box, data):
    problem, table, low, high, surely = box
    bound = build.evaluator(problem, table).bound(low, high, surely)
    for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        rows = suppressed_too(data, table, levels, surely)
        assert ranked(bound) <= upwards(expected_loss(problem, levels, chosen(table, rows)))


@THOROUGH
@given(boxes())
def test_the_bound_of_a_box_is_not_above_that_of_a_part_of_it(box):
    problem, table, low, high, surely = box
    measure = build.evaluator(problem, table)
    outer = measure.bound(low, high, surely)
    for a in range(len(low)):
        for level in range(low[a], high[a] + 1):
            inner_low = (*low[:a], level, *low[a + 1 :])
            inner_high = (*high[:a], level, *high[a + 1 :])
            assert ranked(outer) <= upwards(measure.bound(inner_low, inner_high, surely))


@st.composite
def ordering_problems(draw):
    """Draw a problem whose measure orders classes, with its table and a transformation."""
    problem = draw(any_problems(measures=("loss", "ambiguity")))
    return problem, build.counted(problem), tuple(draw(st.integers(0, len(h[0]) - 1)) for h in problem["hierarchies"])


@THOROUGH
@given(ordering_problems())
def test_classes_are_ordered_by_what_keeping_them_loses(drawn):
    problem, table, levels = drawn
    read = readings(problem)
    partition = table.partition(levels)
    place = build.evaluator(problem, table).class_order(levels, partition)
    number = dict(zip(build.leaves(table), partition.gid.tolist(), strict=True))
    parts = {key: problem[key] for key in ("measure", "combine", "weights", "f")}
    found = []
    for members in grouped(read.records, read.hierarchies, levels).values():
        tuples = [leaves for leaves, _ in members]
        found.append((class_loss(tuples, read.n, read.hierarchies, levels, **parts), place[number[tuples[0]]]))
    for (own, here), (other, there) in itertools.combinations(found, 2):
        assert (own < other, own == other) == (here < there, here == there)


@THOROUGH
@given(any_problems(measures=[m for m in MEASURES if m not in {"loss", "ambiguity"}]), st.data())
def test_other_measures_have_no_say_in_the_order_of_classes(problem, data):
    table = build.counted(problem)
    levels = tuple(data.draw(st.integers(0, len(h[0]) - 1)) for h in problem["hierarchies"])
    assert build.evaluator(problem, table).class_order(levels, table.partition(levels)) is None


def lost(measure, records, suppressed, levels=(0,), f=0.5, tree=(("a", "A"), ("b", "A"), ("c", "C"), ("d", "C"))):
    problem = {
        "records": [((v,), {"s": None}) for v in records],
        "hierarchies": [list(tree)],
        "weights": [1.0],
        "measure": measure,
        "combine": "arithmetic-mean",
        "f": f,
    }
    table = build.counted(problem)
    rows = [row for row, (leaf,) in enumerate(build.leaves(table)) if leaf in suppressed]
    return build.evaluator(problem, table).loss(levels, table.partition(levels), np.array(rows, np.int64))


@pytest.mark.parametrize(
    ("measure", "levels", "suppressed", "f", "expected"),
    [
        # records aabc; level 1 makes A of three records and C of one
        ("discernibility", (0,), "", 0.5, 4 + 1 + 1),
        ("discernibility", (1,), "c", 0.5, 9 + 4),
        ("average-class-size", (0,), "", 0.5, 4 / 3),
        ("average-class-size", (1,), "c", 0.5, 4 / 2),
        ("average-class-size", (1,), "c", 0.25, 4 / 1.5),
        ("average-class-size", (1,), "c", 0.75, 4 / 1.5),
        ("ambiguity", (0,), "", 0.5, 4),
        ("ambiguity", (1,), "c", 0.5, 3 * 2 + 4),
        ("height", (1,), "c", 0.5, 1),
        # -(2 log2(2/3) + log2(1/3)) and nothing for c, alone in its value and among the suppressed
        ("non-uniform-entropy", (1,), "", 0.5, 3 * math.log2(3) - 2),
        ("non-uniform-entropy", (0,), "bc", 0.5, 2),
        ("non-uniform-entropy", (0,), "bc", 0.25, 1),
        # records of a: p = 1/2, q = 3/4 / 2; of b: p = 1/4; of c: p = 1/4, q = 1/4 / 2
        (
            "kl-divergence",
            (1,),
            "",
            0.5,
            2 * (1 / 2) * math.log2(4 / 3) + (1 / 4) * math.log2(2 / 3) + (1 / 4) * math.log2(2),
        ),
        ("kl-divergence", (0,), "", 0.5, 0),
        # suppressing costs a whole record, however little generalization counts: (3 - 1/4 g n) / (4 - 1/4 g n), g = 0.4
        ("loss", (0,), "c", 0.8, (0.4 * 3 / 4 + 1 - 0.4) / (4 - 0.4)),
        ("loss", (0,), "c", 1.0, 1 / 4),
        ("precision", (0,), "c", 1.0, 1 / 4),
    ],
)
def test_by_hand(measure, levels, suppressed, f, expected):
    assert lost(measure, "aabc", suppressed, levels, f) == pytest.approx(expected)


@pytest.mark.parametrize(("f", "suppressed"), [(0.0, ""), (1.0, "abc")])
def test_an_average_over_no_class_is_infinite(f, suppressed):
    assert lost("average-class-size", "aabc", suppressed, f=f) == math.inf


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("f", [0.0, 0.3, 0.5, 0.8])
def test_the_only_record_of_the_only_value_loses_nothing(measure, f):
    # discernibility and ambiguity count the record itself, and so does the size of its class
    least = {"discernibility": 1.0, "ambiguity": 1.0, "average-class-size": 1.0 if f else math.inf}
    if measure == "average-class-size" and 0 < f < 0.5:
        least[measure] = 1 / (2 * f)
    assert lost(measure, "a", "", f=f, tree=[("a",)]) == pytest.approx(least.get(measure, 0.0))


@pytest.mark.parametrize("domains", [40, 200])
def test_divergence_over_more_combinations_than_doubles_hold(domains):
    # 40 or 200 attributes of 100 leaves, one record in each of two classes at the top: q = 1 / 100**domains
    tree = [(f"v{i}", "*") for i in range(100)]
    problem = {
        "records": [(("v0",) * domains, {"s": None}), (("v1",) * domains, {"s": None})],
        "hierarchies": [tree] * domains,
        "weights": [1.0] * domains,
        "measure": "kl-divergence",
        "combine": "arithmetic-mean",
        "f": 0.5,
    }
    table = build.counted(problem)
    levels = (1,) * domains
    found = build.evaluator(problem, table).loss(levels, table.partition(levels), np.empty(0, np.int64))
    assert found == pytest.approx(domains * math.log2(100) - 1)
