"""The part of `airflow-anon doctor` that looks at secret keys: of fingerprints, of a series, of pseudonyms and shifts.

In: the jobs of this installation. Out: one line per key; none is made, and none is told. Files of keys are those of
this machine, and belong to the user that runs the tasks: so doctor runs where they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from airflow.providers.common.compat.sdk import AirflowException

from airflow_anon.commands.looked import Looked
from airflow_anon.transport.fingerprint_key import fingerprint_key, key_file
from airflow_anon.transport.person_keys import passwords_of, places_of
from airflow_anon.transport.series_vault import series_of
from engine import EngineError, Job, KeyPlace, open_key

_FIRST_RUN = "is not there; the first run makes it"


def key_findings(jobs: list[Job]) -> Iterator[Looked]:
    """Look at the keys of jobs, and at that of fingerprints."""
    yield _of_fingerprints()
    for job in jobs:
        if job.series is not None:
            yield _of_series(job)
        yield from _of_persons(job)


def _of_fingerprints() -> Looked:
    file = key_file()
    if file is not None and not file.exists():
        return Looked("ok", "key of source fingerprints", f"{file}: {_FIRST_RUN}")
    return _opened("key of source fingerprints", lambda: fingerprint_key(make=False))


def _of_series(job: Job) -> Looked:
    assert job.series is not None  # noqa: S101 (the caller has asked)
    what, files = f"key of the series of job {job.name}", [job.series.key_file, job.series.vault]
    missing = [name for name in files if name is not None and not Path(name).exists()]
    if missing and missing == [name for name in files if name is not None]:
        return Looked("ok", what, f"{missing[0]}: {_FIRST_RUN}")
    return _opened(what, lambda: series_of(job, "", make=False))


def _of_persons(job: Job) -> Iterator[Looked]:
    for where, place in places_of(job).items():
        what = f"{where} of job {job.name}"
        if "key_id" not in place:
            yield Looked("warning", what, "has no key_id: the first run ends with the one to write")
        else:
            yield _opened(what, lambda where=where, place=place: _open(where, place))  # type: ignore[misc]


def _open(where: str, place: dict[str, str]) -> object:
    return open_key(where, KeyPlace(**place), passwords_of({where: place}), make=False)


def _opened(what: str, open_it: Callable[[], object]) -> Looked:
    try:
        open_it()
    except (AirflowException, EngineError) as problem:
        return Looked("problem", what, str(problem))
    return Looked("ok", what, "can be read")
