"""Searches the risk-utility frontier of a staged table: the policies that could be released instead."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Asset

import engine
from airflow_anon.operators.ended import EndedWhenKilled
from airflow_anon.operators.what_was_read import notes_on_what_was_read
from airflow_anon.run.progress import LoggedProgress
from airflow_anon.run.refusal import smallest_of, without_small_counts
from airflow_anon.run.release_id import release_id
from airflow_anon.run.unexpected import own_words
from airflow_anon.share.folder_share import FolderShare, local_path
from airflow_anon.transport.local_staging import local_source, with_local_population
from airflow_anon.transport.release_files import FRONTIER_REPORT, JOB
from engine import EngineError, Job, Message, load_job

if TYPE_CHECKING:
    from airflow.sdk import Context

    from engine import Frontier, FrontierReport

FOLDER = "frontier"
"""Name of the folder next to the job's releases."""


class RiskUtilityFrontierOperator(EndedWhenKilled):
    """Search the risk-utility frontier of a table and put it into the job's share folder.

    ``SHARE/NAME/frontier/ID/`` gets ``frontier.json`` (the report), ``frontier.html`` (the interactive chart),
    ``frontier.svg``, ``job.yaml`` and ``policy-12.yaml`` and so on, the policies worth a look by their numbers;
    ``SHARE/NAME/frontier/current`` names the newest one. The folder appears when it is complete; a run that has made it
    does not search again.

    Parameters
    ----------
    job : path, mapping or Job
        Its ``frontier`` section says how to search. A path and the texts of a mapping are templates.
    source : str, optional
        Path of the staged Parquet file, as ``extract`` returned it; by default the job's own file is read.
    population : str, optional
        The staged Parquet file of the population, if the job reads it from a connection.
    extracted, population_extracted : mapping, optional
        What ``extract`` and ``extract_population`` returned: ``job.yaml`` says what a templated table or query was
        rendered to.
    folder : str, optional
        The share folder; by default the path of the job's output.
    umask : int
        Permission bits that readers do not get. Policies name values of the source that a release may hide, such as
        the oldest age, so by default only the publisher's user and group can read them.
    outlets : list of Asset
        Updated by each new frontier, with the figures as ``extra``.

    Returns
    -------
    dict
        ``path`` and ``frontier_id`` (str), ``rows``, ``visited`` (policies looked at), ``policies`` (on the frontier),
        ``shortlist`` (policies worth a look), ``area``, ``seconds``, ``better_than_safe_harbor`` (share of the
        frontier), ``safe_harbor_risk``, ``safe_harbor_utility_loss``, ``current_risk``, ``current_utility_loss``; None
        where there is no Safe Harbor or current policy to compare with.

    Examples
    --------
    >>> RiskUtilityFrontierOperator(
    ...     task_id="frontier",
    ...     job="/opt/airflow/dags/jobs/hospital_stays.yaml",
    ...     source=extract.output["path"],
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = ("job", "source", "population", "extracted", "population_extracted", "folder")
    template_fields_renderers: ClassVar[dict[str, str]] = {"job": "yaml"}
    ui_color = "#e4dcf5"

    def __init__(
        self,
        *,
        job: str | Path | Mapping[str, Any] | Job,
        source: str | None = None,
        population: str | None = None,
        extracted: Mapping[str, Any] | None = None,
        population_extracted: Mapping[str, Any] | None = None,
        folder: str | None = None,
        umask: int = 0o027,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.source = source
        self.population = population
        self.extracted = extracted
        self.population_extracted = population_extracted
        self.folder = folder
        self.umask = umask

    @own_words
    def execute(self, context: Context) -> dict[str, Any]:
        """Search the frontier, write its folder, return path and figures.

        Raises
        ------
        AirflowFailException
            The job or the data is invalid, or the folder in the share is not ours: a retry would fail too. The message
            holds no value of a record, and no count that is too small.
        """
        identity = release_id(context)
        try:
            job = load_job(self.job)
            share = self._share(job)
            with self._work.going_on():
                manifest = share.published(identity) or self._made(job, share, identity)
        except EngineError as problem:
            said = Message(f"{type(problem).__name__}: ", problem.message)
            raise AirflowFailException(without_small_counts(said, smallest_of(self))) from None
        if not share.make_current(identity):
            self.log.info("Frontier %s is older than the current one, which stays current", identity)
        published = {**manifest["figures"], "frontier_id": identity, "path": str(share.release(identity))}
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                context["outlet_events"][outlet].extra = dict(published)
        return published

    def _share(self, job: Job) -> FolderShare:
        if job.frontier is None:
            raise AirflowFailException(f"job {job.name!r}: has no frontier section; add one, at least frontier: {{}}")
        path = self.folder or (job.output and job.output.path)
        if not path:
            raise AirflowFailException(f"job {job.name!r}: has no folder for the frontier; give its output a path")
        folder = local_path(path, "output path") / job.name
        return FolderShare(share=folder, name=FOLDER, umask=self.umask)

    def _made(self, job: Job, share: FolderShare, identity: str) -> dict[str, Any]:
        """Search, write the folder, and return its manifest."""
        found = self._searched(job)
        figures = frontier_figures(found.published)
        self.log.info("Frontier: %s", ", ".join(f"{name} {value}" for name, value in figures.items()))
        _make_open(share.share)
        notes = notes_on_what_was_read(job, self.extracted, self.population_extracted)
        return share.add(identity, lambda folder: _filled(folder, job, found, figures, notes))

    def _searched(self, job: Job) -> Frontier:
        progress = LoggedProgress(self.log)
        with with_local_population(job, self.population) as populated:
            if self.source is None:
                return engine.frontier(populated, progress=progress)
            with local_source(self.source) as source:
                return engine.frontier(populated.with_source(source), progress=progress)


def _make_open(folder: Path) -> None:
    """Make the folder of the job's releases with permissions that let their readers pass through it."""
    for missing in reversed([level for level in (folder, *folder.parents) if not level.exists()]):
        missing.mkdir(exist_ok=True)
        missing.chmod(0o755)


def _filled(folder: Path, job: Job, found: Frontier, figures: dict[str, Any], notes: str) -> dict[str, Any]:
    """Write the files of a frontier, with notes in `job.yaml`; return further entries for the manifest."""
    report = found.published
    texts = {
        FRONTIER_REPORT: json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        "frontier.html": engine.frontier_html(report),
        "frontier.svg": engine.frontier_picture(report),
        JOB: f"{job}{notes}",
    }
    for name, text in texts.items():
        # The page's security policy has hashes of its scripts, which cover line ends.
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    found.write_policies(folder)
    created = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
    return {"name": job.name, "created": created, "figures": figures}


def frontier_figures(report: FrontierReport) -> dict[str, Any]:
    """Return the plain figures of a frontier from its report: what XCom and the Asset event carry."""
    harbor, current = report["safe_harbor"] or {}, report["current"] or {}
    return {
        "rows": report["rows"],
        "visited": report["visited"],
        "policies": len(report["frontier"]),
        "shortlist": len(report["shortlist"]),
        "area": report["area"],
        "seconds": report["seconds"],
        "better_than_safe_harbor": _share_better(report["frontier"], harbor) if harbor else None,
        "safe_harbor_risk": harbor.get("risk"),
        "safe_harbor_utility_loss": harbor.get("utility_loss"),
        "current_risk": current.get("risk"),
        "current_utility_loss": current.get("utility_loss"),
    }


def _share_better(frontier: Sequence[Mapping[str, Any]], harbor: Mapping[str, Any]) -> float:
    """Return the share of the frontier's policies with less risk and less utility loss than Safe Harbor."""
    better = sum(
        entry["risk"] < harbor["risk"] and entry["utility_loss"] < harbor["utility_loss"] for entry in frontier
    )
    return better / len(frontier) if frontier else 0.0
