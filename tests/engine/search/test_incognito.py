"""Incognito against full enumeration in plain Python."""

from __future__ import annotations

import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.search.algorithms.incognito import METHOD, incognito, incognito_solutions
from tests.engine import build
from tests.engine.search.test_flash import assert_found
from tests.engine.strategies import any_problems, problems
from tests.profiles import examples
from tests.reference.lattice import evaluate, readings, solve

THOROUGH = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(400))


@THOROUGH
@given(problem=any_problems() | problems(), data=st.data())
def test_it_finds_what_enumeration_finds(problem, data):
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.sampled_from([0, 0, height])) for height in heights]
    high = [data.draw(st.sampled_from([bottom, height, height])) for bottom, height in zip(low, heights, strict=True)]
    search = build.search_problem(problem, low, high)
    assert METHOD.is_exact(search)
    assert_found(incognito(search), solve(problem, low, high))


@THOROUGH
@given(any_problems() | problems())
def test_all_solutions_are_those_of_enumeration(problem):
    search = build.search_problem(problem)
    read = readings(problem)
    expected = []
    for levels in itertools.product(*(range(high + 1) for high in search.lattice.high)):
        evaluated = evaluate(problem, levels, read)
        if evaluated is not None and evaluated[1] <= search.limit:
            expected.append((sum(levels), levels))
    assert incognito_solutions(search) == [levels for _, levels in sorted(expected)]


ZIP = [(code, f"{code[:4]}*", "537**") for code in ("53703", "53706", "53715")]
PATIENTS = {
    "records": [
        (("1/21/76", "male", "53715"), {"s": "flu"}),
        (("4/13/86", "female", "53715"), {"s": "hepatitis"}),
        (("2/28/76", "male", "53703"), {"s": "bronchitis"}),
        (("1/21/76", "male", "53703"), {"s": "broken arm"}),
        (("4/13/86", "female", "53706"), {"s": "sprained ankle"}),
        (("2/28/76", "female", "53706"), {"s": "hang nail"}),
    ],
    "hierarchies": [
        [("1/21/76", "*"), ("2/28/76", "*"), ("4/13/86", "*")],
        [("male", "person"), ("female", "person")],
        ZIP,
    ],
    "models": [{"model": "k-anonymity", "k": 2}],
    "limit": 0.0,
    "measure": "height",
    "combine": "sum",
    "weights": [1.0, 1.0, 1.0],
    "f": 0.5,
}
"""The patients of LeFevre et al. 2005: date of birth, sex and ZIP code."""


def test_the_2_anonymous_generalizations_of_the_patients():
    found = incognito_solutions(build.search_problem(PATIENTS))
    assert found == [(1, 1, 0), (0, 1, 2), (1, 0, 2), (1, 1, 1), (1, 1, 2)]


def test_what_fails_for_some_attributes_is_not_looked_at_for_more():
    found = incognito(build.search_problem(PATIENTS))
    # one look each at birth, sex and ZIP; 3 at birth and sex, 4 at birth and ZIP, 4 at sex and ZIP; of all three (1, 1,
    # 0), (0, 1, 2) and (1, 0, 2), the other two being generalizations; losses of the highest and of the first one
    assert found.checked == 3 + 3 + 4 + 4 + 3 + 2
    assert (found.levels, found.loss, found.optimal) == ((1, 1, 0), 2.0, True)
