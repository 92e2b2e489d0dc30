"""Levels that are drawn within a budget: the scores, the probabilities, and what is released by them."""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
import yaml

from engine import load_job, run, verify
from engine.job.counting import columns_of
from engine.pipeline.private_levels import _scores, with_drawn_levels
from engine.privacy.exponential_mechanism import drawn, probabilities
from engine.tables.counting.label_tuples import LabelTuples
from engine.tables.sources.source import ArrowTable
from tests.engine.private_jobs import DOCUMENT, KEY, source
from tests.reference.differential_privacy import exponential, tables


def job(search_epsilon=0.5, **changes):
    document = copy.deepcopy(DOCUMENT)
    document["privacy"] = [{**DOCUMENT["privacy"][0], "epsilon": 2 + search_epsilon, "search_epsilon": search_epsilon}]
    document["attributes"]["age"] |= {"minimum_level": 0, "maximum_level": 2}
    document["attributes"]["zip"] |= {"minimum_level": 0, "maximum_level": 2}
    return load_job({**document, **changes})


CANDIDATES = list(itertools.product(range(3), range(3)))
PAIRS = (("31", "121"), ("38", "122"), ("44", "121"), (None, "?"))


def scores(rows, spare):
    table = pa.table(
        {
            "age": pa.array([PAIRS[int(row)][0] for row in rows], pa.string()),
            "zip": pa.array([PAIRS[int(row)][1] for row in rows], pa.string()),
            "mrn": list(rows),
        }
    )
    this, opened = job(), ArrowTable(table)
    tuples = LabelTuples(opened, columns_of(this, opened.schema).quasi_identifiers)
    return list(_scores(this, tuples, ["age", "zip"], CANDIDATES, spare))


def label(name, value, level):
    """Return a label by the definition of the job's hierarchies."""
    if name == "age":
        return value if value is None or level == 0 else int(value) // (10, 50)[level - 1]
    return "*" if value == "?" else value[: 3 - level]


@pytest.mark.parametrize("rows", ["", "0", "00122", "0001123", "333311"])
def test_a_score_is_the_surplus_of_the_classes_times_their_detail(rows):
    for (age, code), found in zip(CANDIDATES, scores(rows, 1), strict=True):
        sizes = Counter((label("age", PAIRS[int(r)][0], age), label("zip", PAIRS[int(r)][1], code)) for r in rows)
        detail = (1 - Fraction(age, 3) + 1 - Fraction(code, 3)) / 2
        assert found == detail * sum(max(0, size - 1) for size in sizes.values())


@pytest.mark.parametrize("spare", [0, 1, 2])
def test_one_more_record_raises_each_score_by_0_to_1_and_no_probability_by_more_than_the_factor(spare):
    epsilon, factor = Fraction(1, 2), exponential("0.5") * (1 + Fraction(1, 10**30))
    for rows in tables(("0", "1", "2", "3"), 3):
        one = scores("".join(rows), spare)
        for more in "0123":
            other = scores("".join(rows) + more, spare)
            assert all(0 <= high - low <= 1 for low, high in zip(one, other, strict=True))
            pairs = zip(probabilities(one, epsilon), probabilities(other, epsilon), strict=True)
            assert all(1 / factor <= Fraction(low) / Fraction(high) <= factor for low, high in pairs)


def test_a_candidate_is_drawn_with_its_probability():
    found = [Fraction(0), Fraction(3), Fraction(5, 2), Fraction(1)]
    grid = 2000
    places = Counter(drawn(found, Fraction(1, 2), lambda bits, at=at: (at << bits) // grid) for at in range(grid))
    for place, probability in enumerate(probabilities(found, Fraction(1, 2))):
        assert abs(places[place] - float(probability) * grid) <= 1
    assert drawn([Fraction(0), Fraction(10**9)], Fraction(1), lambda bits: (1 << bits) - 1) == 1
    assert drawn([Fraction(0)], Fraction(1), lambda bits: (1 << bits) - 1) == 0


def test_levels_are_drawn_from_those_allowed_and_released(tmp_path):
    table, this = source(), job()
    result = run(this, table=table, output=tmp_path / "release", rows_key=KEY)
    levels = result.report["solution"]["levels"]
    assert all(0 <= level <= 2 for level in levels.values())
    assert result.report["solution"]["optimal"] is False
    findings = verify(tmp_path / "release", this, result.published, source=table, rows_key=KEY)
    assert all(finding.holds for finding in findings), [str(finding.message) for finding in findings]
    # the job of the release allows what the job allowed
    written = yaml.safe_load((tmp_path / "release" / "job.yaml").read_text())
    assert (
        load_job(written).sha256
        == this.sha256
        == json.loads((tmp_path / "release/report.json").read_text())["job_sha256"]
    )
    assert "0.5 of epsilon is spent on drawing the levels" in (tmp_path / "release" / "README.md").read_text()


def levels_drawn(search_epsilon, table, at):
    """Return the levels that are drawn where the random bits are this share of all."""
    chosen = with_drawn_levels(job(search_epsilon), ArrowTable(table), lambda bits: int(at * (1 << bits)))
    found = [chosen.attributes[name] for name in ("age", "zip")]
    assert all(one.minimum_level == one.maximum_level for one in found)
    return tuple(one.minimum_level for one in found)


def test_by_much_epsilon_one_of_the_best_is_drawn_and_by_little_any():
    # four classes of 150 records both by decades and areas, and by exact codes without decades
    assert {levels_drawn(10.0, source(), Fraction(2 * at + 1, 20)) for at in range(10)} == {(1, 1), (2, 0)}
    few = {levels_drawn(0.001, source(rows=30), Fraction(2 * at + 1, 18)) for at in range(9)}
    assert few == set(CANDIDATES)
