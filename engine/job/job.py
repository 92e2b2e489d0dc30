"""The job file: one document with the source, the columns, the criteria, and the place of the output.

In: what a job file says, as a mapping (`load`). Out: a frozen `Job` with all defaults filled in and, once it is located
(`Job.located`), with all paths absolute. With its parts, each in a file of its own beside this one, it is the one
source of defaults, error texts and the JSON Schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, PrivateAttr, model_validator
from typing_extensions import Self

from engine.errors import InvalidJob
from engine.job.approval import ApprovalSettings
from engine.job.attribute import Attribute, Role
from engine.job.churn import ChurnSettings, check_churn
from engine.job.consistent import check_algorithm, check_models, check_populations, check_small_classes
from engine.job.dag_settings import DagSettings
from engine.job.differential_privacy import check_differential_privacy, private_model
from engine.job.document import tidied, without_folders
from engine.job.drift import DriftSettings, check_drift
from engine.job.frontier_settings import FrontierSettings, PopulationQuery, Rule
from engine.job.in_warehouse import check_in_warehouse
from engine.job.incremental import IncrementalSettings, check_incremental
from engine.job.linked import LinkedTable, check_linked, joined_attributes, shared_keys
from engine.job.output import Output
from engine.job.perturbed import check_perturbed
from engine.job.pod_settings import check_pod
from engine.job.policy_file import read_policy
from engine.job.replaced import check_replaced
from engine.job.risk_settings import Risk
from engine.job.sample import SampleSettings, check_sample
from engine.job.search_settings import Search
from engine.job.series import SeriesSettings, check_series
from engine.job.shift_settings import ShiftSettings
from engine.job.source import Source
from engine.job.spark_settings import SparkSettings, check_spark
from engine.job.stability import Stability
from engine.job.subject import KnownRows, check_subject
from engine.job.transformation import LOCAL, START_SECONDS, RecodingSettings, check_transformation
from engine.job.transformed import GROUPED, check_transformed
from engine.job.usefulness import UsefulnessSettings, check_usefulness
from engine.job.with_policy import groups_of, without_policy, written_with_policy
from engine.job.with_policy import with_policy as attributes_with_policy
from engine.job.yaml_text import Dumper
from engine.privacy.model import PrivacyModel
from engine.privacy.of_persons import counting_persons
from engine.privacy.registry import AnyPrivacyModel
from engine.search.registry import POLICY
from engine.spec import MOST_RECORDS, Spec
from engine.tables.known import Known
from engine.tables.sources.csv_form import CSV, CsvForm
from engine.utility.registry import AnyMeasure


def _unit(value: Any) -> Any:
    if isinstance(value, str) and value != "record":
        raise ValueError(
            f"is {value[:40]!r}, allowed is 'record'; to count persons take unit out, and name the identifying column "
            "of persons as subject"
        )
    return value


class Job(Spec):
    """One de-identification job."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", description="Also the name of the release.")
    source: Source | None = Field(default=None, description="Where the records come from.")
    attributes: dict[str, Attribute] = Field(
        default_factory=dict,
        description="Every column of the source by its name; an unlisted column ends the run. A job has these, or "
        "tables.",
    )
    tables: dict[str, LinkedTable] | None = Field(
        default=None,
        description="Several tables that share their persons, by name, instead of source and attributes: one search, "
        "one release with a file for each.",
    )
    unit: Annotated[Literal["record"], BeforeValidator(_unit)] | None = Field(
        default=None,
        description="What is counted: records, also where an identifying column repeats. Such a job names either this "
        "or a subject.",
    )
    subject: str | None = Field(
        default=None,
        description="The identifying column that says whose a record is: then persons are counted instead of records.",
    )
    knows: Literal["any-row", "all-rows"] | KnownRows | None = Field(
        default=None,
        description="What an attacker knows of a person, with subject. any-row, the default: any one of the person's "
        "rows, so that each class has records of k distinct persons. all-rows: all of them, so that k persons have the "
        "same cells as often. rows: up to so many of them, so that k persons have each combination of so many. With "
        "the last two, the others are left out with all of their rows.",
    )
    max_rows: int | None = Field(
        default=None,
        ge=1,
        le=MOST_RECORDS,
        strict=True,
        description="Rows of a person that stay, with subject: further ones, chosen by a keyed hash, are left out "
        "before anything is counted.",
    )
    sample: SampleSettings | None = Field(
        default=None, description="A random sample of the records is released; all of them, if absent."
    )
    shift: ShiftSettings | None = Field(
        default=None, description="How the dates of each person move, in the columns with action: shift."
    )
    series: SeriesSettings | None = Field(
        default=None,
        description="Nobody is singled out by what differs between the releases of several nights, with subject.",
    )
    stability: Stability | None = Field(default=None, description="How seldom levels change, with series.")
    churn: ChurnSettings | None = Field(
        default=None, description="How many persons are expected to come and to leave each night, with series."
    )
    drift: DriftSettings | None = Field(
        default=None, description="A table that is not like that of the last release is refused."
    )
    incremental: IncrementalSettings | None = Field(
        default=None, description="In Airflow, only rows that changed since last night are read from the warehouse."
    )
    privacy: tuple[AnyPrivacyModel, ...] = Field(
        min_length=1, description="What every equivalence class of the release must hold, one model per entry."
    )
    suppression_limit: float = Field(default=0.0, ge=0, le=1, strict=True, description="Share of records, 0 to 1.")
    suppress: Literal["any", "small-classes"] = Field(
        default="any",
        description="Which classes may be suppressed: any that fails a privacy model; or only those with fewer records "
        "than the models demand, so that suppression tells nothing of sensitive values.",
    )
    allow_empty_information: bool = Field(
        default=False,
        strict=True,
        description="Whether a release may show nothing: every quasi-identifier at its root in all records.",
    )
    utility: AnyMeasure = Field(
        default={"measure": "loss"}, validate_default=True, description="What is lost as little of as possible."
    )
    transformation: Literal["full-domain", "local-recoding", "policy"] = Field(
        default="full-domain",
        description="full-domain: all values of a column have one level. local-recoding: each record has levels of its "
        "own, which loses much less; its columns mix labels of several levels, and may tell more. policy: the groups "
        "of a policy, which search.algorithm policy or choose must name; with these it may be left out.",
    )
    recoding: RecodingSettings = Field(
        default=RecodingSettings(), description="How a local recoding is searched for, from the levels that were found."
    )
    search: Search = Field(default=Search(), description="How the transformation is searched for.")
    risk: Risk = Field(default=Risk(), description="How the report states the risk.")
    frontier: FrontierSettings | None = Field(
        default=None, description="How the frontier of risk and utility is searched for, which releases nothing."
    )
    choose: Rule | None = Field(
        default=None, description="A rule by which each run chooses a policy, instead of levels by privacy alone."
    )
    usefulness: UsefulnessSettings | None = Field(
        default=None, description="What of the source is found again in the release; not measured, if absent."
    )
    output: Output | None = Field(default=None, description="Where the release goes; a DAG needs it.")
    recipient: str | None = Field(
        default=None,
        min_length=1,
        max_length=300,
        description="Who receives the release and under which conditions, in a sentence: the risk is judged for them. "
        "It is told on the page and on the certificate.",
    )
    approval: ApprovalSettings | None = Field(
        default=None, description="Who must agree before a release is published; nobody, if absent."
    )
    dag: DagSettings | None = Field(default=None, description="How Airflow runs the job.")
    backend: Literal["auto", "arrow", "duckdb", "spark", "sql"] = Field(
        default="auto",
        description="Who counts and looks up the records; the result is the same. duckdb needs the extra 'duckdb', "
        "spark the extra 'spark' and Java. sql: the warehouse itself, where source and output are tables of one "
        "PostgreSQL or MariaDB server; no record leaves it.",
    )
    spark: SparkSettings | None = Field(default=None, description="Which Spark counts, with backend: spark.")
    memory_limit: str | None = Field(
        default=None,
        pattern=r"^[0-9]{1,9}(\.[0-9]{1,3})? ?[MGT]B$",
        description="What a run may use, such as 4GB: a table with too many distinct combinations for it is refused.",
    )
    _as_written: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._join_tables()
        if not self.quasi_identifiers:
            raise ValueError("attributes: at least one column must be quasi-identifying and have a hierarchy")
        if not any(self.attributes[name].weight > 0 for name in self.quasi_identifiers):
            raise ValueError("attributes: at least one quasi-identifying column needs a weight above 0")
        check_models(self)
        check_populations(self)
        check_algorithm(self)
        check_small_classes(self)
        check_subject(self)
        check_series(self)
        check_churn(self)
        check_drift(self)
        check_incremental(self)
        check_replaced(self)
        check_transformation(self)
        check_transformed(self)
        check_perturbed(self)
        check_sample(self)
        check_differential_privacy(self)
        check_usefulness(self)
        check_in_warehouse(self)
        check_spark(self)
        check_pod(self)
        hidden = {name.casefold(): name for name in self.dropped}
        for name in self.released:
            if name.casefold() in hidden:
                raise ValueError(
                    f"attributes: {name!r} differs from the identifying {hidden[name.casefold()]!r} only in case; "
                    "rename one of them in the source"
                )
        return self

    def _join_tables(self) -> None:
        """Give a job with tables the columns of all of them as its attributes."""
        if self.tables is None:
            if not self.attributes:
                given = "attributes" in self.model_fields_set
                what = "needs at least 1 entry" if given else "this key is required"
                raise ValueError(f"attributes: {what}; or tables, for a job of several")
            return
        for key, given in (("attributes", bool(self.attributes)), ("source", self.source is not None)):
            if given:
                raise ValueError(f"{key} and tables: each table has its own; move it below tables")
        # the document of the job keeps the tables: these are what they come to
        self.__dict__["attributes"] = joined_attributes(self.tables)
        check_linked(self)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Names of the quasi-identifying columns that form the equivalence classes, in the job's order."""
        return tuple(name for name in self._with_role("quasi-identifying") if not self.attributes[name].is_aggregated)

    @property
    def aggregated(self) -> tuple[str, ...]:
        """Names of the columns in which each record has the aggregate of its class, in the job's order."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.is_aggregated)

    @property
    def grouped(self) -> tuple[str, ...]:
        """Names of those of them with the mean of a group of alike records of the class, in the job's order."""
        return tuple(name for name in self.aggregated if self.attributes[name].microaggregation == GROUPED)

    @property
    def perturbed(self) -> tuple[str, ...]:
        """Names of the columns with noise or after randomization, in the job's order."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.is_perturbed)

    @property
    def coded(self) -> tuple[str, ...]:
        """Names of the columns whose numbers are coded, in the job's order."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.coding is not None)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive columns, in the job's order."""
        return self._with_role("sensitive")

    @property
    def identifying(self) -> tuple[str, ...]:
        """Names of the identifying columns, in the job's order."""
        return self._with_role("identifying")

    @property
    def pseudonymized(self) -> tuple[str, ...]:
        """Names of the identifying columns of which pseudonyms are released, in the job's order."""
        return tuple(name for name in self.identifying if self.attributes[name].is_pseudonymized)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names of the identifying columns that are not in the output, in the job's order."""
        return tuple(name for name in self.identifying if not self.attributes[name].is_pseudonymized)

    @property
    def shifted(self) -> tuple[str, ...]:
        """Names of the columns whose dates are moved, in the job's order."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.is_shifted)

    def family(self, name: str) -> str:
        """Return the family of a pseudonymized column."""
        return self.attributes[name].family or name

    @property
    def released(self) -> tuple[str, ...]:
        """Names of the columns of the output, in the job's order."""
        dropped = set(self.dropped)
        return tuple(name for name in self.attributes if name not in dropped)

    @property
    def further_formats(self) -> tuple[str, ...]:
        """Names of the formats in which the records are released beside Parquet."""
        return () if self.output is None else tuple(name for name in self.output.formats if name != "parquet")

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the records come from: the source, or those of the tables."""
        named = [self.source] if self.tables is None else [table.source for table in self.tables.values()]
        return tuple(source for source in named if source is not None)

    @property
    def columns_of_tables(self) -> dict[str, tuple[str, ...]]:
        """Names of all columns of each table, of a job with tables."""
        return {name: tuple(table.attributes) for name, table in (self.tables or {}).items()}

    @property
    def released_of_tables(self) -> dict[str, tuple[str, ...]]:
        """Names of the released columns of each table, of a job with tables, in the job's order."""
        dropped = set(self.dropped)
        return {name: tuple(c for c in own if c not in dropped) for name, own in self.columns_of_tables.items()}

    @property
    def joining_keys(self) -> list[str]:
        """Names of the columns but the subject whose pseudonyms join tables of the job."""
        return [] if self.tables is None else shared_keys(self)

    @property
    def subset(self) -> str | None:
        """Path of the research subset of the source, if only the subset is released."""
        return next((model.subset_file for model in self.privacy if model.subset_file is not None), None)

    @property
    def population(self) -> str | None:
        """Path of the population's table, if it has one of its own."""
        return next(iter(self.population_files), None)

    @property
    def population_files(self) -> list[str]:
        """Paths of the files that the job names as its population, in the job's order; they have to be one."""
        frontier = None if self.frontier is None else self.frontier.population
        named = [*(model.population_file for model in self.privacy), self.risk.population, frontier]
        return [path for path in named if isinstance(path, str)]

    @property
    def population_query(self) -> PopulationQuery | None:
        """The population in a database, if it is not yet in a file."""
        named = None if self.frontier is None else self.frontier.population
        return named if isinstance(named, PopulationQuery) else None

    def with_population(self, path: str | Path) -> Self:
        """Return the same job with its population in a file; its document keeps the key as it was written."""
        settings = self.frontier_settings.model_copy(update={"population": str(path)})
        return self.model_copy(update={"frontier": settings})

    @property
    def frontier_settings(self) -> FrontierSettings:
        """How the job's frontier is searched: its section, or the defaults."""
        return self.frontier or FrontierSettings()

    def weights(self, attributes: Sequence[str]) -> list[float]:
        """Return the weight of each of these quasi-identifiers in the utility measure's aggregate."""
        return [self.attributes[name].weight for name in attributes]

    @property
    def prefers(self) -> Literal["star", "drop"]:
        """The form of the suppressed records that the job asks for; without an output they stay.

        Suppressed persons are left out: with `*` the number of their rows would be told, which is part of a picture. So
        is who is suppressed in a series, since between nights the records with `*` would be a class of their own, and
        so are suppressed records of linked tables: as `*` they would be of no table. Nor
        does a file show records that are quarantined.
        """
        if self.suppresses_persons or self.series is not None or self.tables is not None or self.quarantines:
            return "drop"
        return "star" if self.output is None else self.output.suppressed

    @property
    def quarantines(self) -> bool:
        """Whether records may be left out because a value of theirs is new."""
        return self.drift is not None and bool(self.drift.quarantined)

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit in bytes, if there is one."""
        if self.memory_limit is None:
            return None
        return int(float(self.memory_limit[:-2]) * {"M": 10**6, "G": 10**9, "T": 10**12}[self.memory_limit[-2]])

    @property
    def minimum_class_size(self) -> int:
        """Size of the smallest equivalence class, in records, that all privacy models allow."""
        return max(model.minimum_class_size for model in self.privacy)

    @property
    def minimum_persons(self) -> int:
        """Distinct persons that an equivalence class must have, of a job with a subject."""
        return max(model.minimum_class_size for model in self.privacy if model.sensitive_attribute is None)

    @property
    def known(self) -> Known:
        """What an attacker knows of a person, of a job with a subject."""
        return self.knows.rows if isinstance(self.knows, KnownRows) else self.knows or "any-row"

    @property
    def recodes_locally(self) -> bool:
        """Whether each record has levels of its own."""
        return self.transformation == LOCAL

    @property
    def search_seconds(self) -> float | None:
        """Seconds that the search for levels has; None without a limit."""
        return self.search.time_limit_seconds or (START_SECONDS if self.recodes_locally else None)

    @property
    def mixes_levels(self) -> bool:
        """Whether the columns of a release are of mixed levels: each record has its own, or that of its cohort."""
        return self.recodes_locally or (self.series is not None and self.series.arrivals == "batch")

    @property
    def sampling_fraction(self) -> float | None:
        """Share of the population that is in the released table, or, if the job samples, of the table at least."""
        if self.sample is None:
            return self.risk.sampling_fraction
        return self.sample.fraction * (self.risk.sampling_fraction or 1.0)

    @property
    def is_private(self) -> bool:
        """Whether the release is differentially private: then nothing that leaves a run depends on other records."""
        return private_model(self) is not None

    @property
    def draws_rows(self) -> bool:
        """Whether a secret key decides which rows of the source are counted, or how their values are perturbed."""
        return self.max_rows is not None or self.sample is not None or bool(self.perturbed)

    @property
    def suppresses_persons(self) -> bool:
        """Whether persons are suppressed with all of their records, and not classes of records."""
        return self.known != "any-row"

    @property
    def counted_privacy(self) -> tuple[PrivacyModel, ...]:
        """The privacy models as they judge classes: by persons if the job has a subject."""
        return self.privacy if self.subject is None else counting_persons(self.privacy, self.partial_sensitive)

    @property
    def partial_sensitive(self) -> frozenset[str]:
        """Names of the sensitive columns that some of several tables lack."""
        tables = self.columns_of_tables.values()
        return frozenset(name for name in self.sensitive if any(name not in own for own in tables))

    def _with_role(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name, attribute in self.attributes.items() if attribute.role == role)

    def resolved(self, base: Path) -> Self:
        """Make every relative path absolute."""
        return self.model_copy(
            update={
                "source": self.source and self.source.resolved(base),
                "output": self.output and self.output.resolved(base),
                "attributes": {name: attribute.resolved(base) for name, attribute in self.attributes.items()},
                "tables": self.tables and {name: table.resolved(base) for name, table in self.tables.items()},
                "shift": self.shift and self.shift.resolved(base),
                "series": self.series and self.series.resolved(base),
                "drift": self.drift and self.drift.resolved(base),
                "incremental": self.incremental and self.incremental.resolved(base),
                "risk": self.risk.resolved(base),
                "frontier": self.frontier and self.frontier.resolved(base),
                "choose": self.choose and self.choose.resolved(base),
                "privacy": tuple(model.resolved(base) for model in self.privacy),
            }
        )

    @property
    def csv_form(self) -> CsvForm:
        """How the CSV files of its source are written, and those that it names beside it."""
        return CSV if self.source is None else self.source.form

    def with_source(self, path: str | Path) -> Self:
        """Return the same job with the file `path` as source; its document keeps the source as it was written."""
        return self.model_copy(update={"source": Source(path=str(path), **self.csv_form._asdict())})

    def with_policy(self, policy: Mapping[str, Any], *, chosen: bool = False) -> Self:
        """Return the job that executes a policy: each quasi-identifier has its groups, at level 1, and nothing else.

        Parameters
        ----------
        policy : mapping
            Attribute to list of groups: `Policy.document()` of `engine.frontiers.space.policy`.
        chosen : bool
            Whether the job's rule chose it: it is then as `engine.frontiers.of_file` writes it.

        Raises
        ------
        InvalidJob
            Its attributes are not the quasi-identifiers, or its groups are invalid.
        """
        named = {name: self.attributes[name] for name in self.quasi_identifiers}
        executed = self.model_copy(
            update={
                "attributes": {**self.attributes, **attributes_with_policy(named, policy, chosen=chosen)},
                "search": Search(algorithm=POLICY, file=self.search.file),
                "choose": None,
            }
        )
        executed._as_written = written_with_policy(self.document(), named, policy, chosen=chosen)  # noqa: SLF001
        return executed

    def without_policy(self) -> Self:
        """Return the job with its own hierarchies and levels instead of the groups of a policy, if it executes one."""
        if self.policy is None:
            return self
        below = {name: without_policy(self.attributes[name]) for name in self.quasi_identifiers}
        return self.model_copy(update={"attributes": {**self.attributes, **below}, "search": Search()})

    @property
    def policy(self) -> dict[str, Any] | None:
        """The document of the policy that the job executes; None for a job that searches."""
        if self.search.algorithm != POLICY:
            return None
        return groups_of({name: self.attributes[name] for name in self.quasi_identifiers})

    def as_run(self, report: Mapping[str, Any]) -> Self:
        """Return the job whose output a report describes; if the job has a rule, with the policy that the rule chose.

        Raises
        ------
        InvalidJob
            The report names no policy of the job's quasi-identifiers.
        """
        if self.choose is None:
            return self
        policy = report.get("policy")
        if not isinstance(policy, Mapping):
            raise InvalidJob(
                "report: names no policy, but the job has a rule that chooses one; give the report of the same run"
            )
        return self.with_policy(policy, chosen=True)

    def located(self, base: Path) -> Self:
        """Return the job with absolute paths, and with the policy of its file, as it is run from the folder `base`.

        Raises
        ------
        InvalidJob
            The file of the policy cannot be read, or does not fit the job.
        """
        located = self.resolved(base)
        located._as_written = _plain(self)  # noqa: SLF001 (of this class)
        return located if self.search.file is None else located.with_policy(read_policy(base / self.search.file))

    def document(self) -> dict[str, Any]:
        """Return the job as plain data, defaults filled in, paths as they were written.

        A release contains this document, and the hash is computed from it, both without absolute paths
        (`without_folders`): they do not depend on the folder of the job file.
        """
        return self._as_written or _plain(self)

    def __str__(self) -> str:
        """Return the document as the text of a job file, for readers elsewhere: of absolute paths the last name."""
        return yaml.dump(without_folders(self.document()), Dumper=Dumper, sort_keys=False)

    @property
    def sha256(self) -> str:
        """Hash of the document without folders of this machine, hexadecimal: that of the job file in a release."""
        return hashlib.sha256(json.dumps(without_folders(self.document()), sort_keys=True).encode()).hexdigest()


def _plain(job: Job) -> dict[str, Any]:
    plain: dict[str, Any] = job.model_dump(mode="json", exclude_none=True)
    if job.output is not None and not job.output.also:
        del plain["output"]["also"]
    if job.tables is not None:
        del plain["attributes"]
        for table in plain["tables"].values():
            tidied(table["attributes"])
    else:
        tidied(plain["attributes"])
    if job.dag is not None:
        plain["dag"]["schedule"] = job.dag.schedule  # null is not the default here
    return plain
