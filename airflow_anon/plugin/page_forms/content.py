"""The form of the sections of an entry's document on the audit page."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from airflow_anon.disclosure.counts import Figure
from airflow_anon.plugin.page_forms.comparison import Comparison
from airflow_anon.plugin.page_forms.parts import Chart, Level


class Reason(TypedDict):
    """Why there is no release."""

    task: str | None
    error: str | None
    message: str | None


class Remedy(TypedDict):
    """What can be done about an attempt without a release, and by whom."""

    what: str
    who: str


class Run(TypedDict):
    """The run that made the attempt."""

    dag_id: str | None
    run_id: str | None
    run_type: str | None
    logical_date: str | None
    run_after: str | None
    attempt: int | None
    task_group: str | None
    triggered_by: str | None


class Records(TypedDict):
    """The records of the attempt."""

    source: Figure
    released: Figure
    suppressed: Figure
    suppressed_share: Figure
    suppression_limit: float | None


class Criterion(TypedDict):
    """A privacy criterion; its state is `open` if nothing was observed."""

    model: str
    parameters: dict[str, Any]
    description: str
    required: float | None
    sense: str | None
    observed: Figure
    margin: float | None
    state: Literal["holds", "fails", "open"]


class Solution(TypedDict):
    """The transformation."""

    information_loss: float | None
    lower_bound: float | None
    gap: float | None
    optimal: bool | None
    measure: str | None
    aggregate: str | None


class Search(TypedDict):
    """How the transformation was found, and a verdict on whether a better one can exist.

    `local`: the levels that the algorithm found, of `space`, were the start of a local recoding.
    """

    algorithm: str | None
    local: bool
    space: float | None
    checked: float | None
    checked_share: float | None
    seconds: float | None
    warm_up_seconds: float | None
    optimal: bool | None
    gap: float | None
    lower_bound: float | None
    information_loss: float | None
    proof: str | None
    verdict: str


class Classes(TypedDict):
    """The sizes of the equivalence classes; without classes there is no chart."""

    number: int | None
    smallest: Figure
    median: Figure
    largest: Figure
    chart: Chart | None


class Measure(TypedDict):
    """A measure and its meaning."""

    name: str
    title: str
    meaning: str
    value: Figure


class Risk(TypedDict):
    """The risks of re-identification; `beside_population` tells whether the job gave a population."""

    beside_population: bool
    measures: list[Measure]
    chart: Chart


class Utility(TypedDict):
    """The utility measures; `chosen` is the one that the search minimized."""

    chosen: str | None
    aggregate: str | None
    measures: list[Measure]


class Result(TypedDict):
    """An expectation on the release; `below` if the observed figure is withheld."""

    expectation: str | None
    description: str | None
    column: Any
    success: bool
    observed: Any
    required: Any
    below: int | None
    message: str | None


class Validation(TypedDict):
    """The validation, failed expectations first."""

    success: bool | None
    suite: str | None
    great_expectations_version: str | None
    validated_at: str | None
    expectations: int | None
    sha256: str | None
    failed: int
    results: list[Result]


class Source(TypedDict):
    """Where the records came from; a fingerprint that was made without a key is withheld.

    `tables`: of a job with tables, each with what it is read from.
    """

    conn_id: str | None
    table: str | None
    query: bool
    tables: list[str]
    rows: Figure
    columns: Any
    fingerprint: str | None
    fingerprint_key_id: str | None


class JobName(TypedDict):
    """The job."""

    name: str
    sha256: str | None


class SourceColumn(TypedDict):
    """A column of the source and its treatment."""

    name: str
    role: str | None
    becomes: str


class SqlTable(TypedDict):
    """A table of a SQL share."""

    conn_id: str | None
    table: str | None


class Share(TypedDict):
    """Where the release went; `also`: the same files in further shares."""

    release_id: str | None
    folder: str | None
    also: list[str]
    table: SqlTable | None
    manifest_sha256: str | None


class Lineage(TypedDict):
    """From the source to the share; `sample`: the probability with which each record was drawn, if not all were.

    `classes_of_at_least`: of differentially private releases; of the records drawn only such classes are shown.
    """

    source: Source
    job: JobName
    sample: float | None
    classes_of_at_least: int | None
    columns: list[SourceColumn]
    share: Share | None


class Inference(TypedDict):
    """How often the most frequent value of a class, or of the release, is right; None if not shown."""

    column: str
    by_class: float | None
    by_table: float | None


class LintedColumn(TypedDict):
    """How a released column varies in the source, and its homogeneous classes in the file if it is sensitive.

    `homogeneous` is a number of classes, `records_share` the share of the file's records in them; both are None for
    columns that are not sensitive, and where there is no file.
    """

    column: str
    role: str | None
    distinction: float | None
    separation: float | None
    accept: str | None
    homogeneous: int | None
    records_share: float | None


class PlainRisk(TypedDict):
    """One of the three risks of WP216: what it asks, and what is known of this release."""

    risk: str
    asks: str
    words: str


class Yardstick(TypedDict):
    """A usual bound beside what was observed; `met` is None where it cannot be judged."""

    name: str
    observed: str
    met: bool | None


class PlainWords(TypedDict):
    """What a release means for the people in it; `recipient` is the one that the job assumes, None if it names none."""

    sentence: str
    recipient: str | None
    risks: list[PlainRisk]
    yardsticks: list[Yardstick]


class Disregarded(TypedDict):
    """An answer that did not count."""

    user: str | None
    at: str | None
    why: str | None


class Approval(TypedDict):
    """What is recorded of an approval; `words` says in one sentence what came of it."""

    answer: str | None
    words: str
    why: str | None
    user: str | None
    role: str | None
    comment: str | None
    asked_at: str | None
    expires_at: str | None
    answered_at: str | None
    disregarded: list[Disregarded]


class Lint(TypedDict):
    """What the linter measured; `unit` is what the job says is counted: record or person."""

    unit: str | None
    columns: list[LintedColumn]


class FurtherRows(TypedDict):
    """Rows of persons beyond the most that a job lets stay: how many were left out, and their share of all."""

    left_out: int | None
    share: float | None


class Persons(TypedDict):
    """The persons of a job that counts them; `suppressed_share` is of those of whom no record is kept.

    `knows`: the rows of a person that attackers know; `any-row`, `all-rows`, or up to so many.
    """

    number: int | None
    suppressed_share: float | None
    further_rows: FurtherRows | None
    knows: Literal["any-row", "all-rows"] | int


class LevelChange(TypedDict):
    """The level of a column in the release before of a series, and in this one."""

    attribute: str
    before: int
    now: int


class Churn(TypedDict):
    """Expected shares of the persons, of new ones who wait and of covers; null where withheld."""

    held_back_share: float | None
    covered_share: float | None


class Series(TypedDict):
    """The series of nights that a release belongs to; shares are of the persons of its table, null where withheld."""

    name: str
    releases: int | None
    memory: int | None
    arrivals: str | None
    departures: str | None
    smallest_trace: int | None
    suppressed_share: float | None
    held_back_share: float | None
    covered_share: float | None
    kept_share: float | None
    below_share: float | None
    levels_changed: list[LevelChange] | None
    churn: Churn | None


class AcceptedDrift(TypedDict):
    """A difference that somebody accepted, without which the table would have been refused."""

    difference: str
    differences: list[str]
    by: str
    at: str
    comment: str | None


class Drift(TypedDict):
    """How the table was compared with that of an earlier release; `since` is null where none was remembered."""

    since: str | None
    not_compared: list[str]
    quarantined: list[str]
    accepted: AcceptedDrift | None


class Predicted(TypedDict):
    """A model that predicts a target: trained on the source, and trained on the release."""

    target: str
    classes: int | None
    model: str
    baseline: float | None
    source_accuracy: float | None
    release_accuracy: float | None
    source_auc: float | None
    release_auc: float | None


class Compared(TypedDict):
    """A column before and after; `chart` is None where there is no distribution, and `words` say why."""

    column: str
    mean_overlap: float | None
    proportion_overlap: float | None
    least_proportion_overlap: float | None
    chart: Chart | None
    words: str


class NotTold(TypedDict):
    """A figure, in words, that some columns do not have where persons are counted, and why."""

    figure: str
    columns: list[str]
    why: str


class Usefulness(TypedDict):
    """What of the source is found again in the release; `restricted`: measured without the records left out.

    `persons`: of whom the file shows a record, rounded down; None where records are counted.
    """

    folds: int | None
    persons: int | None
    restricted: bool
    predicted: list[Predicted]
    columns: list[Compared]
    not_told: list[NotTold]


class Content(TypedDict):
    """The sections of a document; `counted` is what criteria, classes and risks count: records or persons."""

    counted: str
    plain: PlainWords | None
    persons: Persons | None
    series: Series | None
    drift: Drift | None

    reason: Reason | None
    remedies: list[Remedy]
    run: Run
    smallest_class_allowed: int
    records: Records
    criteria: list[Criterion]
    privacy_margin: float | None
    levels: list[Level] | None
    solution: Solution | None
    search: Search | None
    classes: Classes | None
    risk: Risk | None
    attribute_inference: list[Inference]
    utility: Utility | None
    usefulness: Usefulness | None
    comparison: Comparison | None
    validation: Validation | None
    approval: Approval | None
    lineage: Lineage
    choice: Any
    policy: dict[str, int] | None
    timings: dict[str, float | None]
    versions: dict[str, str | None]
    warnings: list[Any]
    lint: Lint | None
