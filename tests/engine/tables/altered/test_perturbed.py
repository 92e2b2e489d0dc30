"""Noise and randomization: the numbers against their definitions, and what they keep of a column."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidData
from engine.tables.altered.noise import Spread
from engine.tables.altered.perturbed import NoiseOf, PerturbedTable, PramOf, draws, perturbation_key
from engine.tables.altered.pram import MOST, invariant_matrix
from engine.tables.sources.source import open_data
from tests.profiles import examples
from tests.reference import perturbed as reference

KEY = bytes(range(32))


def perturbed(table, columns, key=KEY):
    made = PerturbedTable(open_data(table), columns, key)
    return pa.Table.from_batches(made.batches(table.column_names), made.schema)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=8),
    st.floats(0, 0.99),
    st.floats(0.01, 1),
)
def test_the_matrix_is_that_of_bayes_and_keeps_the_shares(counts, pd, alpha):
    found = invariant_matrix(np.array(counts), pd, alpha)
    expected = reference.invariant_matrix(counts, pd, alpha)
    assert found == pytest.approx(np.array(expected, np.float64), abs=1e-12)
    # of the exact matrix: rows are distributions, and the distribution of the column stays
    assert all(sum(row) == 1 for row in expected)
    for j in range(len(counts)):
        assert sum(count * expected[i][j] for i, count in enumerate(counts)) == counts[j]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50).filter(lambda numbers: max(numbers) - min(numbers) > 1e-3),
    st.floats(1, 300),
)
def test_noise_is_a_normal_draw_by_the_standard_deviation(numbers, percent):
    column = pa.array(numbers)
    uniform = draws(0, len(numbers), KEY)
    spread = Spread.of("cost", [column.slice(0, 3), column.slice(3)], column.type, percent)
    found = spread.added("cost", column, uniform).to_pylist()
    expected = reference.noisy(numbers, percent, uniform.tolist())
    step = 10.0**spread.exponent
    # a number in the middle of two steps may be either
    assert all(abs(a - float(b)) <= step * 1.001 for a, b in zip(found, expected, strict=True))
    assert sum(abs(a - float(b)) > step / 1000 for a, b in zip(found, expected, strict=True)) <= len(numbers) / 10


def test_draws_are_uniform_independent_and_the_same_in_each_reading():
    whole = draws(0, 20_000, KEY)
    assert np.array_equal(np.concatenate([draws(0, 7, KEY), draws(7, 19_993, KEY)]), whole)
    # the deviations allowed are four standard errors of 20,000 draws
    assert whole.mean() == pytest.approx(0.5, abs=4 * (1 / 12 / 20_000) ** 0.5)
    assert whole.var() == pytest.approx(1 / 12, abs=4 * (1 / 180 / 20_000) ** 0.5)
    other = draws(0, 20_000, perturbation_key(KEY, "cost"))
    assert abs(np.corrcoef(whole, other)[0, 1]) < 4 / 20_000**0.5
    assert whole.min() > 0
    assert whole.max() < 1


def test_variance_rises_by_the_square_of_the_percentage():
    numbers = np.random.default_rng(1).normal(500, 200, 20_000)
    found = perturbed(pa.table({"cost": numbers}), {"cost": NoiseOf(50.0)})["cost"].to_numpy()
    assert found.var() / numbers.var() == pytest.approx(1.25, rel=0.03)
    assert abs(np.corrcoef(found - numbers, numbers)[0, 1]) < 0.03
    assert np.mean(found - numbers) == pytest.approx(0, abs=4 * 100 / 20_000**0.5)


def test_shares_stay_and_some_records_change():
    rng = np.random.default_rng(2)
    wards = rng.choice(["a", "b", "c"], 20_000, p=[0.7, 0.25, 0.05])
    found = perturbed(pa.table({"ward": wards}), {"ward": PramOf(0.6, 1.0)})["ward"].to_numpy(zero_copy_only=False)
    for ward in "abc":
        share = (wards == ward).mean()
        assert (found == ward).mean() == pytest.approx(share, abs=0.015)
    counts = [int((wards == ward).sum()) for ward in "abc"]
    matrix = reference.invariant_matrix(counts, 0.6, 1.0)
    kept = sum(count * matrix[i][i] for i, count in enumerate(counts)) / 20_000
    assert (found == wards).mean() == pytest.approx(float(kept), abs=0.015)


@pytest.mark.parametrize(
    ("column", "how", "kind"),
    [
        (pa.array([1, 500, None, 900], pa.int64()), NoiseOf(100.0), pa.int64()),
        (pa.array([1.5, 500.0, None, 900.0]), NoiseOf(5.0), pa.float64()),
        (
            pa.array([Decimal("1.5"), Decimal(500), None, Decimal(900)], pa.decimal128(12, 2)),
            NoiseOf(5.0),
            pa.decimal128(12, 2),
        ),
        (pa.array(["a", "b", None, "a"]).dictionary_encode(), PramOf(0.5, 1.0), pa.string()),
        (pa.array([1, 2, None, 2], pa.int8()), PramOf(0.5, 1.0), pa.int8()),
        (pa.array([True, False, None, True]), PramOf(0.5, 1.0), pa.bool_()),
    ],
)
def test_types_stay_and_missing_values_too(column, how, kind):
    found = perturbed(pa.table({"x": column}), {"x": how})["x"]
    assert found.type == kind
    assert [one is None for one in found.to_pylist()] == [False, False, True, False]


def test_texts_that_mean_a_missing_value_stay():
    table = pa.table({"ward": ["a", "b", "?", "a"] * 50})
    found = perturbed(table, {"ward": PramOf(0.5, 1.0, frozenset({"?"}))})["ward"].to_pylist()
    assert [one == "?" for one in found] == [one == "?" for one in table["ward"].to_pylist()]
    assert found != table["ward"].to_pylist()


@pytest.mark.parametrize(
    ("column", "how", "words"),
    [
        ([7, 7, 7], NoiseOf(10.0), "fewer than two of its numbers differ"),
        ([1, 2, 3], NoiseOf(10.0), "less than the step of int64"),
        ([-1e308, 1e308], NoiseOf(10.0), "too large for noise"),
        ([1.5, 2.5], PramOf(0.8, 0.5), "pram needs text, whole numbers"),
        (["a", "b"], PramOf(0.3, 0.5), "set it to 0.5 or more"),
        (["a", "a"], PramOf(0.8, 0.5), "fewer than 2 categories"),
        ([str(one) for one in range(MOST + 1)], PramOf(0.8, 0.5), "more than 1000 categories"),
    ],
)
def test_columns_that_cannot_be_perturbed_end_the_run(column, how, words):
    with pytest.raises(InvalidData, match=words) as problem:
        perturbed(pa.table({"x": column}), {"x": how})
    assert "'x'" in str(problem.value)


def test_another_key_draws_other_values():
    table = pa.table({"cost": np.arange(100.0)})
    first, second = (perturbed(table, {"cost": NoiseOf(50.0)}, key)["cost"] for key in (KEY, bytes(32)))
    assert first == perturbed(table, {"cost": NoiseOf(50.0)})["cost"]
    assert first != second
