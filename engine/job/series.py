"""The section `series` of a job: what is promised over the releases of several nights, and what does not go with it.

In: a job. Out: nothing, or why it is refused. A series follows one record per person, and judges classes of persons
who have the same trace: models that a union of satisfying classes may fail, or that read the order or the hierarchy of
sensitive values, of which the vault has hashes alone, are refused by their name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.job.transformation import beside_population, not_of_mixed_levels, sums_of_records, table_wide
from engine.privacy.model import Monotonicity, PrivacyModel
from engine.spec import FileName, Spec

MOST_REMEMBERED = 1000
_MOST_NIGHTS = 14


class SeriesSettings(Spec):
    """Nobody is singled out by what differs between releases, as far back as the vault remembers them."""

    vault: FileName | None = Field(
        default=None,
        description="SQLite file, private, that remembers by keyed ids in which class persons were; made if absent.",
    )
    vault_conn_id: str | None = Field(
        default=None,
        min_length=1,
        description="Airflow connection of the vault's database, PostgreSQL or SQLite, instead of a file.",
    )
    key_file: FileName | None = Field(
        default=None, description="Private file (mode 0600) that holds the key of these ids; made if absent."
    )
    key_conn_id: str | None = Field(
        default=None,
        min_length=1,
        description="Airflow connection whose password is that key, at least 32 bytes, instead of a file.",
    )
    memory: int = Field(
        default=30,
        ge=2,
        le=MOST_REMEMBERED,
        strict=True,
        description="Releases that are remembered, tonight's included: the promise is about these.",
    )
    arrivals: Literal["hold-back", "batch", "coarsen", "refuse"] = Field(
        default="hold-back",
        description="New persons, and those of a changed class: they wait until enough of one class can go together; "
        "or those of a night get levels of their own, at which nobody has to, and keep them; or levels rise for all "
        "until nobody has to, as far as that helps; or the run is refused.",
    )
    departures: Literal["cover", "keep", "report"] = Field(
        default="cover",
        description="Persons who are gone: as many others of their trace are withheld as make them a class; or their "
        "last record is released until enough of one class can leave together, where the law lets it stay; or what "
        "departures and moves tell is measured and not prevented.",
    )
    values: Literal["last", "every", "changes"] = Field(
        default="last",
        description="Which sensitive values of persons with one trace the models judge: those of the last release with "
        "them; or those of each remembered release, so that the values of an earlier night are not told either by who "
        "moved or left since; or these too, where persons have one trace only if their values changed on the same "
        "nights, so that a new value waits for others of its class. Each withholds more persons than the one before.",
    )
    max_nights: int | None = Field(
        default=None,
        ge=1,
        le=MOST_REMEMBERED,
        strict=True,
        description="With departures: keep, the releases that a person who is gone stays in at most, 14 by default; "
        "then others cover.",
    )
    begin: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="Name of a new series, of a job that changed: nothing is promised about releases before it.",
    )

    @model_validator(mode="after")
    def _places(self) -> Self:
        for names in (("vault", "vault_conn_id"), ("key_file", "key_conn_id")):
            named = [name for name in names if getattr(self, name) is not None]
            if not named:
                raise ValueError(f"{names[0]}: is missing; name a private file outside of the share, or {names[1]}")
            if len(named) > 1:
                raise ValueError(f"{' and '.join(names)}: there is one; remove one")
        if self.max_nights is not None and self.departures != "keep":
            raise ValueError("max_nights: is of departures: keep; add that, or take it out")
        return self

    @property
    def judges_every_night(self) -> bool:
        """Whether the values of each remembered release are judged, and not only of the last one with a person."""
        return self.values != "last"

    @property
    def traces_changes(self) -> bool:
        """Whether a trace tells on which nights sensitive values changed."""
        return self.values == "changes"

    @property
    def most_nights(self) -> int:
        """Releases that a person who is gone stays in at most."""
        return 0 if self.departures != "keep" else self.max_nights or _MOST_NIGHTS

    def resolved(self, base: Path) -> Self:
        """Make the paths absolute."""
        named = {"vault": self.vault, "key_file": self.key_file}
        return self.model_copy(update={key: str(base / path) for key, path in named.items() if path is not None})


def check_series(job: Any) -> None:
    """Refuse what a `Job` with a series must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.series is None:
        if job.stability is not None:
            raise ValueError("stability: is of the levels of a series; add series, or take it out")
        return
    if job.subject is None:
        raise ValueError(
            "series: persons are followed over releases, and the job does not say whose a record is; name the "
            "identifying column of persons as subject"
        )
    foreign = list(_foreign(job))
    if foreign:
        raise ValueError(f"{'; '.join(foreign)}: does not go with series; take it out")
    if job.series.judges_every_night and job.series.departures == "report":
        raise ValueError(
            f"series.values: {job.series.values} is about who moved or left, which departures: report does not "
            "prevent; set departures: cover, or take values out"
        )
    if job.series.traces_changes:
        _check_followed(job)
    _check_private(job.series, job.output)


def _check_followed(job: Any) -> None:
    """Refuse sensitive columns of whose values the vault would know nothing."""
    judged = {model.sensitive_attribute for model in job.privacy}
    loose = [name for name in job.sensitive if name not in judged]
    if loose or not job.sensitive:
        what = f"no model of privacy names {', '.join(map(repr, loose))}" if loose else "the job has none"
        raise ValueError(
            f"series.values: changes is about values of sensitive columns, and {what}; add a model such as l-diversity "
            "for each, or set values: every"
        )


def _check_private(series: SeriesSettings, output: Any) -> None:
    """Refuse a vault or a key that readers of the releases could open."""
    if output is None:
        return
    if output.conn_id is not None and output.conn_id in {series.vault_conn_id, series.key_conn_id}:
        raise ValueError("series: vault and key must not be in the connection of the research share; name another one")
    for name in ("vault", "key_file"):
        path = getattr(series, name)
        if path is not None and any(folder in Path(path).parents for folder in output.folders):
            raise ValueError(f"series.{name}: must not be in the folder of the releases; name a file outside of it")


def _foreign(job: Any) -> Iterator[str]:
    """Name what is not followed over releases."""
    if job.known != "any-row":
        yield f"knows: {job.known}, where each person has one record"
    if job.max_rows is not None:
        yield "max_rows, where each person has one record"
    if job.subset is not None:
        yield "a research subset"
    if job.tables is not None:
        yield "tables, where each person has one record"
    if job.series.departures == "keep" and (job.pseudonymized or job.shifted):
        yield "series.departures: keep, with pseudonyms or shifted dates, of which the vault has no identifier"
    if job.series.arrivals == "batch":
        yield from _not_of_cohorts(job)
    if job.stability is not None and job.search.algorithm != "optimal":
        yield f"search.algorithm: {job.search.algorithm}, with stability"
    if job.stability is not None and job.search.start is not None:
        yield "search.start, with stability, which starts at the levels before"
    yield from _not_of_traces(job.privacy)


def _not_of_cohorts(job: Any) -> Iterator[str]:
    """Name what does not go with newcomers who have levels of their own."""
    if job.stability is not None:
        yield "stability, with series.arrivals: batch, where everybody keeps the levels of his or her first night"
    if not sums_of_records(job):
        yield (
            f"utility: {job.utility.measure} with aggregate {job.utility.aggregate}, with series.arrivals: batch, "
            "whose mixed levels have a loss by measure loss or precision with aggregate arithmetic-mean or sum alone"
        )
    for place, model in enumerate(job.privacy):
        if model.compares_with_table:
            yield (
                f"privacy.{place}: {model.model}, with series.arrivals: batch, where it would compare newcomers with "
                "tonight's table, which is not known while their levels are chosen"
            )
    for name in (*table_wide(job), *beside_population(job), *not_of_mixed_levels(job)):
        yield f"{name}, with series.arrivals: batch"


def _not_of_traces(models: Sequence[PrivacyModel]) -> Iterator[str]:
    """Name the models that traces cannot be held to."""
    for position, model in enumerate(models):
        if model.reads_order or model.lacking(None, has_hierarchy=False) is not None:
            yield f"privacy.{position}: {model.model}, which compares values, and the vault has none"
        elif model.monotonicity is Monotonicity.NONE:
            yield f"privacy.{position}: {model.model}, which traces cannot be held to"
