"""Opens the series of a job: its vault and its key.

In: a job, and what only an orchestrator knows. Out: a `SeriesRun`. What must not change within a series has a check
value in the vault, and so has the key: with another one nobody would be known again, and all would seem new.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import InvalidJob, VaultRefused, VerificationFailed
from engine.job.document import without_folders
from engine.job.job import Job
from engine.key_file import KeyFile
from engine.series.evidence import SeriesEvidence, evidence_in
from engine.series.keyed_ids import SeriesKey
from engine.series.vault import Vault, knows_series
from engine.series.vault_database import VaultDatabase, VaultFile

_FIXED = ("role", "hierarchy", "missing", "unseen")
"""Keys of a column that must not change within a series."""


@dataclass(frozen=True, eq=False)
class SeriesRun:
    """The series of a run.

    Attributes
    ----------
    vault : Vault
    key : SeriesKey
    release_id : str
        Of tonight's release; ids of a series ascend.
    """

    vault: Vault
    key: SeriesKey
    release_id: str


def series_name(job: Job) -> str:
    """Return the name of a job's series in the vault."""
    assert job.series is not None  # noqa: S101 (the caller has asked)
    return job.name if job.series.begin is None else f"{job.name}/{job.series.begin}"


def open_series(
    job: Job,
    release_id: str,
    database: VaultDatabase | None = None,
    secret: bytes | None = None,
    *,
    make: bool = True,
) -> SeriesRun:
    """Open the series of a job.

    Parameters
    ----------
    release_id : str
        Of the release that is made or looked at.
    database : VaultDatabase, optional
        That of the vault, instead of the job's file.
    secret : bytes, optional
        The key, instead of the job's file.
    make : bool
        Make the files that are missing.

    Raises
    ------
    InvalidJob
        The key cannot be read or made, or is only known to Airflow, as is the vault.
    VaultRefused
        The file of the vault is missing, and must not be made; or that of the key is, and the vault knows the series.
    """
    assert job.series is not None  # noqa: S101 (the caller has asked)
    for name, given in (("vault_conn_id", database), ("key_conn_id", secret)):
        if getattr(job.series, name) is not None and given is None:
            raise InvalidJob(
                f"series.{name}: only Airflow's tasks know the connection {getattr(job.series, name)!r}; name a file "
                "to run the job elsewhere"
            )
    if not make and database is None and not Path(job.series.vault or "").is_file():
        raise VaultRefused(f"series.vault {job.series.vault}: is missing; restore it")
    place: VaultDatabase = VaultFile(Path(job.series.vault or "")) if database is None else database
    secret, name = secret or _key_of_file(job, place, make=make), series_name(job)
    vault = Vault(place, name, SeriesKey(secret, name).checks, job_check(job))
    return SeriesRun(vault, SeriesKey(secret, name, vault.spells_persons), release_id)


def series_evidence(job: Job, report: Mapping[str, Any] | None) -> SeriesEvidence:
    """Read what the job's own files hold of the release of a report.

    Raises
    ------
    InvalidJob, VaultRefused
        Key or vault cannot be used.
    VerificationFailed
        The report names no release, or one that the vault does not know.
    """
    stated = (report or {}).get("series")
    release_id = stated.get("release_id") if isinstance(stated, Mapping) else None
    if not isinstance(release_id, str) or job.series is None:
        raise VerificationFailed("report: names no release of a series; give the report of the run")
    opened = open_series(job, release_id, make=False)
    return evidence_in(opened.vault, opened.key, release_id, job.series.memory)


def job_check(job: Job) -> str:
    """Return a hash of what must not change within a series: models, columns, hierarchies, departures, values."""
    assert job.series is not None  # noqa: S101 (the caller has asked)
    document = without_folders(job.document())
    fixed = {
        "privacy": document["privacy"],
        "subject": job.subject,
        "departures": job.series.departures,
        # releases before judged fewer values, or told fewer traces apart
        **({"values": job.series.values} if job.series.judges_every_night else {}),
        "attributes": {
            name: {key: one[key] for key in _FIXED if key in one} for name, one in document["attributes"].items()
        },
    }
    return hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()


def _key_of_file(job: Job, vault: VaultDatabase, *, make: bool) -> bytes:
    assert job.series is not None  # noqa: S101 (the caller has asked)
    path = Path(job.series.key_file or "")
    # a new key beside an old vault would look like the one that is to be restored
    there = not isinstance(vault, VaultFile) or vault.path.exists()
    if make and there and not path.exists() and knows_series(vault, series_name(job)):
        raise VaultRefused(
            f"series.key_file {path}: is missing, and the vault was written with it, so that with a new key nobody "
            "would be known again; restore the key, or set series.begin to the name of a new series, about which "
            "nothing before it is promised"
        )
    file = KeyFile(
        path,
        "series.key_file",
        elsewhere="restore the key, or let the user that runs the job write into its folder",
        renewal="remove it, and set series.begin to the name of a new series",
        exposed="can find who is in the vault",
    )
    return file.read(make=make)[0]
