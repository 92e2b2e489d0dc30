"""The risk-utility frontier of a job: source ▶ frequency table ▶ plane ▶ search ▶ report.

In: a job, and optionally a table to use instead of the job's source. Out: a `Frontier`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from engine.errors import InvalidJob
from engine.frontiers.beside import beside
from engine.frontiers.compare.joined import joined
from engine.frontiers.compare.rule import Candidate
from engine.frontiers.document import FrontierReport, policy_number
from engine.frontiers.measures.plane import Plane
from engine.frontiers.published import published
from engine.frontiers.report import frontier_report
from engine.frontiers.search.search import Found, search
from engine.frontiers.space.policy import Policy
from engine.job.counting import count, open_source
from engine.job.frontier_settings import FrontierSettings
from engine.job.job import Job
from engine.job.load import load_job
from engine.job.policy_file import policy_text
from engine.kernels.warm_up import Part, warm_up
from engine.search.problem import Progress
from engine.tables.sources.table import Table


@dataclass(frozen=True, eq=False)
class Frontier:
    """The result of a search for a frontier.

    Attributes
    ----------
    report : FrontierReport
        Plain data, with all digits: it is for the caller, who has the source.
    policies : tuple of Policy
        Policies of the frontier, by ascending risk: policy 1 first.
    """

    report: FrontierReport
    policies: tuple[Policy, ...]

    @cached_property
    def published(self) -> FrontierReport:
        """What of the report may leave the search: `frontier.json`, and what is drawn from it."""
        return published(self.report)

    def write_policies(self, folder: str | Path) -> list[Path]:
        """Write the policies of the short list into a folder, one file each: policy 12 in `policy-12.yaml`."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for item in self.report["shortlist"]:
            written.append(target / f"policy-{policy_number(item)}.yaml")
            written[-1].write_text(policy_text(self.report["name"], item["policy"]), encoding="utf-8")
        return written


def frontier(
    job: str | Path | Mapping[str, Any] | Job, table: Any = None, progress: Progress | None = None
) -> Frontier:
    """Search for the risk-utility frontier of a job's table.

    Parameters
    ----------
    job : path, mapping or Job
        Its `frontier` section has the settings; without it the defaults hold.
    table : pyarrow Table or RecordBatchReader, or pandas DataFrame, optional
        Used instead of the job's source.
    progress : callable, optional

    Raises
    ------
    InvalidJob, InvalidData
        The job, a hierarchy, a policy file or the table is invalid.
    """
    job = load_job(job)
    if job.subject is not None:
        raise InvalidJob(
            "subject: a frontier counts records, and the job asks for persons; search it for a job with unit: record"
        )
    plane = plane_of(job, open_source(job, table))
    return _explored(job, plane, progress)


def plane_of(job: Job, source: Table) -> Plane:
    """Count a source and make the plane in which its policies lie."""
    below = job.without_policy()
    settings = job.frontier_settings
    table = count(below, source).table
    orders = {name: below.attributes[name].domain_order for name in below.quasi_identifiers}
    return Plane.of(table, orders, settings.risk, settings.utility)


def members_of(found: Found) -> list[Candidate]:
    """Return the policies of a frontier, by ascending risk."""
    return [Candidate(*one) for one in zip(found.risk.tolist(), found.utility_loss.tolist(), found.bits, strict=True)]


def searched(settings: FrontierSettings, plane: Plane, progress: Progress | None) -> Found:
    """Search a plane for its frontier."""
    warm_up(Part.FRONTIER)
    return search(plane.measures, settings, progress)


def _explored(job: Job, plane: Plane, progress: Progress | None) -> Frontier:
    """Search a plane, and add the usual policies for comparison."""
    settings = job.frontier_settings
    found = searched(settings, plane, progress)
    others = beside(job, plane, members_of(found))
    members, area = joined(plane, found, others.policies(plane.space.size))
    figures = {
        "area": area,
        "area_after": [*found.area_after[:-1], (found.area_after[-1][0], area)],
        "visited": found.visited,
        "seconds": found.seconds,
    }
    report = frontier_report(job.name, plane, members, figures, others, _plain(settings))
    return Frontier(report, tuple(Policy(plane.space, one.bits) for one in members))


def _plain(settings: FrontierSettings) -> dict[str, Any]:
    """Return the settings as data, with only the names of files."""
    plain: dict[str, Any] = settings.model_dump(mode="json", exclude_none=True)
    return {key: PurePath(value).name if key in {"population", "current"} else value for key, value in plain.items()}
