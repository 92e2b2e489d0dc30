"""A staged release of the engine, and ways to harm it."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.operators.validate import ValidateReleaseOperator
from engine import run, write_manifest
from tests.airflow_anon.expectations import build


@contextmanager
def refused(match):
    """Expect a failure for good, and what the log says of it; give a list that holds its text then."""
    told = []
    with pytest.raises(AirflowFailException) as caught:
        yield told
    told.append(getattr(caught.value, "details", str(caught.value)))
    assert re.search(match, told[0]), told[0]


class Staged:
    """A staged release and what the tasks before `validate` say about it."""

    def __init__(self, folder, **more):
        self.staging = folder / "DAG=1" / "run"
        self.release = self.staging / "release"
        self.staging.mkdir(parents=True)
        (folder / "hierarchies").mkdir()
        self.job = build.job(folder / "hierarchies")
        self.source = self.staging / "source.parquet"
        pq.write_table(build.source(), self.source)
        self.manifest_sha256 = run(self.job, build.source(), output=self.release, **more).manifest_sha256

    @property
    def validation(self):
        return self.staging / "validation.json"

    def operator(self, **changes):
        arguments = {
            "job": self.job,
            "release": str(self.release),
            "manifest_sha256": self.manifest_sha256,
            "source": str(self.source),
            "source_rows": 13,
        }
        return ValidateReleaseOperator(task_id="validate", **{**arguments, **changes})

    def validate(self, **changes):
        return self.operator(**changes).execute({})

    def refused(self, match, **changes):
        """Validate, which must fail for good; give the error's text."""
        with refused(match) as told:
            self.validate(**changes)
        return told[0]

    def defect(self, harm):
        """Change the table as an engine with a defect would: the manifest fits what was written."""
        data = self.release / "data.parquet"
        table = harm(pq.ParquetFile(data).read())
        pq.write_table(table, data)
        self.manifest_sha256 = write_manifest(self.release)


def flip_byte(staged):
    """Change one bit in the middle of the data."""
    data = staged.release / "data.parquet"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(bytes(content))
