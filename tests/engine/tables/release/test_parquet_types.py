"""Columns that Parquet cannot hold are refused by name, at the end of a run that would write them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from engine import InvalidData, run

JOB = {
    "name": "types",
    "unit": "record",
    "attributes": {
        "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "found": {"role": "insensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
}
THOUSANDS = [Decimal("1E+3"), Decimal("2E+3"), Decimal("1E+3"), None]


def table_of(found):
    return pa.table({"sex": ["f", "f", "m", "m"], "found": found})


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (pa.array(THOUSANDS, pa.decimal128(5, -2)), "decimal128"),
        (pa.array(THOUSANDS, pa.decimal128(5, -2)).dictionary_encode(), "decimal128"),
        (pa.array([[one] for one in THOUSANDS], pa.list_(pa.decimal256(40, -2))), "list"),
        (pa.array([b"", b"", b"", None], pa.binary(0)), "fixed_size_binary"),
        (pa.array([[], [], [], None], pa.list_(pa.int32(), 0)), "fixed_size_list"),
        (pa.array([{}, {}, {}, None], pa.struct([])), "struct"),
        (pa.array([pa.MonthDayNano([1, 2, 3])] * 4), "month_day_nano_interval"),
    ],
)
def test_a_column_that_parquet_cannot_hold_is_named(tmp_path, found, kind):
    with pytest.raises(InvalidData, match=rf"^column 'found': has the type {kind}, and Parquet") as refused:
        run(JOB, table_of(found), output=tmp_path / "release")
    assert "whose scale is not negative" in str(refused.value)
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("kind", [pa.decimal32(5, 2), pa.decimal256(76, 76), pa.decimal128(5, 0)])
def test_decimals_of_other_scales_are_written(tmp_path, kind):
    cells = [Decimal(0).scaleb(-kind.scale), None, None, None]
    result = run(JOB, table_of(pa.array(cells, kind)), output=tmp_path / "release")
    assert result.table.schema.field("found").type == kind
    assert sorted(map(str, result.table.column("found").to_pylist())) == sorted(map(str, cells))


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_moment_that_cannot_be_written_is_told_by_its_column(unit):
    """Python cannot write it either, and says so by another error than that of an unknown zone."""
    found = pa.array([1 << 61, -(1 << 61), 3, None], pa.timestamp(unit))
    with pytest.raises(InvalidData, match=r"^column 'found': holds dates or times out of range"):
        run(JOB, table_of(found))
