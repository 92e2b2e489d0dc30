"""How often the most frequent value of a class is right: in the report, recounted, and without small counts."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_anon.expectations.attribute_inference import inference_shares
from airflow_anon.expectations.class_table import class_table
from engine import load_job, run, verify
from engine.pipeline.attribute_inference import attribute_inference
from engine.tables.class_table import count_classes
from engine.verification.checks.attribute_inference import recount_inference
from tests.reference.inference import share_right

RECORD = st.tuples(
    st.sampled_from(["a", "b", "*"]), st.sampled_from(["x", None, "*"]), st.sampled_from("uvw") | st.none()
)


@settings(deadline=None)
@given(st.lists(RECORD, max_size=20), st.integers(1, 4))
def test_all_three_find_what_counting_by_hand_finds(records, smallest):
    columns = [list(column) for column in zip(*records, strict=True)] or [[], [], []]
    table = pa.table({name: pa.array(column, pa.string()) for name, column in zip("pqs", columns, strict=True)})
    expected = {
        "by_class": share_right([((p, q), s) for p, q, s in records], smallest),
        "by_table": share_right([((), s) for _, _, s in records], smallest),
    }
    classes = count_classes(table.schema, table.to_batches(), ["p", "q"], ["s"])
    assert attribute_inference(classes, smallest) == {"s": expected}
    assert recount_inference(classes, smallest) == {"s": expected}
    assert inference_shares(class_table(table, ["p", "q"], ["s"]), "s", smallest) == expected


AGE = {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "maximum_level": 0}
JOB = {
    "name": "people",
    "attributes": {"age": AGE, "d": {"role": "sensitive"}, "ward": {"role": "sensitive"}},
    "privacy": [{"model": "k-anonymity", "k": 3}],
}
TABLE = pa.table({"age": ["31"] * 6 + ["40"] * 12, "d": ["u", "v", "v"] * 6, "ward": pa.array([7] * 18, pa.int32())})


def test_every_sensitive_column_is_in_the_report_and_recounted():
    result = run(JOB, TABLE)
    assert result.report["attribute_inference"] == {
        "d": {"by_class": 12 / 18, "by_table": 12 / 18},
        "ward": {"by_class": 1.0, "by_table": 1.0},
    }
    assert (result.report["risk"]["records_below_11"], result.report["risk"]["share_below_11"]) == (6, 6 / 18)
    job = load_job(JOB)
    report = json.loads(json.dumps(result.report))
    report["attribute_inference"]["d"]["by_class"] = 0.5
    assert [one.check for one in verify(result.table, job, report) if not one.holds] == ["figures"]


@pytest.mark.parametrize("lacking", ["attribute_inference", "below"])
def test_a_report_of_an_earlier_version_is_still_verified(lacking):
    result = run(JOB, TABLE)
    report = json.loads(json.dumps(result.report))
    if lacking == "below":
        del report["risk"]["records_below_11"], report["risk"]["share_below_11"]
    else:
        del report[lacking]
    assert all(one.holds for one in verify(result.table, load_job(JOB), report))


def test_a_share_that_tells_of_few_records_is_not_stated():
    """Of 18 records two are not of the most frequent value: the share would tell it."""
    table = TABLE.set_column(1, "d", pa.array(["v"] * 16 + ["u"] * 2))
    assert run(JOB, table).report["attribute_inference"]["d"] == {"by_class": None, "by_table": None}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[i % 3] for i in range(18)]),
        pa.array([b"u" if i % 2 else b"v" for i in range(18)]),
        pa.array([b"uv"] * 18, pa.binary(2)),
        pa.array([b"uv"] * 18, pa.large_binary()),
    ],
    ids=lambda column: str(column.type),
)
def test_all_judges_state_nothing_of_a_column_without_text(column):
    result = run(JOB, TABLE.set_column(1, "d", column))
    assert result.report["attribute_inference"]["d"] == {"by_class": None, "by_table": None}
    assert all(one.holds for one in verify(result.table, load_job(JOB), result.report))
    classes = class_table(result.table, ["age"], ["d"])
    assert inference_shares(classes, "d", 3) == {"by_class": None, "by_table": None}
