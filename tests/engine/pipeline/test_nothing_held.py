"""The counts of the source are gone before the output is counted: each takes as much memory as the other."""

from __future__ import annotations

import gc

import pytest

import engine.pipeline.verified
from engine import run
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.release.transform import Transformation
from tests.engine.series.nights import job, patients, table


def counts():
    gc.collect()
    return {id(one) for one in gc.get_objects() if isinstance(one, FrequencyTable | Transformation)}


@pytest.mark.parametrize("output", ["series", "folder", "memory"])
def test_the_counts_of_the_source_are_gone_when_the_output_is_counted(output, tmp_path, monkeypatch):
    document = job(tmp_path).model_dump(mode="json", exclude_unset=True)
    if output != "series":
        del document["series"]
    if output == "memory":
        del document["output"]
    people, seen = table(patients(60)), []
    made, count = engine.pipeline.verified.unverified_output, engine.pipeline.verified.classes_of_output

    def making(*arguments):
        before = counts()
        found = made(*arguments)
        seen.append(counts() - before)
        return found

    def counting(*arguments):
        seen.append(counts() - before)
        return count(*arguments)

    before = counts()
    monkeypatch.setattr("engine.pipeline.verified.unverified_output", making)
    monkeypatch.setattr("engine.pipeline.verified.classes_of_output", counting)
    run(document, table=people)
    assert seen == [set(), set()]
