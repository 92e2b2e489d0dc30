"""Two hundred nights of one process: who arrives, leaves, dies, moves, is corrected or withdraws consent.

Memory, open files, the vault and the folder do not grow without bound, and no trace of any night is below k.
"""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import psutil
import pytest

from engine import NoSolution, run
from engine.job.open_series import open_series
from tests.engine.series.nights import in_file, job, patients, table
from tests.profiles import thorough
from tests.reference import traces

NIGHTS = 200 if thorough() else 9
MEMORY = 10 if thorough() else 4
PERSONS = 400


def next_night(people, night, random, opened):
    """Change who is in the table, and how: 1% arrive, 1% leave, some move, are corrected, come back or withdraw."""
    numbers = list(people)
    for number in random.choice(numbers, 4, replace=False).tolist():
        people.pop(number)
    moves, corrected, withdrawn = random.choice(list(people), 3, replace=False).tolist()
    age, ward, value = people[moves]
    people[moves] = (age, 3 - ward, value)
    age, ward, value = people[corrected]
    people[corrected] = (age, ward, "d")
    if night % 10 == 0:
        people.pop(withdrawn)
        opened.vault.forget(opened.key.ids([f"MRN{withdrawn}"]))
    people |= patients(4, seed=night, begin=10_000 + 10 * night)
    if night % 7 == 0:
        people |= {numbers[0]: (30, 0, "a")}  # comes back, or is another one now


@pytest.mark.slow
@pytest.mark.parametrize("departures", ["cover", pytest.param("keep", marks=pytest.mark.thorough)])
def test_nothing_grows_over_many_nights(tmp_path, departures):
    random, process = np.random.default_rng(1), psutil.Process()
    one = job(
        tmp_path,
        3,
        2,
        memory=MEMORY,
        stability={"keep_levels": True},
        series={"departures": departures, "arrivals": "coarsen"},
    )
    people, seen, measured = patients(PERSONS), [], []
    for night in range(NIGHTS):
        try:
            released = in_file(run(one, table=table(people)).table)
        except NoSolution:
            continue
        finally:
            next_night(people, night, random, open_series(one, ""))
        seen = [*seen[1 - MEMORY :], released]
        assert traces.smallest(seen) >= 3
        assert traces.fewest_values(seen) >= 2
        gc.collect()
        files = sum(path.stat().st_size for path in (tmp_path / "release").iterdir())
        measured.append((process.memory_info().rss, process.num_fds(), Path(one.series.vault).stat().st_size, files))
    assert len(measured) > NIGHTS * 0.9
    half = len(measured) // 2
    print(f"{departures}: after {half} and {len(measured)} nights {measured[half]} {measured[-1]}")  # noqa: T201
    (memory, files, vault, folder), (memory_now, files_now, vault_now, folder_now) = measured[half], measured[-1]
    assert files_now <= files
    assert memory_now < memory + 64 * 2**20
    assert vault_now < 2 * vault
    assert folder_now < 1.5 * folder
    assert sorted(path.name for path in Path(tmp_path).iterdir() if not path.name.startswith("vault")) == [
        "key",
        "release",
    ]
