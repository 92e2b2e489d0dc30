"""What is verified may be a table, a reader, a folder or a file: the same records give the same findings."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import InvalidData, load_job, run, verify
from tests.engine.verification.test_cases import JOB, PEOPLE


@pytest.mark.parametrize("harmed", [False, True])
def test_every_form_of_a_release_has_the_same_findings(tmp_path, harmed):
    result = run(JOB, PEOPLE, output=tmp_path / "release")
    job, report, data = load_job(JOB), result.report, tmp_path / "release" / "data.parquet"
    table = result.table
    if harmed:
        table = pa.concat_tables([table, table.slice(0, 1).set_column(0, "age", [["23"]])])
        pq.write_table(table, data)
    found = verify(table, job, report)
    assert all(finding.holds for finding in found) is not harmed
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))
    for release in (reader, tmp_path / "release", str(tmp_path / "release"), data):
        assert verify(release, job, report) == found


def test_a_reader_with_other_columns_is_not_read():
    def batches():
        raise AssertionError("records were read")
        yield

    schema = pa.schema([*PEOPLE.schema, ("other", pa.string())])
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    assert [finding.check for finding in verify(reader, load_job(JOB))] == ["columns"]


def test_what_is_no_release(tmp_path):
    job = load_job(JOB)
    with pytest.raises(InvalidData, match="release: is a list; give a pyarrow Table or RecordBatchReader, or the path"):
        verify([1], job)
    with pytest.raises(InvalidData, match=r"release .*nowhere: not found; give a release folder"):
        verify(tmp_path / "nowhere", job)
    (tmp_path / "data.parquet").write_bytes(b"PAR1 is not all")
    with pytest.raises(InvalidData, match=r"release .*data.parquet: cannot be read as Parquet"):
        verify(tmp_path, job)


def test_a_damaged_file(tmp_path):
    """The footer is whole, and so are the columns; their pages are not."""
    result = run(JOB, PEOPLE, output=tmp_path / "release")
    data = tmp_path / "release" / "data.parquet"
    content = data.read_bytes()
    data.write_bytes(content[:4] + bytes(200) + content[204:])
    with pytest.raises(InvalidData, match=r"release .*data.parquet: is a damaged Parquet file"):
        verify(data, load_job(JOB), result.report)
