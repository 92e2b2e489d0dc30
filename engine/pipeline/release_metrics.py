"""The metrics of a release: the figures of its report that XCom, manifest and Asset event carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from typing_extensions import NotRequired, TypedDict

if TYPE_CHECKING:
    from engine.pipeline.document import PublishedReport


class Metrics(TypedDict):
    """Figures of one release; a figure is None if it has no basis, for example if no record is kept, or is withheld.

    `rows` counts the records to release, `released` those in the file. A local recoding has no `levels`. The last four
    are of a job with a series: `levels_changed` has for each column with another level than in the release before the
    level `before` and `now`, and is None in the first release.
    """

    rows: int | None
    released: int
    suppressed: int | None
    suppressed_share: float | None
    information_loss: float | None
    lower_bound: float | None
    optimal: bool
    levels: dict[str, int] | None
    prosecutor_risk: float
    journalist_risk: float
    marketer_risk: float
    smallest_class: int | None
    privacy_margin: float | None
    smallest_trace: NotRequired[int | None]
    held_back_share: NotRequired[float | None]
    covered_share: NotRequired[float | None]
    levels_changed: NotRequired[dict[str, dict[str, int]] | None]


def release_metrics(report: PublishedReport) -> Metrics:
    """Return the metrics of a release from its report."""
    solution, suppressed, risk = report["solution"], report["suppressed_class"]["records"], report["risk"]
    rows = report["rows"]
    told: Metrics = {
        "rows": rows,
        "released": report["released"],
        "suppressed": suppressed,
        "suppressed_share": None if rows is None or suppressed is None else suppressed / rows if rows else 0.0,
        "information_loss": solution["information_loss"],
        "lower_bound": solution["lower_bound"],
        "optimal": solution["optimal"],
        "levels": None if solution["levels"] is None else dict(solution["levels"]),
        "prosecutor_risk": risk["prosecutor"],
        "journalist_risk": risk["journalist"],
        "marketer_risk": risk["marketer"],
        "smallest_class": report["classes"]["smallest"],
        "privacy_margin": report["privacy_margin"],
    }
    return cast("Metrics", {**_of_series(report), **told})


def _of_series(report: PublishedReport) -> dict[str, Any]:
    if "series" not in report:
        return {}
    series = report["series"]
    figures = {name: series.get(name) for name in ("smallest_trace", "held_back_share", "covered_share")}
    changed = series.get("levels_changed")
    return {
        **figures,
        "levels_changed": None if changed is None else {name: dict(one) for name, one in changed.items()},
    }
