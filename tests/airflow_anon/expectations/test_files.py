"""Files around a validation: types of a source, and a result that appears whole or not at all."""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_anon.transport.staged_files import beside, column_types, write_json


def test_types_of_a_source(tmp_path):
    """Types are those of Arrow; a dictionary-encoded column counts as its values, as it is released."""
    table = pa.table(
        {
            "days": pa.array([1], pa.int16()),
            "ward": pa.array(["a"]).dictionary_encode(),
            "seen": pa.array([0], pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table, tmp_path / "source.parquet")
    expected = {"days": "int16", "ward": "string", "seen": "timestamp[us, tz=UTC]"}
    assert column_types(str(tmp_path / "source.parquet")) == expected


def test_result_is_replaced_whole(tmp_path):
    """What cannot be written as plain JSON leaves the earlier file, and nothing half-done."""
    path = beside(f"file://{tmp_path}/release/", "validation.json")
    digest = write_json(path, {"success": False})
    content = (tmp_path / "validation.json").read_bytes()
    assert (json.loads(content), hashlib.sha256(content).hexdigest()) == ({"success": False}, digest)
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"success": float("nan")})
    assert [file.name for file in tmp_path.iterdir()] == ["validation.json"]
    assert (tmp_path / "validation.json").read_bytes() == content
