"""Which Spark counts a job with `backend: spark`, and what such a job cannot ask for.

In: a job. Out: settings of Spark; or why the job is refused, before anything is read. As for a job inside its
warehouse, what is known to work is listed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from pydantic import Field, field_validator, model_validator
from typing_extensions import Self

from engine.backends.spark_access import SparkAccess
from engine.errors import InvalidJob
from engine.job.in_warehouse import ATTRIBUTE_KEYS, KEYS, foreign_keys
from engine.spec import Spec

_KEYS = KEYS - {"subject", "knows", "max_rows"} | {"spark", "recipient", "approval", "suppress"}
_NAME = re.compile(r"spark(\.[A-Za-z0-9_-]+)+")
_TOKEN = re.compile(r";\s*token\s*=", re.IGNORECASE)
_OF_ITS_OWN = {"spark.remote": "remote", "spark.master": "master"}


class SparkSettings(Spec):
    """Where Spark is; on this machine, if none of remote, master and conn_id is given."""

    remote: str | None = Field(
        default=None,
        pattern=r"^sc://",
        description="Address of a Spark Connect server: sc://host:15002. Its machines see the folders of source and "
        "output at the same paths.",
    )
    master: str | None = Field(
        default=None,
        min_length=1,
        description="A master of Spark: local[4], spark://host:7077, yarn, k8s://…; the task is then its driver.",
    )
    conn_id: str | None = Field(
        default=None,
        min_length=1,
        description="An Airflow connection of type spark_connect or spark instead of remote or master; it holds the "
        "token.",
    )
    config: dict[str, str] = Field(
        default_factory=dict, description="Settings of Spark by name, such as spark.executor.memory: 8g."
    )

    @field_validator("config")
    @classmethod
    def _settings(cls, config: dict[str, str]) -> dict[str, str]:
        for name in config:
            if name in _OF_ITS_OWN:
                raise ValueError(f"{name}: has a key of its own; set spark.{_OF_ITS_OWN[name]}")
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r}: is no setting of Spark; their names begin with spark.")
        return config

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if sum(place is not None for place in (self.remote, self.master, self.conn_id)) > 1:
            raise ValueError("name one of remote, master and conn_id")
        if self.remote is not None and _TOKEN.search(self.remote):
            raise ValueError("remote: has a token, and a job is part of its release; name a connection as conn_id")
        return self

    @property
    def configuration(self) -> dict[str, str]:
        """The same as settings of Spark."""
        places = {"spark.remote": self.remote, "spark.master": self.master}
        return {**self.config, **{name: place for name, place in places.items() if place is not None}}


def access_of(job: Any, given: SparkAccess | None) -> SparkAccess:
    """Return where Spark is: as a `Job` says, and as whoever runs it knows.

    Raises
    ------
    InvalidJob
        The job names a connection, and nobody read it.
    """
    access = given or SparkAccess()
    settings = job.spark or SparkSettings()
    if settings.conn_id is not None and not {"spark.remote", "spark.master"} & set(access.configuration):
        raise InvalidJob(
            f"spark.conn_id: is {settings.conn_id!r}, and only Airflow's tasks read connections; run the job there, or "
            "name remote or master"
        )
    return replace(access, configuration={**settings.configuration, **access.configuration})


def check_spark(job: Any) -> None:
    """Refuse what a `Job` with, or without, backend spark must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.backend != "spark":
        if job.spark is not None:
            raise ValueError(
                f"spark: is of backend spark, and backend is {job.backend}; set backend: spark, or remove it"
            )
        return
    foreign = list(foreign_keys(job, _KEYS, ATTRIBUTE_KEYS))
    if foreign:
        raise ValueError(f"{', '.join(foreign)}: backend spark does not do that; take it out, or set backend: auto")
