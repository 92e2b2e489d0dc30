"""The job file: one document that says what is read, what each column is, what must hold, and where the output goes.

In: a YAML file or the same as a mapping. Out: a frozen `Job`, every default filled in, every relative path made
absolute against the file's folder. It is the one source of defaults, error texts and the JSON Schema.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, PrivateAttr, model_validator
from typing_extensions import Self

from engine.errors import InvalidJob
from engine.hierarchy.registry import AnyHierarchy
from engine.privacy.registry import AnyPrivacyModel
from engine.search.registry import ALGORITHMS
from engine.spec import Spec, parse
from engine.utility.registry import AnyMeasure

Role = Literal["quasi-identifying", "sensitive", "identifying", "insensitive"]


def _hierarchy_shorthand(value: Any) -> Any:
    return {"builder": "csv", "path": value} if isinstance(value, str) else value


class Source(Spec):
    """Where the records come from: a file, or a table or query of a connection."""

    path: str | None = Field(default=None, description="A .csv or .parquet file, relative to the job file.")
    delimiter: str = Field(default=",", min_length=1, max_length=1, description="Field separator of a CSV file.")
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
        return self

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self if self.path is None else self.model_copy(update={"path": str(base / self.path)})


class Attribute(Spec):
    """What a column is, and how it may be generalized."""

    role: Role
    hierarchy: Annotated[AnyHierarchy, BeforeValidator(_hierarchy_shorthand)] | None = None
    weight: float = Field(default=1.0, ge=0, description="Weight in the utility measure's aggregate.")
    minimum_level: int = Field(default=0, ge=0, description="Lowest generalization level the search may choose.")
    maximum_level: int | None = Field(default=None, ge=0, description="Highest level; the hierarchy's last if absent.")
    nulls: Literal["value", "error"] = Field(
        default="value", description="Missing values are a value of their own, or an error."
    )
    action: Literal["drop"] = Field(default="drop", description="What becomes of an identifying column.")

    @model_validator(mode="after")
    def _role_fits(self) -> Self:
        if self.role == "quasi-identifying":
            if self.hierarchy is None:
                raise ValueError("a quasi-identifying column needs a hierarchy")
        else:
            foreign = {"hierarchy", "weight", "minimum_level", "maximum_level"} & self.model_fields_set
            if foreign:
                raise ValueError(f"{', '.join(sorted(foreign))}: only for quasi-identifying columns")
        if self.role != "identifying" and "action" in self.model_fields_set:
            raise ValueError("action: only for identifying columns")
        if self.maximum_level is not None and self.maximum_level < self.minimum_level:
            raise ValueError(f"maximum_level {self.maximum_level} is below minimum_level {self.minimum_level}")
        return self

    def resolved(self, base: Path) -> Self:
        """Make the hierarchy's path absolute."""
        return self if self.hierarchy is None else self.model_copy(update={"hierarchy": self.hierarchy.resolved(base)})


class Search(Spec):
    """How the lattice is searched."""

    algorithm: str = "optimal"
    time_limit_seconds: float | None = Field(default=None, gt=0, description="Stop with the best solution so far.")

    @model_validator(mode="after")
    def _known_algorithm(self) -> Self:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm is {self.algorithm!r}, allowed are {', '.join(map(repr, ALGORITHMS))}")
        return self


class Output(Spec):
    """Where the release goes: a folder, a table of a connection, or both."""

    path: str | None = Field(default=None, description="Release folder; in Airflow the share that holds all releases.")
    conn_id: str | None = Field(default=None, description="Airflow connection of the research share.")
    table: str | None = Field(default=None, description="Table of the research share, replaced by each release.")
    suppressed: Literal["star", "drop"] = Field(
        default="star", description="Suppressed records keep their row with '*', or are left out."
    )

    @model_validator(mode="after")
    def _target(self) -> Self:
        if (self.conn_id is None) != (self.table is None):
            raise ValueError("conn_id and table go together")
        if self.path is None and self.conn_id is None:
            raise ValueError("name a path, or a conn_id with a table, or both")
        return self

    def resolved(self, base: Path) -> Self:
        """Make the path absolute; an address with a scheme stays as it is."""
        if self.path is None or "://" in self.path:
            return self
        return self.model_copy(update={"path": str(base / self.path)})


class DagSettings(Spec):
    """How an orchestrator runs the job; the engine only carries it."""

    schedule: str | None = Field(default="@daily", description="Cron expression or preset; null: only on request.")
    start_date: dt.date = dt.date(2026, 1, 1)
    timezone: str = "UTC"
    owner: str = "airflow"
    tags: tuple[str, ...] = ("de-identification",)
    retries: int = Field(default=1, ge=0)
    retry_delay_seconds: float = Field(default=300, ge=0)
    description: str | None = None


class Job(Spec):
    """One de-identification job."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", description="Also the name of the release.")
    source: Source | None = None
    attributes: dict[str, Attribute] = Field(min_length=1)
    privacy: tuple[AnyPrivacyModel, ...] = Field(min_length=1)
    suppression_limit: float = Field(default=0.0, ge=0, le=1, description="Share of records, 0 to 1.")
    utility: AnyMeasure = Field(default={"measure": "loss"}, validate_default=True)
    search: Search = Search()
    output: Output | None = None
    dag: DagSettings | None = None
    _as_written: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.quasi_identifiers:
            raise ValueError("attributes: at least one column must be quasi-identifying")
        if not any(self.attributes[name].weight > 0 for name in self.quasi_identifiers):
            raise ValueError("attributes: at least one quasi-identifying column needs a weight above 0")
        for position, model in enumerate(self.privacy):
            name = model.sensitive_attribute
            if name is not None and (name not in self.attributes or self.attributes[name].role != "sensitive"):
                raise ValueError(
                    f"privacy.{position}: attribute {name!r} must be a column with role sensitive; "
                    f"sensitive are {list(self.sensitive)}"
                )
        if len(set(self.privacy)) != len(self.privacy):
            raise ValueError("privacy: the same model stands there twice")
        return self

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Names of the quasi-identifying columns, in the job's order."""
        return self._with_role("quasi-identifying")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive columns, in the job's order."""
        return self._with_role("sensitive")

    @property
    def identifying(self) -> tuple[str, ...]:
        """Names of the identifying columns, in the job's order."""
        return self._with_role("identifying")

    @property
    def released(self) -> tuple[str, ...]:
        """Names of the columns of the output, in the job's order."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.role != "identifying")

    @property
    def minimum_class_size(self) -> int:
        """Smallest equivalence class, in records, that all privacy models together allow."""
        return max(model.minimum_class_size for model in self.privacy)

    def _with_role(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name, attribute in self.attributes.items() if attribute.role == role)

    def resolved(self, base: Path) -> Self:
        """Make every relative path absolute."""
        return self.model_copy(
            update={
                "source": self.source and self.source.resolved(base),
                "output": self.output and self.output.resolved(base),
                "attributes": {name: attribute.resolved(base) for name, attribute in self.attributes.items()},
                "privacy": tuple(model.resolved(base) for model in self.privacy),
            }
        )

    def with_source(self, path: str | Path) -> Self:
        """Return the same job reading the file `path`; its document still names the source that was written."""
        return self.model_copy(update={"source": Source(path=str(path))})

    def document(self) -> dict[str, Any]:
        """Return the job as plain data, defaults filled in, paths as they were written.

        It is what a release holds and what the hash is taken of: the same wherever the job file lies.
        """
        return self._as_written or _plain(self)

    @property
    def sha256(self) -> str:
        """Hash of the document, hexadecimal."""
        return hashlib.sha256(json.dumps(self.document(), sort_keys=True).encode()).hexdigest()


def _plain(job: Job) -> dict[str, Any]:
    plain: dict[str, Any] = job.model_dump(mode="json", exclude_none=True)
    for attribute in plain["attributes"].values():
        if attribute["role"] != "quasi-identifying":
            attribute.pop("weight")
            attribute.pop("minimum_level")
        if attribute["role"] != "identifying":
            attribute.pop("action")
    return plain


def _located(job: Job, base: Path) -> Job:
    resolved = job.resolved(base)
    resolved._as_written = _plain(job)  # noqa: SLF001 (a private field of this module's own class)
    return resolved


def load_job(source: str | Path | Mapping[str, Any] | Job) -> Job:
    """Read a job from a file or a mapping.

    Parameters
    ----------
    source : path or mapping
        A YAML file, whose folder relative paths are relative to, or the same as a mapping (relative to the working
        directory). A `Job` is returned as it is.

    Raises
    ------
    InvalidJob
        Naming every wrong key, what is allowed, and the fix.
    """
    if isinstance(source, Job):
        return source
    if isinstance(source, Mapping):
        job: Job = parse(Job, source, "job")
        return _located(job, Path.cwd())
    path = Path(source)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidJob(f"job file {path}: cannot be read ({problem.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise InvalidJob(f"job file {path}: is not YAML ({str(problem).splitlines()[0]})") from None
    if not isinstance(document, Mapping):
        raise InvalidJob(f"job file {path}: must be a mapping with the keys name, source, attributes, privacy, ...")
    job = parse(Job, document, f"job file {path}")
    return _located(job, path.resolve().parent)


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the job file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Job.model_json_schema()}
