"""The form of a run's report, in memory and as published in `report.json`, with plain numbers and text.

A figure is None if it has no value: no record is kept, a loss is infinite, a share cannot be estimated. Keys that only
some jobs have are `NotRequired`.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from engine.backends.backend import BackendName
from engine.frontiers.document import Choice, PolicyDocument, PublishedChoice
from engine.job.hierarchies_stated import HierarchiesStated
from engine.linter.document import Lint
from engine.pipeline.drift import DriftStated
from engine.series.document import SeriesStated
from engine.usefulness.document import Usefulness


class ReportedSolution(TypedDict):
    """The transformation that was released; `ranked_losses` if the job compares losses per attribute.

    `optimal`: whether no transformation of the job loses less. Of a policy it is never said: `lower_bound` and `gap`
    are None.

    Of a local recoding `levels` is None, and `shares` gives of each quasi-identifier the share of the records, those
    suppressed not counted, at each level of its hierarchy from 0 on. `lower_bound` and `gap` are then of all local
    recodings. Published, shares have as many digits as figures that read the domains of hierarchies.
    """

    levels: dict[str, int] | None
    shares: NotRequired[dict[str, list[float]]]
    information_loss: float | None
    suppressed: int
    optimal: bool
    lower_bound: float | None
    gap: float | None
    ranked_losses: NotRequired[list[float | None]]


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
    """The search; `space` and `checked` count transformations, `seconds` are without `warm_up_seconds`.

    Published, the seconds of a differentially private job are None.
    """

    algorithm: str
    space: int
    checked: int
    proof: Literal["exhaustion", "bounds"] | None
    seconds: float | None
    warm_up_seconds: float | None


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


class ReportedInference(TypedDict):
    """Shares of the records in the file whose sensitive value is right by the most frequent one of their class.

    `by_table`: the same by the most frequent value of the file. None where the share would tell of fewer records than
    the smallest class that the job allows.
    """

    by_class: float | None
    by_table: float | None


class ReportedRisk(TypedDict):
    """Risks of the records in the file, each from 0 to 1; see `engine.risk.figures.risks`.

    With `persons` in the report, risks of persons, shares of them, and in `records_below_11` their number.

    Reports of earlier versions lack `records_below_11`, a count, and `share_below_11`.
    """

    prosecutor: float
    journalist: float
    marketer: float
    threshold: float
    prosecutor_records_at_risk: float
    journalist_records_at_risk: float
    sample_uniqueness: float
    records_below_11: NotRequired[int]
    share_below_11: NotRequired[float]
    population_uniqueness: NotRequired[float]
    estimated_population_uniqueness: NotRequired[float | None]


SizeBin = TypedDict("SizeBin", {"from": int, "to": int, "classes": int, "records": int})
"""Classes of `from` to `to` records, both included, and the records in them."""


class ReportedClasses(TypedDict):
    """The equivalence classes of the file, that of suppressed records included, and their sizes.

    Sizes are in records; with `persons` in the report in persons, also `from` and `to` of the bins.
    """

    number: int
    smallest: int | None
    median: float | None
    largest: int | None
    distribution: list[SizeBin]


class FurtherRows(TypedDict):
    """Rows of persons beyond `max_rows` that were left out before anything was counted, and their share of all rows.

    `rows` of the report has none of them. Published, both are None where fewer were left out than a class must have.
    """

    left_out: int | None
    share: float | None


class KnownRows(TypedDict):
    """Up to how many rows of a person attackers know."""

    rows: int


class PersonsStated(TypedDict, total=False):
    """Of jobs with a subject: then criteria, classes and risks count persons; losses and suppression count records.

    `persons`: distinct persons of the records to release. `persons_suppressed_share`: the share of them of whom no
    record is kept. Published, both are None where they would tell of fewer persons than a class must have.
    `further_rows`: of jobs with `max_rows`. `knows`: what attackers know of a person, by which the job is judged;
    reports of earlier versions lack it, and are of any one row.

    Of attackers who know all rows, `classes` are the groups of persons whose rows in the file are the same, as often,
    and criteria judge these; of others, classes of equal quasi-identifiers. Of attackers who know some rows, the
    observed number of persons, and the risks, are of those who share the rarest combination of so many rows of a
    person.
    """

    persons: int | None
    persons_suppressed_share: float | None
    further_rows: FurtherRows
    knows: Literal["any-row", "all-rows"] | KnownRows


class ReportedIdentifier(TypedDict):
    """What became of an identifying column.

    With `pseudonymize`, `family`: columns of one family have the same pseudonym for the same value. `key`: whether it
    is another one in each release, or stays; `key_id` is the check value of one that stays.
    """

    column: str
    action: Literal["drop", "pseudonymize"]
    family: NotRequired[str]
    key: NotRequired[Literal["fresh", "persistent"]]
    key_id: NotRequired[str | None]


class ReportedShift(TypedDict):
    """How the dates of each person moved: by at most `days`, with `weeks` by multiples of 7, in all `columns` alike.

    `ages_on`: the day (ISO 8601) of which dates that tell an age over 89 are missing, or kept. `key` and `key_id` as of
    `ReportedIdentifier`.
    """

    columns: list[str]
    days: int
    weeks: bool
    ages_over_89: Literal["leave-out", "keep"]
    ages_on: str
    key: Literal["fresh", "persistent"]
    key_id: str | None


class ReplacedStated(TypedDict, total=False):
    """Of jobs with identifying columns what became of each; of jobs with shifted dates how they moved.

    Reports of earlier versions lack `identifying`: each such column was dropped.
    """

    identifying: list[ReportedIdentifier]
    shift: ReportedShift


class ReportedTransformation(TypedDict):
    """What was done to the values of a column, as the job says.

    `coding`: those of `bottom`, `top` and `round_to` that it names. `microaggregation`: mean, median, mode, interval
    or mdav. `noise`: its `percent`. `pram`: `pd` and `alpha`.
    """

    column: str
    coding: NotRequired[dict[str, float]]
    microaggregation: NotRequired[str]
    noise: NotRequired[dict[str, float]]
    pram: NotRequired[dict[str, float]]


class TransformedStated(TypedDict, total=False):
    """Of jobs with coded, aggregated or perturbed columns what was done to each, in the job's order."""

    transformed: list[ReportedTransformation]


class ReportedSample(TypedDict):
    """The probability with which each record of the source was drawn.

    `classes_of_at_least`: of differentially private jobs; of the records that were drawn, those of smaller classes were
    left out before anything else was counted, and `rows` has none of them.
    """

    fraction: float
    classes_of_at_least: NotRequired[int]


class SampleStated(TypedDict, total=False):
    """Of jobs that release a sample: `rows` and all other figures are then of the records that were drawn."""

    sample: ReportedSample


class ReportedTable(TypedDict):
    """One of several linked tables: its records in the release, and its columns there."""

    released: int
    columns: list[str]


class TablesStated(TypedDict, total=False):
    """What is said of linked tables, by name; a job of one table has none."""

    tables: dict[str, ReportedTable]


class SometimesStated(PersonsStated, ReplacedStated, TransformedStated, SampleStated, TablesStated, total=False):
    """Keys that only some runs have: population rows, the executed policy, the choice of a rule, warnings.

    `attribute_inference`, by sensitive column: runs with an output, but not those of earlier versions.
    `lint` every report has; the statement of a search, without an output, has none. `backend`: who counted and looked
    up the records; reports of earlier versions lack it. `series`: of jobs with one. `drift`: of jobs that look for it.
    `hierarchies`: of runs with a key of fingerprints.
    """

    population_rows: int
    policy: PolicyDocument
    choice: Choice | PublishedChoice
    warnings: list[str]
    attribute_inference: dict[str, ReportedInference]
    lint: Lint
    backend: BackendName
    hierarchies: HierarchiesStated
    series: SeriesStated
    drift: DriftStated
    usefulness: Usefulness


class Statement(SometimesStated):
    """The statement of a run about its output, which verification checks; `utility` has every measure.

    `rows` counts the records to release, those of the source or of its subset; `released` those in the file.
    """

    name: str
    job_sha256: str
    rows: int
    released: int
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


class PublishedSolution(TypedDict):
    """`ReportedSolution` as it leaves the run; `suppressed` and figures that are withheld are None."""

    levels: dict[str, int] | None
    shares: NotRequired[dict[str, list[float]]]
    information_loss: float | None
    suppressed: int | None
    optimal: bool
    lower_bound: float | None
    gap: float | None
    ranked_losses: NotRequired[list[float | None]]


class PublishedSuppressedClass(TypedDict):
    """`ReportedSuppressedClass` as it leaves the run; `records` is None where fewer than `below` were left out.

    Of a job that counts persons: where these are the records of fewer than `below` persons. `joined` is None where few
    may have been suppressed before further classes joined them.
    """

    form: Literal["none", "star", "drop", "refused"]
    records: int | None
    joined: int | None
    below: NotRequired[int]


class PublishedReport(SometimesStated):
    """`report.json`, and what everything else that leaves a run is made from; see `engine.pipeline.published`.

    `withheld` names the figures that are None because they would tell something, by their keys with dots between.
    `timings` of a differentially private job are one of them.
    """

    name: str
    job_sha256: str
    rows: int | None
    released: int
    columns: list[str]
    solution: PublishedSolution
    suppressed_class: PublishedSuppressedClass
    search: ReportedSearch
    privacy: list[ReportedModel]
    privacy_margin: float | None
    utility: dict[str, float | None]
    risk: ReportedRisk
    classes: ReportedClasses
    versions: dict[str, str]
    timings: dict[str, float] | None
    withheld: list[str]
