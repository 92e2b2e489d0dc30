"""Wherever a run of a series is killed, vault and folder agree after the next one, and no trace is below k.

The process that runs is forked and ends, without any clean-up: once after each change of what is on disk, and in the
thorough profile also before each line of what writes vault and folder. Nothing is put back in between: each point is in
a night of its own.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import engine
from engine import run
from engine.job.open_series import open_series
from engine.pipeline.release import check_manifest
from tests.airflow_anon.publication.killing import killed_at, points_of
from tests.engine.series.nights import in_file, job, patients, stated, table
from tests.reference import traces

PACKAGE = Path(engine.__file__).resolve().parent
PARTS = tuple(
    str(PACKAGE / name)
    for name in (
        "series/vault",
        "pipeline/swapped_folder.py",
        "pipeline/release.py",
        "pipeline/run.py",
        "pipeline/verified.py",
        "pipeline/written_documents.py",
        "pipeline/unverified.py",
    )
)
MEMORY = 4


@pytest.mark.slow
@pytest.mark.parametrize("departures", [pytest.param("cover", marks=pytest.mark.thorough), "keep"])
def test_vault_and_folder_agree_wherever_a_run_was_killed(tmp_path, departures):
    people, seen = patients(60), []

    def settings():
        return job(tmp_path, memory=MEMORY, series={"departures": departures})

    def night():
        run(settings(), table=table(people))

    def look():
        check_manifest(tmp_path / "release")
        release_id = stated(tmp_path)["release_id"]
        if not seen or seen[-1][0] != release_id:
            seen.append((release_id, in_file(pq.ParquetFile(tmp_path / "release/data.parquet").read())))

    night()
    look()
    points = points_of(night, tmp_path, parts=PARTS)
    look()
    assert len(points) > 6
    for number, point in enumerate(points):
        people.pop(number % 60, None)
        people |= patients(1, seed=number, begin=100 + number)
        assert killed_at(point, night, PARTS)
        look()
        night()
        look()
        known = open_series(settings(), "").vault.known()
        assert {one.state for one in known} == {"confirmed"}
        assert [one.release_id for one in known] == [release_id for release_id, _ in seen[-MEMORY:]]
        assert traces.smallest([night_of for _, night_of in seen[-MEMORY:]]) >= 3
