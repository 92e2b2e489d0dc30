"""The risk-utility frontier of a job: source ▶ frequency table ▶ plane ▶ search ▶ report.

In: a job, and a table where the job's source is not to be read. Out: a `Frontier`. Policies that come as documents,
of a file or of an earlier report, are read here for the table at hand, whose values may have grown since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidJob
from engine.frontiers.compare.k_anonymity import k_anonymity_frontiers
from engine.frontiers.compare.rule import Candidate
from engine.frontiers.compare.safe_harbor import SafeHarbor, kinds_of, populated_areas, safe_harbor
from engine.frontiers.document import FrontierReport, ReportedPolicy, ReportedSafeHarbor
from engine.frontiers.measures.plane import Plane
from engine.frontiers.report import Beside, entry, frontier_report
from engine.frontiers.search.search import Found, search
from engine.frontiers.space.domain import Domain
from engine.frontiers.space.policy import Policy
from engine.hierarchy.builders.zip import Zip
from engine.hierarchy.builders.zip_areas import SAFE_HARBOR, census_areas, file_areas
from engine.hierarchy.policy_groups import PolicyGroups
from engine.job.counting import count, open_source
from engine.job.frontier_settings import FrontierSettings
from engine.job.job import Job, load_job
from engine.job.policy_file import policy_text, read_policy
from engine.message import Count, Message
from engine.tables.source import Table

Progress = Callable[[Mapping[str, Any]], None]
"""Receives plain figures of the running search now and then: policies, frontier, area."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """What a search for a frontier leaves.

    Attributes
    ----------
    report : FrontierReport
        Plain data.
    policies : tuple of Policy
        Those of the frontier, by ascending risk.
    """

    report: FrontierReport
    policies: tuple[Policy, ...]

    def write_policies(self, folder: str | Path) -> list[Path]:
        """Write the policies of the short list into a folder, one file each: `policy-1.yaml`, ... by ascending risk."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for number, item in enumerate(self.report["shortlist"], start=1):
            written.append(target / f"policy-{number}.yaml")
            written[-1].write_text(policy_text(self.report["name"], item["policy"]), encoding="utf-8")
        return written


def frontier(
    job: str | Path | Mapping[str, Any] | Job, table: Any = None, progress: Progress | None = None
) -> Frontier:
    """Search for the risk-utility frontier of a job's table.

    Parameters
    ----------
    job : path, mapping or Job
        Its section `frontier` says how; without one the defaults hold.
    table : pyarrow Table or RecordBatchReader, or pandas DataFrame, optional
        Taken instead of the job's source.
    progress : callable, optional

    Raises
    ------
    InvalidJob, InvalidData
        The job, a hierarchy, a policy file or the table is not as it must be.
    """
    job = load_job(job)
    plane = plane_of(job, open_source(job, table))
    return _explored(job, plane, progress)


def plane_of(job: Job, source: Table) -> Plane:
    """Count a source and make the plane in which its policies lie."""
    below = job.without_policy()
    settings = settings_of(job)
    table = count(below, source).table
    orders = {name: below.attributes[name].domain_order for name in below.quasi_identifiers}
    return Plane.of(table, orders, settings.risk, settings.utility)


def settings_of(job: Job) -> FrontierSettings:
    """Return how the job's frontier is searched for."""
    return job.frontier or FrontierSettings()


def members_of(found: Found) -> list[Candidate]:
    """Return the policies of a frontier, by ascending risk."""
    return [Candidate(*one) for one in zip(found.risk.tolist(), found.utility_loss.tolist(), found.bits, strict=True)]


def searched(settings: FrontierSettings, plane: Plane, progress: Progress | None) -> Found:
    """Search a plane for its frontier."""
    return search(plane.measures, settings, _told(progress))


def _explored(job: Job, plane: Plane, progress: Progress | None) -> Frontier:
    """Search a plane, and set the usual policies beside what is found."""
    settings = settings_of(job)
    beside = Beside(safe_harbor_entry(job, plane), _current(job, plane), _k_anonymity(settings, plane))
    found = searched(settings, plane, progress)
    figures = {key: getattr(found, key) for key in ("area", "area_after", "visited", "seconds")}
    members = members_of(found)
    report = frontier_report(job.name, plane, members, figures, beside, _plain(settings))
    return Frontier(report, tuple(Policy(plane.space, one.bits) for one in members))


def _told(progress: Progress | None) -> Callable[[int, int, float], None] | None:
    if progress is None:
        return None
    return lambda visited, size, area: progress({"policies": visited, "frontier": size, "area": area})


def _plain(settings: FrontierSettings) -> dict[str, Any]:
    """Return the settings as data; of files only their names."""
    plain: dict[str, Any] = settings.model_dump(mode="json", exclude_none=True)
    return {key: PurePath(value).name if key in {"population", "current"} else value for key, value in plain.items()}


def _k_anonymity(settings: FrontierSettings, plane: Plane) -> Mapping[int, Any]:
    if not settings.k_anonymity:
        return {}
    return k_anonymity_frontiers(plane.space, plane.table, settings.k_anonymity, plane.at)


def safe_harbor_entry(job: Job, plane: Plane) -> ReportedSafeHarbor | None:
    """Return Safe Harbor as the report has it: the figures of the rule itself, and the policy that comes nearest."""
    found = _safe_harbor(job, plane)
    if found is None:
        return None
    return {**entry(plane, found.bits, plane.of_classes(found.classes)), "exact": found.is_exact}


def _safe_harbor(job: Job, plane: Plane) -> SafeHarbor | None:
    named = settings_of(job).safe_harbor
    if named is False:
        return None
    below = job.without_policy()
    builders = {name: below.attributes[name].hierarchy for name in below.quasi_identifiers}
    known = {name: builder for name, builder in builders.items() if builder is not None}
    kinds = kinds_of(known, named if isinstance(named, dict) else None)
    areas = [
        _areas(plane, place, known[domain.attribute])
        for place, domain in enumerate(plane.space.domains)
        if kinds.get(domain.attribute) == "zip"
    ]
    return safe_harbor(plane.space, kinds, frozenset.intersection(*areas) if areas else frozenset())


def _areas(plane: Plane, place: int, builder: Any) -> frozenset[str]:
    """Return the three-digit areas that are released: by the builder, the population or the census of 2020."""
    if isinstance(builder, Zip):
        least = max(builder.smallest_population, SAFE_HARBOR)
        if builder.populations is not None:
            return file_areas(builder.populations, least)
        return census_areas(builder.census, least)
    table = plane.table
    if table.population is not None:
        return populated_areas(plane.space.domains[place], table.codes[place], table.population)
    return census_areas(2020, SAFE_HARBOR)


def _current(job: Job, plane: Plane) -> ReportedPolicy | None:
    """Return the policy in use: of the settings' file, or of a job that executes one."""
    path = settings_of(job).current
    document = read_policy(path) if path is not None else job.policy
    if document is None:
        return None
    bits = read_tonight(job, plane, document).bits
    return entry(plane, bits, plane.at(bits))


def read_tonight(job: Job, plane: Plane, document: Mapping[str, Any]) -> Policy:
    """Read the document of a policy that can be executed on the table at hand.

    Values that are new since it was made belong to the run or the node that holds them; groups without a value tonight
    are no error.

    Raises
    ------
    InvalidJob
        It cannot be executed: groups that cannot be, values in no group, or levels that the job forbids.
    """
    executed = job.without_policy().with_policy(document)
    groups = []
    for domain, hierarchy in zip(plane.space.domains, plane.table.hierarchies, strict=True):
        builder = executed.attributes[domain.attribute].hierarchy
        assert isinstance(builder, PolicyGroups)  # noqa: S101 (what executing makes)
        unseen = -1 if hierarchy.unseen_code < 0 else int(domain.leaf_positions[hierarchy.unseen_code])
        groups.append(_groups(domain, builder, unseen))
    return Policy.of_groups(plane.space, groups)


def _groups(domain: Domain, builder: PolicyGroups, unseen: int) -> NDArray[np.int32]:
    """Return the group of each position of a domain, int32, shape (d,).

    `unseen` is the position that stands for all values without a hierarchy entry, -1 for none: it is by itself.
    """
    labels = {row[0]: row[1] for row in builder.rows([label for label in domain.labels if label is not None])}
    numbers: dict[Any, int] = {}
    found, outside = [], 0
    for position, value in enumerate(domain.labels):
        if position == unseen:
            group: Any = builder.labels[0] if builder.is_root and builder.takes_missing else ()
        elif value is None:
            outside += not builder.takes_missing
            group = builder.labels[0] if builder.is_root else None
        else:
            outside += value not in labels
            group = labels.get(value)
        found.append(numbers.setdefault(group, len(numbers)))
    if outside:
        raise InvalidJob(
            Message.of(
                "policy of column {name!r}: {outside} values of the table, a missing one among them if there is one, "
                "are in no group; add them to a group",
                name=domain.attribute,
                outside=Count(outside),
            )
        )
    return np.array(found, np.int32)
