"""Where a job's release goes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.job.store_address import check_address, is_in_store
from engine.spec import FileName, Spec


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
