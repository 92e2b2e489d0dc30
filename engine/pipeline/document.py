"""The form of a run's report: what `report.json` holds, key by key, plain numbers and text.

A figure is None where there is nothing that it could be of: nobody kept, a loss that is infinite, a share that cannot
be estimated. What only some jobs have is `NotRequired`.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from engine.frontiers.document import Choice, PolicyDocument


class ReportedSolution(TypedDict):
    """The transformation that was released; `ranked_losses` where the job compares attribute by attribute."""

    levels: dict[str, int]
    information_loss: float | None
    suppressed: int
    optimal: bool
    lower_bound: float | None
    gap: float | None
    ranked_losses: NotRequired[list[float]]


class ReportedSearch(TypedDict):
    """How it was found; `space` and `checked` count transformations, `seconds` are without `warm_up_seconds`."""

    algorithm: str
    space: int
    checked: int
    proof: Literal["exhaustion", "bounds"] | None
    seconds: float
    warm_up_seconds: float


class ReportedModel(TypedDict):
    """One privacy model, beside its parameters as the job has them: each is a key of the entry too."""

    model: str
    description: str
    holds: bool
    observed: float | None
    required: float
    sense: Literal["at-least", "at-most"]
    margin: float | None


class ReportedRisk(TypedDict):
    """Risks of the kept records, each from 0 to 1; see `engine.risk.figures.risks`."""

    prosecutor: float
    journalist: float
    marketer: float
    threshold: float
    prosecutor_records_at_risk: float
    journalist_records_at_risk: float
    sample_uniqueness: float
    population_uniqueness: NotRequired[float]
    estimated_population_uniqueness: NotRequired[float | None]


SizeBin = TypedDict("SizeBin", {"from": int, "to": int, "classes": int, "records": int})
"""Kept classes of `from` to `to` records, both included, and the records in them."""


class ReportedClasses(TypedDict):
    """The kept equivalence classes and their sizes in records."""

    number: int
    smallest: int | None
    median: float | None
    largest: int | None
    distribution: list[SizeBin]


class SometimesStated(TypedDict, total=False):
    """What only some runs state: rows of a population; the policy that was executed, the choice of a rule; warnings."""

    population_rows: int
    policy: PolicyDocument
    choice: Choice
    warnings: list[str]


class Statement(SometimesStated):
    """What a run states of its output, and what the verification holds against it; `utility` has every measure."""

    name: str
    job_sha256: str
    rows: int
    columns: list[str]
    solution: ReportedSolution
    search: ReportedSearch
    privacy: list[ReportedModel]
    privacy_margin: float | None
    utility: dict[str, float | None]
    risk: ReportedRisk
    classes: ReportedClasses
    versions: dict[str, str]


class Report(Statement):
    """The statement of an output that was verified, and the seconds that each step took."""

    timings: dict[str, float]
