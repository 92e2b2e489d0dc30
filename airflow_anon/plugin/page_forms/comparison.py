"""The form of the audit page's comparison with the release before."""

from __future__ import annotations

from typing import Literal, TypedDict

from airflow_anon.disclosure.counts import Figure
from airflow_anon.plugin.page_forms.parts import Level

Cause = Literal["data", "configuration", "software"]


class Previous(TypedDict):
    """The release before."""

    sequence: int
    recorded_at: str
    dag_id: str
    run_id: str
    release_id: str | None
    entry_sha256: str


class LevelChange(TypedDict):
    """An attribute whose level changed; a side is None if it was not a quasi-identifier."""

    attribute: str
    before: Level | None
    after: Level | None


class Difference(TypedDict):
    """A setting or a version that differs, both values as JSON, None if not set."""

    key: str
    before: str | None
    after: str | None


class ComparedFigure(TypedDict):
    """A figure of both releases, and their difference."""

    title: str
    before: Figure
    now: Figure
    change: Figure
    form: Literal["number", "percent"]


class Compared(TypedDict):
    """What changed, and why; `verdict` says it in one sentence."""

    levels: list[LevelChange] | None
    causes: list[Cause]
    data: Literal["same", "changed", "unknown"]
    settings: list[Difference]
    versions: list[Difference]
    figures: list[ComparedFigure]
    verdict: str


class NotCompared(TypedDict):
    """Why two releases are not compared, in words; `previous` is None if the user may not see it."""

    previous: Previous | None
    note: str


class ComparedWith(Compared):
    """The comparison with the release before."""

    previous: Previous
    note: None


Comparison = ComparedWith | NotCompared
