"""Records of a release beside those of the source: the same sensitive values in each class, whatever their type is."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from engine import load_job, run
from engine.verification import check_source_rows, class_table, release_of

VALUES = {
    "text": pa.array(["x", "", " ", "?", "NA", None]),
    "whole numbers": pa.array([0, 1, -1, None], pa.int16()),
    "doubles": pa.array([0.1, 1e22, -2.5, None]),
    "decimals": pa.array([Decimal("1.50"), Decimal("2.25")], pa.decimal128(8, 2)),
    "dates": pa.array([dt.date(2020, 1, 1), dt.date(2020, 2, 29), None]),
    "moments": pa.array([dt.datetime(2020, 1, 1, 5, 6, 7), None], pa.timestamp("us")),  # noqa: DTZ001 (without a zone)
    "truth values": pa.array([True, False, None]),
    "dictionary": pa.array(["x", "y", None]).dictionary_encode(),
}


def released(folder, values, *, suppressed="star", missing=()):
    """Release a table of which five groups have records enough, and one has not; give what to compare."""
    draw = random.Random(1)
    groups = [f"g{place % 5}" for place in range(60)] + ["rare"] * 2
    places = pa.array([draw.randrange(len(values)) for _ in groups])
    table = pa.table({"group": groups, "s": values.take(places)})
    pq.write_table(table, folder / "source.parquet", row_group_size=17)
    attributes = {
        "group": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
        "s": {"role": "sensitive", "missing": list(missing)},
    }
    document = {
        "name": "groups",
        "unit": "record",
        "source": {"path": str(folder / "source.parquet")},
        "attributes": attributes,
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "suppression_limit": 0.2,
        "output": {"path": str(folder / "release"), "suppressed": suppressed},
    }
    job = load_job(document)
    result = run(job)
    assert "rare" not in result.table["group"].to_pylist()
    return table, result, job


def compared(job, result, table, source=None):
    job = job if source is None else job.with_source(str(source))
    return check_source_rows(class_table(release_of(job, table), job), job, result.published)


@pytest.mark.parametrize("suppressed", ["star", "drop"])
@pytest.mark.parametrize("kind", list(VALUES))
def test_values_are_those_of_the_source_in_any_type(tmp_path, kind, suppressed):
    """Also beside a CSV file of it, which has no other form of a missing value than an empty text."""
    table, result, job = released(tmp_path, VALUES[kind], suppressed=suppressed, missing=["?"])
    assert compared(job, result, result.table).holds
    plain = table.set_column(1, "s", table["s"].cast(pa.string()))
    pyarrow.csv.write_csv(plain, tmp_path / "export.csv")
    assert compared(job, result, result.table, tmp_path / "export.csv").holds


@pytest.mark.parametrize("kind", list(VALUES))
def test_values_of_two_classes_that_changed_places_are_found(tmp_path, kind):
    """No class has another size by that, and the column has the same values as before."""
    _, result, job = released(tmp_path, VALUES[kind])
    records = result.table.to_pylist()
    one = next(record for record in records if record["group"] == "g0" and record["s"] not in (None, ""))
    other = next(record for record in records if record["group"] == "g1" and record["s"] != one["s"])
    one["s"], other["s"] = other["s"], one["s"]
    changed = pa.Table.from_pylist(records, result.table.schema)
    assert Counter(map(str, changed["s"].to_pylist())) == Counter(map(str, result.table["s"].to_pylist()))
    found = compared(job, result, changed)
    assert not found.holds
    assert str(found.message) == "number of its records: 62; classes of the release have other values in 's'"


def test_values_of_suppressed_records_are_not_compared(tmp_path):
    """Their class has those of whichever records were suppressed: what is kept tells how many these are."""
    _, result, job = released(tmp_path, pa.array([*"abcdefgh"]))
    assert result.report["suppressed_class"]["form"] in ("star", "drop")
    records = result.table.to_pylist()
    for record in records:
        record["s"] = "other" if record["group"] == "*" else record["s"]
    assert compared(job, result, pa.Table.from_pylist(records, result.table.schema)).holds


def test_a_column_of_a_type_that_the_source_cannot_have_is_not_compared(tmp_path):
    _, result, job = released(tmp_path, VALUES["dates"])
    table = pq.read_table(tmp_path / "source.parquet")
    other = table.set_column(1, "s", pa.array(["1st of January"] * 62))
    pq.write_table(other, tmp_path / "other.parquet")
    assert compared(job, result, result.table, tmp_path / "other.parquet").holds
