"""How values are read of which a report tells distributions, and that records are seen as they are released."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from engine import InvalidData, run
from engine.usefulness.records import Reading, Tally
from tests.engine.usefulness.stays import job, stays


@pytest.mark.parametrize(
    ("column", "reading", "expected"),
    [
        (pa.array([1, None, 3]), {}, [1.0, None, 3.0]),
        (pa.array([1.5, float("nan")]), {}, [1.5, None]),
        (pa.array(["1", "?", "x", None]), {"missing": frozenset("?")}, ["1", None, "x", None]),
        (pa.array(["1", "?", "2.5"]), {"missing": frozenset("?"), "numeric": True}, [1.0, None, 2.5]),
        (pa.array(["one", "2"]), {"numeric": True}, [None, 2.0]),
        (pa.array([dt.date(1999, 12, 31), None]), {}, ["1999", None]),
        (pa.array([0], pa.timestamp("s")), {}, ["1970"]),
        (pa.array([True, False]), {}, ["true", "false"]),
    ],
)
def test_values_are_numbers_years_or_texts(column, reading, expected):
    assert Reading("x", **reading).values(column) == expected


def test_batches_are_counted_by_whether_the_file_shows_them():
    tally = Tally()
    for column, shown in ((["a", "b", None, "a"], [1, 0, 1, 1]), (["a", None], [0, 0])):
        tally.add(pa.array(column), Reading("x"), np.array(shown, np.bool_))
    assert tally.of_value == {"a": [2, 1], "b": [0, 1], None: [1, 1]}


def test_a_column_that_cannot_be_compared_is_refused_before_anything_is_read():
    attributes = {**job().document()["attributes"], "tags": {"role": "insensitive"}}
    schema = pa.schema([*stays(20).schema, pa.field("tags", pa.list_(pa.string()))])

    class Unread:
        def __init__(self):
            self.schema = schema

        def batches(self, columns):
            pytest.fail(f"{columns} were read")

    with pytest.raises(InvalidData, match="column 'tags': type list has no text form"):
        run(job({"columns": ["tags"]}, attributes=attributes), Unread())
