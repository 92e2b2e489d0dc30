"""What the report of a release says of its series."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict


class SeriesStated(TypedDict):
    """The series that a release belongs to, and what it cost.

    `releases`: remembered ones, this one included. `smallest_trace`: persons of the smallest class of equal traces.
    The shares are of the persons of tonight's table: `suppressed_share` of those whose class fails, `held_back_share`
    of those who are in no remembered release and wait, `covered_share` of those who are and are withheld. `searched`
    is what the search found on that table, before anybody was held back. Published, shares have two digits, and are
    None where they would tell of fewer persons than a class must have, as is a `smallest_trace` below that;
    `kept_share`, of who is gone from the table and released still, is of the persons of the table and these: only where
    departures are kept, at most `max_nights`; the other shares are then of the same.
    `below_share`, of persons whose trace is that of fewer, only where departures are reported and not covered.
    `stability`: of jobs that keep levels, from the second release on. `raised`: of jobs whose levels rise for
    arrivals; then `searched` is what the search found before they rose. `levels_changed`: columns whose level is
    another one than in the release before, none where all stayed; missing in the first release. `churn`: of jobs
    that expect some. `cohorts`: of jobs that give newcomers levels of their own; then there are no
    `levels_changed`.
    """

    name: str
    release_id: str
    memory: int
    arrivals: Literal["hold-back", "batch", "coarsen", "refuse"]
    departures: Literal["cover", "keep", "report"]
    releases: int
    smallest_trace: int | None
    suppressed_share: float | None
    held_back_share: float | None
    covered_share: float | None
    searched: SearchedStated
    max_nights: NotRequired[int]
    kept_share: NotRequired[float | None]
    below_share: NotRequired[float | None]
    stability: NotRequired[StabilityStated]
    raised: NotRequired[RaisedStated]
    levels_changed: NotRequired[dict[str, LevelChange]]
    churn: NotRequired[ChurnStated]
    cohorts: NotRequired[CohortsStated]


class SearchedStated(TypedDict):
    """The loss of the levels on tonight's table, and whether no others lose less there."""

    information_loss: float | None
    optimal: bool


class LevelChange(TypedDict):
    """The level of a column in the release before, and in this one."""

    before: int
    now: int


class RaisedStated(TypedDict):
    """Whether levels rose so that nobody new has to wait, and the loss at the higher levels on tonight's table."""

    levels: bool
    information_loss: float | None


class CohortsStated(TypedDict):
    """How many combinations of levels the persons of the release have."""

    levels: int


class StabilityStated(TypedDict):
    """Whether the levels of the release before stay, their loss on tonight's table, and the least one there.

    `loss_kept` is None where these levels satisfy the models no more.
    """

    kept: bool
    loss_kept: float | None
    loss_possible: float | None


class ChurnStated(TypedDict):
    """What is expected of the levels of this release, as many nights on as are remembered, by the job's churn.

    `arrivals`, `departures`: of the job. `loss_possible`: what the levels of least loss would lose tonight.
    `held_back_share` and `covered_share` are expected; what happened is beside them, in the series.
    """

    arrivals: float
    departures: float
    loss_possible: float | None
    held_back_share: float | None
    covered_share: float | None
