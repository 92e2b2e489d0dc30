"""The risk-utility frontier of a job: the policies that could be released instead.

In: `frontier/current/frontier.json` beside the job's releases. Out: risk and utility loss of each policy, and the short
list. The groups of a policy are left out: their labels may name values that a release hides, such as the oldest age.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_anon.plugin.page_forms.frontier import Frontier, FrontierPage, InUse, Listed, Told
from airflow_anon.plugin.pages.files import folder_of
from airflow_anon.plugin.pages.frontier_chart import frontier_chart
from airflow_anon.plugin.pages.outline import chain_state
from airflow_anon.plugin.reading import DAMAGED, NoSuchPageError
from airflow_anon.transport.release_files import CURRENT, FRONTIER_REPORT

if TYPE_CHECKING:
    from airflow_anon.plugin.reading import Reading
    from engine import FrontierReport

KEPT = 8
"""Number of frontiers whose shown parts a process caches."""
CHANGED = "The folder of the frontier was changed after it was written, so it is not shown."
UNREADABLE = "The API server cannot read the frontier: give it read access to the folder."

_TOLD: dict[str, Told] = {}


def frontier(reading: Reading, parameters: Mapping[str, str]) -> FrontierPage:
    """Return the frontier of a job.

    Parameters
    ----------
    parameters : mapping
        ``dag_id``; ``job``: one of its jobs, by default the first.

    Raises
    ------
    NoSuchPageError
        The ledger has no such job of that DAG.
    """
    dag_id = parameters["dag_id"]
    jobs = sorted({entry.job for entry in reading.latest() if entry.dag_id == dag_id})
    job = parameters.get("job") or next(iter(jobs), None)
    if job not in jobs:
        raise NoSuchPageError
    found, why_none = _found(_folder(reading, dag_id, job), job)
    return {
        "dag_id": dag_id,
        "job": job,
        "jobs": jobs,
        "chain": chain_state(reading),
        "frontier": found,
        "why_none": why_none,
    }


def _folder(reading: Reading, dag_id: str, job: str) -> Path | None:
    """Return the folder of the newest frontier, from the newest release that the DAG made of the job."""
    for entry in reading.ledger.of_job(job, outcome="released", limit=20):
        if entry.dag_id == dag_id:
            document = reading.document(entry.sequence)
            folder = None if document is None else folder_of(document)
            if folder is not None:
                return folder / "frontier" / CURRENT
    return None


class _NoneFound(Exception):  # noqa: N818 (it says why there is nothing to show, which is no error)
    """The reason why there is no frontier, in words."""


def _found(folder: Path | None, job: str) -> tuple[Frontier | None, str | None]:
    """Return the frontier, or the reason why there is none, in words."""
    try:
        resolved, manifest, content = _content(folder)
        told = _told(manifest["files"][FRONTIER_REPORT]["sha256"], content)
    except _NoneFound as why:
        return None, str(why)
    except DAMAGED:
        return None, "The report of the frontier cannot be read."
    if told["name"] != job:
        return None, "The folder holds the frontier of another job."
    return {"frontier_id": resolved.name, "created": manifest["created"], **told}, None


def _content(folder: Path | None) -> tuple[Path, dict[str, Any], bytes]:
    """Return the folder of the newest frontier, its manifest, and its report as checked against the manifest."""
    from engine import VerificationFailed, check_manifest  # noqa: PLC0415 (only this page needs the engine)

    if folder is None:
        raise _NoneFound("No release of this job is in a share folder, so there is no place for a frontier.")
    try:
        if not folder.exists():
            raise _NoneFound("No frontier of this job has been searched yet.")
        resolved = folder.resolve()
        manifest = check_manifest(resolved)
        content = (resolved / FRONTIER_REPORT).read_bytes()
    except VerificationFailed:
        raise _NoneFound(CHANGED) from None
    except OSError:
        raise _NoneFound(UNREADABLE) from None
    if hashlib.sha256(content).hexdigest() != manifest["files"][FRONTIER_REPORT]["sha256"]:
        raise _NoneFound(CHANGED)
    return resolved, manifest, content


def _told(digest: str, content: bytes) -> Told:
    """Return the parts of a report that a page shows; a report may have tens of megabytes and is read once."""
    if digest not in _TOLD:
        while len(_TOLD) >= KEPT:
            _TOLD.pop(next(iter(_TOLD)), None)
        _TOLD[digest] = _read(json.loads(content))
    return _TOLD[digest]


def _read(report: FrontierReport) -> Told:
    return {
        "name": report["name"],
        "rows": report["rows"],
        # Older reports do not have this key.
        "population_rows": report.get("population_rows"),
        "visited": report["visited"],
        "seconds": report["seconds"],
        "area": report["area"],
        "policies": len(report["frontier"]),
        "settings": {name: value for name, value in report["settings"].items() if not isinstance(value, (dict, list))},
        "shortlist": [_listed(one) for one in report["shortlist"]],
        "in_use": None if report["current"] is None else _in_use(report["current"]),
        "chart": frontier_chart(report),
    }


def _in_use(found: Mapping[str, Any]) -> InUse:
    return {
        "risk": found["risk"],
        "utility_loss": found["utility_loss"],
        # Older reports do not have these keys.
        "policy": found.get("number"),
        "beaten_by": found.get("beaten_by"),
    }


def _listed(found: Mapping[str, Any]) -> Listed:
    return {
        "policy": int(found["index"]) + 1,
        "risk": found["risk"],
        "utility_loss": found["utility_loss"],
        "why": found["why"],
        "groups": {name: len(groups) for name, groups in found["policy"].items()},
    }
