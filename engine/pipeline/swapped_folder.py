"""A series that is published by the swap of a release folder, without an orchestrator.

In: a job and its release folder. Out: its series, in step with the folder. A release is written to the vault as
pending with the hash of its manifest, and of the one that it replaces; then the folder is swapped and the release
confirmed in one transaction of the vault. Where a run was killed, the manifest in the folder tells which of both
happened; where neither is there, nobody can tell, and nothing is released.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import VaultRefused
from engine.job.job import Job
from engine.job.open_series import SeriesRun, open_series
from engine.json_document import strict_json
from engine.pipeline.release import file_sha256
from engine.series.proposal import Proposal
from engine.series.vault_releases import Known
from engine.tables.release_files import MANIFEST, REPORT


def published_before(job: Job, folder: Path) -> SeriesRun:
    """Open the series of a job; what a killed run left pending is settled by what is in the folder.

    Raises
    ------
    VaultRefused
        The folder and the vault are not in step: the vault does not know the release in the folder, or nobody can tell
        whether a pending one was published.
    """
    now = dt.datetime.now(dt.timezone.utc)
    release_id = f"{now:%Y%m%dT%H%M%S.%f}Z-{secrets.token_hex(4)}"
    series = open_series(job, release_id)
    assert job.series is not None  # noqa: S101 (the caller has asked)
    known = {one.release_id for one in series.vault.settle(_was_published(series), job.series.memory)}
    _refuse_older_copy(series, folder, known)
    if any(one > release_id for one in known):
        raise VaultRefused(
            f"series {series.vault.series}: the vault has a release of a later time than now; set the clock of this "
            "machine right"
        )
    return series


def compared(job: Job, folder: Path) -> str:
    """Tell that the vault of a job is in step with its release folder.

    Raises
    ------
    VaultRefused
        It is not, or cannot be used.
    """
    series = open_series(job, "", make=False)
    known = series.vault.known()
    _refuse_older_copy(series, folder, {one.release_id for one in known})
    confirmed = [one for one in known if one.state == "confirmed"]
    newest = confirmed[-1].facts.get("manifest") if confirmed else None
    pending = ", and the next run settles a pending one" if len(confirmed) < len(known) else ""
    if not pending and newest != _manifest_in(folder):
        raise VaultRefused(
            f"series {series.vault.series}: {folder} does not hold the newest release of the vault; restore the "
            "folder, or name the one that was released last"
        )
    return f"releases that the vault remembers: {len(confirmed)}, the newest one is in {folder}{pending}"


def _refuse_older_copy(series: SeriesRun, folder: Path, known: set[str]) -> None:
    there = _release_in(folder)
    if there is not None and there.get("name") == series.vault.series and there.get("release_id") not in known:
        raise VaultRefused(
            f"series {series.vault.series}: the vault does not know the release in {folder}, so it is an older copy of "
            "itself; restore the newest one, or set series.begin to the name of a new series, about which nothing "
            "before it is promised"
        )


class SwappedFolder:
    """Confirms a release together with the swap of its folder.

    Parameters
    ----------
    job : Job
    series : SeriesRun
    folder : Path
    """

    def __init__(self, job: Job, series: SeriesRun, folder: Path) -> None:
        assert job.series is not None  # noqa: S101 (the caller has asked)
        self._series, self._folder, self._memory = series, folder.resolve(), job.series.memory

    def proposed(self, proposal: Proposal, manifest_sha256: str) -> Proposal:
        """Return a proposal with what settles it."""
        facts = {"folder": str(self._folder), "manifest": manifest_sha256, "before": _manifest_in(self._folder)}
        return replace(proposal, facts=facts)

    def confirmed(self) -> AbstractContextManager[None]:
        """Confirm the release after the swap; no other run can settle it meanwhile."""
        return self._series.vault.confirming(self._series.release_id, self._memory)


def _was_published(series: SeriesRun) -> Callable[[Known], bool]:
    def published(pending: Known) -> bool:
        folder = Path(str(pending.facts.get("folder")))
        there = _manifest_in(folder)
        if there is not None and there == pending.facts.get("manifest"):
            return True
        if there == pending.facts.get("before", ""):
            return False
        raise VaultRefused(
            f"series {series.vault.series}: a run was interrupted, and {folder} holds neither its release nor the one "
            "before, so nobody can tell whether it was published; restore the folder, or set series.begin to the name "
            "of a new series, about which nothing before it is promised"
        )

    return published


def _manifest_in(folder: Path) -> str | None:
    path = folder / MANIFEST
    return file_sha256(path) if path.is_file() else None


def _release_in(folder: Path) -> dict[str, Any] | None:
    """Return what the report in a release folder says of its series."""
    try:
        found = strict_json((folder / REPORT).read_bytes()).get("series")
    except (OSError, ValueError, AttributeError):
        return None
    return found if isinstance(found, dict) else None
