"""Parts of several forms: an entry in a list, a pending publication, the state of the chain, a chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from typing_extensions import NotRequired

from airflow_anon.disclosure.counts import Figure

State = Literal["tampered", "damaged", "refused", "failed", "pending", "released", "recalled", "removed", "given-up"]

Readers = Literal["current", "superseded", "never-current", "astray", "recalled", "removed"]
"""Whether readers get a release, got it before, never did, should and do not, or cannot any more."""


class Outline(TypedDict):
    """An entry in a list; docs/ledger.md says what each key means."""

    sequence: int
    recorded_at: str
    job: str
    dag_id: str
    run_id: str
    task_group: str
    attempt: int
    state: State
    release_id: str | None
    readers: Readers | None
    rows: Figure
    suppressed: Figure
    suppressed_share: Figure
    information_loss: float | None
    privacy_margin: float | None
    optimal: bool | None
    seconds: float | None


class PendingOutline(TypedDict):
    """A publication that has no entry yet."""

    job: str
    release_id: str
    dag_id: str
    run_id: str
    revoked: bool
    since: str


class Chain(TypedDict):
    """Whether the ledger exists and its chain is intact, and the number of breaks."""

    exists: bool
    intact: bool
    breaks: int


class NextRun(TypedDict):
    """When Airflow runs a DAG next (UTC, ISO 8601), and whether it is paused."""

    at: str | None
    paused: bool


class Level(TypedDict):
    """The level of an attribute; `examples` has a label (or None) per level, from the most detailed level.

    Of a local recoding `level` is None, and `shares` has the share of the records at each level. `tables` are those of
    several linked tables that have the attribute. `examples_left_out` says in words why there are no examples, if that
    is known.
    """

    attribute: str
    tables: list[str]
    level: int | None
    shares: list[float] | None
    highest: int | None
    minimum: int | None
    maximum: int | None
    example: str | None
    examples: list[str | None]
    examples_left_out: str | None


class Column(TypedDict):
    """A column of the table behind a chart, and the format of its values."""

    name: str
    form: str


class Table(TypedDict):
    """The table behind a chart."""

    columns: list[Column]
    rows: list[list[Any]]


class Series(TypedDict):
    """Points of a chart; None is a gap."""

    name: str
    x: Sequence[Any]
    y: Sequence[Any]
    line: NotRequired[bool]


class Limit(TypedDict):
    """A line across a chart at a figure; in upright bars at a place between them, 0 being the middle of the first."""

    at: float
    name: str


class Chart(TypedDict):
    """A chart: the drawing, and the table behind it.

    `limits`: lines at usual bounds. `ends`: of the axis of the figures, where it does not follow from them. `refused`:
    moments of attempts that were refused, ISO 8601. `steps`: values that stay until the next one.
    """

    kind: Literal["lines", "bars", "frontier"]
    title: str
    x_title: str
    y_title: str
    form: str
    note: str
    series: list[Series]
    table: Table
    lying: NotRequired[bool]
    logarithmic: NotRequired[bool]
    limits: NotRequired[list[Limit]]
    ends: NotRequired[tuple[float, float]]
    refused: NotRequired[list[str]]
    steps: NotRequired[bool]
