"""What the refusal of a rule tells: how near it was, and never how many records the table has."""

from __future__ import annotations

import random
import re

import pytest

from engine import NoSolution, run
from tests.engine.frontiers.test_of_file import job_of, table_of

MOST = [("1200", "1010", "k1"), ("1230", "1012", "k1"), ("7000", "4010", "k2")]
ALONE = ("9999", "9999", "k4")
HARBOR = {"year": "kept", "code": "zip", "kind": "kept"}


def refusal_of(kept, few, **rule):
    draw = random.Random(kept)
    table = table_of([*(draw.choice(MOST) for _ in range(kept)), *[ALONE] * few])
    job = job_of(
        privacy=[{"model": "k-anonymity", "k": 5}],
        frontier={"policies": 300, "safe_harbor": HARBOR, "k_anonymity": [3]},
        choose={"from": "frontier", "maximum_risk": 1e-6, **rule},
    )
    with pytest.raises(NoSolution, match="no policy") as refused:
        run(job, table)
    return table, job, str(refused.value)


@pytest.mark.parametrize(("kept", "rule"), [(40, {}), (120, {}), (310, {"dominates": "safe-harbor"}), (2_500, {})])
def test_the_refusal_beside_a_later_release_tells_not_how_few_that_leaves_out(kept, rule):
    """The least risk is 1 divided by the number of records: with four digits it left one number of them."""
    told = set()
    for few in range(1, 5):
        table, job, text = refusal_of(kept, few, **rule)
        told.add(text)
        published = run({**job, "choose": {"from": "frontier", "maximum_risk": 1.0}}, table).published
        assert (published["released"], published["rows"]) == (kept, None)
    assert len(told) == 1


@pytest.mark.parametrize(("kept", "least"), [(40, None), (310, "0.003"), (2_500, "0.0004"), (12_345, "8.1e-05")])
def test_the_least_risk_is_told_as_closely_as_any_figure_of_the_source(kept, least):
    """All records in one group: 1 / (kept + 1), to 1 digit below 1,000 records, to 2 below 10,000, then to 3."""
    text = refusal_of(kept, 1)[2]
    found = re.search(r"the least risk is about (\S+);", text)
    assert (found and found[1]) == least
    assert "none of up to 10 policies have a risk of at most 1e-06" in text


@pytest.mark.parametrize(("kept", "least"), [(310, "below 0.1"), (2_500, "below 0.01")])
def test_the_risk_of_safe_harbor_tells_not_how_many_groups_few_make(kept, least):
    """A record more can make a group more: with one digit the risk told three groups of who is left out from one."""
    draw = random.Random(kept)
    people = [draw.choice(MOST) for _ in range(kept)]
    job = job_of(
        privacy=[{"model": "k-anonymity", "k": 5}],
        frontier={"policies": 300, "safe_harbor": HARBOR, "k_anonymity": [3]},
        choose={"from": "frontier", "maximum_risk": 1e-6, "dominates": "safe-harbor"},
    )
    told = set()
    for few in range(1, 5):
        alone = [(str(9_990 + one), "9999", "k4") for one in range(few)]
        with pytest.raises(NoSolution, match="no policy") as refused:
            run(job, table_of([*people, *alone]))
        found = re.search(r", of risk ((?:about|below) [^;)]*)", str(refused.value))
        told.add(found and found[1])
    assert told == {least}
