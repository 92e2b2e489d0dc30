"""The recount of (k,e)-anonymity, by hand, against plain Python and against the engine's own judgement."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidData, InvalidJob, recount
from tests.engine.verification.verified import MANY, ROWS, judged, released
from tests.reference.privacy import holds, spread

DECIMAL = {"order": "decimal"}


def model(k, e):
    return {"model": "k-e-anonymity", "attribute": "s", "k": k, "e": e}


@pytest.mark.parametrize(
    ("k", "e", "holds", "observed"),
    [(2, 2.5, True, 2.5), (2, 2.6, False, 2.5), (3, 2.5, False, 2.5)],
)
def test_the_worst_class_decides(k, e, holds, observed):
    # what is suppressed has no say; 1 and 1.0 are one number, a missing value is none
    table = released({"x": ["1", "4", "1.0", "9"], "y": ["2", "4.5", None], "*": ["3"]})
    finding = recount(table, ["q"], model(k, e), DECIMAL)
    assert (finding.holds, finding.observed, finding.required, finding.sense) == (holds, observed, e, "at-least")
    assert (finding.check, finding.column) == ("k-e-anonymity", "s")


def test_numbers_are_compared_without_rounding():
    # both are wrong in doubles
    assert recount(released({"x": ["0.2", "0.3"]}), ["q"], model(2, 0.1), DECIMAL).holds is True
    near = released({"x": ["9007199254740992", "9007199254740992.5"]})
    assert recount(near, ["q"], model(2, 1.0), DECIMAL).holds is False


def test_a_class_without_a_number_has_no_range():
    finding = recount(released({"x": [None, None], "y": ["1", "5"]}), ["q"], model(2, 1.0), DECIMAL)
    assert (finding.holds, finding.observed) == (False, 0.0)


def test_columns_of_numbers_are_read_as_they_show():
    for kind in (pa.int64(), pa.float64(), pa.decimal128(9, 3)):
        table = released({"x": ["1", "2", "4"]})
        table = table.set_column(1, "s", table["s"].cast(kind))
        finding = recount(table, ["q"], model(3, 3.0), DECIMAL)
        assert (finding.holds, finding.observed) == (True, 3.0)


@pytest.mark.parametrize("attribute", [{"order": "text"}, {"order": "date"}])
def test_an_attribute_that_is_not_ordered_by_number_is_refused(attribute):
    with pytest.raises(InvalidJob, match=r"attributes.s.order: k-e-anonymity needs integer or decimal"):
        recount(released({"x": ["1", "2"]}), ["q"], model(2, 1.0), attribute)


@pytest.mark.parametrize(
    ("order", "value", "text"),
    [
        ("decimal", "four", "distinct values that are no decimal: 1;"),
        ("integer", "1.5", "distinct values that are no integer: 1;"),
        ("decimal", "1e300", r"distinct values that are not between 1E-300 and 1E\+300 in size: 1;"),
        ("decimal", "-1e-999999999", "distinct values that are not between .*: 1;"),
    ],
)
def test_what_is_no_such_number_is_refused(order, value, text):
    with pytest.raises(InvalidData, match=text) as raised:
        recount(released({"x": ["1", value]}), ["q"], model(2, 1.0), {"order": order})
    assert value not in str(raised.value)


@MANY
@given(
    ROWS,
    st.builds(model, st.integers(2, 4), st.sampled_from([0.5, 1.0, 7.0, 8.0, 10.0, 11.0])),
    st.sampled_from(["integer", "decimal"]),
)
def test_any_table_is_judged_as_in_plain_python_and_as_the_engine_judges_it(rows, parameters, order):
    table = pa.table({"q": [label for label, _ in rows], "s": pa.array([value for _, value in rows], pa.string())})
    finding = recount(table, ["q"], parameters, {"order": order})
    classes = defaultdict(list)
    for label, value in rows:
        classes[label].append(value)
    if len(classes) > 1:
        classes.pop("*", None)
    assert finding.holds == all(holds(members, members, parameters) for members in classes.values())
    assert finding.observed == float(min(map(spread, classes.values())))
    assert (finding.holds, finding.observed) == judged(table, parameters, SimpleNamespace(order=order, hierarchy=None))
