"""How large the classes of a sample must be: by exact fractions, by all tables of a few records, by the recount."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.hierarchy.builders.redaction import Redaction
from engine.privacy.sampled_classes import allows, least_epsilon, smallest_class
from engine.tables.counting.columns import QuasiIdentifier
from engine.tables.counting.large_classes import LargeClasses
from engine.tables.sources.source import ArrowTable
from engine.verification.models.differential_privacy import records_needed
from tests.profiles import examples
from tests.reference.differential_privacy import beyond, delta, distribution, exponential, tables

SMALL = [
    (epsilon, bound, fraction)
    for epsilon in ("0.8", "1", "2.5")
    for bound in (0.3, 0.1, 0.03, 0.01)
    for fraction in (0.125, 0.5)
]


@pytest.mark.parametrize(("epsilon", "bound", "fraction"), SMALL)
def test_it_is_the_least_k_of_the_definition(epsilon, bound, fraction):
    found, exact = smallest_class(float(epsilon), bound, fraction), Fraction(repr(bound))
    # tails of more records are smaller still: they fall by the bound of Chernoff
    assert delta(found, epsilon, Fraction(fraction), 90) <= exact
    if found > 2:
        assert delta(found - 1, epsilon, Fraction(fraction), 90) > exact


@pytest.mark.parametrize("fraction", [Fraction(1, 8), Fraction(1, 2)])
def test_delta_falls_with_k_and_epsilon(fraction):
    deltas = [delta(k, "1", fraction, 60) for k in range(2, 20)]
    assert deltas == sorted(deltas, reverse=True)
    assert [smallest_class(1.0, 10.0**-e, float(fraction)) for e in range(3, 12)] == sorted(
        smallest_class(1.0, 10.0**-e, float(fraction)) for e in range(3, 12)
    )
    sizes = [smallest_class(epsilon, 1e-6, float(fraction)) for epsilon in (0.7, 0.8, 1.0, 1.5, 2.0, 4.0)]
    assert sizes == sorted(sizes, reverse=True)


VALUES = ("110", "120", "210", None)
COLUMNS = {"code": QuasiIdentifier(Redaction(length=3), frozenset(), "root")}


@functools.cache
def released(sample, k):
    """Return what the engine shows of the records that are drawn: the labels, with their numbers."""
    source = ArrowTable(pa.table({"code": pa.array(sample, pa.string())}))
    large = LargeClasses(source, COLUMNS, {"code": 2}, k)
    shown = [value for batch in large.batches(["code"]) for value in batch["code"].to_pylist()]
    labels = [None if value is None else value[0] for value in shown]
    return tuple(sorted((label or "", labels.count(label)) for label in set(labels)))


def neighbours(most):
    """Yield all pairs of tables of at most so many records that differ in one record."""
    for table in tables(("110", "120", "210"), most):
        for value in dict.fromkeys(table):
            place = table.index(value)
            yield table, table[:place] + table[place + 1 :]


@pytest.mark.parametrize(
    ("epsilon", "bound", "fraction"), [("1", 0.15, 0.5), ("0.8", 0.05, 0.25), ("0.5", 0.05, 0.125)]
)
def test_no_pair_of_tables_is_told_apart_by_more(epsilon, bound, fraction):
    """The inequality itself, in both directions, over all sets of releases of all tables of up to six records."""
    k, share, factor = smallest_class(float(epsilon), bound, fraction), Fraction(fraction), exponential(epsilon)
    assert 3 <= k <= 5  # so that classes of six records are shown
    of = functools.cache(lambda table: distribution(table, share, lambda sample: released(sample, k)))
    worst = max(
        max(beyond(of(one), of(other), factor), beyond(of(other), of(one), factor)) for one, other in neighbours(6)
    )
    assert 0 < worst <= Fraction(repr(bound))


def test_a_smaller_class_would_be_told_apart_by_more():
    """The size is not only enough: one that is much smaller fails the inequality."""
    bound, factor, share = Fraction(1, 100), exponential("1"), Fraction(1, 2)
    k = smallest_class(1.0, 0.01, 0.5)
    of = functools.cache(lambda table: distribution(table, share, lambda sample: released(sample, k // 2)))
    assert max(beyond(of(one), of(other), factor) for one, other in neighbours(6)) > bound


def test_the_number_of_those_left_out_would_tell_of_one():
    """Why nothing counts them: one record in a table of none is drawn, and counted, with the fraction."""

    def counted(sample):
        return released(sample, 4), len(sample)

    of = [distribution(table, Fraction(1, 2), counted) for table in (("110",), ())]
    assert beyond(*of, exponential("3")) == Fraction(1, 2)


def test_below_the_least_epsilon_a_record_that_is_missing_is_told():
    """The other direction: that a class is not shown would be less probable by more than the factor."""
    fraction = 0.5
    assert not allows(0.69, fraction)
    assert allows(0.7, fraction)
    assert least_epsilon(fraction) == pytest.approx(math.log(2))
    with_one, without = (distribution(table, Fraction(1, 2), len) for table in (("110",) * 6, ("110",) * 5))
    assert without[0] == 2 * with_one[0] > exponential("0.69") * with_one[0]


@settings(max_examples=examples(200))
@given(st.floats(0.001, 0.999), st.floats(1.001, 4.0), st.floats(-12, -3))
def test_the_recount_finds_the_same_size(fraction, times, exponent):
    epsilon, bound = round(times * least_epsilon(fraction), 6), float(f"{10**exponent:.4g}")
    assume(0.001 <= epsilon <= 20 and allows(epsilon, fraction))
    assert smallest_class(epsilon, bound, fraction) == records_needed(epsilon, bound, fraction)
