"""(k,e)-anonymity by hand: what counts as a number, that numbers are compared exactly, and what a job must declare."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidData, InvalidJob, NoSolution, load_job, run, verify
from engine.privacy.models.k_e_anonymity import KEAnonymity
from tests.engine import build
from tests.engine.strategies import NUMBERS
from tests.profiles import examples
from tests.reference.privacy import holds

EXACT = settings(deadline=None, max_examples=examples(250))


def judged(k, e, classes):
    """Judge classes, given as lists of texts, of one table; return which hold, and the figure of all of them."""
    problem = {
        "records": [((name,), {"n": n}) for name, values in classes.items() for n in values],
        "hierarchies": [[(name, "*") for name in classes]],
        "trees": {"n": None},
    }
    partition = build.counted(problem).partition((0,))
    model = KEAnonymity(attribute="n", k=k, e=e)
    every = np.ones(partition.size, np.bool_)
    holding = dict(zip(sorted(classes), (~model.violated(partition)).tolist(), strict=True))
    return holding, model.observed(partition, every)


@pytest.mark.parametrize(
    ("k", "e", "values", "found"),
    [
        (2, 8, ["2", "10"], True),
        (2, 8.5, ["2", "10"], False),
        (3, 8, ["2", "10"], False),
        (3, 8, ["2", "3", "10", "3"], True),
        # one number written in three ways
        (2, 1, ["1", "1.0", "01"], False),
        (3, 1, ["1", "1.0", "2", "2e0"], False),
        # a missing value is none of the numbers, and no end of their range
        (3, 8, ["2", None, "10"], False),
        (2, 2.5, [None, "2", "4"], False),
        (2, 2, [None, "2", "4"], True),
        (2, 0.5, [None, None], False),
        (2, 5, ["-3", "2"], True),
        # 0.3 - 0.2 is less than 0.1 in doubles
        (2, 0.1, ["0.2", "0.3"], True),
        # doubles do not tell these apart
        (2, 1, ["9007199254740992", "9007199254740993"], True),
        (2, 1, ["9007199254740992", "9007199254740992.5"], False),
        (2, 1e-30, ["1", "1.000000000000000000000000000001"], True),
        (2, 2e-30, ["1", "1.000000000000000000000000000001"], False),
    ],
)
def test_a_class_by_hand(k, e, values, found):
    assert judged(k, e, {"a": values, "b": ["0", "5"]})[0]["a"] is found


def test_the_figure_is_the_smallest_range():
    assert judged(2, 1, {"a": ["1", "4"], "b": ["2", "4.5", "3"], "c": ["-9", None, "9"]})[1] == 2.5
    assert judged(2, 1, {"a": ["1", "4"], "b": [None, None]})[1] == 0.0
    assert judged(2, 1, {"a": [None]})[1] == 0.0


@pytest.mark.parametrize("value", ["1e300", "-1e999999999", "1e-999999999", "1" + "0" * 300])
def test_numbers_that_no_double_holds_are_refused(value):
    with pytest.raises(InvalidData, match=r"column 'n': distinct values that are not between .*: 1;") as raised:
        judged(2, 1, {"a": ["0", "0e-999999999", "1", value]})
    assert value not in str(raised.value)


CLASS = st.lists(st.sampled_from(NUMBERS), max_size=4)


@EXACT
@given(CLASS, CLASS, st.integers(2, 4), st.sampled_from([0.5, 3.0, 7.5, 8.0, 11.0]))
def test_what_is_added_to_a_class_that_holds_lets_it_hold(members, others, k, e):
    model = {"model": "k-e-anonymity", "k": k, "e": e}
    if holds(members, members, model):
        assert judged(k, e, {"a": members + others})[0]["a"] is True


def document(order, **changes):
    sensitive = {"role": "sensitive", **({} if order is None else {"order": order})}
    return {
        "name": "incomes",
        "attributes": {
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 2}},
            "income": sensitive,
        },
        "privacy": [{"model": "k-e-anonymity", "attribute": "income", "k": 3, "e": 20.0}],
        **changes,
    }


def must_be_number(order):
    return f"privacy.0: .*attributes.income.order is '{order}'; allowed are 'integer' and 'decimal', set"


@pytest.mark.parametrize("order", ["text", "date"])
def test_the_attribute_must_be_ordered_by_number(order):
    with pytest.raises(InvalidJob, match=must_be_number(order)):
        load_job(document(order))


@pytest.mark.parametrize(("kind", "order"), [(pa.string(), "text"), (pa.date32(), "date")])
def test_so_must_its_column_where_the_job_gives_no_order(kind, order):
    table = TABLE.set_column(1, "income", TABLE["income"].cast(pa.int32()).cast(kind))
    with pytest.raises(InvalidJob, match=must_be_number(order)):
        run(load_job(document(None)), table)


@pytest.mark.parametrize("change", [{"k": 1}, {"k": 2.5}, {"e": 0}, {"e": -1.0}, {"e": "20"}, {"e": float("inf")}])
def test_parameters_out_of_range_are_refused(change):
    model = {"model": "k-e-anonymity", "attribute": "income", "k": 3, "e": 20.0, **change}
    with pytest.raises(InvalidJob, match=rf"privacy.0.{next(iter(change))}: "):
        load_job(document("decimal", privacy=[model]))


TABLE = pa.table(
    {
        "zip": ["11", "11", "11", "12", "12", "12", "21", "21", "21", "33"],
        # of 11 three incomes 30 apart, of 12 three that are 2 apart, of 21 two and a missing one
        "income": pa.array([10, 25, 40, 50, 51, 52, 5, 65, None, 70], pa.int64()),
    }
)


@pytest.mark.parametrize("order", ["integer", "decimal", None])
def test_a_run_generalizes_and_suppresses_until_it_holds(order):
    job = load_job(document(order, suppression_limit=0.4))
    result = run(job, TABLE)
    # 11 and 12 together span 10 to 52; 21 has two numbers, 33 one: these four of ten records may go
    assert result.report["solution"]["levels"] == {"zip": 1}
    assert result.report["solution"]["suppressed"] == 4
    assert result.table["zip"].to_pylist() == ["*"] * 4 + ["1*"] * 6
    [entry] = result.report["privacy"]
    assert (entry["holds"], entry["observed"], entry["required"], entry["sense"]) == (True, 42.0, 20.0, "at-least")
    assert entry["margin"] == pytest.approx(1 - 20 / 42)
    assert entry["description"] == "(3,20)-anonymity of income"
    assert all(finding.holds for finding in verify(result.table, job, result.report))


def test_a_large_range_is_told_in_full():
    assert KEAnonymity(attribute="income", k=3, e=1_250_000).describe() == "(3,1250000)-anonymity of income"


def test_values_that_are_no_numbers_end_the_run():
    with pytest.raises(InvalidData, match=r"column 'income': distinct values that are no integer: 1; .*income.order"):
        run(load_job(document("integer")), TABLE.set_column(1, "income", pa.array(["1", *["x"] * 9])))


def test_a_range_that_the_table_has_not_has_no_solution():
    privacy = [{"model": "k-e-anonymity", "attribute": "income", "k": 3, "e": 65.5}]
    with pytest.raises(NoSolution):
        run(load_job(document("decimal", privacy=privacy)), TABLE)


def test_a_release_without_the_range_is_found():
    job = load_job(document("integer", suppression_limit=0.4))
    result = run(job, TABLE)
    harmed = result.table.set_column(1, "income", pa.array([5, 65, None, 70, 10, 11, 12, 13, 14, 15], pa.int64()))
    failing = [finding.check for finding in verify(harmed, job, result.report) if not finding.holds]
    assert failing == ["k-e-anonymity", "suppressed-class", "figures"]
