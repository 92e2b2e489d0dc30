"""The parts of a job file: source, columns, search, output, risk figures, schedule."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from typing_extensions import Self

from engine.hierarchy.policy_groups import AnyHierarchy
from engine.hierarchy.value_keys import OrderName
from engine.job.key_place import KEY_FIELDS, KeyPlace
from engine.job.perturbed import Noise, Pram
from engine.job.pod_settings import PodSettings
from engine.job.replaced import LINKED_ROWS
from engine.job.store_address import check_address, is_in_store
from engine.job.transformed import GROUPED, OF_NUMBERS, Aggregate, Coding
from engine.search.registry import ALGORITHMS, POLICY
from engine.spec import FileName, Spec
from engine.tables.csv_form import UTF_8, CsvForm, encoding_of

Role = Literal["quasi-identifying", "sensitive", "identifying", "insensitive"]
_PRESETS = (
    "@once",
    "@continuous",
    "@hourly",
    "@daily",
    "@midnight",
    "@weekly",
    "@monthly",
    "@quarterly",
    "@yearly",
    "@annually",
)
_CRON_FIELDS = (5, 6)
"""Fields of a cron expression; a sixth one has the seconds."""
_CRON_FIELD = re.compile(r"[0-9A-Za-z*/,#?-]+")


def _hierarchy_shorthand(value: Any) -> Any:
    return {"builder": "csv", "path": value} if isinstance(value, str) else value


WrittenHierarchy = Annotated[AnyHierarchy, BeforeValidator(_hierarchy_shorthand)]
"""A hierarchy as a job file has it: a builder with its keys, or the path of a file."""


def _delimiter(value: str) -> str:
    if not value.isascii() or value in '"\r\n\0':
        raise ValueError("must be one ASCII character and neither a quote nor a line break")
    return value


class Source(Spec):
    """Where the records come from: a file, or a table or query of a connection."""

    path: FileName | None = Field(
        default=None,
        description="A .csv or .parquet file, a folder of such files, or a pattern of their names with *; relative to "
        "the job file.",
    )
    delimiter: Annotated[str, AfterValidator(_delimiter)] = Field(
        default=",", min_length=1, max_length=1, description="Field separator of a CSV file: one ASCII character."
    )
    encoding: Annotated[str, AfterValidator(encoding_of)] = Field(
        default=UTF_8,
        description="Encoding of a CSV file: utf-8, cp1252 (Windows), latin-1, utf-16, or another one of Python.",
    )
    conn_id: str | None = Field(default=None, description="Airflow connection of the warehouse.")
    table: str | None = Field(default=None, description="Table or view, with its schema if it has one: clinic.person.")
    query: str | None = Field(default=None, description="One SELECT statement instead of a table.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.path is None) == (self.conn_id is None):
            raise ValueError("name either a path or a conn_id")
        if self.conn_id is not None and (self.table is None) == (self.query is None):
            raise ValueError("a conn_id needs either a table or a query")
        if self.path is not None and (self.table or self.query):
            raise ValueError("table and query belong to a conn_id, not to a path")
        if self.path is not None and "://" in self.path:
            raise ValueError(
                "path: is an address, and files are read from folders alone, by Spark too; mount the store, or copy "
                "the files"
            )
        return self

    @property
    def form(self) -> CsvForm:
        """How its CSV files are written."""
        return CsvForm(self.delimiter, self.encoding)

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self if self.path is None else self.model_copy(update={"path": str(base / self.path)})


class Attribute(KeyPlace):
    """The role of a column, how it may be generalized, and the key of its pseudonyms."""

    role: Role = Field(
        description="quasi-identifying: others may know it, so it is generalized. sensitive: released as it is, and "
        "privacy models limit what a class tells of it. identifying: stays in the source. insensitive: released as it "
        "is."
    )
    hierarchy: WrittenHierarchy | None = Field(
        default=None,
        description="How a quasi-identifying column is generalized: a builder with its keys, the path of a file, or "
        "{shared: NAME}. Of a sensitive column: for hierarchical t-closeness.",
    )
    weight: float = Field(default=1.0, ge=0, strict=True, description="Weight in the utility measure's aggregate.")
    minimum_level: int = Field(
        default=0, ge=0, strict=True, description="Lowest generalization level the search may choose."
    )
    maximum_level: int | None = Field(
        default=None, ge=0, strict=True, description="Highest level; the hierarchy's last if absent."
    )
    nulls: Literal["value", "error"] = Field(
        default="value", description="Missing values count as a separate value, or are an error."
    )
    missing: tuple[str, ...] = Field(
        default=(), description="Texts that mean a missing value, such as an empty one or '?'."
    )
    unseen: Literal["error", "suppress", "root"] = Field(
        default="error",
        description="Values without a hierarchy entry: an error, or suppress their records, or they become the root.",
    )
    order: OrderName | None = Field(
        default=None,
        description="How the values are ordered. Sensitive, if absent: by the column's type. Quasi-identifying: groups "
        "of policies are then runs of values; if absent, nodes of the hierarchy.",
    )
    action: Literal["drop", "pseudonymize", "shift"] = Field(
        default="drop",
        description="An identifying column is dropped, or released as pseudonyms by a secret key. Other columns are "
        "released; shift: as dates, moved by the days of the person.",
    )
    family: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
        description="Pseudonymized columns of one family have the same pseudonym for the same value; the column's name "
        "if absent.",
    )
    coding: Coding | None = Field(
        default=None,
        description="Top and bottom coding and rounding of a sensitive, insensitive or microaggregated column of "
        "numbers.",
    )
    microaggregation: Aggregate | None = Field(
        default=None,
        description="Of a quasi-identifying column, instead of a hierarchy: every record has the mean, the median, the "
        "mode or the interval of the values of its equivalence class, which the other columns form. mdav, of a "
        "sensitive or insensitive column: the mean of a group of records of the class that are alike in all such "
        "columns, as many as the models demand of a class.",
    )
    noise: Noise | None = Field(
        default=None, description="Random noise on the numbers of a sensitive or insensitive column."
    )
    pram: Pram | None = Field(
        default=None, description="Random changes of the categories of a sensitive or insensitive column."
    )
    accept: Literal["unique", "linked-rows"] | None = Field(
        default=None,
        description="unique: the values of a sensitive or insensitive column may be nearly unique, or look like "
        "identifiers; linked-rows: the pseudonyms of a column may join rows of the release. Else that is an error.",
    )

    @model_validator(mode="after")
    def _role_fits(self) -> Self:
        if self.is_aggregated:
            self._aggregate_fits()
        elif self.role == "quasi-identifying":
            if self.hierarchy is None:
                raise ValueError("a quasi-identifying column needs a hierarchy, or microaggregation")
        else:
            foreign = {"weight", "minimum_level", "maximum_level", "unseen"} & self.model_fields_set
            if foreign:
                raise ValueError(f"{', '.join(sorted(foreign))}: only for quasi-identifying columns")
            foreign = {"hierarchy", "missing"} & self.model_fields_set
            foreign -= {"missing"} if self.is_shifted or self.coding is not None or self.is_perturbed else set()
            if foreign and self.role != "sensitive":
                raise ValueError(
                    f"{', '.join(sorted(foreign))}: only for quasi-identifying and sensitive columns; missing also for "
                    "those with action: shift, coding, noise or pram"
                )
        has_numbers = self.coding is not None or self.noise is not None or self.is_aggregated
        if self.role not in {"sensitive", "quasi-identifying"} and self.order is not None and not has_numbers:
            raise ValueError(
                "order: only for sensitive and quasi-identifying columns, and for those with coding, noise or "
                "microaggregation"
            )
        self._accepts_what_it_has()
        self._action_fits()
        self._coding_fits()
        self._perturbation_fits()
        if self.maximum_level is not None and self.maximum_level < self.minimum_level:
            raise ValueError(f"maximum_level {self.maximum_level} is below minimum_level {self.minimum_level}")
        return self

    def _aggregate_fits(self) -> None:
        if self.microaggregation == GROUPED and self.role not in {"sensitive", "insensitive"}:
            raise ValueError(
                "microaggregation: mdav: only for sensitive and insensitive columns, since its groups are smaller than "
                "the classes of which the risk is told; use mean or median, or another role"
            )
        if self.role != "quasi-identifying" and self.microaggregation != GROUPED:
            raise ValueError("microaggregation: only for quasi-identifying columns, but mdav only for others")
        own = {"hierarchy", "weight", "minimum_level", "maximum_level", "unseen", "action"} & self.model_fields_set
        if own:
            raise ValueError(
                f"{', '.join(sorted(own))}: not for a column with microaggregation, which has no levels; take it out, "
                "or take microaggregation out"
            )
        if self.microaggregation in OF_NUMBERS and self.order in {"text", "date"}:
            raise ValueError(
                f"microaggregation: {self.microaggregation} is of numbers, and order is {self.order}; use mode, or "
                "order: integer or decimal"
            )

    def _coding_fits(self) -> None:
        if self.coding is None:
            return
        if self.role == "identifying" or (self.role == "quasi-identifying" and not self.is_aggregated):
            raise ValueError(
                "coding: only for sensitive and insensitive columns, and those with microaggregation; a column with a "
                "hierarchy is coded by its levels: set minimum_level"
            )
        if self.is_shifted or self.hierarchy is not None:
            raise ValueError("coding: is of numbers, and goes with neither action: shift nor a hierarchy; take one out")
        if self.order in {"text", "date"}:
            raise ValueError(f"coding: is of numbers, and order is {self.order}; use order: integer or decimal")

    def _perturbation_fits(self) -> None:
        named = [key for key in ("noise", "pram") if getattr(self, key) is not None]
        if not named:
            return
        key = " and ".join(named)
        if self.role not in {"sensitive", "insensitive"}:
            raise ValueError(
                f"{key}: only for sensitive and insensitive columns: classes of drawn values would prove nothing; give "
                "a quasi-identifying column a hierarchy"
            )
        beside = [*(named if len(named) > 1 else []), *(["coding"] if self.coding is not None else [])]
        beside += ["microaggregation"] if self.is_aggregated else []
        beside += ["action: shift"] if self.is_shifted else []
        beside += ["hierarchy"] if self.hierarchy is not None else []
        if beside:
            raise ValueError(f"{key}: does not go with {', '.join(beside)} of the same column; take one out")
        if self.noise is not None and self.order in {"text", "date"}:
            raise ValueError(f"noise: is on numbers, and order is {self.order}; use order: integer or decimal")

    def _accepts_what_it_has(self) -> None:
        if self.accept == "unique" and self.role not in {"sensitive", "insensitive"}:
            raise ValueError("accept: only for sensitive and insensitive columns, which are released as they are")
        if self.accept == LINKED_ROWS and not self.is_pseudonymized:
            raise ValueError(f"accept: {LINKED_ROWS}: only for identifying columns with action: pseudonymize")

    def _action_fits(self) -> None:
        allowed = {"drop", "pseudonymize"} if self.role == "identifying" else {"shift"}
        if "action" in self.model_fields_set and self.action not in allowed:
            raise ValueError("action: only for identifying columns: drop or pseudonymize; only for others: shift")
        foreign = {"family", *KEY_FIELDS} & self.model_fields_set
        if foreign and not self.is_pseudonymized:
            raise ValueError(
                f"{', '.join(sorted(foreign))}: only for identifying columns with action: pseudonymize; the key of "
                "shifted dates is in shift"
            )

    @property
    def is_pseudonymized(self) -> bool:
        """Whether pseudonyms of its values are released."""
        return self.role == "identifying" and self.action == "pseudonymize"

    @property
    def is_shifted(self) -> bool:
        """Whether it holds dates that are moved."""
        return self.role != "identifying" and self.action == "shift"

    @property
    def is_aggregated(self) -> bool:
        """Whether each record has the aggregate of its class."""
        return self.microaggregation is not None

    @property
    def is_perturbed(self) -> bool:
        """Whether its values are drawn at random about those of the source."""
        return self.noise is not None or self.pram is not None

    @property
    def domain_order(self) -> OrderName | None:
        """The order of a quasi-identifier's values, if the job gives one: policies then cut it anywhere."""
        return self.order if self.role == "quasi-identifying" else None

    def resolved(self, base: Path) -> Self:
        """Make the paths of the hierarchy and of the key absolute."""
        below = {} if self.hierarchy is None else {"hierarchy": self.hierarchy.resolved(base)}
        moved = {**below, **self.moved_key(base)}
        return self.model_copy(update=moved) if moved else self


class Search(Spec):
    """How the lattice is searched."""

    algorithm: str = Field(
        default="optimal", description="See docs/search.md; policy: the groups of a file, without a search."
    )
    file: FileName | None = Field(default=None, description="The policy file of algorithm policy.")
    time_limit_seconds: float | None = Field(
        default=None, gt=0, description="Stop with the best solution so far; before a local recoding 60, if absent."
    )
    gap: float = Field(
        default=0.0, ge=0, lt=1, strict=True, description="The solution may miss the optimum by this share of its loss."
    )
    start: dict[str, int] | None = Field(
        default=None, description="A level for each quasi-identifying column, checked first: such as last night's."
    )
    threads: int = Field(default=1, ge=1, le=64, strict=True, description="Parallel threads of the search.")
    memory_megabytes: int = Field(
        default=1024,
        ge=0,
        strict=True,
        description="Memory for waiting parts of the search; others are made again.",
    )

    @model_validator(mode="after")
    def _known_algorithm(self) -> Self:
        allowed = (*ALGORITHMS, POLICY)
        if self.algorithm not in allowed:
            raise ValueError(f"algorithm is {self.algorithm!r}, allowed are {', '.join(map(repr, allowed))}")
        fields = type(self).model_fields
        settings = ("gap", "start", "threads", "memory_megabytes")
        foreign = {name for name in settings if getattr(self, name) != fields[name].default}
        if foreign and self.algorithm != "optimal":
            raise ValueError(f"{', '.join(sorted(foreign))}: only for algorithm optimal")
        if self.file is not None and self.algorithm != POLICY:
            raise ValueError("file: only for algorithm policy")
        return self


class Output(Spec):
    """Where the release goes: a folder, further ones, a table of a connection."""

    path: FileName | None = Field(
        default=None,
        description="Release folder; in Airflow the share that holds all releases, a folder or an address in a store: "
        "s3://bucket/folder, also gs, gcs, abfs and abfss.",
    )
    also: tuple[FileName, ...] = Field(
        default=(),
        description="In Airflow, further shares that hold every release of path: absolute folders, or addresses in a "
        "store. The release is the same in each, and goes to all of them or to none.",
    )
    conn_id: str | None = Field(
        default=None,
        description="Airflow connection of the table; without a table that of the store in path. With both, that of "
        "the store stands in its address: s3://conn_id@bucket/folder.",
    )
    table: str | None = Field(default=None, description="Table of the research share, replaced by each release.")
    suppressed: Literal["star", "drop"] = Field(
        default="star", description="Suppressed records keep their row, with '*', or are left out."
    )
    keep: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        strict=True,
        description="In Airflow, releases that stay in the share, tonight's included: older ones are removed; all stay "
        "if absent.",
    )
    formats: tuple[Literal["parquet", "csv", "dta", "sav"], ...] = Field(
        default=("parquet",),
        description="Files of the records in the release folder: Parquet always; csv, dta (Stata) and sav (SPSS) "
        "beside it.",
    )

    @model_validator(mode="before")
    @classmethod
    def _connection_of_store(cls, given: Any) -> Any:
        """Make the connection of a store a part of its address, as Airflow writes it."""
        if not isinstance(given, Mapping) or given.get("conn_id") is None or given.get("table") is not None:
            return given
        path, conn_id = given.get("path"), given["conn_id"]
        if not isinstance(path, str) or not isinstance(conn_id, str) or not is_in_store(path):
            return given
        scheme, _, rest = path.partition("://")
        if "@" in rest:
            raise ValueError("conn_id: the address in path names a connection already; take one of the two out")
        return {**given, "path": f"{scheme}://{conn_id}@{rest}", "conn_id": None}

    @model_validator(mode="after")
    def _target(self) -> Self:
        if self.path is not None and is_in_store(self.path):
            check_address(self.path)
        if "parquet" not in self.formats or len(set(self.formats)) < len(self.formats):
            raise ValueError("formats: must name parquet, which every release has, and each format once")
        if self.path is None and len(self.formats) > 1:
            raise ValueError(
                "formats: are files of a release folder; name a path, or leave it out: a table has no files"
            )
        if (self.conn_id is None) != (self.table is None):
            raise ValueError(
                "conn_id and table go together; a conn_id without a table is for a path in a store, such as "
                "s3://bucket/folder"
            )
        if self.path is None and self.conn_id is None:
            raise ValueError("name a path, or a conn_id with a table, or both")
        self._check_also()
        if self.keep is not None and self.path is None:
            raise ValueError("keep: is of the releases in a path; a table has one release, so take keep out")
        return self

    def _check_also(self) -> None:
        if self.also and self.path is None:
            raise ValueError("also: are further places of what is in path; name a path, or take also out")
        for place in self.also:
            if is_in_store(place):
                check_address(place, "also")
            elif "://" not in place and not Path(place).is_absolute():
                raise ValueError(f"also: {place} must be an absolute path, or an address in a store such as s3://…")
        named = [place.rstrip("/") for place in (self.path, *self.also) if place is not None]
        if len(set(named)) < len(named):
            raise ValueError("also: must name each share once, and none that is in path")

    @property
    def folders(self) -> tuple[Path, ...]:
        """The shares that are folders, each as a path."""
        places = (self.path, *self.also)
        return tuple(Path(place) for place in places if place is not None and "://" not in place)

    def resolved(self, base: Path) -> Self:
        """Make the path absolute; an address with a scheme is kept."""
        if self.path is None or "://" in self.path:
            return self
        return self.model_copy(update={"path": str(base / self.path)})


class Risk(Spec):
    """How the report states the risk of a release; it has no effect on the release."""

    threshold: float = Field(
        default=0.09,
        gt=0,
        le=1,
        strict=True,
        description="Records are at risk at or above this probability of being found.",
    )
    population: FileName | None = Field(
        default=None, description="A .csv or .parquet file with the quasi-identifiers of every person."
    )
    sampling_fraction: float | None = Field(
        default=None,
        gt=0,
        le=1,
        strict=True,
        description="Share of the population that is in the table of the source, if known.",
    )

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self.model_copy(update={"population": self.population and str(base / self.population)})


def _time_of(schedule: str) -> str:
    """Refuse what is no schedule by its form; whether its numbers are in range Airflow tells."""
    fields = schedule.split()
    is_cron = len(fields) in _CRON_FIELDS and all(_CRON_FIELD.fullmatch(one) for one in fields)
    if schedule not in _PRESETS and not is_cron:
        raise ValueError(
            f"is {schedule!r}; use a cron expression of five fields, such as '15 2 * * *', one of the presets "
            f"{', '.join(_PRESETS)}, or null"
        )
    return schedule


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        if available_timezones():  # else the machine has no database of them
            raise ValueError(
                f"is {name!r}; must be a name of the IANA time zone database, such as UTC or Europe/Zurich"
            ) from None
    return name


class DagSettings(Spec):
    """How an orchestrator runs the job; the engine does not use it."""

    schedule: Annotated[str, AfterValidator(_time_of)] | None = Field(
        default="@daily", description="Cron expression or preset; null: only on request."
    )
    start_date: dt.date = Field(default=dt.date(2026, 1, 1), description="First day of the schedule.")
    timezone: Annotated[str, AfterValidator(_time_zone)] = Field(
        default="UTC", description="Time zone of the schedule, by its IANA name."
    )
    owner: str = Field(default="airflow", description="Owner of the tasks.")
    tags: tuple[str, ...] = Field(default=("de-identification",), description="Tags of the DAG.")
    retries: int = Field(default=1, ge=0, le=1000, description="Further tries of a task that failed.")
    retry_delay_seconds: float = Field(default=300, ge=0, le=31_536_000, description="At most a year.")
    pool: str | None = Field(default=None, min_length=1, description="Airflow's pool of the tasks.")
    queue: str | None = Field(default=None, min_length=1, description="Queue of the workers that run the tasks.")
    execution_timeout_seconds: float | None = Field(
        default=None, gt=0, le=31_536_000, description="A task that takes longer is ended; at most a year."
    )
    max_active_tis: int | None = Field(
        default=None, ge=1, le=1000, description="Most instances of one task at once, over all runs of the DAG."
    )
    deferrable: bool | None = Field(
        default=None,
        description="Whether a Spark Connect server counts while no worker waits, which needs a triggerer; by default "
        "as Airflow's setting [operators] default_deferrable says.",
    )
    executor: str | None = Field(
        default=None,
        min_length=1,
        max_length=300,
        description="Which of Airflow's executors runs the heavy tasks, those that de-identify, validate and search a "
        "frontier; the others stay with its first one.",
    )
    pod: PodSettings | None = Field(
        default=None,
        description="Pod of the heavy tasks, where a Kubernetes executor runs them; needs the extra 'kubernetes'.",
    )
    description: str | None = Field(default=None, description="What Airflow shows of the DAG.")
