"""A table that was counted before: the same release, and no use of the counts where records change on their way."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import CountedTable, InvalidData, run

ROWS = [{"id": f"p{n // 2}", "age": n % 3, "sex": "fm"[n % 2], "days": n, "code": "abc"[n % 3]} for n in range(24)]
COUNTED = ["age", "sex", "code"]


@pytest.fixture
def path(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "source.parquet")
    return tmp_path / "source.parquet"


def counted(path, columns=COUNTED):
    counts = Counter(tuple(row[name] for name in columns) for row in ROWS)
    rows = [dict(zip(columns, values, strict=True)) for values in counts]
    return CountedTable(path, pa.Table.from_pylist(rows), pa.array(counts.values(), pa.int64()))


def job(path, **changes):
    quasi = {name: {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}} for name in ("age", "sex")}
    others = {"days": {"role": "insensitive"}, "code": {"role": "sensitive"}, **changes.pop("attributes", {})}
    return {
        "name": "counted",
        "source": {"path": str(path)},
        "attributes": {"id": {"role": "identifying"}, **quasi, **others},
        **({} if "subject" in changes else {"unit": "record"}),
        "privacy": [
            {"model": "k-anonymity", "k": 3},
            {"model": "t-closeness", "distance": "equal", "attribute": "code", "t": 0.9},
        ],
        "suppression_limit": 0.5,
        "allow_empty_information": True,
        **changes,
    }


def told(document, table=None):
    result = run(document, table, rows_key=bytes(32))
    report = {key: value for key, value in result.report.items() if key not in {"timings", "search"}}
    return report, Counter(map(repr, result.table.to_pylist()))


AVERAGE = [{"model": "k-anonymity", "k": 3}, {"model": "average-risk", "threshold": 0.5}]


@pytest.mark.parametrize(
    ("changes", "is_asked"),
    [
        ({}, True),
        ({"subject": "id"}, True),
        ({"transformation": "local-recoding"}, True),
        ({"subject": "id", "max_rows": 1}, False),
        ({"sample": {"fraction": 0.9}}, False),
        ({"attributes": {"days": {"role": "insensitive", "coding": {"top": 9}}}}, False),
        ({"privacy": AVERAGE}, False),
    ],
)
def test_the_release_is_that_of_counting_all_rows(path, changes, is_asked):
    table, document = counted(path), job(path, **changes)
    assert told(document, table) == told(document)
    assert table.asked == is_asked


def test_one_combination_may_come_twice(path):
    """More columns were counted than the job reads together."""
    table = counted(path, [*COUNTED, "days"])
    assert told(job(path), table) == told(job(path))
    assert table.asked


@pytest.mark.parametrize(
    ("columns", "counts", "why"),
    [
        ({"age": [0, 1]}, [12, 11], "do not come to the records"),
        ({"age": [0, 1]}, [24, 0], "a number of records that is none"),
        ({"age": [0, 1]}, [25, -1], "a number of records that is none"),
        ({"age": [0, 1]}, [24], "a number of records that is none"),
        ({"age": [0, 1]}, [24, None], "a number of records that is none"),
        ({"age": ["0", "1"]}, [12, 12], "other types"),
        ({"weight": [0, 1]}, [12, 12], "other columns"),
    ],
)
def test_counts_of_something_else_are_refused(path, columns, counts, why):
    with pytest.raises(InvalidData, match=why):
        CountedTable(path, pa.table(columns), pa.array(counts, pa.int64()))
