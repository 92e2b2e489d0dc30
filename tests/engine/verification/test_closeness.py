"""The recount of t-closeness, by hand, and the order of values it reads."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine import InvalidData, InvalidJob, recount
from tests.engine.build import Listed
from tests.engine.verification.verified import TREE, closeness, released


@pytest.mark.parametrize(
    ("salaries", "distance"),
    # the example of Li et al., section 5: 0.375 and 1/6
    [(("3", "4", "5"), 0.375), (("6", "8", "11"), 1 / 6)],
)
def test_ordered_distance_of_the_paper(salaries, distance):
    everything = [str(salary) for salary in range(3, 12)]
    table = released({"x": salaries, "*": [salary for salary in everything if salary not in salaries]})
    finding = recount(table, ["q"], closeness("ordered", 0.2), {"order": "integer"})
    assert finding.observed == pytest.approx(distance, rel=1e-14)
    assert finding.holds is (distance <= 0.2)
    # as text '10' and '11' come first, and three values lie elsewhere among nine
    assert recount(table, ["q"], closeness("ordered", 0.2), {"order": "text"}).observed != pytest.approx(distance)


@pytest.mark.parametrize(
    ("order", "values"),
    [
        ("decimal", ["-1.5", "-1", "9", "1e1"]),
        ("date", [None, "2026-03-01", "2026-03-01T12:00:00+02:00", "2026-03-01T11:00:00Z"]),
        ("text", [None, "", "10", "9"]),
        ("integer", ["9", "010", "10", "11"]),
    ],
)
def test_values_are_ordered_by_their_type(order, values):
    """Of four values, the first and last are (3/4 + 2/4 + 1/4) / 3 from all, the others (1/4 + 2/4 + 1/4) / 3."""
    for value, distance in zip(values, [1 / 2, 1 / 3, 1 / 3, 1 / 2], strict=True):
        table = released({"x": [value], "*": [other for other in values if other != value]})
        finding = recount(table, ["q"], closeness("ordered", 0.1), {"order": order})
        assert finding.observed == pytest.approx(distance, rel=1e-14)


@pytest.mark.parametrize(
    ("members", "distance"),
    [
        # half of all moves between A and B: 2/2 * 1/2
        (["a1", "a2"], 1 / 2),
        # a quarter moves within A and a quarter within B: 1/2 * (1/4 + 1/4)
        (["a1", "b1"], 1 / 4),
        # a quarter moves within A, half from A to B: 1/2 * 1/4 + 1/2
        (["a1"], 5 / 8),
        (["a1", "a2", "b1", "b2"], 0),
    ],
)
def test_hierarchical_distance(members, distance):
    table = released({"x": members, "*": [leaf for leaf, *_ in TREE.entries if leaf not in members]})
    attribute = SimpleNamespace(order="text", hierarchy=TREE)
    finding = recount(table, ["q"], closeness("hierarchical", distance), attribute)
    assert (finding.holds, finding.observed) == (True, distance)
    if distance:
        assert recount(table, ["q"], closeness("hierarchical", distance - 1e-9), attribute).holds is False


@pytest.mark.parametrize(("t", "holds"), [(0.5, True), (0.49, False)])
def test_equal_distance(t, holds):
    """All of one value where the table has half of it; the records of the other value are suppressed ones."""
    finding = recount(released({"x": ["a", "a"], "*": ["b", "b"]}), ["q"], closeness("equal", t))
    assert (finding.holds, finding.observed, finding.required) == (holds, 0.5, t)


@pytest.mark.parametrize(
    "entries", [(("a",), ("b",)), (("a", "A"), ("b", "B")), (("a",),)], ids=["one level", "two roots", "missing value"]
)
def test_hierarchical_distance_without_a_common_root_is_refused(entries):
    """Values of two trees would cost nothing to exchange, so that any class would be close."""
    other = None if len(entries) == 1 else "b"
    table = released({"x": ["a", "a"], "y": [other, other]})
    attribute = SimpleNamespace(order="text", hierarchy=Listed(entries=entries))
    with pytest.raises(InvalidJob, match="needs one root"):
        recount(table, ["q"], closeness("hierarchical", 0.0), attribute)


@pytest.mark.parametrize(
    ("distance", "attribute"),
    [
        ("ordered", {"order": "integer"}),
        ("ordered", {"order": "decimal"}),
        ("ordered", {"order": "date"}),
        ("hierarchical", SimpleNamespace(order="text", hierarchy=TREE)),
    ],
)
def test_values_that_do_not_fit_are_counted_not_named(distance, attribute):
    table = released({"x": ["Jane-Roe-4711", "Richard-Roe-4712"]})
    with pytest.raises(
        InvalidData,
        match=r"column 's': (its hierarchy has no entry for 2 of its distinct|distinct values that are no .*: 2;)",
    ) as problem:
        recount(table, ["q"], closeness(distance, 0.2), attribute)
    assert "Roe" not in str(problem.value)
