"""The parts of an entry's document, each with its keys (docs/ledger.md says what they mean); `form` is the whole.

Most keys may be missing or null, because an attempt may end at any step. Further keys are kept, not read. Kinds are
exact: true is not a number, and no number is infinite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter

from airflow_anon.ledger.form_part import Number, Part


class Reason(Part):
    """Why there is no release: the id of the task, the kind of error, and a sentence."""

    task: str | None = None
    error: str | None = None
    message: str | None = None


class Run(Part):
    """The run that made the attempt; `attempt` counts from 1.

    `airflow`: the id of the Airflow that it is of, which entries of earlier versions lack.
    """

    dag_id: str | None = None
    run_id: str | None = None
    run_type: str | None = None
    logical_date: str | None = None
    run_after: str | None = None
    attempt: int | None = None
    task_group: str | None = None
    triggered_by: str | None = None
    airflow: str | None = None


class Disregarded(Part):
    """An answer to a release that waited which did not count."""

    user: str | None = None
    at: str | None = None
    why: str | None = None


class Approval(Part):
    """The approval of a release by a person; the answer is null if the run was ended while it waited.

    `when` is the rule of the job at that time, and `why` says why the release waited, or need not.
    """

    when: str | None = None
    why: str | None = None
    answer: str | None = None
    user: str | None = None
    user_id: str | None = None
    role: str | None = None
    comment: str | None = None
    asked_at: str | None = None
    expires_at: str | None = None
    answered_at: str | None = None
    manifest_sha256: str | None = None
    disregarded: list[Disregarded] | None = None


class Attribute(Part):
    """A column in the job of an entry, in the form the job file had at that time."""

    role: str | None = None
    hierarchy: Any = None
    action: str | None = None
    family: str | None = None
    key_conn_id: str | None = None
    key_file: str | None = None
    key_id: str | None = None
    coding: dict[str, Number] | None = None
    microaggregation: str | None = None
    noise: dict[str, Number] | None = None
    pram: dict[str, Number] | None = None

    @property
    def is_transformed(self) -> bool:
        """Whether its values were coded or drawn at random, or replaced by an aggregate of their class."""
        return any(one is not None for one in (self.coding, self.microaggregation, self.noise, self.pram))

    @property
    def is_pseudonymized(self) -> bool:
        """Whether pseudonyms of an identifying column were released."""
        return self.role == "identifying" and self.action == "pseudonymize"

    @property
    def is_shifted(self) -> bool:
        """Whether the dates of the column were shifted."""
        return self.role != "identifying" and self.action == "shift"


class Shift(Part):
    """How the dates of each person were shifted, as the job says; without connection and file by a key of the run."""

    days: int | None = None
    weeks: bool | None = None
    key_conn_id: str | None = None
    key_file: str | None = None
    key_id: str | None = None


class Sample(Part):
    """The sample of the records that was released, as the job says."""

    fraction: float | None = None


_ATTRIBUTES = TypeAdapter(dict[str, Attribute] | None)
_SHIFT = TypeAdapter(Shift | None)
_SAMPLE = TypeAdapter(Sample | None)


def _written(job: dict[str, Any]) -> Any:
    """Return the columns as a job's document has them; of linked tables by table and column."""
    tables = job.get("tables")
    if not isinstance(tables, dict):
        return job.get("attributes")
    return {
        f"{table}.{name}": entry
        for table, one in tables.items()
        for name, entry in ((one.get("attributes") or {}) if isinstance(one, dict) else {}).items()
    }


def _mapping(found: Any) -> Mapping[str, Any] | None:
    return found if isinstance(found, Mapping) else None


def _text(found: Any) -> str | None:
    return found if isinstance(found, str) else None


def _with_attributes(job: dict[str, Any]) -> dict[str, Any]:
    _ATTRIBUTES.validate_python(_written(job))
    _SHIFT.validate_python(job.get("shift"))
    _SAMPLE.validate_python(job.get("sample"))
    return job


class WrittenJob(Part):
    """The job as it was run, with all defaults filled in."""

    sha256: str | None = None
    document: Annotated[dict[str, Any], AfterValidator(_with_attributes)] | None = None

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The columns of the source by name; of a job with tables those of all, each with its table: `person.sex`."""
        return _ATTRIBUTES.validate_python(_written(self.document or {})) or {}

    @property
    def shift(self) -> Shift | None:
        """How dates were shifted, if they were."""
        return _SHIFT.validate_python(self._key("shift"))

    @property
    def sample(self) -> Sample | None:
        """The sample that was released, if not all records were to be."""
        return _SAMPLE.validate_python(self._key("sample"))

    @property
    def approval(self) -> Mapping[str, Any] | None:
        """The section `approval`, if its releases waited for somebody to agree."""
        return _mapping(self._key("approval"))

    @property
    def owner(self) -> str | None:
        """Who owns the job, as Airflow shows it; None if it does not say."""
        return _text((_mapping(self._key("dag")) or {}).get("owner"))

    @property
    def recipient(self) -> str | None:
        """For whom releases are; None if the job does not say."""
        return _text(self._key("recipient"))

    @property
    def frontier_risk(self) -> str:
        """The risk by which policies of a frontier were compared."""
        return str((_mapping(self._key("frontier")) or {}).get("risk", "marketer"))

    @property
    def is_private(self) -> bool:
        """Whether its release is differentially private, by a model that is known today."""
        from engine import glossary  # noqa: PLC0415 (the forms of documents need no engine)

        private = [name for name, declared in glossary()["privacy"].items() if declared["is_private"]]
        models = self._key("privacy") or []
        return any(isinstance(one, dict) and one.get("model") in private for one in models)

    def _key(self, name: str) -> Any:
        return (self.document or {}).get(name)


class Read(Part):
    """What was read, after templates were rendered; `query` has no literals, `query_sha256` is of the whole.

    Of a job with tables `tables` has the same of each.
    """

    table: str | None = None
    query: str | None = None
    query_sha256: str | None = None
    tables: dict[str, Read] | None = None


class SourceTable(Part):
    """Where the records of one of several linked tables came from."""

    table: str | None = None
    query: bool | None = None


class Source(Part):
    """Where the records came from; `columns` as `extract` gave them, `fingerprint` under the key of that id.

    `tables`: of a job with tables, each by its name.
    """

    conn_id: str | None = None
    table: str | None = None
    query: bool | None = None
    tables: dict[str, SourceTable] | None = None
    rows: int | None = None
    columns: Any = None
    fingerprint: str | None = None
    fingerprint_key_id: str | None = None
    read: Read | None = None


class Population(Part):
    """The population that was read from a database; None for a job without one."""

    conn_id: str | None = None
    read: Read | None = None


class FurtherRows(Part):
    """Rows of persons beyond the job's `max_rows` that were left out, and their share of all; null where withheld."""

    left_out: int | None = None
    share: Number | None = None


class LevelChange(Part):
    """The level of a column in the release before of a series, and in this one."""

    before: int
    now: int


class Churn(Part):
    """Shares of the persons who were expected to come and to leave, and what was expected of that."""

    arrivals: Number
    departures: Number
    loss_possible: Number | None = None
    held_back_share: Number | None = None
    covered_share: Number | None = None


class Series(Part):
    """The series that a release belongs to, as in the report; figures are null where withheld."""

    name: str
    release_id: str
    memory: int | None = None
    arrivals: str | None = None
    departures: str | None = None
    releases: int | None = None
    smallest_trace: int | None = None
    suppressed_share: Number | None = None
    held_back_share: Number | None = None
    covered_share: Number | None = None
    max_nights: int | None = None
    kept_share: Number | None = None
    below_share: Number | None = None
    stability: dict[str, bool | Number | None] | None = None
    raised: dict[str, bool | Number | None] | None = None
    levels_changed: dict[str, LevelChange] | None = None
    churn: Churn | None = None
    cohorts: dict[str, int] | None = None


class AcceptedDrift(Part):
    """A difference that somebody accepted, without which the table would have been refused."""

    difference: str
    differences: list[str]
    by: str
    at: str
    comment: str | None = None


class Drift(Part):
    """How the table was compared with that of an earlier release, as in the report; `since` is null for the first."""

    since: str | None = None
    not_compared: list[str] = Field(default_factory=list)
    quarantined: list[str] = Field(default_factory=list)
    accepted: AcceptedDrift | None = None


class Hierarchies(Part):
    """Of each column with a hierarchy its digest, with the salt of the release, under the key with that id."""

    key_id: str
    salt: str
    digests: dict[str, str]


class KnownRows(Part):
    """Up to how many rows of a person attackers know."""

    rows: int


class Records(Part):
    """Records of the attempt; `below` is the bound of the suppressed records if they are withheld.

    `suppressed_form` is that of the report: none, star or drop. `persons` and the share of them of whom no record is
    kept are there if the job counts persons, and null where they are withheld; `further_rows` if it limits their rows.
    `knows` is the attacker of such a job; entries of earlier versions lack it, and are of any one row.
    """

    source: int | None = None
    released: int | None = None
    suppressed: int | None = None
    suppressed_share: Number | None = None
    suppression_limit: Number | None = None
    suppressed_form: str | None = None
    below: int | None = None
    persons: int | None = None
    persons_suppressed_share: Number | None = None
    further_rows: FurtherRows | None = None
    knows: str | KnownRows | None = None


class Level(Part):
    """The level of an attribute; `examples` has a label of the hierarchy per level.

    Of a local recoding `level` is None, and `shares` has the share of the records at each level. `examples_left_out` is
    there where the hierarchy was not known to be the one of the release: `changed` or `not-compared`.
    """

    level: int | None
    shares: list[Number] | None = None
    highest: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    examples: list[str | None] | None = None
    examples_left_out: str | None = None


class Solution(Part):
    """The transformation that was found."""

    information_loss: Number | None = None
    lower_bound: Number | None = None
    gap: Number | None = None
    optimal: bool | None = None
    measure: str | None = None
    aggregate: str | None = None


class Search(Part):
    """How it was found."""

    algorithm: str | None = None
    space: Number | None = None
    checked: Number | None = None
    proof: str | None = None
    seconds: Number | None = None
    warm_up_seconds: Number | None = None


class Criterion(Part):
    """A privacy criterion: required figure, observed figure and margin."""

    model: str
    parameters: dict[str, Any] | None = None
    description: str | None = None
    required: Number | None = None
    sense: str | None = None
    observed: Number | None = None
    holds: bool | None = None
    margin: Number | None = None


class Bin(Part):
    """The number of classes in a range of sizes, both ends included, and their records."""

    first: int = Field(alias="from")
    last: int = Field(alias="to")
    classes: int
    records: int


class Classes(Part):
    """The equivalence classes: how many, and their sizes in records."""

    number: int | None = None
    smallest: Number | None = None
    median: Number | None = None
    largest: Number | None = None
    distribution: list[Bin] | None = None


class Inference(Part):
    """The shares of records whose sensitive value is the most frequent one of their class, and of the release."""

    by_class: Number | None = None
    by_table: Number | None = None


class Result(Part):
    """An expectation on the release and what was observed; `below` if that is withheld."""

    expectation_type: str | None = None
    description: str | None = None
    success: bool | None = None
    column: Any = None
    observed: Any = None
    required: Any = None
    message: str | None = None
    below: int | None = None


class Validation(Part):
    """The result of the validation; `sha256` is that of its file."""

    success: bool | None = None
    suite: str | None = None
    great_expectations_version: str | None = None
    validated_at: str | None = None
    expectations: int | None = None
    sha256: str | None = None
    results: list[Result] | None = None
