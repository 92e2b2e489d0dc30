"""Whether a frontier's figures tell how many records its source has: each number is tried, with all figures together.

A marketer risk without a population is a whole number of groups divided by the number of records. So numbers for which
no whole number of groups has a figure are ruled out, and hundreds of figures leave one of them.
"""

from __future__ import annotations

import copy
import random

import pytest

import engine
from engine.frontiers.published import published, significant
from tests.engine.frontiers.small_job import job_of, people_of, table_of

GROUPS = 80
"""Policies of a frontier, each of another number of groups."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return engine.frontier(job_of(tmp_path_factory.mktemp("numbers")), table_of(people_of(40))).report


def frontier_of(found, records, groups, **changes):
    """Give the report of a frontier of so many records, of which each policy makes another number of groups."""
    made = {**copy.deepcopy(found), "rows": records, "k_anonymity": {}, "safe_harbor": None, "shortlist": [], **changes}
    one = made["frontier"][0]
    made["frontier"] = [{**one, "risk": number / records} for number in groups]
    return made


def risks_of(report):
    return [one["risk"] for one in report["frontier"]]


def left(risks, digits, numbers):
    """Give the numbers of records for which some whole number of groups has each of the risks."""
    return [
        number
        for number in numbers
        if set(risks) <= {significant(groups / number, digits) for groups in range(1, number + 1)}
        and min(risks) == significant(1 / number, digits)
    ]


@pytest.mark.parametrize("records", [60, 119, 233, 417, 940, 1_234, 7_777])
def test_every_number_of_a_step_has_the_same_risks(found, records):
    """Rounded to two digits alone they would leave less than half of these numbers, below 500 records mostly one."""
    groups = [1, *sorted(random.Random(records).sample(range(2, min(records, 400)), min(GROUPS, records - 30)))]
    step = 20 if records < 1_000 else 100
    numbers = range(records // step * step, (records // step + 1) * step)
    told = {str(published(frontier_of(found, number, groups))) for number in numbers if number >= max(groups)}
    assert len(told) == 1
    rounded = [significant(number / records, 2) for number in groups]
    assert len(left(rounded, 2, numbers)) < len(numbers) / 2


@pytest.mark.parametrize("records", [*range(20, 200, 7), 999, 1_000, 1_099, 12_345, 129_999])
def test_a_risk_is_never_told_too_small_and_is_at_most_twice_its_own(found, records):
    exact = [1 / records, 0.3, 0.7, 1.0]
    made = frontier_of(found, records, [risk * records for risk in exact])
    told = risks_of(published(made))
    assert all(own * 0.95 <= risk <= min(1.0, 2 * own) * 1.05 for own, risk in zip(exact, told, strict=True))
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_below_twenty_records_no_risk_tells_anything(found):
    assert set(risks_of(published(frontier_of(found, 19, range(1, 20))))) == {1.0}


@pytest.mark.parametrize(
    "changes",
    [{"population_rows": 5_000}, {"settings": {"risk": "prosecutor"}}, {"settings": {"risk": "journalist"}}],
)
def test_risks_that_do_not_count_groups_keep_their_divisor(found, changes):
    """Beside a population it is a number of people; and that of the smallest class is the number of its records."""
    told = risks_of(published(frontier_of(found, 59, [1, 20], **changes)))
    assert told == [significant(1 / 59, 2), significant(20 / 59, 2)]
