"""The form of a run's report: the keys of `report.json`, with plain numbers and text.

A figure is None if it has no value: no record is kept, a loss is infinite, a share cannot be estimated. Keys that only
some jobs have are `NotRequired`.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from engine.frontiers.document import Choice, PolicyDocument
from engine.linter.document import Lint


class ReportedSolution(TypedDict):
    """The transformation that was released; `ranked_losses` if the job compares losses per attribute."""

    levels: dict[str, int]
    information_loss: float | None
    suppressed: int
    optimal: bool
    lower_bound: float | None
    gap: float | None
    ranked_losses: NotRequired[list[float]]


class ReportedSuppressedClass(TypedDict):
    """What became of the suppressed records, which are one more class to whoever holds the file.

    `form`: there are none, they stay with `*` in every quasi-identifier, or they are left out; `refused` where neither
    satisfies every model, so that there is no release, only the report of a search. `records`: how many.
    `joined` counts the classes that satisfy every model and were suppressed all the same, so that the records can stay
    or be left out; only with them there are more records than the solution suppresses.
    """

    form: Literal["none", "star", "drop", "refused"]
    records: int
    joined: int


class ReportedSearch(TypedDict):
    """The search; `space` and `checked` count transformations, `seconds` are without `warm_up_seconds`."""

    algorithm: str
    space: int
    checked: int
    proof: Literal["exhaustion", "bounds"] | None
    seconds: float
    warm_up_seconds: float


class ReportedModel(TypedDict):
    """One privacy model; its parameters in the job are further keys of the entry.

    `reference`: whose distribution the classes are compared with, if the model compares them. Where suppressed records
    are left out, the classes hold it beside the distribution of all records as well.
    """

    model: str
    description: str
    holds: bool
    observed: float | None
    required: float
    sense: Literal["at-least", "at-most"]
    margin: float | None
    reference: NotRequired[Literal["all records", "released records"]]


class ReportedRisk(TypedDict):
    """Risks of the records in the file, each from 0 to 1; see `engine.risk.figures.risks`."""

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
"""Classes of `from` to `to` records, both included, and the records in them."""


class ReportedClasses(TypedDict):
    """The equivalence classes of the file, that of suppressed records included, and their sizes in records."""

    number: int
    smallest: int | None
    median: float | None
    largest: int | None
    distribution: list[SizeBin]


class SometimesStated(TypedDict, total=False):
    """Keys that only some runs have: population rows, the executed policy, the choice of a rule, warnings.

    `lint` every report has; the statement of a search, without an output, has none.
    """

    population_rows: int
    policy: PolicyDocument
    choice: Choice
    warnings: list[str]
    lint: Lint


class Statement(SometimesStated):
    """The statement of a run about its output, which verification checks; `utility` has every measure."""

    name: str
    job_sha256: str
    rows: int
    columns: list[str]
    solution: ReportedSolution
    suppressed_class: ReportedSuppressedClass
    search: ReportedSearch
    privacy: list[ReportedModel]
    privacy_margin: float | None
    utility: dict[str, float | None]
    risk: ReportedRisk
    classes: ReportedClasses
    versions: dict[str, str]


class Report(Statement):
    """The statement of a verified output, and the seconds each step took."""

    timings: dict[str, float]
